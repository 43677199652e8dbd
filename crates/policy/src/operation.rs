//! What the caller wants: an operation on a resource, fixed before the first attempt and the same for all of
//! them.
//!
//! It says nothing about where the operation is sent or how often; see `routing` and `evaluate`.

mod kind;
mod name;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_wire::{EpkRange, PartitionKey, PartitionKeyRangeId, ResourceId, ResourcePath, ResourceType};
use http::{HeaderName, HeaderValue};

pub use kind::{LatencyKind, OperationType};
pub use name::operation_name;

/// A physical partition of a container. Cheap to clone, so a map of partitions can hand them out.
///
/// Range ids are only unique within a container: every container has a range `0`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartitionId(Arc<(ResourceId, PartitionKeyRangeId)>);

impl PartitionId {
    /// The range `range` of the container with this resource id.
    pub fn new(container: ResourceId, range: impl Into<PartitionKeyRangeId>) -> Self {
        Self(Arc::new((container, range.into())))
    }

    /// The resource id of the container.
    pub fn container(&self) -> ResourceId {
        self.0.0
    }

    /// The range within the container.
    pub fn range(&self) -> &PartitionKeyRangeId {
        &self.0.1
    }
}

impl fmt::Debug for PartitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0.0, self.0.1)
    }
}

/// The part of a container that an operation is for.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionTarget {
    /// No part: the resource lies outside of partitions, or the whole container is meant.
    None,
    /// The items with one partition key.
    Key {
        /// The key.
        key: PartitionKey,
        /// The key as it travels, made once for all attempts.
        header: HeaderValue,
    },
    /// A physical partition.
    Range(PartitionKeyRangeId),
    /// A stretch of the ring, within one physical partition if that is given.
    Epk {
        /// The stretch.
        range: EpkRange,
        /// The partition that holds it, where the caller knows.
        partition: Option<PartitionKeyRangeId>,
    },
}

impl From<PartitionKey> for PartitionTarget {
    fn from(key: PartitionKey) -> Self {
        let mut text = String::with_capacity(32);
        key.write_header(&mut text);
        let mut header =
            HeaderValue::try_from(text).expect("a partition key's header form is printable ASCII");
        // The user's data, and often another with each request: neither end of the connection is to remember it.
        header.set_sensitive(true);
        Self::Key { key, header }
    }
}

/// A condition on the version of the resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// `If-Match`: only this version.
    IfMatch(HeaderValue),
    /// `If-None-Match`: any version but this one; for a change feed, what comes after it.
    IfNoneMatch(HeaderValue),
}

/// What the caller wants. Cheap to clone; never changes while attempts are made.
///
/// ```
/// use cosmonaut_policy::{CosmosOperation, OperationType};
/// use cosmonaut_wire::{PartitionKey, ResourcePath};
/// let path = ResourcePath::parse("/dbs/shop/colls/orders/docs/7")?;
/// let read = CosmosOperation::new(OperationType::Read, path).with_target(PartitionKey::from("contoso"));
/// assert!(read.is_read_only() && read.is_idempotent());
/// # Ok::<(), cosmonaut_wire::PathError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CosmosOperation {
    operation_type: OperationType,
    path: Arc<ResourcePath>,
    target: PartitionTarget,
    precondition: Option<Precondition>,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
    vouched: bool,
    container: Option<ResourceId>,
}

impl CosmosOperation {
    /// An operation on the resource, or the feed, at `path`.
    pub fn new(operation_type: OperationType, path: impl Into<Arc<ResourcePath>>) -> Self {
        Self {
            operation_type,
            path: path.into(),
            target: PartitionTarget::None,
            precondition: None,
            headers: Vec::new(),
            body: Bytes::new(),
            vouched: false,
            container: None,
        }
    }

    /// Limits the operation to a part of the container.
    #[must_use]
    pub fn with_target(mut self, target: impl Into<PartitionTarget>) -> Self {
        self.target = target.into();
        self
    }

    /// Makes the operation depend on the version of the resource.
    #[must_use]
    pub fn with_precondition(mut self, precondition: Precondition) -> Self {
        self.precondition = Some(precondition);
        self
    }

