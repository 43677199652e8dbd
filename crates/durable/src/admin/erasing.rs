//! Removing all documents of an instance, the head last.
//!
//! What one transaction holds goes at once. Of a larger instance the head says that its documents go, from the first of them
//! on, and counts the transactions: a failover may take some of them back, and what is there again is removed once more. As
//! long as a part of the instance is left, its name cannot be used by a new one. Traces of what other instances have sent
//! stay until they end by themselves: what is delivered once more must not start the instance again.

use std::collections::HashSet;

use cosmonaut::{Patch, Query};
use duroxide::providers::{DeleteInstanceResult, ProviderError};
use serde::Deserialize;

use super::Admin;
use crate::hub::{hub_of, name_of, plain_kind, told};
use crate::model::{HEAD, Head, Kind, Message, Tombstone, Work, Write};
use crate::store::{Batch, Call, Cause, Guard};

/// How often documents are looked for that came while others went.
const MOST_ROUNDS: u32 = 16;
/// How many operations of a transaction the condition and the end of the head take.
const GUARD_WRITES: usize = 2;

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
    /// Whether another instance has sent a work item, which may be cancelled by now.
    delivered: Option<bool>,
}

impl Listed {
    /// What becomes of the document, if anything does.
    fn end(&self, instance: &str) -> Option<Write> {
        match &*self.kind {
            "seen" => None,
            "cancelled" if self.delivered == Some(true) => None,
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
        let (mut result, mut counted) = (DeleteInstanceResult::default(), HashSet::new());
        let mut removals = 0;
        // A worker that was in the middle of an activity may answer it meanwhile: what came after the list is in the next.
        for _ in 0..MOST_ROUNDS {
            let mut listed: Vec<Listed> = self.within(call, instance, listing.clone()).await?;
            listed.iter_mut().for_each(|document| document.kind = plain_kind(&document.kind).to_owned());
            add(&mut result, listed.iter().filter(|document| counted.insert(document.id.clone())));
            for work in listed.iter().filter(|document| document.kind == Work::KIND) {
                self.core.dispatch.work_gone(instance, &work.id);
            }
            let writes = listed.iter().filter(|document| document.id != HEAD);
            let writes: Vec<_> = writes.filter_map(|document| document.end(instance)).collect();
            match self.erase_listed(call, (instance, token), &writes, &mut removals).await? {
                Erased::InPart => continue,
                Erased::Wholly => {}
                Erased::NotAsItIsFree => {
                    let (instance, hub) = (name_of(instance), hub_of(instance));
                    tracing::warn!(
                        instance,
                        hub,
                        "an instance is not deleted: its lock was taken back meanwhile"
                    );
                    result = DeleteInstanceResult::default();
                }
            }
            self.core.dispatch.instance_until(instance, None);
            self.core.histories.forget(instance);
            return Ok(result);
        }
        let message = format!("instance {} gets messages faster than they are deleted", told(instance));
        Err(ProviderError::retryable(call.operation(), message))
    }

    /// Makes the writes that end documents of an instance, as many as a transaction holds at a time, as long as it is locked
    /// with `token` and `removals` is how many transactions there were. The head goes with the last of them: what one
    /// transaction holds goes at once.
    async fn erase_listed(
        &self,
        call: &Call,
        (instance, token): (&str, &str),
        writes: &[Write],
        removals: &mut u64,
    ) -> Result<Erased, ProviderError> {
        let most = Batch::MAX_WRITES - GUARD_WRITES;
        let (mut left, mut is_as_listed) = (writes.to_vec(), true);
        loop {
            let is_last = left.len() <= most;
            let some = &left[..left.len().min(most)];
            let patch = Patch::new().set("/lock/erasing", true).set("/lock/removals", *removals + 1);
            let patch = patch.condition(is_as_known(token, *removals));
            let guard = Guard { id: HEAD.to_owned(), patch, then_delete: is_last && is_as_listed };
            let batch = Batch { partition: instance, guard: Some(guard), writes: some };
            let (offset, count) = (batch.offset(), some.len());
            match self.core.store.batch(call, &batch).await {
                Ok(_) if is_last && is_as_listed => return Ok(Erased::Wholly),
                Ok(_) if is_last => {
                    *removals += 1;
                    return Ok(Erased::InPart);
                }
                Ok(_) => {
                    *removals += 1;
                    left.drain(..count);
                }
                Err(failure) => match (failure.cause(), failure.index()) {
                    // Somebody else has finished it.
                    (Cause::NotFound, Some(0)) => return Ok(Erased::Wholly),
                    (Cause::Condition, Some(0)) => {
                        return match self.removals(call, instance, token).await? {
                            // More or less is there than this process knows of.
                            Some(counted) => {
                                *removals = counted;
                                Ok(Erased::InPart)
                            }
                            None => Ok(Erased::NotAsItIsFree),
                        };
                    }
                    // A document is gone, and another one may have come in its place: the head stays for one more list.
                    (Cause::NotFound, Some(gone)) if gone >= offset && gone - offset < count => {
                        left.remove(gone - offset);
                        is_as_listed = false;
                    }
                    _ => return Err(failure.into_error(call)),
                },
            }
        }
    }

    /// How many transactions have removed documents of an instance; `None` if it is not locked with `token`.
    async fn removals(&self, call: &Call, instance: &str, token: &str) -> Result<Option<u64>, ProviderError> {
        let head = self.core.store.read::<Head>(call, instance, HEAD).await?;
        let lock = head.and_then(|head| head.content.lock).filter(|lock| lock.token == token);
        Ok(lock.map(|lock| lock.removals))
    }
}

/// The condition that an instance is locked, and that so many transactions have removed documents of it.
fn is_as_known(token: &str, removals: u64) -> String {
    let counted = match removals {
        0 => "(NOT IS_DEFINED(c.lock.removals) OR c.lock.removals = 0)".to_owned(),
        removals => format!("c.lock.removals = {removals}"),
    };
    format!("FROM c WHERE c.lock.token = '{token}' AND {counted}")
}

/// How much of an instance is gone.
enum Erased {
    InPart,
    Wholly,
    /// Nothing: the deletion does not hold its lock any more.
    NotAsItIsFree,
}

/// Adds what goes.
fn add<'a>(result: &mut DeleteInstanceResult, listed: impl Iterator<Item = &'a Listed>) {
    for Listed { kind, events, exists, .. } in listed {
        match &**kind {
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
