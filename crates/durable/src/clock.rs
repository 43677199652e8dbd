//! The door through which time, chance and background tasks come into the provider.
//!
//! The one file of the crate that asks the machine for any of them.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::task::AbortHandle;
use tokio::time::Instant;

/// The time of day in milliseconds since the start of 1970, UTC: what is stored in documents.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

/// A point of a clock that never goes back: what waiting is measured by.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// Ends after some time.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Waits for something until some point; `None` if it has not come by then.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) async fn until<T>(end: Instant, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout_at(end, future).await.ok()
}

/// Whole milliseconds, at most `u64::MAX`.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A random number, evenly spread over all 64 bits; no secret is made of it.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn random() -> u64 {
    static STATE: OnceLock<AtomicU64> = OnceLock::new();
    let state = STATE.get_or_init(|| {
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
        AtomicU64::new(nanos ^ u64::from(std::process::id()) << 40)
    });
    // SplitMix64: a step is one addition, so that concurrent callers need no lock.
    let mut z = state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A text of 32 hexadecimal digits that is not used twice.
pub(crate) fn unique_id() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// A task in the background; stopped when this is dropped.
#[must_use = "dropping a task stops it"]
pub(crate) struct Task(AbortHandle);

impl Task {
    /// Runs a future beside its caller, in the runtime that the caller is in.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the door: what it starts is kept, and stopped on drop"
    )]
    pub(crate) fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(future).abort_handle())
    }
}

/// Runs a future to its end beside its caller, which nobody waits for; not at all outside of a runtime.
pub(crate) fn detach(future: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(future);
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
