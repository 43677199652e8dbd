//! Virtual time, and chance by a seed.

use std::sync::Mutex;
use std::time::Duration;

use cosmonaut_emulator::{Timestamp, World};
use tokio::time::Instant;

use super::Chance;

/// Virtual time, and chance by a seed.
pub(super) struct SeededWorld {
    chance: Mutex<Chance>,
    started: Instant,
}

impl SeededWorld {
    pub(super) fn new(chance: Chance) -> Self {
        Self { chance: Mutex::new(chance), started: now() }
    }
}

impl World for SeededWorld {
    fn now(&self) -> Timestamp {
        let since = now().saturating_duration_since(self.started);
        Timestamp(1_800_000_000_000_000 + since.as_micros() as u64)
    }

    fn random(&self) -> u64 {
        (self.chance.lock().unwrap())()
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
pub(super) async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

/// The result, if it comes in time.
#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
pub(super) async fn before<T>(time: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(time, work).await.ok()
}
