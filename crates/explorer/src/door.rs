//! The door to the world: clocks, tasks and chance come from here, so that nothing else reaches for them.

use std::future::Future;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ring::rand::{SecureRandom, SystemRandom};
use tokio::task::AbortHandle;

/// The time, for how long things take.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// `None` if it takes longer.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) async fn within<T>(time: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(time, work).await.ok()
}

/// Ends after some time.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Starts a task beside the others.
#[expect(clippy::disallowed_methods, reason = "tasks end with the explorer, which holds on to them")]
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
    tokio::spawn(task).abort_handle()
}

/// A text that nobody can guess; `None` if the machine has no randomness to give.
pub(crate) fn secret() -> Option<String> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
