//! Locking the heads of instances that are to be deleted, so that no turn of theirs can commit, and freeing them again.

use std::time::Duration;

use cosmonaut::Patch;
use duroxide::providers::ProviderError;

use super::Admin;
use super::deletion::{AT_ONCE, OPERATION};
use super::deletion_record::Record;
use crate::clock;
use crate::hub::told;
use crate::join;
use crate::model::{HEAD, Head, Lock, RUNNING};
use crate::store::{Batch, Cause, Guard};

/// How often a head that changes under the deletion is tried again.
const RACES: usize = 32;
/// How often it is looked whether another deletion of the same instance is over, and the pause between.
const LOOKS: usize = 100;
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// A head that is more than a place for a lock.
const IS_BORN: &str = "(c.state.exists = true OR c.state.lastEvent > 0)";
/// What a deletion has begun to remove is not given back.
const NOT_ERASING: &str = "(NOT IS_DEFINED(c.lock.erasing) OR c.lock.erasing = false)";

/// What became of an instance that was to be locked.
pub(super) enum Frozen {
    Unborn,
    Born,
    NotAsItRuns,
}

impl Admin<'_> {
    /// Locks the head of an instance. A name without a head gets one, so that nothing can start.
    pub(super) async fn freeze(
        &self,
        instance: &str,
        token: &str,
        force: bool,
    ) -> Result<Frozen, ProviderError> {
        let call = &self.call(OPERATION);
        let lock = Some(Lock::of_deletion(token));
        let (mut races, mut looks) = (0, 0);
        while races < RACES && looks < LOOKS {
            races += 1;
            let mut frozen = Frozen::Unborn;
            let written = match self.core.store.read::<Head>(call, instance, HEAD).await? {
                Some(mut head) => {
                    let state = &head.content.state;
                    if head.content.is_born() {
                        frozen = Frozen::Born;
                    }
                    if head.content.lock.as_ref().is_some_and(|lock| lock.token == token) {
                        return Ok(frozen);
                    }
                    if head.content.lock.as_ref().is_some_and(Lock::is_of_deletion) {
                        // What that one has begun to remove must not be given back by this one.
                        self.end_lost_deletion(instance).await?;
                        (races, looks) = (0, looks + 1);
                        clock::sleep(LOOK_PAUSE).await;
                        continue;
                    }
                    if !force && state.exists && state.status == RUNNING {
                        return Ok(Frozen::NotAsItRuns);
                    }
                    head.content.lock.clone_from(&lock);
                    self.core.store.replace(call, &head).await
                }
                None => {
                    let now = self.core.store.settled_ms(call).await?;
                    let mut head = Head::unborn(instance, clock::unique_id(), now);
                    head.content.lock.clone_from(&lock);
                    self.core.store.create(call, &head).await
                }
            };
            match written {
                Ok(_) => return Ok(frozen),
                Err(failure) => match failure.cause() {
                    Cause::Condition | Cause::NotFound | Cause::Conflict => {}
                    Cause::Transient | Cause::Permanent => return Err(failure.into_error(call)),
                },
            }
        }
        let message = format!("instance {} is too busy to be deleted now", told(instance));
        Err(ProviderError::retryable(call.operation(), message))
    }

    /// Frees the heads that the record has locked.
    pub(super) async fn free(&self, record: &mut Record) -> Result<(), ProviderError> {
        for some in record.instances.clone().chunks(AT_ONCE) {
            let freed = some.iter().map(|instance| self.unlock(instance, &record.token));
            join::all(freed.collect()).await.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(())
    }

    /// Frees an instance that is locked with `token`, unless something of it was removed.
    pub(super) async fn unlock(&self, instance: &str, token: &str) -> Result<(), ProviderError> {
        let call = self.call(OPERATION);
        let condition =
            |is: &str| format!("FROM c WHERE c.lock.token = '{token}' AND {NOT_ERASING} AND {is}");
        let patch = Patch::new().set("/lock", ()).condition(condition(IS_BORN));
        let unlocked = self.core.store.patch(&call, (instance, HEAD), patch, false).await;
        let freed = match unlocked.map_err(|failure| (failure.cause(), failure)) {
            Ok(_) => Ok(()),
            // A head that was made for the deletion alone goes.
            Err((Cause::Condition, _)) => {
                let patch = Patch::new().set("/lock", ()).condition(condition(&format!("NOT ({IS_BORN})")));
                let guard = Guard { id: HEAD.to_owned(), patch, then_delete: true };
                let batch = Batch { partition: instance, guard: Some(guard), writes: &[] };
                self.core.store.batch(&call, &batch).await.map(drop)
            }
            Err((_, failure)) => Err(failure),
        };
        match freed {
            Ok(()) => {
                self.core.dispatch.instance_until(instance, None);
                self.core.dispatch.look_again(instance, 0);
            }
            Err(failure) => match failure.cause() {
                Cause::Condition | Cause::NotFound => {}
                Cause::Conflict | Cause::Transient | Cause::Permanent => {
                    return Err(failure.into_error(&call));
                }
            },
        }
        Ok(())
    }
}
