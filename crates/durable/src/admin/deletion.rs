//! Deleting instances, all of them or none.
//!
//! A record names them; their heads are locked, so that no turn of theirs can commit and start another child. A name
//! without a head gets one for that. What the instances owe to others is delivered. Children that are about to start then
//! are named in the record and locked, too: they go with their parents, by force. Then the checks are made, the record is
//! committed by one write, and the documents go. If a check fails, the record is withdrawn by one write, and the locks go.
//! The record stays until all of that is done: whoever finds one that its writer has left goes on with it.

use std::collections::{HashSet, VecDeque};

use cosmonaut::{ContainerClient, Patch};
use duroxide::providers::{DeleteInstanceResult, InstanceFilter, ProviderError};

use super::deletion_record::{Deletion, Record};
use super::freezing::Frozen;
use super::instances::Scope;
use super::unborn::{Sender, Unborn};
use super::{Admin, BULK_LIMIT};
use crate::hub::{hub_of, name_of, told};
use crate::join;
use crate::model::{Document, HEAD, Head};
use crate::orchestration::outbox;

/// How often a deletion is begun again because its record has no room for children that are about to start.
const STARTS: usize = 8;
pub(super) const OPERATION: &str = "delete_instances_atomic";
/// How many instances are worked on at once.
pub(super) const AT_ONCE: usize = 16;
/// A deletion goes forward or back, never both.
const NOT_WITHDRAWN: &str = "FROM c WHERE NOT IS_DEFINED(c.withdrawn) OR c.withdrawn = false";
const NOT_COMMITTED: &str = "FROM c WHERE c.committed = false";

/// Whether all that goes is locked.
enum Prepared {
    Whole,
    /// These children are about to start, and the record has no room for them.
    Without(Vec<String>),
}

fn orphan(child: &str, parent: &str) -> ProviderError {
    let child = told(child);
    let message =
        format!("{parent} has a child {child} that is not to be deleted with it (read the tree again)");
    ProviderError::permanent(OPERATION, message)
}

