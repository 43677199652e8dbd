//! Waiting for something to do.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{Dispatch, InstanceClaim, State, WorkClaim, WorkFilter, reader};
use crate::clock;

/// How long a look goes on behind its end because others may or may not take what there is.
const UNCERTAIN: Duration = Duration::from_millis(500);

/// One search for something to do: it ends at its time, and hands out nothing twice that was skipped.
///
/// A wait that the reader's longest pause does not fit into ends with a read of the feed, so that a caller who
/// asks without waiting sees what others have written. And nothing is said to be there only when that is certain:
/// what another dispatcher of this process is just about to lock may be free again in a moment.
pub(crate) struct Look<'a> {
    dispatch: &'a Dispatch,
    deadline: Instant,
    /// Whether the feed has yet to be read before there is nothing.
    to_read: bool,
    /// Until when others are waited for that may or may not take what there is.
    uncertain_until: Instant,
    tried: HashSet<Arc<str>>,
}

impl<'a> Look<'a> {
    pub(super) fn new(dispatch: &'a Dispatch, poll: Duration) -> Self {
        // A year is for ever here, and does not overflow.
        let deadline = clock::instant() + poll.min(Duration::from_secs(365 * 24 * 3600));
        Self {
            dispatch,
            deadline,
            uncertain_until: deadline + UNCERTAIN,
            to_read: poll < reader::LONGEST_PAUSE,
            tried: HashSet::new(),
        }
    }

    /// The next instance that may have messages; `None` when the time is over. It is this caller's until the
    /// claim is settled or dropped.
    pub(crate) async fn instance(&mut self) -> cosmonaut::Result<Option<InstanceClaim>> {
        let dispatch = self.dispatch;
        let shared = &*dispatch.0;
        reader::lead(dispatch).await?;
        loop {
            let mut changed = pin!(shared.instances_changed.notified());
            changed.as_mut().enable();
            let now = shared.clock.now_ms();
            let owned = shared.leases.owned();
            let (claimed, pending) = {
                let State { instances, .. } = &mut *shared.state();
                let claimed = instances.claim(now, &owned, &self.tried);
                (claimed, Pending { others: instances.has_claims(), next: instances.next_after(now) })
            };
            if let Some(instance) = claimed {
                return Ok(Some(InstanceClaim::new(dispatch.clone(), instance)));
            }
            if !self.wait(changed, now, pending).await? {
                return Ok(None);
            }
        }
    }

    /// The next work item that a worker may have; `None` when the time is over. It is this caller's until the
    /// claim is dropped.
    pub(crate) async fn work(&mut self, wanted: WorkFilter<'_>) -> cosmonaut::Result<Option<WorkClaim>> {
        let dispatch = self.dispatch;
        let shared = &*dispatch.0;
        reader::start(dispatch).await?;
        loop {
            let mut changed = pin!(shared.work_changed.notified());
            changed.as_mut().enable();
            let now = shared.clock.now_ms();
            let owned = shared.leases.owned();
            let (claimed, pending) = {
                let State { work, .. } = &mut *shared.state();
                let claimed = work.claim(now, &owned, wanted);
                (claimed, Pending { others: work.has_claims(), next: work.next_after(now) })
            };
            if let Some(item) = claimed {
                return Ok(Some(WorkClaim::new(dispatch.clone(), item)));
            }
            if !self.wait(changed, now, pending).await? {
                return Ok(None);
            }
        }
    }

    pub(super) fn skip_instance(&mut self, instance: Arc<str>) {
        self.tried.insert(instance);
    }

    /// Waits for a change, the next time at which something is due, or the end; false at the end.
    async fn wait(
        &mut self,
        changed: impl Future<Output = ()>,
        now: u64,
        pending: Pending,
    ) -> cosmonaut::Result<bool> {
        let mut end = self.deadline;
        if clock::instant() >= end {
            if std::mem::take(&mut self.to_read) {
                self.dispatch.0.read_feed().await?;
                return Ok(true);
            }
            end = self.uncertain_until;
            if !pending.others || clock::instant() >= end {
                return Ok(false);
            }
        }
        let next = pending.next.map(|at| clock::instant() + Duration::from_millis(at - now));
        clock::until(next.map_or(end, |next| next.min(end)), changed).await;
        Ok(true)
    }
}

/// What may still come of what is known.
struct Pending {
    /// Others are just finding out about something.
    others: bool,
    /// When the next thing is due.
    next: Option<u64>,
}
