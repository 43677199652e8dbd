//! The operations of an account: one line each with who does it, whether it changes anything, where it goes, and
//! whether it may take long.
//!
//! Which request asks for which operation is in `route`.

use super::Gateway;
use super::call::Call;
use super::reply::Reply;
use crate::Failure;

/// Which partitions an operation goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// None: it is about the account, a database or a container.
    Metadata,
    /// The one that holds the item.
    Item,
    /// Those that the headers name, all if they name none.
    Scope,
}

#[derive(PartialEq)]
enum Effect {
    Read,
    Write,
}

#[derive(PartialEq)]
enum Time {
    /// No more than its request is long.
    Short,
    /// As much as there is data to look at or change.
    Long,
}

macro_rules! actions {
    ($($action:ident: $handler:ident, $effect:ident, $reach:ident, $time:ident;)*) => {
        /// An operation of the account.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Action {
            $($action,)*
        }

        impl Action {
            /// Does it.
            pub(super) fn run(self, gateway: &Gateway, call: &Call<'_>) -> Result<Reply, Failure> {
                match self {
                    $(Self::$action => gateway.$handler(call),)*
                }
            }

            /// Whether it changes anything.
            pub(super) fn writes(self) -> bool {
                let effect = match self {
                    $(Self::$action => Effect::$effect,)*
                };
                effect == Effect::Write
            }

            /// Whether it may take long, for some requests at least.
            pub(super) fn may_be_long(self) -> bool {
                let time = match self {
                    $(Self::$action => Time::$time,)*
                };
                time == Time::Long
            }

            /// Which partitions it goes to.
            pub(super) fn reach(self) -> Reach {
                match self {
                    $(Self::$action => Reach::$reach,)*
                }
            }
        }
    };
}

actions! {
    ReadAccount: read_account, Read, Metadata, Short;
    CreateDatabase: create_database, Write, Metadata, Short;
    ListDatabases: list_databases, Read, Metadata, Short;
    QueryDatabases: query_databases, Read, Metadata, Long;
    ReadDatabase: read_database, Read, Metadata, Short;
    DeleteDatabase: delete_database, Write, Metadata, Long;
    CreateContainer: create_container, Write, Metadata, Short;
    ListContainers: list_containers, Read, Metadata, Short;
    QueryContainers: query_containers, Read, Metadata, Long;
    ReadContainer: read_container, Read, Metadata, Short;
    ReplaceContainer: replace_container, Write, Metadata, Long;
    DeleteContainer: delete_container, Write, Metadata, Long;
    CreateItem: create_item, Write, Item, Short;
    UpsertItem: upsert_item, Write, Item, Short;
    ReadItem: read_item, Read, Item, Short;
    ReplaceItem: replace_item, Write, Item, Short;
    PatchItem: patch_item, Write, Item, Short;
    DeleteItem: delete_item, Write, Item, Short;
    ListItems: list_items, Read, Scope, Long;
    QueryItems: query_items, Read, Scope, Long;
    PlanQuery: plan_query, Read, Metadata, Long;
    Batch: run_batch, Write, Scope, Short;
    ReadChanges: read_changes, Read, Scope, Long;
    DeleteByPartitionKey: delete_by_partition_key, Write, Scope, Long;
    ListConflicts: list_conflicts, Read, Scope, Long;
    QueryConflicts: query_conflicts, Read, Scope, Long;
    ReadConflict: read_conflict, Read, Scope, Short;
    DeleteConflict: delete_conflict, Write, Scope, Short;
    ListRanges: list_ranges, Read, Metadata, Short;
    ListOffers: list_offers, Read, Metadata, Short;
    QueryOffers: query_offers, Read, Metadata, Long;
    ReadOffer: read_offer, Read, Metadata, Short;
    ReplaceOffer: replace_offer, Write, Metadata, Long;
    CreateResource: create_resource, Write, Metadata, Short;
    UpsertResource: upsert_resource, Write, Metadata, Short;
    ListResources: list_resources, Read, Metadata, Short;
    QueryResources: query_resources, Read, Metadata, Long;
    ReadResource: read_resource, Read, Metadata, Short;
    ReplaceResource: replace_resource, Write, Metadata, Short;
    DeleteResource: delete_resource, Write, Metadata, Short;
    ExecuteProcedure: execute_procedure, Write, Scope, Long;
}
