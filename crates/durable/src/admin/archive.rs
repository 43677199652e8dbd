//! Copying an ended instance to another container, where it can be looked at as before.

use std::collections::HashSet;

use cosmonaut::{ContainerClient, Error, FeedScope, Query};
use duroxide::providers::ProviderError;
use serde_json::Value;

use super::Admin;
use crate::hub::told;
use crate::model::HEAD;

/// What of an instance tells what it was. What waits or is owed has no meaning after its end.
const KEPT: &str = "SELECT * FROM c WHERE c.type IN ('instance', 'history', 'execution', 'kv', 'chunk')";
/// What the service adds to a document.
const ADDED: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

impl Admin<'_> {
    /// Copies an instance, its head last: a head in the archive has all that belongs to it. An earlier instance of the
    /// same name goes from the archive.
    ///
    /// # Errors
    /// Retryable, if a container cannot be read or written, or the last turn is not spread over its documents yet.
    pub(super) async fn archive(
        &self,
        archive: &ContainerClient,
        instance: &str,
    ) -> Result<(), ProviderError> {
        let call = self.call("archive");
        let failed = |error: Error| ProviderError::retryable("archive", error.to_string());
        let found: Vec<Value> = self.within(&call, instance, Query::new(KEPT)).await?;
        if found.iter().any(|document| document.get("stage").is_some_and(|stage| !stage.is_null())) {
            let message =
                format!("the last turn of instance {} is not spread over its documents yet", told(instance));
            return Err(ProviderError::retryable("archive", message));
        }
        let documents = in_order(found);
        let ids: HashSet<&str> = documents.iter().filter_map(id).collect();
        let earlier = archive.query_items::<String>("SELECT VALUE c.id FROM c", FeedScope::from(instance));
        for old in earlier.collect().await.map_err(failed)? {
            if !ids.contains(&*old) {
                archive.delete_item(instance, &old).await.map_err(failed)?;
            }
        }
        for document in &documents {
            archive.upsert_item(instance, document).await.map_err(failed)?;
        }
        Ok(())
    }
}

fn id(document: &Value) -> Option<&str> {
    document.get("id").and_then(Value::as_str)
}

/// The documents without what the service has added, the head last.
fn in_order(mut documents: Vec<Value>) -> Vec<Value> {
    for document in documents.iter_mut().filter_map(Value::as_object_mut) {
        ADDED.iter().for_each(|name| drop(document.remove(*name)));
    }
    documents.sort_by_key(|document| id(document) == Some(HEAD));
    // It is locked, because it is about to be deleted.
    if let Some(lock) = documents.last_mut().and_then(|head| head.get_mut("lock")) {
        *lock = Value::Null;
    }
    documents
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_head_comes_last_and_nothing_of_the_service_is_copied() {
        let documents = vec![
            json!({"id": "instance", "_etag": "x", "state": {"_ts": 1}, "lock": {"token": "t"}}),
            json!({"id": "h:1:0000000000", "_ts": 5, "_self": "s", "_rid": "r", "_attachments": "a"}),
        ];
        let expected =
            [json!({"id": "h:1:0000000000"}), json!({"id": "instance", "state": {"_ts": 1}, "lock": null})];
        assert_eq!(in_order(documents), expected);
    }
}
