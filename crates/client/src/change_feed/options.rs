//! Options of a change feed.

use cosmonaut_driver::OperationOptions;
use cosmonaut_options::{DiagnosticsOptions, HedgingOptions, RequestOptions, RetryLimitOptions};
use cosmonaut_wire::SessionToken;

/// How many partitions are asked at once if nothing is said.
const DEFAULT_CONCURRENCY: usize = 10;

/// Options of a change feed.
///
/// ```
/// use cosmonaut::options::ChangeFeedOptions;
/// let options = ChangeFeedOptions { max_item_count: Some(100), ..Default::default() };
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangeFeedOptions {
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
    /// How many changes a page has at most, unless one transaction made more; up to the service if nothing is
    /// said.
    pub max_item_count: Option<u32>,
    /// How many partitions are asked at once at most; 10 if nothing is said.
    pub max_concurrency: Option<usize>,
}

impl ChangeFeedOptions {
    /// Gives at most this many changes a page, unless one transaction made more.
    #[must_use]
    pub fn max_item_count(mut self, count: u32) -> Self {
        self.max_item_count = Some(count);
        self
    }

    pub(super) fn concurrency(&self) -> usize {
        self.max_concurrency.unwrap_or(DEFAULT_CONCURRENCY).max(1)
    }

    pub(crate) fn operation_layer(&self) -> OperationOptions {
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
