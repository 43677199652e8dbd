//! Which instances there are, and what is known of one.

use cosmonaut::{FeedScope, Query};
use duroxide::providers::{InstanceFilter, InstanceInfo, ProviderError};

use super::{Admin, BULK_LIMIT};
use crate::model::State;

/// What makes a document the head of an instance that has had a turn.
pub(super) const EXISTING: &str = "c.type = 'instance' AND c.state.exists = true";

/// As [`EXISTING`], for lists by age. All heads have such a time; with a condition on what they are sorted by, the
/// service reads the index of it from its end, and a page costs the same however many instances there are.
pub(super) const EXISTING_BY_AGE: &str =
    "c.type = 'instance' AND c.state.exists = true AND c.state.createdAt > 0";

/// Some of the instances, and where the list goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstancePage {
    /// Their names, the newest first.
    pub instances: Vec<String>,
    /// Where the list goes on; `None` at its end.
    pub continuation: Option<String>,
}

/// Which instances a bulk operation is about.
pub(super) enum Scope {
    /// Those that have ended and have no parent.
    EndedRoots,
    /// All.
    All,
}

impl Admin<'_> {
    /// The names of all instances, or of those with a status, the newest first.
    pub(super) async fn list(&self, status: Option<&str>) -> Result<Vec<String>, ProviderError> {
        let call = self.call("list_instances");
        self.everywhere(&call, listing(status)).await
    }

    /// As [`list`](Self::list), page by page.
    pub(crate) async fn list_page(
        &self,
        status: Option<&str>,
        size: u32,
        continuation: Option<String>,
    ) -> Result<InstancePage, ProviderError> {
        let call = self.call("list_instances_page");
        let query = listing(status);
        let (instances, continuation) =
            self.core.store.query_page(&call, (&query, &FeedScope::Container), size, continuation).await?;
        Ok(InstancePage { instances, continuation })
    }

    pub(super) async fn instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError> {
        let call = self.call("get_instance_info");
        let State {
            name,
            version,
            execution,
            status,
            output,
            output_chunks,
            created_at,
            updated_at,
            parent,
            ..
        } = self.existing_head(&call, instance).await?.content.state;
        let output = self.output(&call, (instance, execution), output, output_chunks).await?;
        Ok(InstanceInfo {
            instance_id: instance.to_owned(),
            orchestration_name: name.unwrap_or_default(),
            orchestration_version: version.unwrap_or_else(|| "unknown".to_owned()),
            current_execution_id: execution,
            status,
            output,
            created_at,
            updated_at,
            parent_instance_id: parent,
        })
    }

    /// The instances that a filter selects, at most as many as it says.
    pub(super) async fn select(
        &self,
        operation: &'static str,
        scope: Scope,
        filter: &InstanceFilter,
    ) -> Result<Vec<String>, ProviderError> {
        if filter.instance_ids.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let call = self.call(operation);
        self.everywhere(&call, selection(&scope, filter)).await
    }
}

fn listing(status: Option<&str>) -> Query {
    let order = "ORDER BY c.state.createdAt DESC";
    match status {
        None => Query::new(format!("SELECT VALUE c.instanceId FROM c WHERE {EXISTING_BY_AGE} {order}")),
        Some(status) => Query::new(format!(
            "SELECT VALUE c.instanceId FROM c WHERE {EXISTING_BY_AGE} AND c.state.status = @status {order}"
        ))
        .with("@status", status),
    }
}

fn selection(scope: &Scope, filter: &InstanceFilter) -> Query {
    let limit = filter.limit.unwrap_or(BULK_LIMIT);
    let mut text = format!("SELECT TOP {limit} VALUE c.instanceId FROM c WHERE {EXISTING}");
    match scope {
        // An execution that continues as a new one has not ended the instance.
        Scope::EndedRoots => {
            text += " AND c.state.status IN ('Completed', 'Failed')";
            text += " AND (NOT IS_DEFINED(c.state.parent) OR IS_NULL(c.state.parent))";
        }
        Scope::All => {}
    }
    if filter.instance_ids.is_some() {
        text += " AND ARRAY_CONTAINS(@ids, c.instanceId)";
    }
    if filter.completed_before.is_some() {
        text += " AND c.state.completedAt < @before";
    }
    let mut query = Query::new(text);
    if let Some(ids) = &filter.instance_ids {
        query = query.with("@ids", ids);
    }
    if let Some(before) = filter.completed_before {
        query = query.with("@before", before);
    }
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bulk_selection_says_all_that_its_filter_says() {
        let filter = InstanceFilter {
            instance_ids: Some(vec!["a'\"b".into()]),
            completed_before: Some(7),
            limit: Some(3),
        };
        let query = selection(&Scope::EndedRoots, &filter);
        for part in
            ["TOP 3", "'Completed', 'Failed'", "IS_NULL(c.state.parent)", "@ids", "completedAt < @before"]
        {
            assert!(query.text().contains(part), "{part}: {}", query.text());
        }
        assert!(!query.text().contains("a'\"b"), "names are parameters");
        let all = selection(&Scope::All, &InstanceFilter::default());
        assert!(all.text().contains("TOP 1000") && !all.text().contains("status"));
    }
}
