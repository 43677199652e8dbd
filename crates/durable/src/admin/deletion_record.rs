//! The record of a deletion: which instances go, whether that is decided, and whose business it is.

use std::collections::HashSet;

use cosmonaut::Patch;
use duroxide::providers::ProviderError;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::Admin;
use super::cleanup::OWN_TIME;
use super::deletion::OPERATION;
use crate::clock;
use crate::model::{AT_ONCE, Document, Kind, Pieces, chunk_id};
use crate::orchestration::to_text;
use crate::store::Cause;

/// Instances that are to go together.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Deletion {
    /// Their names, or those that were found later if the others are too many for one document.
    instances: Vec<String>,
    /// In how many other documents names are, as a JSON list.
    #[serde(default)]
    chunks: u32,
    /// By which their heads are locked.
    token: String,
    /// Whether they go. Until then the locks are given back if the writer does not go on.
    pub(super) committed: bool,
    /// Whether they stay after all, and the locks are given back.
    #[serde(default)]
    withdrawn: bool,
    /// From when on others may finish it.
    visible_at: u64,
}

impl Kind for Deletion {
    const KIND: &'static str = "deletion";
}

/// A deletion may still go forward or back.
const UNDECIDED: &str =
    "FROM c WHERE c.committed = false AND (NOT IS_DEFINED(c.withdrawn) OR c.withdrawn = false)";

fn taken_over() -> ProviderError {
    let message = "another process has finished or taken back the deletion (look, and try again)";
    ProviderError::retryable(OPERATION, message)
}

/// A record that this process works on.
pub(super) struct Record {
    id: String,
    chunks: u32,
    pub(super) token: String,
    pub(super) instances: Vec<String>,
    /// Those of them that this process has locked before they came to be.
    pub(super) unborn: HashSet<String>,
    /// How many of the names are in other documents than the record: the first.
    elsewhere: usize,
    /// When it was last made this process's business.
    kept: Instant,
}

