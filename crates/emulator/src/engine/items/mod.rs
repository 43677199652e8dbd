//! Operations on items: what is asked, what comes back, and one file for each kind.
//!
//! An operation is prepared without any lock, then applied to a replica inside a transaction; single requests,
//! transactional batches and bulk requests all go this way.

mod batch;
mod bulk;
mod conditions;
mod delete;
#[cfg(feature = "scripts")]
mod draft;
mod incoming;
mod members;
mod patch;
mod patch_tree;
mod put;
mod read;
mod text;

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_wire::{
    CosmosStatus, Etag, IndexingDirective, PartitionKey, ResourceId, ResourceType, SessionToken,
};

pub use batch::{BatchReply, BatchRequest};
pub use conditions::Conditions;
pub use delete::KeyDeleted;
#[cfg(feature = "scripts")]
pub(crate) use draft::{Committed, Draft};
#[cfg(feature = "scripts")]
pub(crate) use put::PutMode;
pub(crate) use put::Site;

use super::replica::ReplicaState;
use super::{Container, Document, Hold, PartitionRange, Standing};
use crate::failure::NOT_FOUND_HELP;
use crate::storage::Commit;
use crate::{Failure, Pace, Timestamp};

/// The largest item, system members not counted.
pub const MAX_ITEM_BYTES: usize = 2 * 1024 * 1024;

/// What an operation on one item is asked with.
#[derive(Clone, Debug)]
pub struct ItemRequest<'a> {
    /// The partition key of the request's header. Writes that carry the item can do without.
    pub key: Option<PartitionKey>,
    /// The item's id, or its resource id; not looked at by create and upsert, which find it in the body.
    pub id: &'a str,
    /// The item, or the patch; empty where there is neither.
    pub body: Bytes,
    /// What must hold of the item.
    pub conditions: Conditions<'a>,
    /// What the session has seen, for reads and, where every region writes, for writes.
    pub session: Option<&'a SessionToken>,
    /// Whether the written item is indexed.
    pub indexing: IndexingDirective,
    /// How long it may take to decide about a patch.
    pub pace: Pace,
}

impl<'a> ItemRequest<'a> {
    /// A request without conditions.
    pub fn new(key: Option<PartitionKey>, id: &'a str, body: impl Into<Bytes>) -> Self {
        let (conditions, indexing) = (Conditions::default(), IndexingDirective::Default);
        Self { key, id, body: body.into(), conditions, session: None, indexing, pace: Pace::default() }
    }
}

/// What an operation on one item came to.
#[derive(Clone, Debug)]
pub struct ItemReply {
    /// 200, 201, 204 or 304.
    pub status: CosmosStatus,
    /// The item; empty after a delete and with 304.
    pub body: Bytes,
    /// The item's entity tag; none after a delete.
    pub etag: Option<Etag>,
    /// How far the partition is.
    pub standing: Standing,
    /// The commit that wrote the item.
    pub item_lsn: i64,
    /// What it cost.
    pub charge: f64,
    /// The partition that holds the item.
    pub range: Arc<PartitionRange>,
    /// Resolves when the reply is safe to be sent.
    pub commit: Commit,
    /// Resolves when other regions have what they must before it is sent.
    pub hold: Hold,
}

impl ItemReply {
    /// The session token of the reply.
    pub fn session(&self) -> SessionToken {
        SessionToken::of(self.range.id.clone(), self.standing.seen.clone())
    }
}

/// What one operation did inside a transaction.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) status: CosmosStatus,
    pub(crate) body: Bytes,
    pub(crate) etag: Option<Etag>,
    pub(crate) item_lsn: i64,
    pub(crate) charge: f64,
}

impl Outcome {
    pub(crate) fn reply(self, range: Arc<PartitionRange>, standing: Standing, commit: Commit) -> ItemReply {
        let Self { status, body, etag, item_lsn, charge } = self;
        ItemReply { status, body, etag, standing, item_lsn, charge, range, commit, hold: Hold::none() }
    }
}

/// The key that an operation on an existing item needs. In a container made without a key there need not be one.
fn required_key<'k>(
    container: &Container,
    key: Option<&'k PartitionKey>,
) -> Result<&'k PartitionKey, Failure> {
    let none = || (container.definition().system_key == Some(true)).then_some(&PartitionKey::NONE);
    key.or_else(none).ok_or_else(|| {
        Failure::bad_request(
            "PartitionKey value must be supplied for this operation. Send the header x-ms-documentdb-partitionkey",
        )
    })
}

/// The item that a request names, unless it has expired: by id or, if there is none, by resource id.
fn find_live<'s>(
    state: &'s ReplicaState,
    container: ResourceId,
    key: &PartitionKey,
    id: &str,
    now: Timestamp,
) -> Option<&'s Arc<Document>> {
    let by_rid = || {
        let rid: ResourceId = id.parse().ok()?;
        let is_here = rid.kind() == ResourceType::Document && rid.is_in(&container);
        let document = is_here.then(|| state.share(rid.number()?)).flatten()?;
        (document.key == *key).then_some(document)
    };
    state.find(key, id).or_else(by_rid).filter(|document| state.is_live(document, now))
}

fn not_found(id: &str) -> Failure {
    let shown: String = id.chars().take(200).collect();
    Failure::not_found(format!(
        "Entity with the specified id does not exist in the system. Resource Not Found. Learn more: \
         {NOT_FOUND_HELP} (there is no item {shown:?} in this partition key)"
    ))
    .with_charge(super::charge::NOTHING)
}
