//! Time as the machine grants it. While others keep the processors, no driver gets anything done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(20);

/// Counts time in ticks of a thread of its own. A tick that comes late counts as one, so that time in which this
/// process did not run is left out.
pub(crate) struct Pace {
    ticks: Arc<AtomicU64>,
    began: Instant,
}

impl Pace {
    /// Counts for as long as it is held.
    pub(crate) fn start() -> Self {
        let ticks = Arc::new(AtomicU64::new(0));
        let counted = Arc::downgrade(&ticks);
        std::thread::spawn(move || {
            while let Some(ticks) = counted.upgrade() {
                ticks.fetch_add(1, Ordering::Relaxed);
                drop(ticks);
                std::thread::sleep(TICK);
            }
        });
        Self { ticks, began: Instant::now() }
    }

    /// The time that was granted since the start.
    pub(crate) fn granted(&self) -> Duration {
        TICK * u32::try_from(self.ticks.load(Ordering::Relaxed)).unwrap_or(u32::MAX)
    }

    /// The time since the start that was not granted.
    pub(crate) fn withheld(&self) -> Duration {
        self.began.elapsed().saturating_sub(self.granted())
    }
}
