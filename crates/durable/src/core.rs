//! What all clones of a provider share, and what goes on in the background on their behalf.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use cosmonaut::ContainerClient;

use crate::admin::{Admin, RECORDS};
use crate::clock::{self, Task};
use crate::dispatch::Dispatch;
use crate::lease::LeaseProvider;
use crate::orchestration::{Histories, Turns, mend, outbox};
use crate::store::Store;
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
    background: OnceLock<[Task; 2]>,
}

impl Core {
    pub(crate) fn new(
        container: ContainerClient,
        leases: Arc<dyn LeaseProvider>,
        settings: Settings,
    ) -> Arc<Self> {
        let store = Store::new(container.clone());
        Arc::new(Self {
            dispatch: Dispatch::new(container, &store, leases, settings.rescan),
            store,
            settings,
            turns: Turns::default(),
            histories: Histories::new(settings.history_cache_bytes),
            work_locks: WorkLocks::default(),
            background: OnceLock::new(),
        })
    }

    pub(crate) fn admin(&self) -> Admin<'_> {
        Admin { store: &self.store, dispatch: &self.dispatch }
    }

    /// When another process may take for forgotten what this one owes from now on.
    pub(crate) fn owed_until(&self) -> u64 {
        self.store.now_ms().saturating_add(clock::millis(self.settings.owed))
    }

    /// Finishes what others have left half done, from the first fetch on.
    pub(crate) fn start(self: &Arc<Self>) {
        self.background.get_or_init(|| {
            [
                Task::spawn(finish(Arc::downgrade(self), self.dispatch.clone())),
                Task::spawn(mend(Arc::downgrade(self), self.store.losses().subscribe())),
            ]
        });
    }
}

async fn finish(core: Weak<Core>, dispatch: Dispatch) {
    /// How long something that cannot be finished is left alone.
    const AGAIN: Duration = Duration::from_secs(5);
    loop {
        let instance = dispatch.next_unfinished().await;
        let Some(core) = core.upgrade() else { return };
        let finished = match &*instance {
            RECORDS => core.admin().finish_cleanup().await,
            instance => outbox::recover(&core, instance).await,
        };
        if let Err(error) = finished {
            tracing::warn!(instance, %error, "what was left half done cannot be finished yet");
            dispatch.unfinished(&instance, core.store.now_ms() + clock::millis(AGAIN));
        }
    }
}
