//! How much there is: counted by the service, not here.

use std::time::Duration;

use cosmonaut::Query;
use duroxide::providers::{ProviderError, QueueDepths, SystemMetrics};
use serde::Deserialize;

use super::Admin;
use super::instances::EXISTING;
use crate::store::Call;

#[derive(Deserialize)]
struct Group {
    status: String,
    count: u64,
    events: Option<u64>,
}

impl Admin<'_> {
    pub(super) async fn metrics(&self) -> Result<SystemMetrics, ProviderError> {
        let call = self.call("get_system_metrics");
        let heads = Query::new(format!(
            "SELECT c.state.status AS status, COUNT(1) AS count, SUM(c.state.events) AS events FROM c \
             WHERE {EXISTING} GROUP BY c.state.status"
        ));
        let past = Query::new(
            "SELECT c.status AS status, COUNT(1) AS count, SUM(c.events) AS events FROM c \
             WHERE c.type = 'execution' GROUP BY c.status",
        );
        let heads: Vec<Group> = self.everywhere(&call, heads).await?;
        let past: Vec<Group> = self.everywhere(&call, past).await?;
        let with =
            |status: &str| heads.iter().filter(|group| group.status == status).map(|group| group.count).sum();
        let instances: u64 = heads.iter().map(|group| group.count).sum();
        Ok(SystemMetrics {
            total_instances: instances,
            total_executions: instances + past.iter().map(|group| group.count).sum::<u64>(),
            running_instances: with("Running"),
            completed_instances: with("Completed"),
            failed_instances: with("Failed"),
            total_events: heads.iter().chain(&past).filter_map(|group| group.events).sum(),
        })
    }

    pub(super) async fn queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        let backlog = self.backlog().await?;
        let depth = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        Ok(QueueDepths {
            orchestrator_queue: depth(backlog.messages),
            worker_queue: depth(backlog.activities),
            timer_queue: depth(backlog.timers),
        })
    }

    pub(crate) async fn backlog(&self) -> Result<Backlog, ProviderError> {
        let call = self.call("backlog");
        let now = self.core.store.now_ms();
        let messages = self.waiting(&call, "c.type = 'message' AND c.visibleAt <= @now", now).await?;
        let timers = self.waiting(&call, "c.type = 'message' AND c.visibleAt > @now", now).await?;
        let work = "c.type = 'work' AND c.visibleAt <= @now \
                    AND (NOT IS_DEFINED(c.lock.until) OR c.lock.until <= @now)";
        let work = self.waiting(&call, work, now).await?;
        // Messages have no lock of their own: the head of their instance names those that a turn has.
        let locked = "SELECT VALUE SUM(ARRAY_LENGTH(c.lock.messages)) FROM c \
                      WHERE c.type = 'instance' AND c.lock.until > @now";
        let locked: Vec<u64> = self.everywhere(&call, Query::new(locked).with("@now", now)).await?;
        Ok(Backlog {
            // Counted one after the other: what is locked may be gone already.
            messages: messages.count.saturating_sub(locked.into_iter().sum()),
            message_age: messages.age(now),
            activities: work.count,
            activity_age: work.age(now),
            timers: timers.count,
        })
    }

    async fn waiting(&self, call: &Call, condition: &str, now: u64) -> Result<Waiting, ProviderError> {
        // A message without a delay may carry any time that is over: it waits since it was written.
        let query = Query::new(format!(
            "SELECT COUNT(1) AS count, \
             MIN(c.visibleAt > c._ts * 1000 ? c.visibleAt : c._ts * 1000) AS oldest FROM c WHERE {condition}"
        ));
        let rows: Vec<Waiting> = self.everywhere(call, query.with("@now", now)).await?;
        Ok(rows.into_iter().next().unwrap_or_default())
    }
}

/// How many documents wait, and since when the oldest of them does.
#[derive(Default, Deserialize)]
struct Waiting {
    count: u64,
    oldest: Option<f64>,
}

impl Waiting {
    fn age(&self, now: u64) -> Option<Duration> {
        let oldest = self.oldest.filter(|_| self.count > 0)?;
        Some(Duration::from_millis(now.saturating_sub(oldest as u64)))
    }
}

/// What waits to be worked on, and for how long it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backlog {
    /// Messages to instances that could be processed now, without those that a turn is processing.
    pub messages: u64,
    /// How long the oldest message has waited, if there is any, even if a turn is processing it.
    pub message_age: Option<Duration>,
    /// Activities that could run now, without those that do.
    pub activities: u64,
    /// How long the oldest of these activities has waited, if there is any.
    pub activity_age: Option<Duration>,
    /// Timers and delayed messages whose time has not come.
    pub timers: u64,
}
