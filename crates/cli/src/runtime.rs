//! The door to the world: threads, tasks and clocks come from here, so that nothing else reaches for them.

use std::future::Future;
use std::time::{Duration, Instant, SystemTime};

use tokio::task::JoinHandle;
use tokio::time::Interval;

use crate::failure::Failure;

/// Runs a command that talks to the network.
pub(crate) fn run<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Work(format!("cannot start threads: {error}")))?;
    let result = runtime.block_on(command);
    // Nobody waits for what a thread of it still does.
    runtime.shutdown_background();
    result
}

/// The time, for how long things take.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The time of day, for people.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn time_of_day() -> SystemTime {
    SystemTime::now()
}

/// Ends after some time.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Ends at some time.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) async fn sleep_until(time: Instant) {
    tokio::time::sleep_until(time.into()).await;
}

/// Comes again and again, at once for the first time.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn interval(period: Duration) -> Interval {
    tokio::time::interval(period)
}

/// Starts a task beside the others.
#[expect(clippy::disallowed_methods, reason = "tasks of a command end with its process")]
pub(crate) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(task)
}
