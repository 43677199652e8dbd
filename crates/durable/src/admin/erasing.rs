//! Removing all documents of an instance, the head last.
//!
//! As long as a part of an instance is left, its name cannot be used by a new one.

use cosmonaut::{Patch, Query};
use duroxide::providers::{DeleteInstanceResult, ProviderError};
use serde::Deserialize;

use super::Admin;
use crate::model::{HEAD, Kind, Message, Work};
use crate::store::{Batch, Cause, Guard};

/// A lock that does not end by itself: the record of the deletion says when it may be taken away.
pub(super) const FOR_EVER: u64 = 1 << 52;

/// A document of an instance.
#[derive(Deserialize)]
struct Listed {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    events: Option<u64>,
}

impl Admin<'_> {
    /// Removes an instance that is locked with `token`, or that has no head; says what has gone.
    pub(super) async fn erase(
        &self,
        operation: &'static str,
        instance: &str,
        token: Option<&str>,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let call = &self.call(operation);
        let listing = Query::new(
            "SELECT c.id, c.type, (IS_DEFINED(c.state.events) ? c.state.events : c.events) AS events FROM c",
        );
        let listed: Vec<Listed> = self.within(call, instance, Ok(listing)).await?;
        let result = count(&listed, token.is_some());
        for work in listed.iter().filter(|document| document.kind == Work::KIND) {
            self.dispatch.work_gone(instance, &work.id);
        }
        let ids = listed.into_iter().map(|document| document.id).filter(|id| id != HEAD).collect();
        self.remove(call, instance, ids).await?;
        let Some(token) = token else { return Ok(result) };
        let condition = format!("FROM c WHERE c.lock.token = '{token}'");
        let guard = Guard {
            id: HEAD.to_owned(),
            patch: Patch::new().set("/lock/until", FOR_EVER).condition(condition),
            then_delete: true,
        };
        let batch = Batch { partition: instance, guard: Some(guard), writes: &[] };
        match self.store.batch(call, &batch).await {
            Ok(_) => {}
            Err(failure) => match failure.cause() {
                // Somebody else has finished it.
                Cause::Condition | Cause::NotFound => {}
                Cause::Conflict | Cause::Transient | Cause::Permanent => return Err(failure.into_error(call)),
            },
        }
        self.dispatch.instance_until(instance, None);
        Ok(result)
    }
}

fn count(listed: &[Listed], exists: bool) -> DeleteInstanceResult {
    let mut result =
        DeleteInstanceResult { instances_deleted: u64::from(exists), ..DeleteInstanceResult::default() };
    for Listed { kind, events, .. } in listed {
        match &**kind {
            "instance" | "execution" => {
                result.executions_deleted += 1;
                result.events_deleted += events.unwrap_or(0);
            }
            Message::KIND | Work::KIND => result.queue_messages_deleted += 1,
            _ => {}
        }
    }
    result
}