/// Why a deletion without force ends: something may start without its parent.
fn about_to_start(Unborn { child, parent, unread }: &Unborn) -> ProviderError {
    let (child, parent) = (told(child), told(parent));
    let message = match unread {
        None => format!(
            "instance {parent} has a child {child} that is about to start (wait for it, or delete by force)"
        ),
        Some(error) => format!(
            "instance {parent} has sent something to {child}, which is not there, and it cannot be read whether that \
             starts a child: {} (or delete by force)",
            error.message
        ),
    };
    ProviderError::permanent(OPERATION, message)
}

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
        for some in record.instances.clone().chunks(AT_ONCE) {
            let erased = some.iter().map(|instance| self.erase(OPERATION, instance, &record.token));
            for one in join::all(erased.collect()).await {
                add(&mut result, &one?);
            }
            self.keep(record).await?;
        }
        self.end(record).await?;
        Ok(result)
    }

    async fn archive_all(&self, record: &mut Record, archive: &ContainerClient) -> Result<(), ProviderError> {
        for instance in record.instances.clone() {
            self.archive(archive, &instance).await?;
            self.keep(record).await?;
        }
        Ok(())
    }

    /// Locks all heads, delivers what the instances owe, and makes the checks.
    async fn prepare(
        &self,
        record: &mut Record,
        given: &HashSet<String>,
        force: bool,
    ) -> Result<Prepared, ProviderError> {
        for some in record.instances.clone().chunks(AT_ONCE) {
            self.freeze_all(record, some, given, force).await?;
        }
        self.deliver_owed(record, force).await?;
        if let Some(more) = self.take_in_unborn(record, given, force).await? {
            return Ok(Prepared::Without(more));
        }
        // From here on nothing is started any more: whatever has come to be meanwhile has a head.
        let children = self.children_of(&self.call(OPERATION), &record.instances).await?;
        match children.iter().find(|child| !given.contains(&child.child)) {
            Some(left) => Err(orphan(&left.child, &format!("instance {}", told(&left.parent)))),
            None => self.check_locks(record).await.map(|()| Prepared::Whole),
        }
    }

    /// Makes certain that all instances are still locked, if they are several: none may go while another stays.
    ///
    /// # Errors
    /// Retryable, if a failover has taken a lock back.
    async fn check_locks(&self, record: &mut Record) -> Result<(), ProviderError> {
        if record.instances.len() < 2 {
            return Ok(());
        }
        for some in record.instances.clone().chunks(AT_ONCE) {
            let call = &self.call(OPERATION);
            let heads = some.iter().map(|instance| self.core.store.read::<Head>(call, instance, HEAD));
            for (instance, head) in some.iter().zip(join::all(heads.collect()).await) {
                let lock = head?.and_then(|head| head.content.lock);
                if lock.is_none_or(|lock| lock.token != record.token) {
                    let message = format!(
                        "a failover has taken back the lock of instance {} (try again)",
                        told(instance)
                    );
                    return Err(ProviderError::retryable(OPERATION, message));
                }
            }
            self.keep(record).await?;
        }
        Ok(())
    }

    /// Locks the heads of some instances.
    async fn freeze_all(
        &self,
        record: &mut Record,
        some: &[String],
        given: &HashSet<String>,
        force: bool,
    ) -> Result<(), ProviderError> {
        let frozen = some.iter().map(|instance| self.freeze(instance, &record.token, force));
        for (instance, frozen) in some.iter().zip(join::all(frozen.collect()).await) {
            match frozen? {
                Frozen::Unborn => {}
                Frozen::Born if given.contains(instance) => {}
                Frozen::Born => return Err(orphan(instance, "one of the instances")),
                Frozen::NotAsItRuns => {
                    let message = format!(
                        "Instance {} is still running (cancel it first, or delete it by force)",
                        told(instance)
                    );
                    return Err(ProviderError::permanent(OPERATION, message));
                }
            }
        }
        self.keep(record).await
    }

    /// Names and locks the children that are about to start. Gives those that the record has no room for, if there are some.
    ///
    /// # Errors
    /// Permanent without force, if there are such children.
    async fn take_in_unborn(
        &self,
        record: &mut Record,
        given: &HashSet<String>,
        force: bool,
    ) -> Result<Option<Vec<String>>, ProviderError> {
        let mut known: HashSet<String> = record.instances.iter().cloned().collect();
        let mut left: VecDeque<Sender> = given.iter().map(|instance| Sender::new(instance)).collect();
        while !left.is_empty() {
            let some: Vec<Sender> = left.drain(..left.len().min(AT_ONCE)).collect();
            let (unborn, further) = self.unborn_children(&some, &known).await?;
            left.extend(further);
            if let Some(found) = unborn.first().filter(|_| !force) {
                return Err(about_to_start(found));
            }
            let (certain, unread): (Vec<_>, Vec<_>) =
                unborn.into_iter().partition(|unborn| unborn.unread.is_none());
            let certain = certain.into_iter().map(|unborn| unborn.child);
            let more: Vec<String> = certain.filter(|child| known.insert(child.clone())).collect();
            for Unborn { child, parent, unread } in unread {
                if let Some(error) = unread.filter(|_| !known.contains(&child)) {
                    tracing::error!(
                        instance = name_of(&parent), child = name_of(&child), hub = hub_of(&parent), %error,
                        "a deleted instance has sent something that cannot be read to an instance that is not there; if it starts \
                         a child, the child starts without its parent"
                    );
                }
            }
            if !more.is_empty() && !self.name_more(record, &more).await? {
                return Ok(Some(more));
            }
            for some in more.chunks(AT_ONCE) {
                self.freeze_all(record, some, given, force).await?;
            }
            self.keep(record).await?;
        }
        Ok(None)
    }

    /// Delivers what instances owe to others, as long as all of them are there: what they owe each other goes with them.
    async fn deliver_owed(&self, record: &mut Record, force: bool) -> Result<(), ProviderError> {
        for some in record.instances.clone().chunks(AT_ONCE) {
            let delivered = some.iter().map(|instance| outbox::deliver_all(self.core, instance));
            for (instance, delivered) in some.iter().zip(join::all(delivered.collect()).await) {
                match delivered {
                    Ok(()) => {}
                    Err(error) if force && !error.is_retryable() => {
                        tracing::error!(
                            instance = name_of(instance), hub = hub_of(instance), %error,
                            "what a deleted instance owes to others is lost"
                        );
                    }
                    Err(error) => {
                        let (instance, why) = (told(instance), &error.message);
                        let message = format!("instance {instance} owes something to another one: {why}");
                        return Err(ProviderError { message, ..error });
                    }
                }
            }
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
        if !is_committed {
            if !self.has_erased(&record).await? {
                // The writer may commit it at this very moment: then nothing is taken back, and it goes forward next time.
                return self.take_back(&mut record).await;
            }
            // A failover has lost the decision, and not what followed it.
            if !self.mark(&mut record, Patch::new().set("/committed", true).condition(NOT_WITHDRAWN)).await? {
                self.free(&mut record).await?;
                self.end(&record).await?;
                let ends = record.instances.iter().map(|instance| self.end_lost_deletion(instance));
                return join::all(ends.collect()).await.into_iter().collect();
            }
        }
        for some in record.instances.clone().chunks(AT_ONCE) {
            let erased = some.iter().map(|instance| self.erase_rest(instance, &record.token));
            join::all(erased.collect()).await.into_iter().collect::<Result<(), _>>()?;
            self.keep(&mut record).await?;
        }
        self.end(&record).await
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

    /// Erases an instance that is locked for the deletion. Any other instance of that name is a later one.
    async fn erase_rest(&self, instance: &str, token: &str) -> Result<(), ProviderError> {
        let head = self.core.store.read::<Head>(&self.call(OPERATION), instance, HEAD).await?;
        let lock = head.and_then(|head| head.content.lock);
        if lock.is_some_and(|lock| lock.token == token) {
            self.erase(OPERATION, instance, token).await?;
        }
        Ok(())
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

fn add(all: &mut DeleteInstanceResult, one: &DeleteInstanceResult) {
    all.instances_deleted += one.instances_deleted;
    all.executions_deleted += one.executions_deleted;
    all.events_deleted += one.events_deleted;
    all.queue_messages_deleted += one.queue_messages_deleted;
}
