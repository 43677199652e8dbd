//! Waiting for something to do.

use std::pin::pin;
use std::time::Duration;

use duroxide::providers::DispatcherCapabilityFilter;
use tokio::time::Instant;

use super::instances::Lane;
use super::{Dispatch, InstanceClaim, Shared, State, WorkClaim, WorkFilter, pace};
use crate::clock;
use crate::lease::{Role, slot_of};

/// How long a look goes on behind its end because others may or may not take what there is.
const UNCERTAIN: Duration = Duration::from_millis(500);
/// How long a look waits at most for leases and readers that were asked.
const CATCH_UP: Duration = Duration::from_secs(5);

/// One search for something to do: it ends at its time.
///
/// A wait that a reader's pause does not fit into ends with a read of the feeds, so that a caller who asks without
/// waiting sees what others have written. And nothing is said to be there only when that is certain: what another
/// dispatcher of this process is just about to lock may be free again in a moment.
pub(crate) struct Look<'a> {
    dispatch: &'a Dispatch,
    deadline: Instant,
    /// Whether the feeds have yet to be read before there is nothing.
    to_read: bool,
    /// Until when others are waited for that may or may not take what there is.
    uncertain_until: Instant,
}

impl<'a> Look<'a> {
    pub(super) fn new(dispatch: &'a Dispatch, poll: Duration) -> Self {
        // A year is for ever here, and does not overflow.
        let deadline = clock::instant() + poll.min(Duration::from_secs(365 * 24 * 3600));
        Self { dispatch, deadline, uncertain_until: deadline + UNCERTAIN, to_read: poll < pace::IDLE }
    }

    /// The next instance that may have messages and that a runtime can run; `None` when the time is over. It is this
    /// caller's until the claim is settled or dropped.
    pub(crate) async fn instance(
        &mut self,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> cosmonaut::Result<Option<InstanceClaim>> {
        let dispatch = self.dispatch;
        let shared = &*dispatch.0;
        let _waiting = Waiting::begin(dispatch, Wanted::Instance(filter));
        loop {
            let mut changed = pin!(shared.instances_changed.notified());
            changed.as_mut().enable();
            let now = shared.now_ms();
            let owned = shared.leases.owned();
            let (claimed, pending) = {
                let State { instances, troubles, misfits, .. } = &mut *shared.state();
                let wants = |lane: &Lane| {
                    (lane.is_borrowed || owned.contains(lane.slot)) && troubles.lets(lane.slot, now)
                };
                let handed = instances.claim(now, wants, |instance| misfits.lets(instance, filter, now));
                let agenda = instances.agenda();
                let claimed = handed.map(|handed| {
                    let failures = agenda.failures(&handed.key);
                    let patience = troubles.hand_out(slot_of(&handed.key), failures, now);
                    (handed, patience)
                });
                let next = agenda.next_after(now).into_iter().chain(troubles.next_after(now));
                let next = next.chain(misfits.next_after(now)).min();
                (claimed, Pending { others: agenda.has_claims(), next })
            };
            if let Some((handed, patience)) = claimed {
                return Ok(Some(InstanceClaim::new(dispatch.clone(), handed, patience)));
            }
            if !self.wait(changed, now, pending, Role::Leader).await? {
                return Ok(None);
            }
        }
    }

    /// The next work item that a worker may have; `None` when the time is over. It is this caller's until the
    /// claim is dropped.
    pub(crate) async fn work(&mut self, wanted: WorkFilter<'_>) -> cosmonaut::Result<Option<WorkClaim>> {
        let dispatch = self.dispatch;
        let shared = &*dispatch.0;
        let _waiting = Waiting::begin(dispatch, Wanted::Work(wanted));
        loop {
            let mut changed = pin!(shared.work_changed.notified());
            changed.as_mut().enable();
            let now = shared.now_ms();
            let owned = shared.leases.owned();
            let (claimed, pending) = {
                let State { work, troubles, .. } = &mut *shared.state();
                let wants = |slot| owned.contains(slot) && troubles.lets(slot, now);
                let claimed = work.claim(now, wants, wanted).map(|(handed, item)| {
                    let patience =
                        troubles.hand_out(slot_of(&item.instance), work.failures(&handed.key), now);
                    (handed, item, patience)
                });
                let next = work.next_after(now).into_iter().chain(troubles.next_after(now)).min();
                (claimed, Pending { others: work.has_claims(), next })
            };
            if let Some((handed, item, patience)) = claimed {
                return Ok(Some(WorkClaim::new(dispatch.clone(), handed, item, patience)));
            }
            if !self.wait(changed, now, pending, Role::Worker).await? {
                return Ok(None);
            }
        }
    }

    /// Waits for a change, the next time at which something is due, or the end; false at the end.
    async fn wait(
        &mut self,
        changed: impl Future<Output = ()>,
        now: u64,
        pending: Pending,
        role: Role,
    ) -> cosmonaut::Result<bool> {
        let mut end = self.deadline;
        if clock::instant() >= end {
            if std::mem::take(&mut self.to_read) {
                self.dispatch.0.catch_up(role).await?;
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

impl Shared {
    /// Waits until this process has the slots that it can get at once, and all that others have written in them so far
    /// is known. Readers that fail are not waited for, and slow ones not for ever.
    async fn catch_up(&self, role: Role) -> cosmonaut::Result<()> {
        let number = self.rounds().ask();
        self.asked.news.notify_waiters();
        let end = clock::instant() + CATCH_UP;
        loop {
            let mut news = pin!(self.asked.news.notified());
            news.as_mut().enable();
            let has_asked = !self.leases.is_shared() || self.state().dispatching.held_as() >= Some(role);
            if has_asked && self.rounds().is_done(number, &self.leases.owned())? {
                return Ok(());
            }
            if clock::until(end, news).await.is_none() {
                return Ok(());
            }
        }
    }
}

/// What somebody waits for.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Instance(Option<&'a DispatcherCapabilityFilter>),
    Work(WorkFilter<'a>),
}

impl Wanted<'_> {
    fn role(self) -> Role {
        match self {
            Self::Instance(_) => Role::Leader,
            Self::Work(_) => Role::Worker,
        }
    }
}

/// Somebody waits for something to do.
struct Waiting<'a> {
    shared: &'a Shared,
    wanted: Wanted<'a>,
}

impl<'a> Waiting<'a> {
    fn begin(dispatch: &'a Dispatch, wanted: Wanted<'a>) -> Self {
        dispatch.start();
        let shared = &*dispatch.0;
        let wants_more = {
            let State { dispatching, wants, runtimes, .. } = &mut *shared.state();
            match wanted {
                Wanted::Instance(filter) => runtimes.begin(filter),
                Wanted::Work(filter) => wants.begin(filter, shared.now_ms()),
            }
            dispatching.begin(wanted.role())
        };
        if wants_more {
            shared.slots_wanted.notify_one();
        }
        shared.hungry.notify_waiters();
        Self { shared, wanted }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let State { dispatching, wants, runtimes, .. } = &mut *self.shared.state();
        match self.wanted {
            Wanted::Instance(filter) => runtimes.end(filter),
            Wanted::Work(filter) => wants.end(filter, self.shared.now_ms()),
        }
        dispatching.end(self.wanted.role(), clock::instant());
    }
}

/// What may still come of what is known.
struct Pending {
    /// Others are just finding out about something.
    others: bool,
    /// When the next thing is due.
    next: Option<u64>,
}
