//! How long a piece of work may take, and whether anybody still waits for it.
//!
//! Whoever works in many steps asks between them. Where the work is done is the business of
//! [`workers`](crate::server::Workers).

use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use cosmonaut_query::eval::Interrupt;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::engine::locks;
use crate::{Timestamp, World};

/// How long a query works on one page, unless it is set otherwise.
pub(crate) const PAGE_TIME: Duration = Duration::from_secs(5);

/// How long a script may run, unless it is set otherwise.
pub(crate) const SCRIPT_TIME: Duration = Duration::from_secs(5);

/// How long clients wait for an answer. What cannot be answered in pages is given up after it.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a piece of work goes on while others wait for their turn.
const SLICE_MICROS: u64 = 2_000;

/// The limits of one piece of work. The default has none.
#[derive(Clone, Default)]
pub struct Pace {
    limits: Option<Arc<Limits>>,
    /// When this part of the work is given up, if that is earlier.
    part_ends: Option<Timestamp>,
}

struct Limits {
    world: Arc<dyn World>,
    page_ends: Timestamp,
    gives_up: Timestamp,
    is_unwanted: AtomicBool,
    /// Since when this turn is held.
    since: AtomicU64,
    /// How many microseconds were spent on waiting for turns.
    waited: AtomicU64,
    /// None: work goes on without others.
    turn: Option<Mutex<Turn>>,
}

/// The right to work.
pub(crate) struct Turn {
    pub(crate) turns: Arc<Semaphore>,
    pub(crate) held: Option<OwnedSemaphorePermit>,
    pub(crate) runtime: Handle,
    /// How long it waits for others who do not give their turn up. After that it goes on beside them.
    pub(crate) patience: Option<Duration>,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Go on.
    GoOn,
    /// End the page here, if it can end here.
    EndPage,
    /// Stop: nobody waits for the result, or nobody can be waiting any more.
    Stop,
}

impl Pace {
    pub(crate) fn new(world: Arc<dyn World>, page_time: Duration, turn: Option<Turn>) -> Self {
        let now = world.now();
        let after = |time: Duration| {
            let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
            Timestamp(now.0.saturating_add(micros))
        };
        let limits = Limits {
            page_ends: after(page_time),
            gives_up: after(page_time.max(PATIENCE)),
            is_unwanted: AtomicBool::new(false),
            since: AtomicU64::new(now.0),
            waited: AtomicU64::new(0),
            world,
            turn: turn.map(Mutex::new),
        };
        Self { limits: Some(Arc::new(limits)), part_ends: None }
    }

    /// The same for a part of the work, which is given up after a time, counted from now. `world` tells the time where
    /// the work has no limits.
    #[cfg_attr(
        not(feature = "scripts"),
        expect(dead_code, reason = "a build without scripts has no such parts")
    )]
    pub(crate) fn for_part(&self, world: &Arc<dyn World>, time: Duration) -> Self {
        let limits = match &self.limits {
            Some(limits) => Self { limits: Some(Arc::clone(limits)), part_ends: None },
            None => Self::new(Arc::clone(world), time, None),
        };
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Self { part_ends: Some(Timestamp(world.now().0.saturating_add(micros))), ..limits }
    }

    /// What to do next, after others had their turn if it was time for that. No lock may be held.
    pub(crate) fn next(&self) -> Next {
        let Some(limits) = &self.limits else { return Next::GoOn };
        if limits.is_unwanted.load(Ordering::Relaxed) {
            return Next::Stop;
        }
        let now = limits.world.now();
        if now.micros_since(Timestamp(limits.since.load(Ordering::Relaxed))) >= SLICE_MICROS {
            limits.give_way();
        }
        if now >= limits.gives_up || self.part_ends.is_some_and(|end| now >= end) {
            Next::Stop
        } else if now >= limits.page_ends {
            Next::EndPage
        } else {
            Next::GoOn
        }
    }

    /// Stops evaluations under way when they should.
    pub(crate) fn interrupt(&self) -> Interrupt {
        match &self.limits {
            None => Interrupt::never(),
            Some(_) => {
                let pace = self.clone();
                Interrupt::when(move || pace.next() == Next::Stop)
            }
        }
    }

    /// Nobody waits for the result.
    pub(crate) fn stop(&self) {
        if let Some(limits) = &self.limits {
            limits.is_unwanted.store(true, Ordering::Relaxed);
        }
    }

    /// Waits for the first turn.
    pub(crate) fn begin(&self) {
        if let Some(limits) = &self.limits {
            limits.give_way();
        }
    }

    /// How long the work has waited for its turns so far.
    #[cfg_attr(not(feature = "scripts"), expect(dead_code, reason = "a build without scripts runs none"))]
    pub(crate) fn waited(&self) -> Duration {
        let waited = self.limits.as_ref().map_or(0, |limits| limits.waited.load(Ordering::Relaxed));
        Duration::from_micros(waited)
    }

    /// Lets others have their turn.
    pub(crate) fn finish(&self) {
        if let Some(turn) = self.limits.as_ref().and_then(|limits| limits.turn.as_ref()) {
            locks::lock(turn).held = None;
        }
    }
}

impl Limits {
    fn give_way(&self) {
        let Some(turn) = &self.turn else { return };
        // The work is done by one thread: nobody waits for this lock.
        let mut turn = locks::lock(turn);
        turn.held = None;
        let asked = self.world.now();
        // Turns are had in the order in which they were asked for. Nobody closes them.
        let next = Arc::clone(&turn.turns).acquire_owned();
        turn.held = match turn.patience {
            None => turn.runtime.block_on(next).ok(),
            Some(patience) => self.wait(next, patience).and_then(Result::ok),
        };
        if turn.held.is_none() {
            // Who has waited in vain does not wait so long again.
            turn.patience = Some(Duration::ZERO);
        }
        let now = self.world.now();
        self.waited.fetch_add(now.micros_since(asked), Ordering::Relaxed);
        self.since.store(now.0, Ordering::Relaxed);
    }

    /// Waits on this thread. No timer of a runtime is used, as the runtime may end meanwhile.
    fn wait<F: Future>(&self, future: F, patience: Duration) -> Option<F::Output> {
        let mut future = pin!(future);
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let begun = self.world.now();
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Some(output);
            }
            let waited = Duration::from_micros(self.world.now().micros_since(begun));
            let left = patience.checked_sub(waited).filter(|left| !left.is_zero())?;
            std::thread::park_timeout(left);
        }
    }
}

/// Wakes a thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.limits.is_some() { "Pace" } else { "Pace::default" })
    }
}
