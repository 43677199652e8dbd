//! The kinds of operations, and what follows from the kind alone.

use http::Method;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationType {
    /// Makes a new resource.
    Create,
    /// Reads one resource.
    Read,
    /// Reads a resource's headers.
    Head,
    /// Overwrites a resource.
    Replace,
    /// Makes a resource, or overwrites it if it is there.
    Upsert,
    /// Deletes a resource.
    Delete,
    /// Changes parts of an item.
    Patch,
    /// Does several things to items of one partition key, all or none.
    Batch,
    /// Does several things to items of one physical partition, each by itself.
    Bulk,
    /// Runs a query.
    Query,
    /// Asks how a query would be run across partitions.
    QueryPlan,
    /// Lists resources.
    ReadFeed,
    /// Reads what has changed.
    ChangeFeed,
    /// Runs a stored procedure.
    Execute,
    /// Deletes all items of one partition key.
    DeleteByPartitionKey,
}

/// Operations whose latencies are worth comparing with one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LatencyKind {
    /// One resource is read.
    PointRead,
    /// A page is read: queries, feeds, change feeds.
    Page,
    /// One resource is written.
    PointWrite,
    /// As much is done as the caller put in: batches, stored procedures.
    Program,
    /// What the account keeps about itself: containers, partitions.
    Metadata,
}

impl LatencyKind {
    /// Every kind; `kind as usize` is its place here.
    pub const ALL: [Self; 5] = [Self::PointRead, Self::Page, Self::PointWrite, Self::Program, Self::Metadata];
}

impl OperationType {
    /// Every type.
    pub const ALL: [Self; 15] = [
        Self::Create,
        Self::Read,
        Self::Head,
        Self::Replace,
        Self::Upsert,
        Self::Delete,
        Self::Patch,
        Self::Batch,
        Self::Bulk,
        Self::Query,
        Self::QueryPlan,
        Self::ReadFeed,
        Self::ChangeFeed,
        Self::Execute,
        Self::DeleteByPartitionKey,
    ];

    /// Whether it changes nothing. A stored procedure may write, so running one is not a read.
    pub const fn is_read_only(self) -> bool {
        match self {
            Self::Read | Self::Head | Self::Query | Self::QueryPlan | Self::ReadFeed | Self::ChangeFeed => {
                true
            }
            Self::Create
            | Self::Replace
            | Self::Upsert
            | Self::Delete
            | Self::Patch
            | Self::Batch
            | Self::Bulk
            | Self::Execute
            | Self::DeleteByPartitionKey => false,
        }
    }

    /// The HTTP method it travels by.
    pub const fn method(self) -> Method {
        match self {
            Self::Read | Self::ReadFeed | Self::ChangeFeed => Method::GET,
            Self::Head => Method::HEAD,
            Self::Replace => Method::PUT,
            Self::Delete => Method::DELETE,
            Self::Patch => Method::PATCH,
            Self::Create
            | Self::Upsert
            | Self::Batch
            | Self::Bulk
            | Self::Query
            | Self::QueryPlan
            | Self::Execute
            | Self::DeleteByPartitionKey => Method::POST,
        }
    }

    /// Which latencies its own is compared with, if it is about items.
    pub(crate) const fn item_latency_kind(self) -> LatencyKind {
        match self {
            Self::Read | Self::Head => LatencyKind::PointRead,
            Self::Query | Self::QueryPlan | Self::ReadFeed | Self::ChangeFeed => LatencyKind::Page,
            Self::Create | Self::Replace | Self::Upsert | Self::Delete | Self::Patch => {
                LatencyKind::PointWrite
            }
            Self::Batch | Self::Bulk | Self::Execute | Self::DeleteByPartitionKey => LatencyKind::Program,
        }
    }

    /// Whether applying it leaves no resource of the version it was applied to. An upsert would make a new
    /// resource where there is none, so a condition does not keep it from being applied twice.
    pub(super) const fn consumes_a_version(self) -> bool {
        match self {
            Self::Replace | Self::Patch | Self::Delete => true,
            Self::Create
            | Self::Read
            | Self::Head
            | Self::Upsert
            | Self::Batch
            | Self::Bulk
            | Self::Query
            | Self::QueryPlan
            | Self::ReadFeed
            | Self::ChangeFeed
            | Self::Execute
            | Self::DeleteByPartitionKey => false,
        }
    }

    /// Whether applying it may take an item away. What is applied late may then take away an item that was made
    /// after it was sent.
    pub const fn may_remove(self) -> bool {
        match self {
            Self::Delete | Self::Batch | Self::Bulk | Self::Execute | Self::DeleteByPartitionKey => true,
            Self::Create
            | Self::Read
            | Self::Head
            | Self::Replace
            | Self::Upsert
            | Self::Patch
            | Self::Query
            | Self::QueryPlan
            | Self::ReadFeed
            | Self::ChangeFeed => false,
        }
    }

    /// Whether two regions that both apply it end up with the same resource.
    ///
    /// Only such writes may be sent to two write regions at once: the service resolves the conflict between
    /// two equal resources, but would count an increment twice.
    pub const fn converges(self) -> bool {
        match self {
            Self::Read
            | Self::Head
            | Self::Query
            | Self::QueryPlan
            | Self::ReadFeed
            | Self::ChangeFeed
            | Self::Create
            | Self::Replace
            | Self::Upsert
            | Self::Delete => true,
            Self::Patch | Self::Batch | Self::Bulk | Self::Execute | Self::DeleteByPartitionKey => false,
        }
    }
}
