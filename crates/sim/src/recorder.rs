//! Writes the history of a world while it happens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::history::{
    Account, Call, CallId, Entry, Event, Given, Happening, History, Kept, Micros, Operation, Outcome, Unended,
};
use crate::host;

/// The history of a world. Clones write to the same one.
#[derive(Clone)]
pub(crate) struct Recorder {
    history: Arc<Mutex<History>>,
    /// The last time that was noted.
    time: Arc<AtomicU64>,
    /// How many calls were hedged.
    hedged: Arc<AtomicU64>,
}

/// How a call was answered.
#[derive(Default)]
pub(crate) struct HowAnswered {
    /// The region that answered, if one did.
    pub(crate) region: Option<String>,
    /// Whether one request at most left for it.
    pub(crate) sent_once: bool,
    /// Whether another region was asked while the first had not answered.
    pub(crate) was_hedged: bool,
}

impl Recorder {
    /// An empty history.
    pub(crate) fn new(account: Account) -> Self {
        let history = History {
            account,
            calls: Vec::new(),
            events: Vec::new(),
            feeds: Vec::new(),
            orchestrations: Vec::new(),
            ledger: Vec::new(),
            given: Vec::new(),
            kept: Vec::new(),
            ends: Vec::new(),
            unended: Vec::new(),
        };
        Self { history: Arc::new(Mutex::new(history)), time: Arc::default(), hedged: Arc::default() }
    }

    /// The time, later than all that were noted before: what happens at one instant has an order too.
    pub(crate) fn tick(&self) -> Micros {
        let time = host::now().max(self.time.load(Ordering::Relaxed) + 1);
        self.time.store(time, Ordering::Relaxed);
        time
    }

    /// A call begins; its number.
    pub(crate) fn begin(
        &self,
        session: u32,
        has_token: bool,
        operation: impl FnOnce(CallId) -> Operation,
    ) -> CallId {
        let mut history = self.lock();
        // 0 is no call.
        let id = history.calls.len() as CallId + 1;
        history.calls.push(Call {
            id,
            session,
            invoked: self.tick(),
            returned: None,
            operation: operation(id),
            outcome: Outcome::Crashed,
            region: None,
            has_token,
            sent_once: false,
        });
        id
    }

    /// A call has ended.
    pub(crate) fn end(&self, id: CallId, outcome: Outcome, answered: HowAnswered) {
        self.hedged.fetch_add(u64::from(answered.was_hedged), Ordering::Relaxed);
        let mut history = self.lock();
        let call = &mut history.calls[id as usize - 1];
        call.returned = Some(self.tick());
        call.outcome = outcome;
        call.region = answered.region;
        call.sent_once = answered.sent_once;
    }

    /// How many calls were hedged.
    pub(crate) fn hedged(&self) -> u64 {
        self.hedged.load(Ordering::Relaxed)
    }

    /// An activity runs; its place in the ledger.
    pub(crate) fn enter(&self, entry: Entry) -> usize {
        let mut history = self.lock();
        history.ledger.push(entry);
        history.ledger.len() - 1
    }

    /// A runtime was given an activity to run, which it had asked for then; its place.
    pub(crate) fn given(&self, from: Micros, process: u32, instance: &str, step: &str) -> usize {
        let (at, instance, step) = (self.tick(), instance.to_owned(), step.to_owned());
        let mut history = self.lock();
        history.given.push(Given { from, at, held_until: at, process, instance, step });
        history.given.len() - 1
    }

    /// Whoever was given an activity had its lock at least until then.
    pub(crate) fn held(&self, place: usize, until: Micros) {
        let given = &mut self.lock().given[place];
        given.held_until = given.held_until.max(until);
    }

    /// Nobody waits any longer for the calls of a session that are under way.
    pub(crate) fn give_up(&self, session: u32) {
        let until = self.tick();
        let mut history = self.lock();
        let History { calls, unended, .. } = &mut *history;
        let open = calls.iter().filter(|call| call.session == session && call.returned.is_none());
        let told: Vec<_> = open
            .filter(|call| !unended.iter().any(|one| one.call == Some(call.id)))
            .map(|call| Unended {
                what: format!("call {}", call.id),
                call: Some(call.id),
                since: call.invoked,
                until,
            })
            .collect();
        unended.extend(told);
    }

    /// Nobody waits any longer for something that is no call.
    pub(crate) fn unended(&self, what: &str, since: Micros) {
        let until = self.tick();
        self.lock().unended.push(Unended { what: what.to_owned(), call: None, since, until });
    }

    /// A runtime was told that what an activity did is kept, which it had asked for then.
    pub(crate) fn kept(&self, from: Micros, process: u32, instance: &str, step: &str) {
        let (until, instance, step) = (self.tick(), instance.to_owned(), step.to_owned());
        self.lock().kept.push(Kept { from, until, process, instance, step });
    }

    /// Something is done to the world.
    pub(crate) fn event(&self, what: Happening) {
        let now = self.tick();
        self.lock().events.push(Event { at: now, until: now, what });
    }

    /// Whether a failover may have lost something.
    pub(crate) fn may_have_lost(&self) -> bool {
        let forces = |event: &Event| {
            matches!(event.what, Happening::Forced { .. } | Happening::PartitionForced { .. })
        };
        self.lock().events.iter().any(forces)
    }

    /// Changes the history.
    pub(crate) fn lock(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
