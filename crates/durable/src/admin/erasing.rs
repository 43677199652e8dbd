//! Removing all documents of an instance, the head last.
//!
//! As long as a part of an instance is left, its name cannot be used by a new one. Traces of what other instances have sent
//! stay until they end by themselves: what is delivered once more must not start the instance again.

use cosmonaut::{Patch, Query};
use duroxide::providers::{DeleteInstanceResult, ProviderError};
use serde::Deserialize;

use super::Admin;
use crate::hub::plain_kind;
use crate::model::{HEAD, Kind, Message, Tombstone, Work, Write};
use crate::store::{Batch, Cause, Guard};

/// A lock that does not end by itself: the record of the deletion says when it may be taken away.
pub(super) const FOR_EVER: u64 = 1 << 52;

/// How often documents are looked for that came while others went.
const MOST_ROUNDS: u32 = 16;

/// A document of an instance.
#[derive(Deserialize)]
struct Listed {
    id: String,
    /// Empty for a document that is none of this crate's.
    #[serde(rename = "type", default)]
    kind: String,
    events: Option<u64>,
    /// Whether a head is one of an instance that has come to be.
    exists: Option<bool>,
    /// Whether another instance has sent a work item.
    delivered: Option<bool>,
}

impl Listed {
    /// What becomes of the document, if anything does.
    fn end(&self, instance: &str) -> Option<Write> {
        match &*self.kind {
            "seen" => None,
            Work::KIND if self.delivered == Some(true) => {
                Some(Write::upsert(&Tombstone::seen(instance, &self.id, None)))
            }
            Message::KIND => Some(Write::taken(instance, &self.id, None)),
            _ => Some(Write::delete(&*self.id)),
        }
    }
}

impl Admin<'_> {
    /// Removes an instance that is locked with `token`; says what has gone.
    pub(super) async fn erase(
        &self,
        operation: &'static str,
        instance: &str,
        token: &str,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let call = &self.call(operation);
        let listing = Query::new(
            "SELECT c.id, c.type, c.delivered, (IS_DEFINED(c.state.events) ? c.state.events : c.events) AS events, \
             (c.state.exists = true OR c.state.lastEvent > 0) AS exists FROM c",
        );
        let mut result = DeleteInstanceResult::default();
        // A worker that was in the middle of an activity may answer it meanwhile: what came after the list is in the next.
        for round in 0..MOST_ROUNDS {
            let mut listed: Vec<Listed> = self.within(call, instance, listing.clone()).await?;
            listed.iter_mut().for_each(|document| document.kind = plain_kind(&document.kind).to_owned());
            add(&mut result, &listed, round == 0);
            for work in listed.iter().filter(|document| document.kind == Work::KIND) {
                self.core.dispatch.work_gone(instance, &work.id);
            }
            let writes = listed.iter().filter(|document| document.id != HEAD);
            let writes: Vec<_> = writes.filter_map(|document| document.end(instance)).collect();
            if writes.is_empty() {
                break;
            }
            let ended = self.core.store.apply_to_rest(call, instance, writes).await;
            ended.map_err(|failure| failure.into_error(call))?;
        }
        let condition = format!("FROM c WHERE c.lock.token = '{token}'");
        let guard = Guard {
            id: HEAD.to_owned(),
            patch: Patch::new().set("/lock/until", FOR_EVER).condition(condition),
            then_delete: true,
        };
        let batch = Batch { partition: instance, guard: Some(guard), writes: &[] };
        match self.core.store.batch(call, &batch).await {
            Ok(_) => {}
            Err(failure) => match failure.cause() {
                // Somebody else has finished it.
                Cause::Condition | Cause::NotFound => {}
                Cause::Conflict | Cause::Transient | Cause::Permanent => return Err(failure.into_error(call)),
            },
        }
        self.core.dispatch.instance_until(instance, None);
        self.core.histories.forget(instance);
        Ok(result)
    }
}

/// Adds what goes. The head is in every list, and is counted with the first.
fn add(result: &mut DeleteInstanceResult, listed: &[Listed], is_first: bool) {
    for Listed { kind, events, exists, .. } in listed {
        match &**kind {
            "instance" if !is_first => {}
            // A place for a lock is no instance.
            "instance" if *exists != Some(true) => {}
            "instance" | "execution" => {
                result.instances_deleted += u64::from(kind == "instance");
                result.executions_deleted += 1;
                result.events_deleted += events.unwrap_or(0);
            }
            Message::KIND | Work::KIND => result.queue_messages_deleted += 1,
            _ => {}
        }
    }
}
