//! What is there to do: the queues in memory, and what fills them.
//!
//! Own writes are told here at once; what other processes write comes by the change feed of this process's own part of
//! the container; what neither can show is found by searches of that part. Nothing here is the truth: a claim is a
//! hint where to look, and the conditional write that locks a document decides. Clones share everything.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `agenda` | when is a thing handed out, and what becomes of it? |
//! | `instances`, `work`, `sessions`, `chores` | what makes that change? |
//! | `pause`, `trouble` | how long is left alone what has failed? |
//! | `look`, `claim` | how does a dispatcher wait for something, and say what became of it? |
//! | `division`, `readers`, `reader`, `rounds`, `searched` | who reads which part of the container? |
//! | `row`, `sight` | what do documents mean for the queues? |
//! | `pace` | how often is asked? |
//! | `offers`, `wants`, `misfits` | what do other processes get to do? |
//! | `dispatching`, `holding` | does this process hold slots at all? |

mod agenda;
mod chores;
mod claim;
mod dispatching;
mod division;
mod holding;
mod instances;
mod look;
mod misfits;
mod offers;
mod pace;
mod pause;
mod reader;
mod readers;
mod recent;
mod rounds;
mod row;
mod searched;
mod sessions;
mod sight;
mod traffic;
mod trouble;
mod wants;
mod work;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use cosmonaut::ContainerClient;
use tokio::sync::{Notify, watch};

use crate::clock::Task;
use crate::hub::Hub;
use crate::lease::{LeaseProvider, Slots, slot_of};
use crate::model::AT_ONCE;
use crate::store::Store;

pub(crate) use claim::{InstanceClaim, WorkClaim};
pub(crate) use look::Look;
pub(crate) use traffic::Traffic;
pub(crate) use work::{WorkEntry, WorkFilter};

use agenda::Agenda;
use chores::Chores;
use dispatching::Dispatching;
use instances::Instances;
use misfits::{Misfits, Runtimes};
use rounds::Rounds;
use trouble::Troubles;
use wants::Wants;
use work::Work;

/// The queues of a process.
#[derive(Clone)]
pub(crate) struct Dispatch(Arc<Shared>);

/// How what was left half done is searched for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Searching {
    /// How often.
    pub(crate) interval: Duration,
    /// For how long it is left to the process that has begun it.
    pub(crate) age: Duration,
}

struct Shared {
    state: Mutex<State>,
    store: Store,
    instances_changed: Notify,
    work_changed: Arc<Notify>,
    chores_changed: Notify,
    /// An instance was found that no dispatcher here can run.
    misfit_found: Arc<Notify>,
    /// The slots of this process have changed, or the partitions of the container.
    division_changed: Arc<Notify>,
    /// More slots are wanted than are held.
    slots_wanted: Arc<Notify>,
    /// A worker or a dispatcher begins to wait.
    hungry: Arc<Notify>,
    asked: Arc<Asked>,
    /// The slots that there are readers for.
    slots: watch::Sender<Slots>,
    leases: Arc<dyn LeaseProvider>,
    container: ContainerClient,
    /// The hub whose documents count.
    hub: Hub,
    settings: Searching,
    traffic: Traffic,
    /// What goes on in the background, once somebody has looked for something to do.
    background: OnceLock<Vec<Task>>,
}

/// Requests to read what others have written, and what became of them.
#[derive(Default)]
struct Asked {
    rounds: Mutex<Rounds>,
    news: Notify,
}

struct State {
    /// The slots that there are readers for.
    slots: Slots,
    instances: Instances,
    work: Work,
    chores: Chores,
    troubles: Troubles,
    wants: Wants,
    misfits: Misfits,
    runtimes: Runtimes,
    dispatching: Dispatching,
    /// The number of the last search for what there was no room for.
    search: u64,
}

