//! How much a script may use, and why it was stopped.
//!
//! The sandbox asks every few thousand steps, and the host at every call.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use crate::pace::Next;
use crate::{Pace, Timestamp, World};

/// How often a script may be asked whether it goes on: some ten thousand steps of its engine lie between. It ends what
/// no clock ends, where time stands still while a script runs.
const MOST_LOOKS: u64 = 200_000;

/// How many calls of the store one run is granted.
const MOST_CALLS: u32 = 10_000;

/// How many characters these calls may have together.
const MOST_CALL_BYTES: usize = 16 << 20;

/// What a run may use.
#[derive(Clone)]
pub(crate) struct Budget {
    pub(crate) world: Arc<dyn World>,
    pub(crate) pace: Pace,
    /// How long it may take.
    pub(crate) time: Duration,
    /// Whoever has worked so long has used too much. Waiting for others is no work.
    pub(crate) heavy: Duration,
}

/// Why a script was stopped from outside.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stopped {
    /// It worked too long.
    TimedOut,
    /// Its time was up, and most of that it had waited for others.
    Delayed,
    /// Its client has left.
    Unwanted,
    /// It has called `abort` with this error, as the script's side describes it.
    Aborted(String),
    /// What it has read was changed by others.
    Stale,
}

/// Watches one run.
pub(crate) struct Watch {
    budget: Budget,
    started: Cell<Timestamp>,
    /// How long the work had waited for its turns until then.
    waited: Cell<Duration>,
    looks: Cell<u64>,
    calls: Cell<u32>,
    call_bytes: Cell<usize>,
    /// How many of the calls that were taken are not made yet, and how many characters they have.
    open_calls: Cell<u32>,
    open_bytes: Cell<usize>,
    refused: Cell<bool>,
    stopped: RefCell<Option<Stopped>>,
}

impl Watch {
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            started: Cell::new(budget.world.now()),
            waited: Cell::new(budget.pace.waited()),
            budget,
            looks: Cell::new(0),
            calls: Cell::new(0),
            call_bytes: Cell::new(0),
            open_calls: Cell::new(0),
            open_bytes: Cell::new(0),
            refused: Cell::new(false),
            stopped: RefCell::new(None),
        }
    }

    /// Begins anew, for the next call of a function.
    pub(crate) fn restart(&self) {
        self.started.set(self.budget.world.now());
        self.waited.set(self.budget.pace.waited());
        self.looks.set(0);
    }

    /// Whether the script must stop, asked by its engine every so many steps.
    pub(crate) fn must_stop(&self) -> bool {
        self.looks.set(self.looks.get() + 1);
        self.must_stop_here()
    }

    /// The same, asked between two steps that may take long: a script may take any number of those.
    pub(crate) fn must_stop_here(&self) -> bool {
        if self.stopped.borrow().is_some() {
            return true;
        }
        if self.budget.pace.next() == Next::Stop {
            self.stop(Stopped::Unwanted);
        } else if self.looks.get() > MOST_LOOKS {
            self.stop(Stopped::TimedOut);
        } else if self.used() >= self.budget.time {
            let waited = self.budget.pace.waited().saturating_sub(self.waited.get());
            let worked = self.used().saturating_sub(waited);
            self.stop(if worked >= self.budget.heavy { Stopped::TimedOut } else { Stopped::Delayed });
        }
        self.stopped.borrow().is_some()
    }

    /// Whether a call of the store is taken. Once one is not, none is.
    pub(crate) fn accepts(&self, bytes: usize) -> bool {
        let calls = self.calls.get() + 1;
        let total = self.call_bytes.get().saturating_add(bytes);
        let is_late = self.used() >= self.budget.time.mul_f64(0.8) || self.looks.get() > MOST_LOOKS / 5 * 4;
        if self.refused.get() || calls > MOST_CALLS || total > MOST_CALL_BYTES || is_late {
            self.refused.set(true);
            return false;
        }
        self.calls.set(calls);
        self.call_bytes.set(total);
        self.open_calls.set(self.open_calls.get() + 1);
        self.open_bytes.set(self.open_bytes.get().saturating_add(bytes));
        true
    }

    /// Whether a call that is made was taken before.
    pub(crate) fn was_accepted(&self, bytes: usize) -> bool {
        let (calls, open) = (self.open_calls.get().checked_sub(1), self.open_bytes.get().checked_sub(bytes));
        let (Some(calls), Some(open)) = (calls, open) else { return false };
        self.open_calls.set(calls);
        self.open_bytes.set(open);
        true
    }

    /// Stops the script. The first reason counts.
    pub(crate) fn stop(&self, why: Stopped) {
        self.stopped.borrow_mut().get_or_insert(why);
    }

    /// Why it was stopped, if it was.
    pub(crate) fn stopped(&self) -> Option<Stopped> {
        self.stopped.borrow().clone()
    }

    pub(crate) fn world(&self) -> &dyn World {
        &*self.budget.world
    }

    /// How long a call of the store may take: no longer than the script.
    pub(crate) fn pace(&self) -> Pace {
        self.budget.pace.for_part(&self.budget.world, self.budget.time.saturating_sub(self.used()))
    }

    fn used(&self) -> Duration {
        Duration::from_micros(self.budget.world.now().micros_since(self.started.get()))
    }
}
