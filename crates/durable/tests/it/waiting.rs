//! The door by which tests wait.

use std::future::Future;
use std::time::Duration;

use tokio::time::error::Elapsed;

#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) async fn timeout<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T, Elapsed> {
    tokio::time::timeout(limit, work).await
}

/// Now, for what a test counts by the second.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}
