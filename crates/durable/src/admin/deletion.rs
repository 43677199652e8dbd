//! Deleting instances, all of them or none.
//!
//! A record names them; their heads are locked, so that no turn of theirs can commit and start another child. A name
//! without a head gets one for that. What the instances owe to others is delivered. Children that are about to start then
//! are named in the record and locked, too: they go with their parents, by force. Then the checks are made, the record is
//! committed by one write, and the documents go. If a check fails, the record is withdrawn by one write, and the locks go.
//! The record stays until all of that is done: whoever finds one that its writer has left goes on with it.

use std::collections::HashSet;

use cosmonaut::{ContainerClient, Patch};
use duroxide::providers::{DeleteInstanceResult, InstanceFilter, ProviderError};

use super::deletion_record::{Deletion, Record};
use super::instances::Scope;
use super::preparing::Prepared;
use super::{Admin, BULK_LIMIT};
use crate::hub::{hub_of, name_of};
use crate::join;
use crate::model::{Document, HEAD, Head};

/// How often a deletion is begun again because its record has no room for children that are about to start.
const STARTS: usize = 8;
pub(super) const OPERATION: &str = "delete_instances_atomic";
/// How many instances are worked on at once.
pub(super) const AT_ONCE: usize = 16;
/// A deletion goes forward or back, never both.
const NOT_WITHDRAWN: &str = "FROM c WHERE NOT IS_DEFINED(c.withdrawn) OR c.withdrawn = false";
const NOT_COMMITTED: &str = "FROM c WHERE c.committed = false";

fn withdrawn() -> ProviderError {
    ProviderError::retryable(OPERATION, "the deletion took too long and was taken back (try again)")
}

