//! Removing what has been kept long enough: one sweep, of a bounded size.

use cosmonaut::Query;
use duroxide::providers::{InstanceFilter, ProviderError, PruneOptions};
use serde::Deserialize;

use super::Admin;
use crate::clock;
use crate::retention::{Retention, Swept};

/// How many instances a sweep deletes with all that they have started, and of how many it prunes executions.
const AT_ONCE: u32 = 100;

/// An instance, and how many past executions it has.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Executions {
    instance: String,
    count: u64,
}

impl Admin<'_> {
    /// Deletes instances and prunes executions that need not be kept.
    pub(crate) async fn sweep(&self, retention: Retention) -> Result<Swept, ProviderError> {
        let mut swept = Swept::default();
        if let Some(time) = retention.ended_instances {
            let before = clock::now_ms().saturating_sub(clock::millis(time));
            let (completed_before, limit) = (Some(before), Some(AT_ONCE));
            let filter = InstanceFilter { completed_before, limit, ..InstanceFilter::default() };
            swept.instances = self.delete_bulk(filter).await?.instances_deleted;
        }
        if let Some(keep) = retention.executions {
            let options = PruneOptions { keep_last: Some(keep), completed_before: None };
            for instance in self.with_more_executions_than(keep).await? {
                swept.executions += self.prune(&instance, &options).await?.executions_deleted;
            }
        }
        if swept != Swept::default() {
            let Swept { instances, executions } = swept;
            tracing::info!(instances, executions, "what has ended long ago was removed");
        }
        Ok(swept)
    }

    async fn with_more_executions_than(&self, keep: u32) -> Result<Vec<String>, ProviderError> {
        let call = self.call("sweep");
        let query = Query::new(
            "SELECT c.instanceId AS instance, COUNT(1) AS count FROM c WHERE c.type = 'execution' \
             GROUP BY c.instanceId",
        );
        Ok(longest(self.everywhere(&call, Ok(query)).await?, keep))
    }
}

/// Those with more executions than are kept, most first. The current execution is kept, and is not among the past ones.
fn longest(mut found: Vec<Executions>, keep: u32) -> Vec<String> {
    let most_past = u64::from(keep.saturating_sub(1));
    found.retain(|found| found.count > most_past);
    found.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.instance.cmp(&b.instance)));
    found.truncate(AT_ONCE as usize);
    found.into_iter().map(|found| found.instance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_with_more_executions_than_are_kept_come_longest_first() {
        let found = |instance: &str, count| Executions { instance: instance.into(), count };
        let all = || vec![found("a", 1), found("b", 9), found("c", 2)];
        for (keep, expected) in
            [(0, &["b", "c", "a"][..]), (1, &["b", "c", "a"]), (2, &["b", "c"]), (3, &["b"]), (10, &[])]
        {
            assert_eq!(longest(all(), keep), expected, "{keep}");
        }
        let many = (0..1000).map(|n| found(&n.to_string(), 5)).collect();
        assert_eq!(longest(many, 1).len(), AT_ONCE as usize);
    }
}
