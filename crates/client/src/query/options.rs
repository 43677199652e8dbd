//! Options of a query.

use cosmonaut_driver::OperationOptions;
use cosmonaut_options::{DiagnosticsOptions, HedgingOptions, RequestOptions, RetryLimitOptions};
use cosmonaut_wire::SessionToken;

use crate::{Error, ErrorKind, Result};

/// How many rows a page has, and each partition's answer to an ordered query, if nothing is said.
pub(super) const DEFAULT_PAGE: u32 = 1000;
/// How many partitions are read at once if nothing is said.
const DEFAULT_CONCURRENCY: usize = 10;

/// Options of a query.
///
/// ```
/// use cosmonaut::options::QueryOptions;
/// let options = QueryOptions { max_item_count: Some(50), ..Default::default() };
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryOptions {
    /// What any request may carry.
    pub request: RequestOptions,
    /// Whether and when a second region is asked.
    pub hedging: HedgingOptions,
    /// When a diagnostics handler hears of a page.
    pub diagnostics: DiagnosticsOptions,
    /// How often each request is retried, and for how long.
    pub retry_limits: RetryLimitOptions,
    /// The session to continue, instead of the client's own.
    pub session_token: Option<SessionToken>,
    /// How many rows a page has at most; 1000 if nothing is said. It may have fewer although there are more.
    pub max_item_count: Option<u32>,
    /// The [continuation](crate::Page::continuation) of an earlier page, to go on behind it.
    pub continuation: Option<String>,
    /// How many partitions are read at once at most; 10 if nothing is said.
    pub max_concurrency: Option<usize>,
}

impl QueryOptions {
    /// Gives at most this many rows a page.
    #[must_use]
    pub fn max_item_count(mut self, count: u32) -> Self {
        self.max_item_count = Some(count);
        self
    }

    /// Goes on behind an earlier page.
    #[must_use]
    pub fn continuation(mut self, continuation: impl Into<String>) -> Self {
        self.continuation = Some(continuation.into());
        self
    }

    /// Reads at most this many partitions at once.
    #[must_use]
    pub fn max_concurrency(mut self, partitions: usize) -> Self {
        self.max_concurrency = Some(partitions);
        self
    }

    /// Continues this session instead of the client's own.
    #[must_use]
    pub fn session_token(mut self, token: SessionToken) -> Self {
        self.session_token = Some(token);
        self
    }

    pub(super) fn page_size(&self) -> Result<u32> {
        match self.max_item_count.unwrap_or(DEFAULT_PAGE) {
            0 => Err(Error::new(ErrorKind::Configuration, "max_item_count is 0 (a page has at least 1 row)")),
            count => Ok(count),
        }
    }

    pub(super) fn concurrency(&self) -> usize {
        self.max_concurrency.unwrap_or(DEFAULT_CONCURRENCY).max(1)
    }

    pub(super) fn operation_layer(&self) -> OperationOptions {
        OperationOptions {
            request: self.request.clone(),
            hedging: self.hedging.clone(),
            diagnostics: self.diagnostics.clone(),
            retry_limits: self.retry_limits.clone(),
            session_token: self.session_token.clone(),
            operation_name: None,
        }
    }
}
