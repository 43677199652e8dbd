//! The one door through which time and chance come into the emulator.
//!
//! Everything that asks for the time or a random number takes a [`World`], so that a test or a simulator can
//! decide both.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::error::Elapsed;

/// A point in time: microseconds since the start of 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Whole seconds since the start of 1970, as `_ts` has it.
    pub fn seconds(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Microseconds from an earlier time to this one; 0 if it is not earlier.
    pub fn micros_since(self, earlier: Timestamp) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Time and chance.
pub trait World: Send + Sync + 'static {
    /// The time now. Never goes back.
    fn now(&self) -> Timestamp;

    /// A random number, evenly spread over all 64 bits.
    fn random(&self) -> u64;
}

/// The machine's clock, and a generator seeded from it.
pub struct SystemWorld {
    latest: AtomicU64,
    state: AtomicU64,
}

impl SystemWorld {
    /// Reads the machine's clock from here on.
    pub fn new() -> Self {
        let seed = system_micros() ^ u64::from(std::process::id()) << 40;
        Self { latest: AtomicU64::new(0), state: AtomicU64::new(seed) }
    }
}

impl Default for SystemWorld {
    fn default() -> Self {
        Self::new()
    }
}

impl World for SystemWorld {
    fn now(&self) -> Timestamp {
        let now = system_micros();
        // The machine's clock may be set back; time here is not.
        Timestamp(self.latest.fetch_max(now, Ordering::Relaxed).max(now))
    }

    fn random(&self) -> u64 {
        // SplitMix64: each step is an addition, so that concurrent callers need no lock.
        let mut z = self.state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// Ends after some time of the runtime's clock, which a simulator can hold still.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Waits for something for some time of that clock.
///
/// # Errors
/// If it has not come by then.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) async fn timeout<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T, Elapsed> {
    tokio::time::timeout(limit, work).await
}

#[expect(clippy::disallowed_methods, reason = "this is the door")]
fn system_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros() as u64)
}
