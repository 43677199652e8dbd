//! A lease that this instance has. All that is written to it goes through here, one write at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cosmonaut_driver::platform::Platform;
use cosmonaut_wire::{EpkRange, ResourceId};
use tokio::sync::{Mutex, oneshot, watch};

use super::lease::{Lease, LeaseUpdate};
use super::store::{LeaseStore, NotUpdated};
use crate::{Error, ErrorKind};

/// A lease that this instance has, or has had.
pub(super) struct Hold {
    pub(super) token: String,
    pub(super) range: EpkRange,
    pub(super) version: u32,
    /// The second behind which it is read first, if it says so.
    pub(super) start: Option<u64>,
    owner: Arc<str>,
    pub(super) store: Arc<LeaseStore>,
    platform: Arc<dyn Platform>,
    written: Mutex<Written>,
    state: watch::Sender<HoldState>,
    /// When the service last said that the lease is ours: milliseconds by the platform's clock.
    confirmed_at: AtomicU64,
    /// When the lease was last written, by the same clock: others count from then on.
    written_at: AtomicU64,
}

/// The lease as it was last written.
struct Written {
    lease: Lease,
    /// The number of the page that it was last checkpointed behind.
    page: Option<u64>,
    /// The number of the last page that it was to be checkpointed behind, whatever came of that.
    attempted: Option<u64>,
}

/// Whether the instance still has the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HoldState {
    Held,
    /// Other leases are made of it, which start where it is.
    Moving,
    /// Another instance has it.
    Lost,
    /// It was deleted.
    Gone,
    /// Nobody reads it here any more.
    Closed,
}

impl Hold {
    pub(super) fn new(
        lease: Lease,
        range: EpkRange,
        owner: Arc<str>,
        store: Arc<LeaseStore>,
        platform: Arc<dyn Platform>,
    ) -> Self {
        let hold = Self {
            token: lease.token().to_owned(),
            range,
            version: lease.version,
            start: lease.start(),
            owner,
            store,
            written: Mutex::new(Written { lease, page: None, attempted: None }),
            state: watch::Sender::new(HoldState::Held),
            confirmed_at: AtomicU64::new(0),
            written_at: AtomicU64::new(0),
            platform,
        };
        hold.note_time(&hold.confirmed_at);
        hold.note_time(&hold.written_at);
        hold
    }

    /// The container whose changes the lease is about.
    pub(super) fn container(&self) -> ResourceId {
        self.store.names.container()
    }

    /// Whether the instance still has the lease, as far as it knows.
    pub(super) fn state(&self) -> HoldState {
        *self.state.borrow()
    }

    /// Ends when the instance does not have the lease any more.
    pub(super) async fn ended(&self) {
        // The sender lives as long as this does.
        drop(self.state.subscribe().wait_for(|state| *state != HoldState::Held).await);
    }

    /// Nothing is written to the lease from here on.
    pub(super) fn close(&self) {
        self.state.send_if_modified(|state| {
            let is_open = matches!(*state, HoldState::Held | HoldState::Moving);
            if is_open {
                *state = HoldState::Closed;
            }
            is_open
        });
    }

    /// Whether nobody has said for so long that the lease is ours. Another instance may have it by now.
    pub(super) fn is_in_doubt(&self, after: Duration) -> bool {
        self.time_since(&self.confirmed_at) >= after
    }

    /// How long ago the lease was last written.
    pub(super) fn age(&self) -> Duration {
        self.time_since(&self.written_at)
    }

    /// Says that this instance is alive.
    pub(super) async fn renew(&self) -> Result<(), NotUpdated> {
        let mut written = self.written.lock().await;
        self.update(&mut written, &LeaseUpdate::Renew { by: &self.owner }).await
    }

    /// Says that everything up to a page was handled. Pages are counted, so that one which is late sets nothing back.
    pub(super) async fn checkpoint(&self, page: u64, continuation: &str) -> Result<(), NotUpdated> {
        let mut written = self.written.lock().await;
        if written.page.is_some_and(|last| page <= last) {
            return self.check_state();
        }
        if written.attempted.is_some_and(|last| page < last) {
            // That one may have been written, and this must not set it back.
            self.check_state()?;
            let message = "what came of a later checkpoint is not known (repeat that one instead)";
            return Err(NotUpdated::Failed(Error::new(ErrorKind::OutcomeUnknown, message)));
        }
        written.attempted = Some(page);
        self.update(&mut written, &LeaseUpdate::Checkpoint { by: &self.owner, continuation }).await?;
        written.page = Some(page);
        Ok(())
    }

