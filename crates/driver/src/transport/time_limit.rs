//! The time that one try may take, by the driver's own clock. What is still running then is dropped.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::error::{TransportError, TransportErrorKind};
use super::http_client::SendProgress;
use crate::platform::Platform;
use crate::race::{Either, race};

/// How long one try to reach a server may take.
pub(super) struct TimeLimit<'a> {
    pub(super) platform: &'a dyn Platform,
    pub(super) limit: Duration,
    pub(super) endpoint: &'a Arc<str>,
}

impl TimeLimit<'_> {
    /// Runs a try within its time. Whether a try that is out of time may have been seen is what `progress`
    /// says.
    pub(super) async fn apply<T>(
        &self,
        attempt: impl Future<Output = Result<T, TransportError>>,
        progress: &SendProgress,
    ) -> Result<T, TransportError> {
        let attempt = std::pin::pin!(attempt);
        match race(attempt, self.platform.sleep(self.limit).as_mut()).await {
            Either::First(result) => result,
            Either::Second(()) => Err(TransportError::new(
                TransportErrorKind::Timeout,
                progress.sent(),
                Arc::clone(self.endpoint),
            )),
        }
    }
}
