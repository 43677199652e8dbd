//! The time that one try may take, by the driver's own clock. What is still running then is dropped.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut_policy::{CosmosEndpoint, Moment};

use super::endpoint::Authority;
use super::error::{TransportError, TransportErrorKind};
use super::http_client::SendProgress;
use crate::platform::Platform;
use crate::race::{Either, race};

/// How long one try to reach a server may take.
pub(super) struct TimeLimit<'a> {
    pub(super) platform: &'a dyn Platform,
    pub(super) limit: Duration,
    pub(super) endpoint: &'a CosmosEndpoint,
}

impl TimeLimit<'_> {
    /// Runs a try within its time, and says when it was over. Whether a try that is out of time may have been
    /// seen is what `progress` says.
    pub(super) async fn apply<T>(
        &self,
        attempt: impl Future<Output = Result<T, TransportError>>,
        progress: &SendProgress,
    ) -> (Result<T, TransportError>, Moment) {
        let attempt = std::pin::pin!(attempt);
        let result = match race(attempt, self.platform.sleep(self.limit).as_mut()).await {
            Either::First(result) => result,
            Either::Second(()) => {
                let endpoint = Arc::clone(Authority::of_endpoint(self.endpoint).shown());
                Err(TransportError::new(TransportErrorKind::Timeout, progress.sent(), endpoint))
            }
        };
        // Where a task has taken in the answer, that is when it was over, whenever the caller came to look.
        (result, progress.ended().unwrap_or_else(|| self.platform.now()))
    }
}