    /// As [`checkpoint`](Self::checkpoint), for an application: what it begins and leaves is made all the same, as it
    /// would keep everybody else from writing to the lease otherwise.
    pub(super) async fn checkpoint_though_left(
        self: &Arc<Self>,
        page: u64,
        continuation: &str,
    ) -> Result<(), NotUpdated> {
        let (hold, continuation) = (Arc::clone(self), continuation.to_owned());
        let (told, hears) = oneshot::channel();
        self.platform.spawn_detached(Box::pin(async move {
            // If nobody listens any more, the checkpoint was left.
            drop(told.send(hold.checkpoint(page, &continuation).await));
        }));
        hears.await.unwrap_or_else(|_| {
            let message = "the runtime has ended before the checkpoint has";
            Err(NotUpdated::Failed(Error::new(ErrorKind::OutcomeUnknown, message)))
        })
    }

    /// Leaves the lease to anybody.
    pub(super) async fn release(&self) -> Result<(), NotUpdated> {
        let mut written = self.written.lock().await;
        match self.state() {
            HoldState::Held | HoldState::Moving => {}
            HoldState::Lost | HoldState::Gone | HoldState::Closed => self.check_state()?,
        }
        self.write(&mut written, &LeaseUpdate::Release { by: &self.owner }).await?;
        self.close();
        Ok(())
    }

    /// The lease as it is, for leases that replace it. No checkpoint is made of it from here on, as they would not see it.
    pub(super) async fn settle_for_children(&self) -> Result<Lease, NotUpdated> {
        let mut written = self.written.lock().await;
        // An instance that was paused must not set back what another has read since.
        self.update(&mut written, &LeaseUpdate::Renew { by: &self.owner }).await?;
        self.state.send_replace(HoldState::Moving);
        Ok(written.lease.clone())
    }

    /// Looks whether the lease is still this instance's. That costs less than to renew it.
    pub(super) async fn check(&self) -> Result<(), NotUpdated> {
        let mut written = self.written.lock().await;
        self.check_state()?;
        let is_ours = |lease: &Lease| lease.owner.as_deref() == Some(&*self.owner);
        // What was read may be older than what was written, so that only the owner is taken from it.
        let said = match self.store.read_held(&written.lease).await {
            Ok(read) if is_ours(&read) => Ok(written.lease.clone()),
            Ok(_) => Err(NotUpdated::Lost),
            Err(problem) => Err(problem),
        };
        self.settle(&mut written, said)
    }

    async fn update(&self, written: &mut Written, update: &LeaseUpdate<'_>) -> Result<(), NotUpdated> {
        self.check_state()?;
        self.write(written, update).await
    }

    async fn write(&self, written: &mut Written, update: &LeaseUpdate<'_>) -> Result<(), NotUpdated> {
        let updated = self.store.update(&written.lease, update).await;
        self.settle(written, updated)?;
        self.note_time(&self.written_at);
        Ok(())
    }

    fn check_state(&self) -> Result<(), NotUpdated> {
        match self.state() {
            HoldState::Held => Ok(()),
            HoldState::Moving | HoldState::Lost | HoldState::Closed => Err(NotUpdated::Lost),
            HoldState::Gone => Err(NotUpdated::Gone),
        }
    }

    /// Remembers what a request has said of the lease.
    fn settle(&self, written: &mut Written, said: Result<Lease, NotUpdated>) -> Result<(), NotUpdated> {
        match said {
            Ok(lease) => {
                written.lease = lease;
                self.note_time(&self.confirmed_at);
                Ok(())
            }
            Err(problem) => {
                match &problem {
                    NotUpdated::Lost => drop(self.state.send_replace(HoldState::Lost)),
                    NotUpdated::Gone => drop(self.state.send_replace(HoldState::Gone)),
                    NotUpdated::Failed(_) => {}
                }
                Err(problem)
            }
        }
    }

    fn note_time(&self, of: &AtomicU64) {
        let now = u64::try_from(self.platform.now().since_start().as_millis()).unwrap_or(u64::MAX);
        of.store(now, Ordering::Relaxed);
    }

    fn time_since(&self, of: &AtomicU64) -> Duration {
        let then = Duration::from_millis(of.load(Ordering::Relaxed));
        self.platform.now().since_start().saturating_sub(then)
    }
}
