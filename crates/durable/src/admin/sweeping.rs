//! Removing what has been kept long enough: one sweep, of a bounded size.

use cosmonaut::{ContainerClient, Query};
use duroxide::providers::{ProviderError, PruneOptions};
use serde::{Deserialize, Serialize};

use super::Admin;
use super::instances::EXISTING;
use crate::clock;
use crate::model::{Document, Kind};
use crate::retention::{Retention, Swept};
use crate::store::Call;

/// How many instances a sweep looks at, each with all that it has started, and of how many it prunes executions.
const AT_ONCE: usize = 100;

/// An instance that has ended and that no other one has started.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Root {
    instance: String,
    ended: u64,
}

/// Where the next sweep goes on: with instances that ended at this moment or later.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Cursor {
    from: u64,
}

impl Kind for Cursor {
    const KIND: &'static str = "sweep";
}

impl Cursor {
    const ID: &'static str = "sweep";
}

/// An instance, and how many past executions it has.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Executions {
    instance: String,
    count: u64,
}

impl Admin<'_> {
    /// Deletes or archives instances and prunes executions that need not be kept. Gives what was removed.
    pub(crate) async fn sweep(
        &self,
        retention: &Retention,
        archive: Option<&ContainerClient>,
    ) -> Result<Swept, ProviderError> {
        let call = self.call("sweep");
        let mut swept = Swept::default();
        if let Some(time) = retention.ended_instances {
            // An instance that cannot be removed now must not keep the others from it, whoever sweeps.
            let from = match self.core.store.read::<Cursor>(&call, &self.records(), Cursor::ID).await {
                Ok(cursor) => cursor.map_or(0, |cursor| cursor.content.from),
                // One that another version has written must not end all sweeps.
                Err(error) if !error.is_retryable() => {
                    tracing::warn!(%error, "where the last sweep has ended cannot be read; this one begins anew");
                    0
                }
                Err(error) => return Err(error),
            };
            let before = self.core.store.now_ms().saturating_sub(clock::millis(time));
            let roots = self.ended_roots(&call, from, before).await?;
            let next = goes_on(&roots);
            for root in roots {
                match self.put_away_tree(&root.instance, archive).await {
                    Ok(instances) => swept.instances += instances,
                    // Something of it runs, or has begun to.
                    Err(error) => {
                        tracing::info!(instance = root.instance, %error, "an ended instance is kept for now");
                    }
                }
            }
            if next != from {
                let cursor = Document::new(&self.records(), Cursor::ID, Cursor { from: next });
                let written = self.core.store.upsert(&call, &cursor).await;
                written.map_err(|failure| failure.into_error(&call))?;
            }
        }
        if let Some(keep) = retention.executions {
            let options = PruneOptions { keep_last: Some(keep), completed_before: None };
            for instance in self.with_more_executions_than(&call, keep).await? {
                match self.prune(&instance, &options).await {
                    Ok(pruned) => swept.executions += pruned.executions_deleted,
                    // One that cannot be read must not keep the others from it.
                    Err(error) => {
                        tracing::info!(instance, %error, "past executions are kept for now");
                    }
                }
            }
        }
        if swept != Swept::default() {
            let Swept { instances, executions } = swept;
            tracing::info!(instances, executions, "what has ended long ago was removed");
        }
        Ok(swept)
    }

    /// The oldest, along the index of their ends.
    async fn ended_roots(&self, call: &Call, from: u64, before: u64) -> Result<Vec<Root>, ProviderError> {
        let query = Query::new(format!(
            "SELECT TOP {AT_ONCE} c.instanceId AS instance, c.state.completedAt AS ended FROM c \
             WHERE {EXISTING} AND c.state.completedAt >= @from AND c.state.completedAt < @before \
             AND c.state.status IN ('Completed', 'Failed') \
             AND (NOT IS_DEFINED(c.state.parent) OR IS_NULL(c.state.parent)) ORDER BY c.state.completedAt"
        ))
        .with("@from", from)
        .with("@before", before);
        self.everywhere(call, query).await
    }

    /// Deletes an instance with all that it has started, and archives them before if that is wanted. Gives how many.
    async fn put_away_tree(
        &self,
        root: &str,
        archive: Option<&ContainerClient>,
    ) -> Result<u64, ProviderError> {
        let tree = self.tree(root).await?;
        Ok(self.put_away(&tree.all_ids, false, archive).await?.instances_deleted)
    }

    async fn with_more_executions_than(&self, call: &Call, keep: u32) -> Result<Vec<String>, ProviderError> {
        let query = Query::new(
            "SELECT c.instanceId AS instance, COUNT(1) AS count FROM c WHERE c.type = 'execution' \
             GROUP BY c.instanceId",
        );
        Ok(longest(self.everywhere(call, query).await?, keep))
    }
}

/// Where the next sweep goes on: with the last of a full page, and else from the beginning. Others may have ended at the
/// same moment as the last.
fn goes_on(roots: &[Root]) -> u64 {
    match roots {
        [first, .., last] if roots.len() >= AT_ONCE => last.ended.max(first.ended + 1),
        _ => 0,
    }
}

/// Those with more executions than are kept, most first. The current execution is kept, and is not among the past ones.
fn longest(mut found: Vec<Executions>, keep: u32) -> Vec<String> {
    let most_past = u64::from(keep.saturating_sub(1));
    found.retain(|found| found.count > most_past);
    found.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.instance.cmp(&b.instance)));
    found.truncate(AT_ONCE);
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
        assert_eq!(longest(many, 1).len(), AT_ONCE);
    }

    #[test]
    fn sweeps_go_through_all_ended_instances_and_begin_again() {
        let roots = |count: usize| -> Vec<_> {
            (0..count).map(|n| Root { instance: n.to_string(), ended: 10 + n as u64 }).collect()
        };
        for (count, expected) in [(0, 0), (1, 0), (AT_ONCE - 1, 0), (AT_ONCE, 9 + AT_ONCE as u64)] {
            assert_eq!(goes_on(&roots(count)), expected, "{count}");
        }
        let together = vec![Root { instance: "a".into(), ended: 10 }; AT_ONCE];
        assert_eq!(goes_on(&together), 11, "it goes on in any case");
    }
}
