//! What all clones of a provider share, and what goes on in the background on their behalf.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use cosmonaut::ContainerClient;
use tokio::sync::watch;

use crate::admin::{Admin, RECORDS};
use crate::clock::{self, Task};
use crate::codec::Texts;
use crate::dispatch::{Dispatch, Searching};
use crate::hub::{Hub, hub_of, name_of};
use crate::lease::{LeaseProvider, Slots};
use crate::orchestration::{Histories, News, Turns, mend, outbox};
use crate::store::{Store, Usage};
use crate::work::WorkLocks;

/// How a provider behaves, beside where its container is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// How many bytes of history are kept in memory, so that they need not be read again; 0 for none.
    pub(crate) history_cache_bytes: usize,
    /// How often the container is searched for what was left half done.
    pub(crate) rescan: Duration,
    /// How long what an instance owes is left to the process that owes it.
    pub(crate) owed: Duration,
    /// How long a call that holds no lock is repeated while the service cannot answer.
    pub(crate) call_timeout: Duration,
}

/// The shared part of a provider.
pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) dispatch: Dispatch,
    pub(crate) settings: Settings,
    pub(crate) turns: Turns,
    pub(crate) histories: Histories,
    pub(crate) work_locks: WorkLocks,
    /// The slots whose deliveries are checked.
    checked: watch::Sender<Slots>,
    background: OnceLock<Vec<Task>>,
}

impl Core {
    pub(crate) fn new(
        container: ContainerClient,
        leases: Arc<dyn LeaseProvider>,
        settings: Settings,
        (texts, hub): (Texts, Hub),
    ) -> Arc<Self> {
        let store = Store::new(container.clone(), texts, hub);
        Arc::new(Self {
            dispatch: Dispatch::new(
                container,
                &store,
                leases,
                Searching { interval: settings.rescan, age: settings.owed },
            ),
            store,
            settings,
            turns: Turns::default(),
            histories: Histories::new(settings.history_cache_bytes),
            work_locks: WorkLocks::default(),
            checked: watch::Sender::default(),
            background: OnceLock::new(),
        })
    }

    /// The hub of the provider.
    pub(crate) fn hub(&self) -> &Hub {
        self.store.hub()
    }

    pub(crate) fn admin(&self) -> Admin<'_> {
        Admin { core: self }
    }

    /// What goes on in the background has cost so far.
    pub(crate) fn background_usage(&self) -> Usage {
        let (traffic, calls) = (self.dispatch.traffic(), self.store.background_usage());
        Usage {
            requests: traffic.requests() + calls.requests,
            charge: traffic.charge() + calls.charge,
            retries: traffic.retries() + calls.retries,
        }
    }

    /// Waits until all deliveries of this process's slots are checked.
    pub(crate) async fn checked(&self) {
        let slots = self.dispatch.slots();
        let mut checked = self.checked.subscribe();
        let is_done = |checked: &Slots| !checked.is_empty() && *checked == *slots.borrow();
        // The sender is this object's own, so that the wait cannot fail.
        drop(checked.wait_for(is_done).await);
    }

    /// When another process may take for forgotten what this one owes from now on.
    pub(crate) fn owed_until(&self) -> u64 {
        self.store.now_ms().saturating_add(clock::millis(self.settings.owed))
    }

    /// Finishes what others have left half done, from the first fetch on.
    pub(crate) fn start(self: &Arc<Self>) {
        /// How many chores are done at once: one that takes long keeps only one finisher busy.
        const FINISHERS: usize = 8;
        let finisher = |_| Task::spawn(finish(Arc::downgrade(self), self.dispatch.clone()));
        let mender = || {
            let news = News { losses: self.store.losses().subscribe(), own: self.dispatch.slots() };
            Task::spawn(mend(Arc::downgrade(self), news, self.checked.clone()))
        };
        self.store.losses().begin();
        self.background.get_or_init(|| (0..FINISHERS).map(finisher).chain([mender()]).collect());
    }
}

/// Finishes what was left half done, one after the other.
async fn finish(core: Weak<Core>, dispatch: Dispatch) {
    loop {
        let chore = dispatch.next_chore().await;
        let Some(core) = core.upgrade() else { return };
        let finished = match chore.partition() {
            records if core.hub().name(records) == RECORDS => core.admin().finish_cleanup().await,
            instance => match outbox::recover(&core, instance).await {
                Err(error) if error.is_retryable() => Err(error),
                // What is half erased may never be recovered, and is erased to its end all the same.
                recovered => core.admin().end_lost_deletion(instance).await.and(recovered),
            },
        };
        if let Err(error) = &finished {
            let (instance, hub) = (name_of(chore.partition()), hub_of(chore.partition()));
            tracing::warn!(instance, hub, %error, "what was left half done cannot be finished yet");
        }
        chore.tried(finished.is_ok());
    }
}
