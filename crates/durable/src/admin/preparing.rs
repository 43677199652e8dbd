//! What is done before a deletion is decided: heads are locked, what the instances owe is delivered, children that are about
//! to start are taken in, and the checks are made.

use std::collections::{HashSet, VecDeque};

use duroxide::providers::ProviderError;

use super::Admin;
use super::deletion::{AT_ONCE, OPERATION};
use super::deletion_record::Record;
use super::freezing::Frozen;
use super::unborn::{Sender, Unborn};
use crate::hub::{hub_of, name_of, told};
use crate::join;
use crate::model::{HEAD, Head};
use crate::orchestration::outbox;

/// Whether all that goes is locked.
pub(super) enum Prepared {
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

impl Admin<'_> {
    /// Locks all heads, delivers what the instances owe, and makes the checks.
    pub(super) async fn prepare(
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
                Frozen::Unborn => {
                    record.unborn.insert(instance.clone());
                }
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
}
