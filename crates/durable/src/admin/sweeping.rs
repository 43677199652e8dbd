//! Removing what has been kept long enough: one sweep, of a bounded size.

use cosmonaut::{ContainerClient, Query};
use duroxide::providers::{ProviderError, PruneOptions};
use serde::{Deserialize, Serialize};

use super::Admin;
use super::instances::EXISTING;
use crate::clock;
use crate::hub::{hub_of, name_of};
use crate::model::{Document, Kind};
use crate::retention::{Retention, Swept};
use crate::store::Call;

/// How many instances a sweep looks at, each with all that it has started.
const AT_ONCE: usize = 100;
/// How many past executions a sweep looks at.
const EXECUTIONS: usize = 1000;

/// An instance that has ended and that no other one has started.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Root {
    instance: String,
    ended: u64,
}

/// Where the next sweep goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cursor {
    /// With instances that ended at this moment or later.
    from: u64,
    /// With executions of this instance or of one whose name comes after it.
    #[serde(default)]
    executions_from: String,
}

impl Kind for Cursor {
    const KIND: &'static str = "sweep";
}

impl Cursor {
    const ID: &'static str = "sweep";
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
        // An instance that cannot be removed now must not keep the others from it, whoever sweeps.
        let before = match self.core.store.read::<Cursor>(&call, &self.records(), Cursor::ID).await {
            Ok(cursor) => cursor.map(|cursor| cursor.content).unwrap_or_default(),
            // One that another version has written must not end all sweeps.
            Err(error) if !error.is_retryable() => {
                tracing::warn!(%error, "where the last sweep has ended cannot be read; this one begins anew");
                Cursor::default()
            }
            Err(error) => return Err(error),
        };
        let mut next = before.clone();
        if let Some(time) = retention.ended_instances {
            let now = self.core.store.settled_ms(&call).await?;
            let until = now.saturating_sub(clock::millis(time));
            let roots = self.ended_roots(&call, before.from, until).await?;
            next.from = goes_on(&roots);
            for root in roots {
                match self.put_away_tree(&root.instance, archive).await {
                    Ok(instances) => swept.instances += instances,
                    // Something of it runs, or has begun to.
                    Err(error) => {
                        let (instance, hub) = (name_of(&root.instance), hub_of(&root.instance));
                        tracing::info!(instance, hub, %error, "an ended instance is kept for now");
                    }
                }
            }
        }
        if let Some(keep) = retention.executions {
            let options = PruneOptions { keep_last: Some(keep), completed_before: None };
            let found = self.past_executions(&call, &before.executions_from).await?;
            let most_past = keep.saturating_sub(1) as usize;
            for instance in with_more_than(&found, most_past) {
                match self.prune(instance, &options).await {
                    Ok(pruned) => swept.executions += pruned.executions_deleted,
                    // One that cannot be read must not keep the others from it.
                    Err(error) => {
                        let (instance, hub) = (name_of(instance), hub_of(instance));
                        tracing::info!(instance, hub, %error, "past executions are kept for now");
                    }
                }
            }
            next.executions_from = next_name(&found);
        }
        if next != before {
            let cursor = Document::new(&self.records(), Cursor::ID, next);
            let written = self.core.store.upsert(&call, &cursor).await;
            written.map_err(|failure| failure.into_error(&call))?;
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

    /// The instances of past executions, each as often as it has some, by name. The current execution is not among them.
    async fn past_executions(&self, call: &Call, from: &str) -> Result<Vec<String>, ProviderError> {
        let query = Query::new(format!(
            "SELECT TOP {EXECUTIONS} VALUE c.instanceId FROM c WHERE c.type = 'execution' \
             AND c.instanceId >= @from ORDER BY c.instanceId"
        ))
        .with("@from", from);
        self.everywhere(call, query).await
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

/// Those with more past executions than that. Of the last one of a full page not all may be seen: that one comes again, unless
/// it has the page for itself.
fn with_more_than(found: &[String], most_past: usize) -> impl Iterator<Item = &str> {
    let is_more = move |same: &&[String]| same.len() > most_past || same.len() >= EXECUTIONS;
    found.chunk_by(|a, b| a == b).filter(is_more).map(|same| &*same[0])
}

/// The name that the next sweep begins with: the last of a full page, and else the first of all. Past a name that has a page
/// for itself it goes on.
fn next_name(found: &[String]) -> String {
    match found {
        [first, .., last] if found.len() >= EXECUTIONS => {
            if first == last {
                format!("{last}\0")
            } else {
                last.clone()
            }
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_with_more_executions_than_are_kept_are_found_and_sweeps_go_on_by_name() {
        let found = |all: &[(&str, usize)]| -> Vec<String> {
            all.iter().flat_map(|(name, count)| vec![(*name).to_owned(); *count]).collect()
        };
        let few = found(&[("a", 1), ("b", 9), ("c", 2)]);
        for (most_past, expected) in [(0, &["a", "b", "c"][..]), (1, &["b", "c"]), (2, &["b"]), (9, &[])] {
            assert_eq!(with_more_than(&few, most_past).collect::<Vec<_>>(), expected, "{most_past}");
        }
        let alone = found(&[("a", EXECUTIONS)]);
        assert_eq!(with_more_than(&alone, 5000).count(), 1, "there may be more than a page shows");
        for (all, expected) in [
            (few, ""),
            (found(&[("a", EXECUTIONS - 1)]), ""),
            (found(&[("a", EXECUTIONS - 3), ("b", 3)]), "b"),
            (found(&[("a", EXECUTIONS)]), "a\0"),
            (Vec::new(), ""),
        ] {
            assert_eq!(next_name(&all), expected);
        }
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
