//! Deletions whose record a forced failover has lost: an instance stays locked, and nobody would take the lock away.
//!
//! The head says whether anything was removed already. What has begun is finished; what has not is taken back. Either way
//! the deletion gets a record again, for all instances of this process that go, or for all that stay. Making that record is
//! the one write that decides who does it: it fails if there is a record after all.

use cosmonaut::{FeedScope, Query};
use duroxide::providers::ProviderError;

use super::Admin;
use super::deletion::{AT_ONCE, OPERATION};
use super::deletion_record::Record;
use crate::hub::{hub_of, name_of};
use crate::join;
use crate::model::{Document, HEAD, Head, Lock};
use crate::orchestration;

/// How many instances are dealt with by one record.
const MOST: usize = 100;

impl Admin<'_> {
    /// Ends the deletion that an instance is locked by, if it has no record.
    pub(crate) async fn end_lost_deletion(&self, instance: &str) -> Result<(), ProviderError> {
        let call = self.call(OPERATION);
        let Some(head) = self.core.store.read::<Head>(&call, instance, HEAD).await? else { return Ok(()) };
        let Some(lock) = head.content.lock.as_ref().filter(|lock| lock.is_of_deletion()) else {
            return Ok(());
        };
        // A record that somebody has made anew names some instances: the others of the deletion come after it.
        let not_yet =
            || ProviderError::retryable(OPERATION, "another instance of the deletion is being dealt with");
        match self.is_named(&lock.token, instance).await? {
            Some(true) => return Ok(()),
            Some(false) => return Err(not_yet()),
            None => {}
        }
        let has_begun = self.has_begun(&head, lock).await?;
        let mut instances = vec![instance.to_owned()];
        // One by one they would wait for each other, longer and longer.
        match self.others_alike(instance, &lock.token, has_begun).await {
            Ok(others) => instances.extend(others),
            Err(error) => tracing::debug!(%error, "an instance of a lost deletion is dealt with alone"),
        }
        let Some(mut record) = self.begin_again(instances, &lock.token, has_begun).await? else {
            return Err(not_yet());
        };
        let ended = match has_begun {
            true => self.finish_lost(&mut record).await,
            false => self.take_back_lost(&mut record).await,
        };
        if ended.is_err() {
            self.leave(&record).await;
        }
        ended
    }

    async fn finish_lost(&self, record: &mut Record) -> Result<(), ProviderError> {
        for instance in &record.instances {
            tracing::error!(
                instance = name_of(instance),
                hub = hub_of(instance),
                "a failover has lost the record of a deletion that had removed parts of this instance; it is finished"
            );
        }
        self.erase_all(record).await
    }

    async fn take_back_lost(&self, record: &mut Record) -> Result<(), ProviderError> {
        for instance in &record.instances {
            tracing::error!(
                instance = name_of(instance),
                hub = hub_of(instance),
                "a failover has lost the record of a deletion that had removed nothing of this instance; the instance stays"
            );
        }
        self.take_back(record).await
    }

    /// Other instances of this process that the same deletion has locked: those of which it has begun to remove something,
    /// or those of which it has not.
    async fn others_alike(
        &self,
        instance: &str,
        token: &str,
        begun: bool,
    ) -> Result<Vec<String>, ProviderError> {
        let mut locked = self.locked_by(token).await?;
        locked.retain(|other| other != instance);
        locked.truncate(MOST - 1);
        let mut alike = Vec::new();
        for some in locked.chunks(AT_ONCE) {
            let states = join::all(some.iter().map(|other| self.state_of(other, token)).collect()).await;
            for (other, has_begun) in some.iter().zip(states) {
                if has_begun? == Some(begun) {
                    alike.push(other.clone());
                }
            }
        }
        Ok(alike)
    }

    /// Instances of this process that a deletion has locked, as many as one record names, or a page more.
    async fn locked_by(&self, token: &str) -> Result<Vec<String>, ProviderError> {
        let call = &self.call(OPERATION);
        let query = Query::new(format!(
            "SELECT VALUE c.instanceId FROM c WHERE c.type = 'instance' AND c.lock.until = {} AND c.lock.token = @token",
            Lock::FOR_EVER
        ))
        .with("@token", token);
        let mut locked: Vec<String> = Vec::new();
        let own = *self.core.dispatch.slots().borrow();
        for range in own.ranges() {
            let (scope, mut next) = (FeedScope::from(&range), None);
            while locked.len() < MOST {
                // A server that is busy gives a page that is not full.
                let page = self.core.store.query_page(call, (&query, &scope), MOST as u32, next);
                let (found, continuation) = page.await?;
                locked.extend(found);
                next = continuation;
                if next.is_none() {
                    break;
                }
            }
        }
        Ok(locked)
    }

    /// Whether a deletion has removed something of an instance; `None` if it has not locked it.
    async fn state_of(&self, instance: &str, token: &str) -> Result<Option<bool>, ProviderError> {
        let head = self.core.store.read::<Head>(&self.call(OPERATION), instance, HEAD).await?;
        let Some(head) = head else { return Ok(None) };
        match head.content.lock.as_ref().filter(|lock| lock.token == token) {
            Some(lock) => self.has_begun(&head, lock).await.map(Some),
            None => Ok(None),
        }
    }

    /// Whether a deletion has removed something of an instance. Earlier versions do not say so: then parts are missing.
    async fn has_begun(&self, head: &Document<Head>, lock: &Lock) -> Result<bool, ProviderError> {
        Ok(lock.erasing || !orchestration::is_whole(self.core, &self.call(OPERATION), head).await?)
    }
}