impl Admin<'_> {
    pub(super) async fn delete(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.put_away(ids, force, None).await
    }

    /// As [`delete`](Self::delete). With an archive, the instances go there once it is certain that all of them may go.
    pub(super) async fn put_away(
        &self,
        ids: &[String],
        force: bool,
        archive: Option<&ContainerClient>,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let given: HashSet<String> = ids.iter().cloned().collect();
        if given.is_empty() {
            return Ok(DeleteInstanceResult::default());
        }
        let mut all = given.clone();
        for _ in 0..STARTS {
            let mut record = self.begin(all.iter().cloned().collect()).await?;
            let prepared = match (self.prepare(&mut record, &given, force).await, archive) {
                (Ok(Prepared::Whole), Some(archive)) => {
                    self.archive_all(&mut record, archive).await.map(|()| Prepared::Whole)
                }
                (prepared, _) => prepared,
            };
            let deleted = match prepared {
                Ok(Prepared::Whole) => self.go_through(&mut record).await.map(Some),
                Ok(Prepared::Without(more)) => {
                    all.extend(more);
                    self.take_back(&mut record).await.map(|()| None)
                }
                Err(error) => self.take_back(&mut record).await.and(Err(error)),
            };
            match deleted {
                Ok(Some(deleted)) => return Ok(deleted),
                Ok(None) => {}
                Err(error) => {
                    self.leave(&record).await;
                    return Err(error);
                }
            }
        }
        Err(ProviderError::retryable(OPERATION, "the instances start children again and again (try again)"))
    }

    /// Commits the deletion and carries it out.
    async fn go_through(&self, record: &mut Record) -> Result<DeleteInstanceResult, ProviderError> {
        let committed = Patch::new().set("/committed", true).condition(NOT_WITHDRAWN);
        if !self.mark(record, committed).await? {
            self.free(record).await?;
            return Err(withdrawn());
        }
        let mut result = DeleteInstanceResult::default();
        let (unborn, born): (Vec<_>, Vec<_>) =
            record.instances.iter().cloned().partition(|instance| record.unborn.contains(instance));
        for some in born.chunks(AT_ONCE) {
            let erased = some.iter().map(|instance| self.erase(OPERATION, instance, &record.token));
            for one in join::all(erased.collect()).await {
                add(&mut result, &one?);
            }
            self.keep(record).await?;
        }
        add(&mut result, &self.erase_all_unborn(record, &unborn).await?);
        self.end(record).await?;
        Ok(result)
    }

    /// Erases instances that have not come to be, when all others are erased.
    async fn erase_all_unborn(
        &self,
        record: &mut Record,
        unborn: &[String],
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let mut result = DeleteInstanceResult::default();
        for some in unborn.chunks(AT_ONCE) {
            let erased = some.iter().map(|instance| self.erase_unborn(instance, record));
            for one in join::all(erased.collect()).await {
                add(&mut result, &one?);
            }
            self.keep(record).await?;
        }
        Ok(result)
    }

    async fn archive_all(&self, record: &mut Record, archive: &ContainerClient) -> Result<(), ProviderError> {
        for instance in record.instances.clone() {
            self.archive(archive, &instance).await?;
            self.keep(record).await?;
        }
        Ok(())
    }

    /// Undoes a deletion that was not committed.
    pub(super) async fn take_back(&self, record: &mut Record) -> Result<(), ProviderError> {
        let withdrawn = Patch::new().set("/withdrawn", true).condition(NOT_COMMITTED);
        let is_own = self.mark(record, withdrawn).await?;
        // Another process has gone on with it: it cannot be taken back any more.
        if !is_own && self.is_committed(&record.token).await? {
            return Ok(());
        }
        // If another process has withdrawn it, that one has freed what was locked then. This one may have been paused
        // meanwhile, and have locked more.
        self.free(record).await?;
        if is_own { self.end(record).await } else { Ok(()) }
    }

    /// Goes on with a deletion that its writer has left: forward if it was committed, else back.
    pub(super) async fn finish_deletion(&self, record: Document<Deletion>) -> Result<(), ProviderError> {
        let is_committed = record.content.committed;
        let Some(mut record) = self.found(record).await? else { return Ok(()) };
        let finished = self.finish(&mut record, is_committed).await;
        if finished.is_err() {
            // Nobody has to wait until the time is over that this process has given itself.
            self.leave(&record).await;
        }
        finished
    }

    async fn finish(&self, record: &mut Record, is_committed: bool) -> Result<(), ProviderError> {
        if is_committed {
            return self.erase_all(record).await;
        }
        if !self.has_erased(record).await? {
            // The writer may commit it at this very moment: then nothing is taken back, and it goes forward next time.
            return self.take_back(record).await;
        }
        // A failover has lost the decision, and not what followed it.
        if self.mark(record, Patch::new().set("/committed", true).condition(NOT_WITHDRAWN)).await? {
            return self.erase_all(record).await;
        }
        self.free(record).await?;
        self.end(record).await?;
        // What it has begun to remove is left, and has no record any more: somebody has to come back to it.
        for instance in &record.instances {
            self.core.dispatch.unfinished(instance, self.core.store.now_ms());
        }
        Ok(())
    }

    /// Erases what a committed deletion has left of its instances, and ends it.
    pub(super) async fn erase_all(&self, record: &mut Record) -> Result<(), ProviderError> {
        let mut unborn = Vec::new();
        for some in record.instances.clone().chunks(AT_ONCE) {
            let erased = some.iter().map(|instance| self.erase_rest(instance, &record.token));
            for (instance, rest) in some.iter().zip(join::all(erased.collect()).await) {
                match rest? {
                    Rest::Gone => {}
                    Rest::Unborn => unborn.push(instance.clone()),
                }
            }
            self.keep(record).await?;
        }
        self.erase_all_unborn(record, &unborn).await?;
        self.end(record).await
    }

    /// Whether something was removed that the record has locked.
    async fn has_erased(&self, record: &Record) -> Result<bool, ProviderError> {
        let call = &self.call(OPERATION);
        for some in record.instances.chunks(AT_ONCE) {
            let heads = some.iter().map(|instance| self.core.store.read::<Head>(call, instance, HEAD));
            for (instance, head) in some.iter().zip(join::all(heads.collect()).await) {
                match head? {
                    Some(head) => {
                        let lock = head.content.lock;
                        if lock.is_some_and(|lock| lock.token == record.token && lock.erasing) {
                            return Ok(true);
                        }
                    }
                    None => tracing::warn!(
                        instance = name_of(instance),
                        hub = hub_of(instance),
                        "a deletion is taken back, and this instance is not there; if it was, it was deleted"
                    ),
                }
            }
        }
        Ok(false)
    }

    /// Erases an instance that is locked for the deletion, if it has come to be. Any other instance of that name is a later
    /// one.
    async fn erase_rest(&self, instance: &str, token: &str) -> Result<Rest, ProviderError> {
        let head = self.core.store.read::<Head>(&self.call(OPERATION), instance, HEAD).await?;
        let Some(head) = head.filter(|head| head.content.lock.as_ref().is_some_and(|it| it.token == token))
        else {
            return Ok(Rest::Gone);
        };
        if !head.content.is_born() {
            return Ok(Rest::Unborn);
        }
        self.erase(OPERATION, instance, token).await?;
        Ok(Rest::Gone)
    }

    /// Deletes ended instances with all that they have started, as many as the filter says.
    pub(super) async fn delete_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let most = filter.limit.unwrap_or(BULK_LIMIT) as usize;
        let (mut all, mut roots, mut left_out) = (DeleteInstanceResult::default(), 0, HashSet::new());
        loop {
            // What is left out is found again, and must not keep others from being found.
            let limit = u32::try_from(most - roots + left_out.len()).ok();
            let InstanceFilter { instance_ids, completed_before, .. } = &filter;
            let found = InstanceFilter {
                instance_ids: instance_ids.clone(),
                completed_before: *completed_before,
                limit,
            };
            let found = self.select("delete_instance_bulk", Scope::EndedRoots, &found).await?;
            let fresh: Vec<String> = found.into_iter().filter(|root| !left_out.contains(root)).collect();
            if fresh.is_empty() || roots == most {
                return Ok(all);
            }
            for root in fresh.into_iter().take(most - roots) {
                let tree = self.tree(&root).await?;
                match self.delete(&tree.all_ids, false).await {
                    Ok(one) => {
                        add(&mut all, &one);
                        roots += 1;
                    }
                    // Something of it runs, or has begun to: bulk deletion is for what has ended.
                    Err(error) if !error.is_retryable() => {
                        tracing::info!(
                            root = name_of(&root), hub = hub_of(&root), %error,
                            "an instance is left out of a bulk deletion"
                        );
                        left_out.insert(root);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }
}

/// What is left of an instance.
enum Rest {
    /// Nothing, or another one of its name.
    Gone,
    /// Its lock, and what waits for it.
    Unborn,
}

fn add(all: &mut DeleteInstanceResult, one: &DeleteInstanceResult) {
    all.instances_deleted += one.instances_deleted;
    all.executions_deleted += one.executions_deleted;
    all.events_deleted += one.events_deleted;
    all.queue_messages_deleted += one.queue_messages_deleted;
}
