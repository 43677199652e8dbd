//! Removing past executions of an instance; never the current one, nor one that runs.

use std::collections::HashSet;

use cosmonaut::Query;
use duroxide::providers::{InstanceFilter, ProviderError, PruneOptions, PruneResult};
use serde::Deserialize;

use super::Admin;
use super::cleanup::Prune;
use super::instances::Scope;
use crate::model::{Document, RUNNING};
use crate::store::{Batch, Call};

/// A past execution.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Past {
    execution: u64,
    status: String,
    completed_at: Option<u64>,
    events: u64,
}

impl Admin<'_> {
    pub(super) async fn prune(
        &self,
        instance: &str,
        options: &PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        let call = self.call("prune_executions");
        let current = self.existing_head(&call, instance).await?.content.state.execution;
        let query = Query::new(
            "SELECT c.execution, c.status, c.completedAt, c.events FROM c WHERE c.type = 'execution'",
        );
        let past: Vec<Past> = self.within(&call, instance, query).await?;
        let gone = to_prune(past, current, options);
        let result = PruneResult {
            instances_processed: 1,
            executions_deleted: gone.len() as u64,
            events_deleted: gone.iter().map(|execution| execution.events).sum(),
        };
        let executions: Vec<u64> = gone.into_iter().map(|past| past.execution).collect();
        if !executions.is_empty() {
            self.remove_executions(&call, instance, executions).await?;
        }
        Ok(result)
    }

    pub(super) async fn prune_bulk(
        &self,
        filter: InstanceFilter,
        options: &PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        let mut all = PruneResult::default();
        for instance in self.select("prune_executions_bulk", Scope::All, &filter).await? {
            let one = self.prune(&instance, options).await?;
            all.instances_processed += one.instances_processed;
            all.executions_deleted += one.executions_deleted;
            all.events_deleted += one.events_deleted;
        }
        Ok(all)
    }

    /// One transaction if they fit, else behind a record that hides them from the first moment on.
    async fn remove_executions(
        &self,
        call: &Call,
        instance: &str,
        executions: Vec<u64>,
    ) -> Result<(), ProviderError> {
        let ids = self.documents_of(call, instance, &executions).await?;
        if ids.len() <= Batch::MAX_WRITES {
            return self.remove(call, instance, ids).await;
        }
        let record = Prune::record(instance, executions, self.core.store.settled_ms(call).await?);
        self.core.store.upsert(call, &record).await.map_err(|failure| failure.into_error(call))?;
        self.remove(call, instance, ids).await?;
        self.remove_record(call, &record.id).await
    }

    pub(super) async fn finish_prune(
        &self,
        call: &Call,
        record: &Document<Prune>,
    ) -> Result<(), ProviderError> {
        let Prune { instance, executions, .. } = &record.content;
        let ids = self.documents_of(call, instance, executions).await?;
        self.remove(call, instance, ids).await?;
        self.remove_record(call, &record.id).await
    }

    /// Executions that are on their way out.
    pub(super) async fn pruned(&self, call: &Call, instance: &str) -> Result<HashSet<u64>, ProviderError> {
        let record = self.core.store.read::<Prune>(call, &self.records(), &Prune::id(instance)).await?;
        Ok(record.into_iter().flat_map(|record| record.content.executions).collect())
    }

    async fn documents_of(
        &self,
        call: &Call,
        instance: &str,
        executions: &[u64],
    ) -> Result<Vec<String>, ProviderError> {
        let query = "SELECT VALUE c.id FROM c WHERE c.type IN ('execution', 'history', 'chunk')";
        let ids: Vec<String> = self.within(call, instance, Query::new(query)).await?;
        let gone = |id: &String| execution_of(id).is_some_and(|execution| executions.contains(&execution));
        Ok(ids.into_iter().filter(gone).collect())
    }
}

/// The execution that a document belongs to, by its id: `e:3`, `h:3:0000000007`, `out:3`, and their pieces.
fn execution_of(id: &str) -> Option<u64> {
    let (kind, rest) = id.split_once(':')?;
    let number = rest.split([':', '~']).next()?;
    matches!(kind, "e" | "h" | "out").then(|| number.parse().ok()).flatten()
}

/// Those that may go, of past executions and what is asked. All conditions count together.
fn to_prune(mut past: Vec<Past>, current: u64, options: &PruneOptions) -> Vec<Past> {
    past.retain(|execution| execution.execution != current);
    past.sort_by_key(|past| std::cmp::Reverse(past.execution));
    // The current one is the first of those that are kept.
    let kept = options.keep_last.map_or(0, |keep| keep.saturating_sub(1)) as usize;
    past.into_iter()
        .skip(kept)
        .filter(|past| past.status != RUNNING)
        .filter(|past| match options.completed_before {
            None => true,
            Some(before) => past.completed_at.is_some_and(|at| at < before),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_options_count_and_what_runs_stays() {
        let past = |execution: u64, status: &str| Past {
            execution,
            status: status.into(),
            completed_at: (status != RUNNING).then_some(execution * 10),
            events: 1,
        };
        let all = || {
            vec![
                past(1, "ContinuedAsNew"),
                past(2, RUNNING),
                past(3, "ContinuedAsNew"),
                past(4, "ContinuedAsNew"),
            ]
        };
        for (keep_last, completed_before, expected) in [
            (None, None, vec![4, 3, 1]),
            (Some(0), None, vec![4, 3, 1]),
            (Some(1), None, vec![4, 3, 1]),
            (Some(2), None, vec![3, 1]),
            (Some(3), None, vec![1]),
            (Some(9), None, vec![]),
            (None, Some(30), vec![1]),
            (None, Some(31), vec![3, 1]),
            (Some(4), Some(1000), vec![1]),
            (None, Some(0), vec![]),
        ] {
            let options = PruneOptions { keep_last, completed_before };
            let gone: Vec<_> = to_prune(all(), 5, &options).iter().map(|past| past.execution).collect();
            assert_eq!(gone, expected, "{options:?}");
        }
    }

    #[test]
    fn documents_know_their_execution() {
        for (id, expected) in [
            ("e:3", Some(3)),
            ("h:3:0000000007", Some(3)),
            ("h:3:0000000007~1", Some(3)),
            ("out:12~0", Some(12)),
            ("m:c12", None),
            ("k:12", None),
            ("instance", None),
            ("h:x:1", None),
        ] {
            assert_eq!(execution_of(id), expected, "{id}");
        }
    }
}
