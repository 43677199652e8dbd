//! Deletions whose record a forced failover has lost: an instance stays locked, and nobody would take the lock away.
//!
//! The head says whether anything was removed already. What has begun is finished; what has not is taken back. Either way
//! the deletion gets a record again, for this instance alone. Making that record is the one write that decides who does it:
//! it fails if there is a record after all.

use duroxide::providers::ProviderError;

use super::Admin;
use super::deletion::OPERATION;
use crate::hub::{hub_of, name_of};
use crate::model::{Document, HEAD, Head, Lock};
use crate::orchestration;

impl Admin<'_> {
    /// Ends the deletion that an instance is locked by, if it has no record.
    pub(crate) async fn end_lost_deletion(&self, instance: &str) -> Result<(), ProviderError> {
        let call = self.call(OPERATION);
        let Some(head) = self.core.store.read::<Head>(&call, instance, HEAD).await? else { return Ok(()) };
        let Some(lock) = head.content.lock.as_ref().filter(|lock| lock.is_of_deletion()) else {
            return Ok(());
        };
        // A record that somebody has made anew is about one instance: the others of the deletion come after it.
        let not_yet =
            || ProviderError::retryable(OPERATION, "another instance of the deletion is being dealt with");
        match self.is_named(&lock.token, instance).await? {
            Some(true) => return Ok(()),
            Some(false) => return Err(not_yet()),
            None => {}
        }
        let has_begun = self.has_begun(&head, lock).await?;
        let Some(mut record) = self.begin_again(instance, &lock.token, has_begun).await? else {
            return Err(not_yet());
        };
        if !has_begun {
            tracing::error!(
                instance = name_of(instance),
                hub = hub_of(instance),
                "a failover has lost the record of a deletion that had removed nothing of this instance; the instance stays"
            );
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

    /// Whether a deletion has removed something of an instance. Earlier versions do not say so: then parts are missing.
    async fn has_begun(&self, head: &Document<Head>, lock: &Lock) -> Result<bool, ProviderError> {
        Ok(lock.erasing || !orchestration::is_whole(self.core, &self.call(OPERATION), head).await?)
    }
}