    /// Adds a header. It replaces one of the same name that the operation would send by itself. What says how the
    /// connection is used, such as `connection` or `content-length`, is the driver's business and is not sent.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// The caller vouches that applying this write twice does no harm, and that it can tell by itself what a
    /// conflict or a failed condition on a repeat means. It is then repeated like a read.
    #[must_use]
    pub fn with_repeats_allowed(mut self) -> Self {
        self.vouched = true;
        self
    }

    /// Binds the operation to the container with this resource id: it goes on from a place in that container. If the
    /// name is another container's by now, the operation fails with 400/1024; otherwise it would be repeated in the
    /// other container, where the place means nothing.
    #[must_use]
    pub fn with_container(mut self, container: ResourceId) -> Self {
        self.container = Some(container);
        self
    }

    /// The only container that the operation may be run in, if there is one.
    pub fn container(&self) -> Option<ResourceId> {
        self.container
    }

    /// Whether the caller vouches for repeats.
    pub fn repeats_allowed(&self) -> bool {
        self.vouched
    }

    /// What is done.
    pub fn operation_type(&self) -> OperationType {
        self.operation_type
    }

    /// The kind of resource that it is done to.
    pub fn resource_type(&self) -> ResourceType {
        self.path.kind()
    }

    /// The resource, or the feed.
    pub fn path(&self) -> &ResourcePath {
        &self.path
    }

    /// The part of the container.
    pub fn target(&self) -> &PartitionTarget {
        &self.target
    }

    /// Whether the caller names one physical partition by its id, which a split takes away for good.
    pub fn names_a_partition(&self) -> bool {
        match &self.target {
            PartitionTarget::Range(_) | PartitionTarget::Epk { partition: Some(_), .. } => true,
            PartitionTarget::Epk { partition: None, .. }
            | PartitionTarget::Key { .. }
            | PartitionTarget::None => false,
        }
    }

    /// The condition on the version, if there is one.
    pub fn precondition(&self) -> Option<&Precondition> {
        self.precondition.as_ref()
    }

    /// The headers that were added.
    pub fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.headers
    }

    /// The body; empty if there is none.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Whether it changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.operation_type.is_read_only()
    }

    /// Whether it may be sent again after an attempt that was, or may have been, applied.
    ///
    /// | operation | repeated? | because |
    /// | --- | --- | --- |
    /// | reads, queries, feeds, plans | yes | they change nothing |
    /// | replace, patch, delete with `If-Match` of one version | yes | the version is gone once it is applied, so it cannot be applied twice; see [`is_guarded`](Self::is_guarded) |
    /// | create | no | a repeat is answered with a conflict, which may be with the first attempt or with another's item |
    /// | upsert; replace and delete without a condition, or with `If-Match: *` | no | a repeat would undo what others wrote in between |
    /// | patch without a condition, batch, execution, deletion by key | no | a repeat would be applied to the result of the first |
    /// | any write [with repeats allowed](Self::with_repeats_allowed) | yes | the caller says so |
    pub fn is_idempotent(&self) -> bool {
        cosmonaut_wire::mutation!("every-write-is-repeated")
            || self.is_read_only()
            || self.vouched
            || self.is_guarded()
    }

    /// Whether the write applies to one version only, so that it cannot be applied twice.
    ///
    /// That makes a repeat safe, not its answer: "precondition failed" on a repeat may be about the caller's
    /// own first attempt. Such an answer is reported as an unknown outcome.
    pub fn is_guarded(&self) -> bool {
        let names_a_version = match &self.precondition {
            Some(Precondition::IfMatch(etag)) => etag.as_bytes().trim_ascii() != b"*",
            Some(Precondition::IfNoneMatch(_)) | None => false,
        };
        names_a_version && self.operation_type.consumes_a_version() && !self.vouched
    }

    /// Which latencies its own is compared with.
    pub fn latency_kind(&self) -> LatencyKind {
        if self.is_partitioned() { self.operation_type.item_latency_kind() } else { LatencyKind::Metadata }
    }

    /// Whether it is for one physical partition: an item's, or the one that runs a stored procedure.
    ///
    /// Only such operations can be failed over partition by partition.
    pub fn is_partitioned(&self) -> bool {
        let kind = self.resource_type();
        kind.is_partitioned()
            && (kind != ResourceType::StoredProcedure || self.operation_type == OperationType::Execute)
    }
}
