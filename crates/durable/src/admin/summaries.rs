//! Instances in short: what a list or a tree of them shows, without outputs and histories.

use std::collections::HashSet;

use cosmonaut::{FeedScope, Query};
use duroxide::providers::ProviderError;
use serde::{Deserialize, Serialize};

use super::Admin;
use super::instances::{EXISTING, EXISTING_BY_AGE};
use crate::codec::is_marked;

/// An instance in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InstanceSummary {
    /// Its name.
    pub instance: String,
    /// The orchestration that it runs.
    pub orchestration: Option<String>,
    /// Which version of it.
    pub version: Option<String>,
    /// `Running`, `Completed`, `Failed` or `ContinuedAsNew`.
    pub status: String,
    /// The current execution, from 1.
    pub execution: u64,
    /// Who started it, if an orchestration did.
    pub parent: Option<String>,
    /// When it had its first turn, in milliseconds since 1970.
    pub created_at: u64,
    /// When it had its last.
    pub updated_at: u64,
    /// When the current execution ended.
    pub completed_at: Option<u64>,
    /// How many events the current execution has.
    pub events: u64,
    /// What the orchestration says of itself.
    pub custom_status: Option<String>,
}

/// Which instances a list is about. All that is set must hold.
///
/// ```
/// use duroxide_cosmonaut::InstanceSearch;
///
/// let late = InstanceSearch { custom_status: Some("waiting for approval".into()), ..InstanceSearch::default() };
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceSearch {
    /// With this status: `Running`, `Completed`, `Failed` or `ContinuedAsNew`.
    pub status: Option<String>,
    /// Of this orchestration.
    pub orchestration: Option<String>,
    /// Whose first turn was at this time or later, in milliseconds since 1970.
    pub created_since: Option<u64>,
    /// Whose first turn was before this time.
    pub created_before: Option<u64>,
    /// Whose custom status has this text in it, in upper or lower case.
    pub custom_status: Option<String>,
}

impl InstanceSearch {
    /// Only the status and the time are in the index. The service looks the others up in the documents of those
    /// instances that are left.
    fn query(&self) -> Query {
        let Self { status, orchestration, created_since, created_before, custom_status } = self;
        let mut conditions = String::from(EXISTING_BY_AGE);
        for (is_set, condition) in [
            (status.is_some(), "c.state.status = @status"),
            (created_since.is_some(), "c.state.createdAt >= @since"),
            (created_before.is_some(), "c.state.createdAt < @before"),
            (orchestration.is_some(), "c.state.name = @name"),
            // What the service cannot read is looked at here.
            (
                custom_status.is_some(),
                "(CONTAINS(c.state.customStatus, @custom, true) OR STARTSWITH(c.state.customStatus, '~'))",
            ),
        ] {
            if is_set {
                conditions += " AND ";
                conditions += condition;
            }
        }
        let query = Query::new(format!("{SHOWN} WHERE {conditions} ORDER BY c.state.createdAt DESC"));
        query
            .with("@status", status)
            .with("@since", created_since)
            .with("@before", created_before)
            .with("@name", orchestration)
            .with("@custom", custom_status)
    }
}

impl InstanceSearch {
    /// Whether an instance has the custom status that is searched for.
    fn finds(&self, summary: &InstanceSummary) -> bool {
        let Some(wanted) = &self.custom_status else { return true };
        let status = summary.custom_status.as_deref().unwrap_or_default();
        status.to_lowercase().contains(&wanted.to_lowercase())
    }
}

/// Some of the instances, and where the list goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SummaryPage {
    /// The instances, the newest first.
    pub summaries: Vec<InstanceSummary>,
    /// Where the list goes on; `None` at its end.
    pub continuation: Option<String>,
}

/// What is shown of a head, as it is stored.
#[derive(Deserialize)]
struct Shown {
    #[serde(default)]
    v: u32,
    #[serde(flatten)]
    summary: InstanceSummary,
}

/// What is shown of a head.
const SHOWN: &str = "SELECT c.v, c.instanceId AS instance, c.state.name AS orchestration, c.state.version AS version, \
     c.state.status AS status, c.state.execution AS execution, c.state.parent AS parent, \
     c.state.createdAt AS createdAt, c.state.updatedAt AS updatedAt, c.state.completedAt AS completedAt, \
     c.state.events AS events, c.state.customStatus AS customStatus FROM c";

impl Admin<'_> {
    pub(super) async fn summaries_page(
        &self,
        search: &InstanceSearch,
        size: u32,
        continuation: Option<String>,
    ) -> Result<SummaryPage, ProviderError> {
        let call = self.call("list_summaries_page");
        let query = search.query();
        let (found, continuation): (Vec<Shown>, _) =
            self.core.store.query_page(&call, (&query, &FeedScope::Container), size, continuation).await?;
        let found = found.into_iter().filter_map(|shown| {
            let is_certain = !shown.summary.custom_status.as_deref().is_some_and(is_marked);
            let summary = self.readable(shown);
            (is_certain || search.finds(&summary)).then_some(summary)
        });
        Ok(SummaryPage { summaries: found.collect(), continuation })
    }

    fn readable(&self, Shown { v, summary }: Shown) -> InstanceSummary {
        let custom_status = summary.custom_status.map(|status| self.shown(v, status));
        InstanceSummary { custom_status, ..summary }
    }

    fn all_readable(&self, found: Vec<Shown>) -> Vec<InstanceSummary> {
        found.into_iter().map(|shown| self.readable(shown)).collect()
    }

    /// A query for each level, not for each instance.
    pub(super) async fn tree_summaries(&self, root: &str) -> Result<Vec<InstanceSummary>, ProviderError> {
        let call = self.call("tree_summaries");
        let query = Query::new(format!("{SHOWN} WHERE {EXISTING}"));
        let mut all = self.all_readable(self.within(&call, root, query).await?);
        let mut seen = HashSet::from([root.to_owned()]);
        let mut level: Vec<String> = all.iter().map(|found| found.instance.clone()).collect();
        while !level.is_empty() {
            let children =
                Query::new(format!("{SHOWN} WHERE {EXISTING} AND ARRAY_CONTAINS(@parents, c.state.parent)"))
                    .with("@parents", &level);
            let mut children = self.all_readable(self.everywhere(&call, children).await?);
            // Documents that say that two instances have started each other must not keep this going.
            children.retain(|child| seen.insert(child.instance.clone()));
            children.sort_by(|a, b| (a.created_at, &a.instance).cmp(&(b.created_at, &b.instance)));
            level = children.iter().map(|child| child.instance.clone()).collect();
            all.extend(children);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_says_all_that_is_set_and_nothing_else() {
        let all = InstanceSearch {
            status: Some("Failed".into()),
            orchestration: Some("it's".into()),
            created_since: Some(1),
            created_before: Some(2),
            custom_status: Some("x".into()),
        };
        let text = all.query().text().to_owned();
        for part in ["@status", "@since", "@before", "@name", "@custom"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("it's"), "values are parameters");
        let none = InstanceSearch::default().query().text().to_owned();
        assert!(!none.contains('@') && none.contains("ORDER BY"), "{none}");
    }
}
