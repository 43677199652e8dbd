//! The operations of an account: one line each with who does it, whether it changes anything, and where it goes.
//!
//! Which request asks for which operation is in `route`.

use cosmonaut_wire::ResourceType;

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

macro_rules! actions {
    (@type $kind:ident) => { ResourceType };
    ($($(#[$about:meta])* $action:ident $(of $kind:ident)?: $handler:ident, $effect:ident, $reach:ident;)*) => {
        /// An operation of the account.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Action {
            $($(#[$about])* $action $((actions!(@type $kind)))?,)*
        }

        impl Action {
            /// Does it.
            pub(super) fn run(self, gateway: &Gateway, call: &Call<'_>) -> Result<Reply, Failure> {
                match self {
                    $(Self::$action $(($kind))? => gateway.$handler($($kind,)? call),)*
                }
            }

            /// Whether it changes anything.
            pub(super) fn writes(self) -> bool {
                let effect = match self {
                    $(Self::$action { .. } => Effect::$effect,)*
                };
                effect == Effect::Write
            }

            /// Which partitions it goes to.
            pub(super) fn reach(self) -> Reach {
                match self {
                    $(Self::$action { .. } => Reach::$reach,)*
                }
            }
        }
    };
}

actions! {
    ReadAccount: read_account, Read, Metadata;
    CreateDatabase: create_database, Write, Metadata;
    ListDatabases: list_databases, Read, Metadata;
    QueryDatabases: query_databases, Read, Metadata;
    ReadDatabase: read_database, Read, Metadata;
    DeleteDatabase: delete_database, Write, Metadata;
    CreateContainer: create_container, Write, Metadata;
    ListContainers: list_containers, Read, Metadata;
    QueryContainers: query_containers, Read, Metadata;
    ReadContainer: read_container, Read, Metadata;
    ReplaceContainer: replace_container, Write, Metadata;
    DeleteContainer: delete_container, Write, Metadata;
    CreateItem: create_item, Write, Item;
    UpsertItem: upsert_item, Write, Item;
    ReadItem: read_item, Read, Item;
    ReplaceItem: replace_item, Write, Item;
    PatchItem: patch_item, Write, Item;
    DeleteItem: delete_item, Write, Item;
    ListItems: list_items, Read, Scope;
    QueryItems: query_items, Read, Scope;
    PlanQuery: plan_query, Read, Metadata;
    Batch: run_batch, Write, Scope;
    ReadChanges: read_changes, Read, Scope;
    DeleteByPartitionKey: delete_by_partition_key, Write, Scope;
    ListConflicts: list_conflicts, Read, Scope;
    QueryConflicts: query_conflicts, Read, Scope;
    ReadConflict: read_conflict, Read, Scope;
    DeleteConflict: delete_conflict, Write, Scope;
    ListRanges: list_ranges, Read, Metadata;
    ListOffers: list_offers, Read, Metadata;
    QueryOffers: query_offers, Read, Metadata;
    ReadOffer: read_offer, Read, Metadata;
    ReplaceOffer: replace_offer, Write, Metadata;
    /// The feed of a kind that this emulator never has any of.
    ListNone of kind: list_none, Read, Metadata;
    /// One of a kind that this emulator never has any of.
    ReadNone of kind: read_none, Read, Metadata;
    /// Making or running one of those.
    Unsupported of kind: refuse_kind, Write, Metadata;
}
