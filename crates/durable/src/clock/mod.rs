//! The door through which time, chance and background tasks come into the provider.
//!
//! The one file of the crate that asks the machine for any of them. What is stored and compared by several
//! processes is the time of [`Clock`], which is the server's.

mod reading;
mod server_time;

use std::future::Future;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::task::AbortHandle;
use tokio::time::Instant;

pub(crate) use reading::Reading;
use server_time::Bounds;

/// The server's time of day, as far as a process can know it.
///
/// That is the machine's own clock, within the bounds that the dates of the server's answers set. So no decision
/// compares the clocks of two machines. Clones are one clock; each provider has its own.
#[derive(Clone, Default)]
pub(crate) struct Clock(Arc<ClockState>);

#[derive(Default)]
struct ClockState {
    /// By how much the machine's clock is taken to be wrong, in milliseconds: 0, but for tests.
    skew_ms: AtomicI64,
    bounds: Mutex<Option<Bounds>>,
}

impl Clock {
    /// Milliseconds since the start of 1970, UTC: what is stored in documents.
    pub(crate) fn now_ms(&self) -> u64 {
        self.time(Bounds::nearest)
    }

    /// As [`now_ms`](Self::now_ms), without the time that the machine may have slept since the server was last heard of.
    /// The server may say later that it has not slept, and that only its clock was set: this time does not go back then.
    pub(crate) fn steady_ms(&self) -> u64 {
        self.time(Bounds::nearest_counted)
    }

    fn time(&self, nearest: impl Fn(Bounds, Reading) -> u64) -> u64 {
        let now = self.reading();
        if cosmonaut::mutation!("time-is-that-of-the-own-clock") {
            return now.own_ms();
        }
        match *self.bounds() {
            Some(bounds) => nearest(bounds, now),
            None => now.own_ms(),
        }
    }

    /// This moment.
    pub(crate) fn reading(&self) -> Reading {
        Reading::new(instant(), self.own_ms())
    }

    /// Whether the machine may have slept since the server was last heard of: its time is to be asked for before anything
    /// is decided by it.
    pub(crate) fn is_in_doubt(&self) -> bool {
        let now = self.reading();
        self.bounds().is_some_and(|bounds| bounds.is_in_doubt(now))
    }

    /// What is to be added to a time that duroxide's runtime has read from the machine's clock to have the
    /// server's: 0 on most machines.
    pub(crate) fn shift_ms(&self) -> i64 {
        i64::try_from(i128::from(self.now_ms()) - i128::from(now_ms())).unwrap_or(0)
    }

    /// Takes in the date of an answer to a request that was sent at `sent`.
    pub(crate) fn learn(&self, date: &str, sent: Reading) {
        let Ok(date) = httpdate::parse_http_date(date) else { return };
        let date_ms = date.duration_since(UNIX_EPOCH).map_or(0, millis);
        let said = Bounds::of_answer(date_ms, sent, self.reading());
        let mut bounds = self.bounds();
        *bounds = Some(bounds.map_or(said, |known| known.and(said)));
    }

    /// Makes the machine's clock wrong, as tests want it.
    pub(crate) fn skew(&self, ms: i64) {
        self.0.skew_ms.store(ms, Ordering::Relaxed);
    }

    fn own_ms(&self) -> u64 {
        now_ms().saturating_add_signed(self.0.skew_ms.load(Ordering::Relaxed))
    }

    fn bounds(&self) -> MutexGuard<'_, Option<Bounds>> {
        self.0.bounds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl crate::CosmosProvider {
    /// Makes this provider believe that its machine's clock is wrong by so many milliseconds.
    #[doc(hidden)]
    pub fn skew_clock(&self, ms: i64) {
        self.core.store.clock().skew(ms);
    }
}

/// When something ends, by the machine's own clocks: a machine that has slept finds it over. Clones are one end: who
/// prolongs it prolongs all.
#[derive(Clone)]
pub(crate) struct End {
    clock: Clock,
    span: Arc<Mutex<(Reading, Duration)>>,
}

impl End {
    /// Some time after a moment.
    pub(crate) fn after(clock: &Clock, began: Reading, time: Duration) -> Self {
        Self { clock: clock.clone(), span: Arc::new(Mutex::new((began, time))) }
    }

    /// The end by the machine's count of time.
    pub(crate) fn get(&self) -> Instant {
        let (began, time) = *self.span.lock().unwrap_or_else(PoisonError::into_inner);
        let slept = began.slept(self.clock.reading());
        began.at() + time.saturating_sub(slept)
    }

    pub(crate) fn set(&self, began: Reading, time: Duration) {
        *self.span.lock().unwrap_or_else(PoisonError::into_inner) = (began, time);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.get() <= instant()
    }
}

/// This moment, by the clocks of the machine.
pub(crate) fn reading() -> Reading {
    Reading::new(instant(), now_ms())
}

/// The time of day by the machine's own clock, which may be wrong.
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

/// A random number, evenly spread over all 64 bits.
pub(crate) fn random() -> u64 {
    u64::from_le_bytes(random_bytes())
}

/// A text of 32 hexadecimal digits that is not used twice.
pub(crate) fn unique_id() -> String {
    format!("{:032x}", u128::from_le_bytes(random_bytes()))
}

/// Bytes of the operating system. A generator of this process would go on alike in each copy of a machine or a container,
/// and messages and locks of two copies would have the same ids.
fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("every supported system has random numbers");
    bytes
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
