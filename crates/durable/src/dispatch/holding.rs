//! Holding slots: leases are renewed while this process fetches, and let go when it does not. Nothing else is done on
//! this task, so that nothing delays a renewal.

use std::sync::{Arc, Weak};
use std::time::Duration;

use duroxide::providers::ProviderError;
use tokio::sync::Notify;

use super::Shared;
use super::pause::pause;
use crate::clock;
use crate::lease::Role;

/// How long leases that could not be renewed are left alone at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Who is gone holds nothing: others need not wait for the leases to end.
impl Drop for Shared {
    fn drop(&mut self) {
        if self.state().dispatching.held_as().is_none() {
            return;
        }
        let leases = Arc::clone(&self.leases);
        clock::detach(async move {
            if let Err(error) = leases.release().await {
                tracing::debug!(%error, "leases are not released; they end by themselves");
            }
        });
    }
}

/// Holds slots while something is fetched, for ever. `wanted` says that more slots are wanted than are held.
pub(super) async fn hold(shared: Weak<Shared>, wanted: Arc<Notify>) {
    let mut failures = 0;
    loop {
        let Some(strong) = shared.upgrade() else { return };
        let role = strong.state().dispatching.role(clock::instant(), strong.leases.patience());
        let rest = strong.renew_or_release(role).await;
        strong.held(role);
        drop(strong);
        failures = if rest.is_ok() { 0 } else { failures + 1 };
        match rest {
            Ok(Some(rest)) => {
                clock::until(clock::instant() + rest, wanted.notified()).await;
            }
            Ok(None) => wanted.notified().await,
            Err(error) => {
                tracing::warn!(%error, "leases cannot be renewed; it is tried again");
                clock::sleep(pause(failures).min(LONGEST_PAUSE)).await;
            }
        }
    }
}

impl Shared {
    /// Gives how long to wait before the next renewal; `None` if there is nothing to renew.
    async fn renew_or_release(&self, role: Option<Role>) -> Result<Option<Duration>, ProviderError> {
        let holds = self.state().dispatching.held_as().is_some();
        match role {
            Some(role) => {
                let rest = self.leases.renew(role).await?;
                self.store.losses().set_mixed(!self.leases.all_leave_traces());
                Ok(Some(rest))
            }
            None if holds => self.leases.release().await.map(|()| None),
            None => Ok(None),
        }
    }

    /// Slots were asked for, or let go.
    fn held(&self, role: Option<Role>) {
        let slots = {
            let mut state = self.state();
            state.dispatching.hold_as(role);
            state.slots
        };
        if self.leases.owned() != slots {
            self.division_changed.notify_one();
        }
        self.asked.news.notify_waiters();
    }
}
