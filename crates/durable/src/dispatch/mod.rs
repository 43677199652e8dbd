//! What is there to do: the queues in memory, and what fills them.
//!
//! Own writes are told here at once; what other processes write comes by one change-feed reader; what neither
//! can show, by a scan at the start and seldom after. Nothing here is the truth: a claim is a hint where to
//! look, and the conditional write that locks a document decides. Clones share everything.

mod claim;
mod instances;
mod look;
mod pace;
mod reader;
mod recent;
mod row;
mod unfinished;
mod work_queue;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmonaut::ContainerClient;
use tokio::sync::{Notify, OnceCell};
use tokio::time::Instant;

use crate::clock::{Clock, Task};
use crate::lease::{LeaseProvider, Slots, slot_of};
use crate::model::AT_ONCE;
use crate::store::{Losses, Store};

pub(crate) use claim::{InstanceClaim, WorkClaim};
pub(crate) use look::Look;
pub(crate) use reader::Traffic;
pub(crate) use work_queue::{WorkEntry, WorkFilter};

use instances::Instances;
use reader::Reader;
use unfinished::Unfinished;
use work_queue::WorkQueue;

/// The queues of a process.
#[derive(Clone)]
pub(crate) struct Dispatch(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// The server's time: that of the documents.
    clock: Clock,
    losses: Losses,
    instances_changed: Notify,
    work_changed: Notify,
    unfinished_changed: Notify,
    leases: Arc<dyn LeaseProvider>,
    reader: tokio::sync::Mutex<Reader>,
    traffic: Traffic,
    /// The background reader, once somebody has looked for something to do.
    background: OnceCell<Task>,
    /// When the leases of slots, once taken, are to be renewed for the first time. They are taken when somebody
    /// looks for instances: a process that only works on activities would keep them from others.
    leading: OnceCell<Instant>,
}

struct State {
    /// Whether anybody looks for something to do; a process that only starts orchestrations need not remember
    /// them.
    wanted: bool,
    /// The slots that the queues know all of.
    slots: Slots,
    instances: Instances,
    work: WorkQueue,
    unfinished: Unfinished,
}

impl Dispatch {
    /// Queues over a container; nothing is asked before somebody looks for something to do.
    /// What is left half done is looked for every `rescan`.
    pub(crate) fn new(
        container: ContainerClient,
        store: &Store,
        leases: Arc<dyn LeaseProvider>,
        rescan: Duration,
    ) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                wanted: false,
                slots: Slots::none(),
                instances: Instances::new(),
                work: WorkQueue::new(),
                unfinished: Unfinished::new(),
            }),
            clock: store.clock().clone(),
            losses: store.losses().clone(),
            instances_changed: Notify::new(),
            work_changed: Notify::new(),
            unfinished_changed: Notify::new(),
            leases,
            reader: tokio::sync::Mutex::new(Reader::new(container, rescan)),
            traffic: Traffic::default(),
            background: OnceCell::new(),
            leading: OnceCell::new(),
        }))
    }

    /// Begins to look for something to do, for at most `poll`.
    pub(crate) fn look(&self, poll: Duration) -> Look<'_> {
        Look::new(self, poll)
    }

    /// A message that was written to an instance is visible from then on.
    pub(crate) fn message_at(&self, instance: &str, id: &str, visible_at_ms: u64) {
        self.0.message_at(instance, id, visible_at_ms);
    }

    /// The instance is worth a look from then on, as after an abandoned turn.
    pub(crate) fn look_at(&self, instance: &str, from_ms: u64) {
        let mut state = self.0.state();
        if state.minds(instance) {
            state.instances.look(instance, from_ms);
            self.0.instances_changed.notify_waiters();
        }
    }

    /// The instance is locked until then; `None`: it is free again, and the messages of its lock are gone.
    pub(crate) fn instance_until(&self, instance: &str, locked_until_ms: Option<u64>) {
        let mut state = self.0.state();
        if state.minds(instance) {
            state.instances.lock(instance, locked_until_ms);
            self.0.instances_changed.notify_waiters();
        }
    }

    /// A work item was written, and is so now.
    pub(crate) fn work(&self, item: WorkEntry) {
        let item = self.0.arrived(item);
        let mut state = self.0.state();
        if state.wanted {
            state.work.put(item, self.0.clock.now_ms());
            self.0.work_changed.notify_waiters();
        }
    }

    /// A work item is done, or was cancelled.
    pub(crate) fn work_gone(&self, instance: &str, id: &str) {
        self.0.state().work.remove(instance, id);
    }

    /// A session has an owner until then.
    pub(crate) fn session_owned(&self, session: &str, owner: &str, until_ms: u64) {
        let mut state = self.0.state();
        if state.wanted {
            state.work.session(session, owner, until_ms);
            self.0.work_changed.notify_waiters();
        }
    }

    /// A session has no owner any more.
    pub(crate) fn session_free(&self, session: &str) {
        self.0.state().work.session_free(session);
        self.0.work_changed.notify_waiters();
    }

    /// The next instance that left something half done long enough ago: an intent that was not delivered, or a
    /// stage that was not expanded. Waits until there is one.
    pub(crate) async fn next_unfinished(&self) -> String {
        self.0.next_unfinished().await
    }

    /// The instance is still half done: somebody should try again from then on.
    pub(crate) fn unfinished(&self, instance: &str, from_ms: u64) {
        self.0.state().unfinished.add(instance.to_owned(), from_ms);
        self.0.unfinished_changed.notify_waiters();
    }

    /// What the reader and the scans have cost so far.
    pub(crate) fn traffic(&self) -> &Traffic {
        &self.0.traffic
    }

    /// Gives up the slots of this process. Call it when nothing is dispatched any more.
    pub(crate) async fn release(&self) -> Result<(), duroxide::providers::ProviderError> {
        self.0.leases.release().await
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the queues is complete before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is visible at once has its place in the order of arrival.
    fn or_now(&self, visible_at_ms: u64) -> u64 {
        if visible_at_ms == AT_ONCE { self.clock.now_ms() } else { visible_at_ms }
    }

    fn arrived(&self, item: WorkEntry) -> WorkEntry {
        WorkEntry { visible_at_ms: self.or_now(item.visible_at_ms), ..item }
    }

    fn message_at(&self, instance: &str, id: &str, visible_at_ms: u64) -> bool {
        let visible_at_ms = self.or_now(visible_at_ms);
        let mut state = self.state();
        let news = state.minds(instance) && state.instances.message(instance, id, visible_at_ms);
        if news {
            self.instances_changed.notify_waiters();
        }
        news
    }
}

impl State {
    /// Whether an instance is this process's business. What is not is found by a scan if it becomes so. Work is
    /// everybody's; see [`WorkQueue`].
    fn minds(&self, instance: &str) -> bool {
        self.wanted && self.slots.contains(slot_of(instance))
    }
}
