//! Which instance started which.

use std::collections::HashSet;

use cosmonaut::Query;
use duroxide::providers::{InstanceTree, ProviderError};
use serde::Deserialize;

use super::Admin;
use super::instances::EXISTING;
use crate::store::Call;

/// How many instances one query asks for: the service takes queries of some length only.
pub(super) const NAMES: usize = 200;

/// An instance and who started it.
#[derive(Deserialize)]
pub(super) struct Child {
    pub(super) child: String,
    pub(super) parent: String,
}

impl Admin<'_> {
    pub(super) async fn children(&self, instance: &str) -> Result<Vec<String>, ProviderError> {
        let call = self.call("list_children");
        let children = self.children_of(&call, &[instance.to_owned()]).await?;
        Ok(children.into_iter().map(|child| child.child).collect())
    }

    pub(super) async fn children_of(
        &self,
        call: &Call,
        parents: &[String],
    ) -> Result<Vec<Child>, ProviderError> {
        let mut children = Vec::new();
        for parents in parents.chunks(NAMES) {
            let query = Query::new(format!(
                "SELECT c.instanceId AS child, c.state.parent AS parent FROM c \
                 WHERE {EXISTING} AND ARRAY_CONTAINS(@parents, c.state.parent)"
            ))
            .with("@parents", parents);
            children.extend(self.everywhere::<Child>(call, query).await?);
        }
        Ok(children)
    }

    pub(super) async fn parent(&self, instance: &str) -> Result<Option<String>, ProviderError> {
        let call = self.call("get_parent_id");
        Ok(self.existing_head(&call, instance).await?.content.state.parent)
    }

    /// An instance and all that it has started, level by level: a query for each level, not for each instance.
    pub(super) async fn tree(&self, root: &str) -> Result<InstanceTree, ProviderError> {
        let call = self.call("get_instance_tree");
        let mut all_ids = vec![root.to_owned()];
        let mut seen: HashSet<String> = all_ids.iter().cloned().collect();
        let mut level = all_ids.clone();
        while !level.is_empty() {
            let children = self.children_of(&call, &level).await?;
            // Documents that say that two instances have started each other must not keep this going.
            level =
                children.into_iter().map(|child| child.child).filter(|id| seen.insert(id.clone())).collect();
            all_ids.extend(level.iter().cloned());
        }
        Ok(InstanceTree { root_id: root.to_owned(), all_ids })
    }
}
