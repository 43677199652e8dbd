//! Removing more documents than one transaction holds, so that it happens altogether or not at all.
//!
//! A record of what is to go is the one write that decides. Whoever finds one that its writer has not finished
//! in time finishes it.

use std::borrow::Cow;
use std::time::Duration;

use cosmonaut::Query;
use duroxide::providers::ProviderError;
use serde::{Deserialize, Serialize};

use super::Admin;
use super::deletion_record::Deletion;
use crate::clock;
use crate::hub::sibling;
use crate::model::{Document, Kind, Row, Write, key_id};
use crate::store::{Call, Cause};

/// What the partition of the records is called. No instance is called so.
pub(crate) const RECORDS: &str = "$cleanup";

/// For how long a record is left to its writer, who prolongs it while it works.
pub(super) const OWN_TIME: Duration = Duration::from_secs(60);

/// Past executions of an instance that are to go together.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Prune {
    pub(super) instance: String,
    pub(super) executions: Vec<u64>,
    pub(super) visible_at: u64,
}

impl Kind for Prune {
    const KIND: &'static str = "prune";
}

impl Prune {
    pub(super) fn id(instance: &str) -> String {
        format!("p:{}", key_id(instance))
    }

    pub(super) fn record(instance: &str, executions: Vec<u64>, now: u64) -> Document<Self> {
        let visible_at = now + clock::millis(OWN_TIME);
        let content = Self { instance: instance.to_owned(), executions, visible_at };
        Document::new(&sibling(instance, RECORDS), Self::id(instance), content)
    }
}

impl Admin<'_> {
    /// The partition of the records of this hub.
    pub(super) fn records(&self) -> Cow<'static, str> {
        self.core.hub().key(RECORDS)
    }

    /// Finishes what others have begun to remove and left.
    pub(crate) async fn finish_cleanup(&self) -> Result<(), ProviderError> {
        let call = self.call("finish_cleanup");
        let now = self.core.store.settled_ms(&call).await?;
        let query = Query::new("SELECT * FROM c WHERE c.visibleAt <= @now").with("@now", now);
        let mut first_error = None;
        for row in self.within::<Row>(&call, &self.records(), query).await? {
            // A record that cannot be finished must not keep the others from it.
            if let Err(error) = self.finish_record(&call, row).await {
                tracing::warn!(%error, "what was begun to be removed cannot be finished yet");
                first_error.get_or_insert(error);
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    async fn finish_record(&self, call: &Call, row: Row) -> Result<(), ProviderError> {
        match row.kind() {
            Deletion::KIND => self.finish_deletion(row.read(call.operation())?).await,
            Prune::KIND => self.finish_prune(call, &row.read(call.operation())?).await,
            other => {
                tracing::warn!(kind = other, "a record of an unknown kind is left alone");
                Ok(())
            }
        }
    }

    /// Removes documents, as many at a time as a transaction holds; one that is gone already does not matter.
    pub(super) async fn remove(
        &self,
        call: &Call,
        partition: &str,
        ids: Vec<String>,
    ) -> Result<(), ProviderError> {
        let writes = ids.into_iter().map(Write::delete).collect();
        let removed = self.core.store.apply_to_rest(call, partition, writes).await;
        removed.map_err(|failure| failure.into_error(call))
    }

    /// Removes a record, which somebody else may have done.
    pub(super) async fn remove_record(&self, call: &Call, id: &str) -> Result<(), ProviderError> {
        match self.core.store.delete(call, &self.records(), id, None).await {
            Ok(()) => Ok(()),
            Err(failure) if failure.cause() == Cause::NotFound => Ok(()),
            Err(failure) => Err(failure.into_error(call)),
        }
    }
}
