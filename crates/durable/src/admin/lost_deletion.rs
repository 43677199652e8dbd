//! Deletions whose record a forced failover has lost: an instance stays locked, and nobody would take the lock away.
//!
//! The head says whether anything was removed already. What has begun is finished; what has not is taken back. Either way
//! the deletion gets a record again: for one instance that has begun to go, or for all of this process that stay. Making
//! that record is the one write that decides who does it: it fails if there is a record after all.

use cosmonaut::{FeedScope, Query};
use duroxide::providers::ProviderError;

use super::Admin;
use super::deletion::{AT_ONCE, OPERATION};
use crate::hub::{hub_of, name_of};
use crate::join;
use crate::model::{Document, HEAD, Head, Lock};
use crate::orchestration;

/// How many instances are freed with one record.
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
        if !has_begun {
            // One by one they would wait for each other, longer and longer.
            match self.others_that_stay(instance, &lock.token).await {
                Ok(others) => instances.extend(others),
                Err(error) => tracing::debug!(%error, "an instance is freed alone"),
            }
        }
        let Some(mut record) = self.begin_again(instances, &lock.token, has_begun).await? else {
            return Err(not_yet());
        };
        if !has_begun {
            for instance in &record.instances {
                tracing::error!(
                    instance = name_of(instance),
                    hub = hub_of(instance),
                    "a failover has lost the record of a deletion that had removed nothing of this instance; the instance stays"
                );
            }
            return self.take_back(&mut record).await;
        }
        tracing::error!(
            instance = name_of(instance),
            hub = hub_of(instance),
            "a failover has lost the record of a deletion that had removed parts of this instance; it is finished"
        );
        self.erase(OPERATION, instance, &record.token).await?;
        self.end(&record).await
    }

    /// Other instances of this process that the same deletion has locked, and of which it has removed nothing.
    async fn others_that_stay(&self, instance: &str, token: &str) -> Result<Vec<String>, ProviderError> {
        let call = &self.call(OPERATION);
        let query = Query::new(format!(
            "SELECT VALUE c.instanceId FROM c WHERE c.type = 'instance' AND c.lock.until = {} AND c.lock.token = @token",
            Lock::FOR_EVER
        ))
        .with("@token", token);
        let mut locked: Vec<String> = Vec::new();
        let own = *self.core.dispatch.slots().borrow();
        for range in own.ranges() {
            let scope = FeedScope::from(&range);
            let (found, _) = self.core.store.query_page(call, (&query, &scope), MOST as u32, None).await?;
            locked.extend(found);
        }
        locked.retain(|other| other != instance);
        locked.truncate(MOST - 1);
        let mut staying = Vec::new();
        for some in locked.chunks(AT_ONCE) {
            let stay = join::all(some.iter().map(|other| self.stays(other, token)).collect()).await;
            for (other, stays) in some.iter().zip(stay) {
                if stays? {
                    staying.push(other.clone());
                }
            }
        }
        Ok(staying)
    }

    /// Whether a deletion has locked an instance and removed nothing of it.
    async fn stays(&self, instance: &str, token: &str) -> Result<bool, ProviderError> {
        let head = self.core.store.read::<Head>(&self.call(OPERATION), instance, HEAD).await?;
        let Some(head) = head else { return Ok(false) };
        match head.content.lock.as_ref().filter(|lock| lock.token == token) {
            Some(lock) => Ok(!self.has_begun(&head, lock).await?),
            None => Ok(false),
        }
    }

    /// Whether a deletion has removed something of an instance. Earlier versions do not say so: then parts are missing.
    async fn has_begun(&self, head: &Document<Head>, lock: &Lock) -> Result<bool, ProviderError> {
        Ok(lock.erasing || !orchestration::is_whole(self.core, &self.call(OPERATION), head).await?)
    }
}