impl Dispatch {
    /// Queues over a container; nothing is asked before somebody looks for something to do.
    pub(crate) fn new(
        container: ContainerClient,
        store: &Store,
        leases: Arc<dyn LeaseProvider>,
        settings: Searching,
    ) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                slots: Slots::none(),
                instances: Instances::new(),
                work: Work::new(),
                chores: Chores::new(),
                troubles: Troubles::new(),
                wants: Wants::default(),
                misfits: Misfits::default(),
                runtimes: Runtimes::default(),
                dispatching: Dispatching::default(),
                search: 0,
            }),
            store: store.clone(),
            instances_changed: Notify::new(),
            work_changed: Arc::default(),
            chores_changed: Notify::new(),
            misfit_found: Arc::default(),
            division_changed: Arc::default(),
            slots_wanted: Arc::default(),
            hungry: Arc::default(),
            asked: Arc::default(),
            slots: watch::Sender::default(),
            leases,
            container,
            hub: store.hub().clone(),
            settings,
            traffic: Traffic::default(),
            background: OnceLock::new(),
        }))
    }

    /// Begins to look for something to do, for at most `poll`.
    pub(crate) fn look(&self, poll: Duration) -> Look<'_> {
        Look::new(self, poll)
    }

    /// A message that was written to an instance is visible from then on.
    pub(crate) fn message_at(&self, instance: &str, id: &str, visible_at_ms: u64) {
        let mut state = self.0.state();
        if state.minds(instance) && state.instances.message(instance, id, visible_at_ms, self.0.now_ms()) {
            self.0.instances_changed.notify_waiters();
        }
    }

    /// The instance is worth a look from then on, as after an abandoned turn.
    pub(crate) fn look_at(&self, instance: &str, from_ms: u64) {
        let mut state = self.0.state();
        if state.minds(instance) {
            state.instances.look(instance, from_ms, self.0.now_ms());
            self.0.instances_changed.notify_waiters();
        }
    }

    /// The instance is certainly worth a look from then on, whatever is known of it.
    pub(crate) fn look_again(&self, instance: &str, from_ms: u64) {
        let mut state = self.0.state();
        if state.minds(instance) {
            state.instances.look_again(instance, from_ms, self.0.now_ms());
            self.0.instances_changed.notify_waiters();
        }
    }

    /// The slots that this process follows, as they change.
    pub(crate) fn slots(&self) -> watch::Receiver<Slots> {
        self.0.slots.subscribe()
    }

    /// Whether an instance is in a slot of this process.
    pub(crate) fn is_own(&self, instance: &str) -> bool {
        self.0.state().minds(instance)
    }

    /// Whether other processes may have slots.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.leases.is_shared()
    }

    /// The instance is locked until then; `None`: it is free again, and the messages of its lock are gone.
    pub(crate) fn instance_until(&self, instance: &str, locked_until_ms: Option<u64>) {
        let mut state = self.0.state();
        // What another process has offered is not this one's business any more once it is free.
        if state.minds(instance) || locked_until_ms.is_none() {
            state.instances.lock(instance, locked_until_ms, self.0.now_ms());
            self.0.instances_changed.notify_waiters();
        }
    }

    /// A work item was written, and is so now.
    pub(crate) fn work(&self, item: WorkEntry) {
        self.0.state().work.put(item, self.0.now_ms());
        self.0.work_changed.notify_waiters();
    }

    /// A work item is done, or was cancelled.
    pub(crate) fn work_gone(&self, instance: &str, id: &str) {
        self.0.state().work.remove(instance, id);
    }

    /// A session has an owner until then.
    pub(crate) fn session_owned(&self, session: &str, owner: &str, until_ms: u64) {
        self.0.state().work.session(session, owner, until_ms);
        self.0.work_changed.notify_waiters();
    }

    /// A session has no owner any more.
    pub(crate) fn session_free(&self, session: &str) {
        self.0.state().work.session_free(session);
        self.0.work_changed.notify_waiters();
    }

    /// The instance has left something half done: somebody should finish it from then on.
    pub(crate) fn unfinished(&self, instance: &str, from_ms: u64) {
        self.0.state().chores.add(instance, from_ms, self.0.now_ms());
        self.0.chores_changed.notify_waiters();
    }

    /// What goes on in the background has cost so far.
    pub(crate) fn traffic(&self) -> &Traffic {
        &self.0.traffic
    }

    /// Gives up the slots of this process. Call it when nothing is dispatched any more.
    pub(crate) async fn release(&self) -> Result<(), duroxide::providers::ProviderError> {
        self.0.state().dispatching.stop();
        let released = self.0.leases.release().await;
        self.0.division_changed.notify_one();
        released
    }

    /// Begins what goes on in the background, once.
    fn start(&self) {
        let shared = &self.0;
        shared.background.get_or_init(|| {
            let weak = || Arc::downgrade(shared);
            let mut tasks = vec![Task::spawn(readers::keep(weak(), Arc::clone(&shared.division_changed)))];
            if shared.leases.is_shared() {
                tasks.push(Task::spawn(holding::hold(weak(), Arc::clone(&shared.slots_wanted))));
                tasks.push(Task::spawn(offers::offer(
                    weak(),
                    Arc::clone(&shared.work_changed),
                    Arc::clone(&shared.misfit_found),
                )));
                tasks.push(Task::spawn(offers::hear(weak(), Arc::clone(&shared.hungry))));
            }
            tasks
        });
    }
}

/// When something is due that is visible from then on. What is visible at once has its place in the order of arrival.
fn arrival(visible_at_ms: u64, now: u64) -> u64 {
    if visible_at_ms == AT_ONCE { now } else { visible_at_ms }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the queues is complete before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server's time, that of the documents. Pauses are counted by it too, so that it must not go back.
    fn now_ms(&self) -> u64 {
        self.store.clock().steady_ms()
    }

    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        self.asked.rounds()
    }

    /// How many readers there are, for their pace.
    fn readers(&self) -> pace::Readers {
        pace::Readers { count: self.rounds().readers().max(1), is_sharing: self.leases.is_shared() }
    }

    /// A reader has read, or has failed to.
    fn end_round(&self, reader: u64, number: u64, is_failing: bool) {
        self.rounds().end(reader, number, is_failing);
        self.asked.news.notify_waiters();
    }

    /// The partition of an instance has answered.
    fn answered(&self, instance: &str) {
        if self.state().troubles.answered(slot_of(instance)) {
            self.instances_changed.notify_waiters();
            self.work_changed.notify_waiters();
        }
    }

    /// The time, and the number of the search for what there was no room for, which begins if it is time for one.
    fn next_search(&self) -> (u64, u64) {
        let now = self.now_ms();
        let mut state = self.state();
        if state.has_forgotten(now) {
            state.search += 1;
            state.instances.agenda().searching();
            state.work.searching();
            state.chores.agenda().searching();
        }
        (now, state.search)
    }
}

impl Asked {
    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether an instance is this process's business. What is not is found by a search if it becomes so.
    fn minds(&self, instance: &str) -> bool {
        self.slots.contains(slot_of(instance))
    }

    /// Whether something will soon be due that there was no room for, and there is room now.
    fn has_forgotten(&mut self, now: u64) -> bool {
        fn is_due<K, L, D>(agenda: &Agenda<K, L, D>, now: u64) -> bool
        where
            K: Clone + Eq + std::hash::Hash,
            L: Clone + Ord,
        {
            agenda.has_room() && agenda.forgotten_from().is_some_and(|from| from <= now + reader::LEAD_MS)
        }
        is_due(self.instances.agenda(), now)
            || self.work.has_forgotten(|agenda| is_due(agenda, now))
            || is_due(self.chores.agenda(), now)
    }
}
