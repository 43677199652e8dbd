//! Deleting instances, all of them or none.
//!
//! A record names them; their heads are locked, so that no turn of theirs can commit and start another child;
//! then the checks are made, the record is committed by one write, and the documents go, the head of each
//! instance last: as long as a part of an instance is left, its name cannot be used by a new one.

use std::collections::HashSet;

use cosmonaut::{Patch, Query};
use duroxide::providers::{DeleteInstanceResult, InstanceFilter, ProviderError};
use serde::Deserialize;

use super::Admin;
use super::cleanup::{Deletion, RECORDS};
use super::instances::Scope;
use crate::model::{Document, HEAD, Head, Kind, Lock, Message, RUNNING, Work};
use crate::store::{Batch, Call, Cause, Guard};

/// A lock that does not end by itself: the record says when it may be taken away.
const FOR_EVER: u64 = 1 << 52;
/// How often a head that changes under the deletion is tried again.
const RACES: usize = 32;

/// A document of an instance.
#[derive(Deserialize)]
struct Listed {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    events: Option<u64>,
}

impl Admin<'_> {
    pub(super) async fn delete(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let mut seen = HashSet::new();
        let instances: Vec<String> = ids.iter().filter(|id| seen.insert(id.as_str())).cloned().collect();
        if instances.is_empty() {
            return Ok(DeleteInstanceResult::default());
        }
        let call = self.call("delete_instances_atomic");
        let record = Deletion::record(instances);
        self.store.create(&call, &record).await.map_err(|failure| failure.into_error(&call))?;
        let unborn = match self.prepare(&call, &record.content, force).await {
            Ok(unborn) => unborn,
            Err(error) => {
                self.take_back(&call, &record).await?;
                return Err(error);
            }
        };
        self.commit(&call, &record).await?;
        let mut result = DeleteInstanceResult::default();
        for instance in &record.content.instances {
            let token = (!unborn.contains(instance)).then_some(&*record.content.token);
            self.erase(&call, instance, token, &mut result).await?;
        }
        self.remove_record(&call, &record.id).await?;
        Ok(result)
    }

    /// Locks all heads and makes the checks; gives the instances that have no head.
    async fn prepare(
        &self,
        call: &Call,
        deletion: &Deletion,
        force: bool,
    ) -> Result<HashSet<String>, ProviderError> {
        let mut unborn = HashSet::new();
        for instance in &deletion.instances {
            let refused = |head: &Head| !force && head.state.exists && head.state.status == RUNNING;
            match self.freeze(call, instance, &deletion.token, refused).await? {
                Frozen::Yes => {}
                Frozen::NoHead => {
                    unborn.insert(instance.clone());
                }
                Frozen::Refused => {
                    let message = format!(
                        "Instance {instance} is still running (cancel it first, or delete it by force)"
                    );
                    return Err(ProviderError::permanent(call.operation(), message));
                }
            }
        }
        let children = self.children_of(call, &deletion.instances).await?;
        match children.iter().find(|child| !deletion.instances.contains(&child.child)) {
            None => Ok(unborn),
            Some(orphan) => Err(ProviderError::permanent(
                call.operation(),
                format!(
                    "instance {} has a child {} that is not to be deleted with it (read its tree again)",
                    orphan.parent, orphan.child
                ),
            )),
        }
    }

    async fn freeze(
        &self,
        call: &Call,
        instance: &str,
        token: &str,
        refused: impl Fn(&Head) -> bool,
    ) -> Result<Frozen, ProviderError> {
        for _ in 0..RACES {
            let Some(mut head) = self.store.read::<Head>(call, instance, HEAD).await? else {
                return Ok(Frozen::NoHead);
            };
            if head.content.lock.as_ref().is_some_and(|lock| lock.token == token) {
                return Ok(Frozen::Yes);
            }
            if refused(&head.content) {
                return Ok(Frozen::Refused);
            }
            head.content.lock = Some(Lock { token: token.to_owned(), until: FOR_EVER, messages: Vec::new() });
            match self.store.replace(call, &head).await {
                Ok(_) => return Ok(Frozen::Yes),
                Err(failure) => match failure.cause() {
                    Cause::Condition | Cause::NotFound => {}
                    Cause::Conflict | Cause::Transient | Cause::Permanent => {
                        return Err(failure.into_error(call));
                    }
                },
            }
        }
        let message = format!("instance {instance} is too busy to be deleted now");
        Err(ProviderError::retryable(call.operation(), message))
    }

    async fn commit(&self, call: &Call, record: &Document<Deletion>) -> Result<(), ProviderError> {
        let patch = Patch::new().set("/committed", true);
        match self.store.patch(call, (RECORDS, &record.id), patch, false).await {
            Ok(_) => Ok(()),
            Err(failure) if failure.cause() == Cause::NotFound => {
                let message = "the deletion took too long and was taken back (try again)";
                Err(ProviderError::retryable(call.operation(), message))
            }
            Err(failure) => Err(failure.into_error(call)),
        }
    }

    /// Undoes a deletion that was not committed.
    async fn take_back(&self, call: &Call, record: &Document<Deletion>) -> Result<(), ProviderError> {
        for instance in &record.content.instances {
            let condition = format!("FROM c WHERE c.lock.token = '{}'", record.content.token);
            let patch = Patch::new().set("/lock", ()).condition(condition);
            match self.store.patch(call, (instance, HEAD), patch, false).await {
                Ok(_) => self.dispatch.look_at(instance, 0),
                Err(failure) => match failure.cause() {
                    Cause::Condition | Cause::NotFound => {}
                    Cause::Conflict | Cause::Transient | Cause::Permanent => {
                        return Err(failure.into_error(call));
                    }
                },
            }
        }
        self.remove_record(call, &record.id).await
    }

    /// Goes on with a deletion that its writer has left: forward if it was committed, else back.
    pub(super) async fn finish_deletion(
        &self,
        call: &Call,
        record: Document<Deletion>,
    ) -> Result<(), ProviderError> {
        if !record.content.committed {
            // The writer may commit it at this very moment: then it is not deleted, and goes forward next time.
            return match self.store.delete(call, RECORDS, &record.id, Some(&record.etag)).await {
                Ok(()) => self.take_back(call, &record).await,
                Err(failure) => match failure.cause() {
                    Cause::Condition | Cause::NotFound => Ok(()),
                    Cause::Conflict | Cause::Transient | Cause::Permanent => Err(failure.into_error(call)),
                },
            };
        }
        let mut result = DeleteInstanceResult::default();
        for instance in &record.content.instances {
            let head = self.store.read::<Head>(call, instance, HEAD).await?;
            let lock = head.and_then(|head| head.content.lock);
            // Any other instance of that name is a later one.
            if lock.is_some_and(|lock| lock.token == record.content.token) {
                self.erase(call, instance, Some(&record.content.token), &mut result).await?;
            }
        }
        self.remove_record(call, &record.id).await
    }

    /// Removes all documents of an instance, the head last.
    async fn erase(
        &self,
        call: &Call,
        instance: &str,
        token: Option<&str>,
        result: &mut DeleteInstanceResult,
    ) -> Result<(), ProviderError> {
        let listing = Query::new(
            "SELECT c.id, c.type, (IS_DEFINED(c.state.events) ? c.state.events : c.events) AS events FROM c",
        );
        let listed: Vec<Listed> = self.within(call, instance, Ok(listing)).await?;
        count(&listed, token.is_some(), result);
        for work in listed.iter().filter(|document| document.kind == Work::KIND) {
            self.dispatch.work_gone(instance, &work.id);
        }
        let ids = listed.into_iter().map(|document| document.id).filter(|id| id != HEAD).collect();
        self.remove(call, instance, ids).await?;
        let Some(token) = token else { return Ok(()) };
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
        Ok(())
    }

    pub(super) async fn delete_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let mut all = DeleteInstanceResult::default();
        for root in self.select("delete_instance_bulk", Scope::EndedRoots, &filter).await? {
            let tree = self.tree(&root).await?;
            match self.delete(&tree.all_ids, false).await {
                Ok(one) => add(&mut all, &one),
                // Something of it runs, or has begun to: bulk deletion is for what has ended.
                Err(error) if !error.is_retryable() => {
                    tracing::info!(root, %error, "an instance is left out of a bulk deletion");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }
}

/// Whether an instance was locked for deletion.
enum Frozen {
    Yes,
    NoHead,
    Refused,
}

fn count(listed: &[Listed], exists: bool, result: &mut DeleteInstanceResult) {
    if exists {
        result.instances_deleted += 1;
    }
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
}

fn add(all: &mut DeleteInstanceResult, one: &DeleteInstanceResult) {
    all.instances_deleted += one.instances_deleted;
    all.executions_deleted += one.executions_deleted;
    all.events_deleted += one.events_deleted;
    all.queue_messages_deleted += one.queue_messages_deleted;
}