impl Admin<'_> {
    /// Writes a new record.
    pub(super) async fn begin(&self, instances: Vec<String>) -> Result<Record, ProviderError> {
        let call = self.call(OPERATION);
        let kept = clock::instant();
        let token = clock::unique_id();
        let id = format!("d:{token}");
        let (names, pieces) = Pieces::of(to_text(OPERATION, &instances)?).split();
        let chunks = pieces.len() as u32;
        let to_keep = self.core.store.write_chunks(&call, (&self.records(), &id), pieces).await?;
        let content = Deletion {
            instances: if names.is_empty() { Vec::new() } else { instances.clone() },
            chunks,
            token: token.clone(),
            committed: false,
            withdrawn: false,
            visible_at: self.core.store.settled_ms(&call).await? + clock::millis(OWN_TIME),
        };
        let document = Document::new(&self.records(), &*id, content);
        match self.core.store.create_with(&call, &document, &to_keep).await {
            Ok(_) => {}
            // What is there is what an earlier attempt wrote.
            Err(failure) if failure.cause() == Cause::Conflict && failure.maybe_applied() => {}
            Err(failure) => return Err(failure.into_error(&call)),
        }
        let elsewhere = if chunks > 0 { instances.len() } else { 0 };
        Ok(Record { id, chunks, token, instances, unborn: HashSet::new(), elsewhere, kept })
    }

    /// Names more instances in a record that is not decided yet; false if the record has no room for them.
    pub(super) async fn name_more(
        &self,
        record: &mut Record,
        names: &[String],
    ) -> Result<bool, ProviderError> {
        let own: Vec<&String> = record.instances[record.elsewhere..].iter().chain(names).collect();
        if !matches!(Pieces::of(to_text(OPERATION, &own)?), Pieces::Whole(_)) {
            return Ok(false);
        }
        let patch = Patch::new().set("/instances", own).condition(UNDECIDED);
        if !self.mark(record, patch).await? {
            return Err(taken_over());
        }
        record.instances.extend_from_slice(names);
        Ok(true)
    }

    /// Writes a record of a deletion that has none, for some of its instances; `None` if it has one after all.
    pub(super) async fn begin_again(
        &self,
        instances: Vec<String>,
        token: &str,
        committed: bool,
    ) -> Result<Option<Record>, ProviderError> {
        let call = self.call(OPERATION);
        let kept = clock::instant();
        let id = format!("d:{token}");
        let content = Deletion {
            instances: instances.clone(),
            chunks: 0,
            token: token.to_owned(),
            committed,
            withdrawn: false,
            visible_at: self.core.store.settled_ms(&call).await? + clock::millis(OWN_TIME),
        };
        match self.core.store.create(&call, &Document::new(&self.records(), &*id, content)).await {
            Ok(_) => {
                let (token, unborn) = (token.to_owned(), HashSet::new());
                Ok(Some(Record { id, chunks: 0, token, instances, unborn, elsewhere: 0, kept }))
            }
            // If an attempt that got no answer has written it, it is found when its time is over.
            Err(failure) if failure.cause() == Cause::Conflict => Ok(None),
            Err(failure) => Err(failure.into_error(&call)),
        }
    }

    /// Whether the record of the deletion with this token names an instance; `None` if there is no record.
    pub(super) async fn is_named(&self, token: &str, instance: &str) -> Result<Option<bool>, ProviderError> {
        let is_named = |record: Document<Deletion>| {
            // Many names are in other documents, and then it is no record that was made anew.
            record.content.chunks > 0 || record.content.instances.iter().any(|named| named == instance)
        };
        Ok(self.stored(token).await?.map(is_named))
    }

    /// Whether the deletion with this token is decided.
    pub(super) async fn is_committed(&self, token: &str) -> Result<bool, ProviderError> {
        Ok(self.stored(token).await?.is_some_and(|record| record.content.committed))
    }

    async fn stored(&self, token: &str) -> Result<Option<Document<Deletion>>, ProviderError> {
        self.core.store.read(&self.call(OPERATION), &self.records(), &format!("d:{token}")).await
    }

    /// Takes over a record that its writer has left; `None` if it is gone.
    pub(super) async fn found(&self, record: Document<Deletion>) -> Result<Option<Record>, ProviderError> {
        let call = self.call(OPERATION);
        let Document { id, content: Deletion { mut instances, chunks, token, .. }, .. } = record;
        let mut elsewhere = 0;
        if chunks > 0 {
            let text =
                self.core.store.whole_text(&call, (&self.records(), &id), String::new(), chunks).await?;
            let mut first: Vec<String> = serde_json::from_str(&text).map_err(|error| {
                let message = format!("the record {id:?} of a deletion holds no names: {error}");
                ProviderError::permanent(OPERATION, message)
            })?;
            elsewhere = first.len();
            first.append(&mut instances);
            instances = first;
        }
        let (unborn, kept) = (HashSet::new(), clock::instant());
        let mut record = Record { id, chunks, token, instances, unborn, elsewhere, kept };
        Ok(self.mark(&mut record, Patch::new()).await?.then_some(record))
    }

    /// Changes a record, and makes it this process's business for a while; false if it is not as the patch's
    /// condition says, or gone.
    pub(super) async fn mark(&self, record: &mut Record, patch: Patch) -> Result<bool, ProviderError> {
        let call = self.call(OPERATION);
        let kept = clock::instant();
        let own_until = self.core.store.settled_ms(&call).await? + clock::millis(OWN_TIME);
        let patch = patch.set("/visibleAt", own_until);
        match self.core.store.patch(&call, (&self.records(), &record.id), patch, false).await {
            Ok(_) => {
                record.kept = kept;
                Ok(true)
            }
            Err(failure) => match failure.cause() {
                Cause::Condition | Cause::NotFound => Ok(false),
                Cause::Conflict | Cause::Transient | Cause::Permanent => Err(failure.into_error(&call)),
            },
        }
    }

    /// Keeps a record this process's business while it is worked on.
    pub(super) async fn keep(&self, record: &mut Record) -> Result<(), ProviderError> {
        if clock::instant().duration_since(record.kept) < OWN_TIME / 4 {
            return Ok(());
        }
        match self.mark(record, Patch::new()).await? {
            true => Ok(()),
            false => Err(taken_over()),
        }
    }

    /// Removes a record that is done with.
    pub(super) async fn end(&self, record: &Record) -> Result<(), ProviderError> {
        let pieces = (0..record.chunks).map(|n| chunk_id(&record.id, n));
        let ids = pieces.chain([record.id.clone()]).collect();
        self.remove(&self.call(OPERATION), &self.records(), ids).await
    }

    /// Leaves a record to whoever comes first. If that cannot be written, its time ends by itself.
    pub(super) async fn leave(&self, record: &Record) {
        let patch = Patch::new().set("/visibleAt", AT_ONCE);
        match self.core.store.patch(&self.call(OPERATION), (&self.records(), &record.id), patch, false).await
        {
            Ok(_) => self.core.dispatch.unfinished(&self.records(), AT_ONCE),
            Err(failure) => tracing::debug!(id = record.id, ?failure, "the record of a deletion is not left"),
        }
    }
}
