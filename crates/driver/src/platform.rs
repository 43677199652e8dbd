//! The door through which time, chance and tasks come into the driver.
//!
//! Production runs on tokio; a simulator puts its own clock, seed and scheduler here. This is the one file
//! of the crate that may ask the machine for any of them.

use std::cell::Cell;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cosmonaut_policy::Moment;

use crate::cpu_share::ProcessorTime;
use crate::transport::BoxFuture;

/// Time, chance and tasks.
pub trait Platform: Send + Sync + 'static {
    /// The time since some fixed point; never goes back.
    fn now(&self) -> Moment;

    /// The time of day, as a duration since the start of 1970, UTC. It may be set back.
    fn time_of_day(&self) -> Duration;

    /// Ends after some time.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;

    /// Runs a task in the background.
    fn spawn(&self, task: BoxFuture<'static, ()>) -> Task;

    /// Runs a task in the background that ends by itself.
    fn spawn_detached(&self, task: BoxFuture<'static, ()>) {
        self.spawn(task).detach();
    }

    /// A random number, evenly spread over all 64 bits.
    fn random(&self) -> u64;

    /// How busy the processors that this process may use have been since this was last asked, from 0 to 1; `None` if
    /// that cannot be known.
    fn cpu_load(&self) -> Option<f64> {
        None
    }
}

/// A number from 0 up to 1, by chance.
pub(crate) fn chance(platform: &dyn Platform) -> f64 {
    // The upper 53 bits are all that a fraction can hold.
    (platform.random() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A running task; stopped when dropped, unless detached.
#[must_use = "dropping a task stops it"]
pub struct Task {
    stop: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Task {
    /// A task that `stop` stops.
    pub fn new(stop: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { stop: Some(Box::new(stop)) }
    }

    /// Lets the task run to its end.
    pub fn detach(mut self) {
        self.stop = None;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop();
        }
    }
}

thread_local! {
    /// The state of this thread's random numbers; of its own, so that threads do not wait for each other.
    static RANDOM: Cell<u64> = Cell::new(RandomState::new().hash_one(0));
}

/// Tokio, and the machine's clocks.
pub struct TokioPlatform {
    started: Instant,
    processors: Mutex<Option<ProcessorTime>>,
}

#[expect(clippy::disallowed_methods, reason = "this is the door")]
impl TokioPlatform {
    /// Reads the machine's clocks from here on.
    pub fn new() -> Self {
        Self { started: Instant::now(), processors: Mutex::new(processor_time(Duration::ZERO)) }
    }
}

impl Default for TokioPlatform {
    fn default() -> Self {
        Self::new()
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the door")]
impl Platform for TokioPlatform {
    fn now(&self) -> Moment {
        Moment::after_start(self.started.elapsed())
    }

    fn time_of_day(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) -> Task {
        let handle = tokio::spawn(task).abort_handle();
        Task::new(move || handle.abort())
    }

    fn spawn_detached(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }

    fn random(&self) -> u64 {
        // SplitMix64.
        let mut z = RANDOM.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        RANDOM.set(z);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn cpu_load(&self) -> Option<f64> {
        let now = processor_time(self.started.elapsed())?;
        let before = self.processors.lock().unwrap_or_else(PoisonError::into_inner).replace(now.clone())?;
        now.load_since(&before)
    }
}

/// Known on Linux only; elsewhere the guard that asks for it is off.
fn processor_time(at: Duration) -> Option<ProcessorTime> {
    ProcessorTime::read(&|name: &str| std::fs::read_to_string(name).ok(), at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_stays_below_one() {
        struct Fixed(u64);
        impl Platform for Fixed {
            fn now(&self) -> Moment {
                Moment::START
            }
            fn time_of_day(&self) -> Duration {
                Duration::ZERO
            }
            fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
                Box::pin(std::future::pending())
            }
            fn spawn(&self, _: BoxFuture<'static, ()>) -> Task {
                Task::new(|| ())
            }
            fn random(&self) -> u64 {
                self.0
            }
        }
        assert_eq!(chance(&Fixed(0)), 0.0);
        assert!(chance(&Fixed(u64::MAX)) < 1.0);
    }
}
