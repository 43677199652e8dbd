//! What is asked of a query run, and what a page of it answers.
//!
//! Headers and envelopes are the gateway's.

use cosmonaut_query::eval::Rows;
use cosmonaut_wire::model::{QueryExecutionInfo, QuerySpec};
use cosmonaut_wire::{PartitionKeyRangeId, SessionToken};

use super::functions::Callable;
use super::resume::ResumeFilter;
use super::ties::TieOrder;
use crate::engine::FeedScope;
use crate::pace::Pace;
use crate::storage::Commit;

/// One page of a query, as a client asks for it.
#[derive(Clone, Debug)]
pub struct QueryRequest {
    /// The text and its parameters.
    pub spec: QuerySpec,
    /// Which part of the container.
    pub scope: FeedScope,
    /// How many rows at most.
    pub page_size: PageSize,
    /// Where the last page ended.
    pub continuation: Option<String>,
    /// Whether more than one partition may be asked.
    pub cross_partition: bool,
    /// Whether to say how the query was run.
    pub populate_metrics: bool,
    /// In which shape to say which indexes were used, and which would have been; not at all if `None`.
    pub index_metrics: Option<IndexMetrics>,
    /// What the client has seen.
    pub session: Option<SessionToken>,
    /// In which order documents come that sort alike.
    pub ties: TieOrder,
    /// Where an ordered query goes on, beside the continuation.
    pub resume: Option<ResumeFilter>,
    /// How long it may take.
    pub pace: Pace,
    /// The user-defined functions that it may call.
    pub functions: Callable,
}

impl QueryRequest {
    /// The first page of a query, with no wishes.
    pub fn new(spec: impl Into<QuerySpec>, scope: FeedScope) -> QueryRequest {
        QueryRequest {
            spec: spec.into(),
            scope,
            page_size: PageSize::default(),
            continuation: None,
            cross_partition: true,
            populate_metrics: false,
            index_metrics: None,
            session: None,
            ties: TieOrder::default(),
            resume: None,
            pace: Pace::default(),
            functions: Callable::default(),
        }
    }
}

/// The shapes in which a page says what indexes it used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexMetrics {
    /// JSON in Base64, for `x-ms-cosmos-populateindexmetrics`.
    Base64,
    /// Shorter JSON with percent signs as in an address, for `x-ms-cosmos-populateindexmetrics-V2`.
    UriEncoded,
}

/// How many rows a page may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// At most this many, and at least 1.
    Rows(usize),
    /// As many as fit into a response.
    Any,
    /// All of them, for whoever puts them together here.
    All,
    /// The client does not say: a hundred, but all rows that are sorted by a score, since some clients read one page of
    /// these.
    Unasked,
}

impl PageSize {
    /// The most bytes of rows in a page that has more than one.
    pub(super) const MAX_BYTES: usize = 4 << 20;

    /// From the value of `x-ms-max-item-count`: -1 leaves it to the server.
    pub fn from_header(count: i64) -> Option<PageSize> {
        match count {
            -1 => Some(PageSize::Any),
            1.. => usize::try_from(count).ok().map(PageSize::Rows),
            _ => None,
        }
    }

    pub(crate) fn rows(self) -> usize {
        match self {
            PageSize::Rows(rows) => rows.max(1),
            PageSize::Any | PageSize::All => usize::MAX,
            PageSize::Unasked => 100,
        }
    }

    /// How many bytes of rows a page may have that has more than one.
    pub(super) fn bytes(self) -> usize {
        match self {
            PageSize::All => usize::MAX,
            PageSize::Rows(_) | PageSize::Any | PageSize::Unasked => PageSize::MAX_BYTES,
        }
    }
}

impl Default for PageSize {
    /// What the service gives a client that does not ask.
    fn default() -> PageSize {
        PageSize::Unasked
    }
}

/// One page of a query's rows.
#[derive(Debug)]
pub struct QueryPage {
    /// The rows, each the JSON text of one value.
    pub rows: Rows,
    /// Where the next page starts; none if this is the last.
    pub continuation: Option<String>,
    /// The value of `x-ms-cosmos-query-execution-info`.
    pub execution_info: QueryExecutionInfo,
    /// What it cost, in request units.
    pub charge: f64,
    /// The value of `x-ms-documentdb-query-metrics`, if asked for.
    pub metrics: Option<String>,
    /// The value of `x-ms-cosmos-index-utilization`, if asked for.
    pub index_utilization: Option<String>,
    /// What a session has seen after it.
    pub session: SessionToken,
    /// The partition that was read last.
    pub range_id: Option<PartitionKeyRangeId>,
    /// That partition's latest commit.
    pub lsn: i64,
    /// How many commits every region has of that partition.
    pub committed: i64,
    /// To be awaited before the page is sent: what it shows must not be lost.
    pub commits: Vec<Commit>,
}
