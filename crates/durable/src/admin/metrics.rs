//! How much there is: counted by the service, not here.

use cosmonaut::Query;
use duroxide::providers::{ProviderError, QueueDepths, SystemMetrics};
use serde::Deserialize;

use super::Admin;
use super::instances::EXISTING;
use crate::clock;
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
        let heads: Vec<Group> = self.everywhere(&call, Ok(heads)).await?;
        let past: Vec<Group> = self.everywhere(&call, Ok(past)).await?;
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

    /// What waits and is not being worked on.
    pub(super) async fn queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        let call = self.call("get_queue_depths");
        let now = clock::now_ms();
        let messages =
            self.number(&call, "SELECT VALUE COUNT(1) FROM c WHERE c.type = 'message'", now).await?;
        let locked = "SELECT VALUE SUM(ARRAY_LENGTH(c.lock.messages)) FROM c \
                      WHERE c.type = 'instance' AND c.lock.until > @now";
        let locked = self.number(&call, locked, now).await?;
        let work = "SELECT VALUE COUNT(1) FROM c WHERE c.type = 'work' \
                    AND (NOT IS_DEFINED(c.lock.until) OR c.lock.until <= @now)";
        let work = self.number(&call, work, now).await?;
        Ok(QueueDepths {
            // Counted one after the other: what is locked may be gone already.
            orchestrator_queue: messages.saturating_sub(locked),
            worker_queue: work,
            // Timers are messages that are not visible yet.
            timer_queue: 0,
        })
    }

    async fn number(&self, call: &Call, query: &str, now: u64) -> Result<usize, ProviderError> {
        let rows: Vec<usize> = self.everywhere(call, Query::new(query).with("@now", now)).await?;
        Ok(rows.into_iter().sum())
    }
}
