//! Writes the history of a world while it happens.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::history::{Account, Call, CallId, Event, Happening, History, Operation, Outcome};
use crate::host;

/// The history of a world. Clones write to the same one.
#[derive(Clone)]
pub(crate) struct Recorder(Arc<Mutex<History>>);

impl Recorder {
    /// An empty history.
    pub(crate) fn new(account: Account) -> Self {
        Self(Arc::new(Mutex::new(History {
            account,
            calls: Vec::new(),
            events: Vec::new(),
            feeds: Vec::new(),
            orchestrations: Vec::new(),
            ledger: Vec::new(),
            ends: Vec::new(),
        })))
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
            invoked: host::now(),
            returned: None,
            operation: operation(id),
            outcome: Outcome::Crashed,
            region: None,
            has_token,
        });
        id
    }

    /// A call has ended.
    pub(crate) fn end(&self, id: CallId, outcome: Outcome, region: Option<String>) {
        let mut history = self.lock();
        let call = &mut history.calls[id as usize - 1];
        call.returned = Some(host::now());
        call.outcome = outcome;
        call.region = region;
    }

    /// Something is done to the world.
    pub(crate) fn event(&self, what: Happening) {
        self.lock().events.push(Event { at: host::now(), what });
    }

    /// Changes the history.
    pub(crate) fn lock(&self) -> MutexGuard<'_, History> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
