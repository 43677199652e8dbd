//! Transactions: writes to one partition, all or none, usually under a condition on one document.

use cosmonaut::options::BatchOptions;
use cosmonaut::{Etag, Patch, RawItem};

use super::{Call, Cause, Failure, Store};
use crate::hub::kind_in;
use crate::model::{DELIVERED_TTL, DELIVERED_UNTRACED_TTL, Intent, Write, WriteKind};

/// The condition of a transaction, and the change that comes with it.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) id: String,
    /// A patch with a condition; the transaction is nothing unless it holds.
    pub(crate) patch: Patch,
    /// Whether the document goes once the condition has held.
    pub(crate) then_delete: bool,
}

/// A transaction.
#[derive(Clone, Debug)]
pub(crate) struct Batch<'a> {
    pub(crate) partition: &'a str,
    pub(crate) guard: Option<Guard>,
    pub(crate) writes: &'a [Write],
}

impl Batch<'_> {
    /// The most operations that the service takes.
    pub(crate) const MAX_WRITES: usize = 100;
    /// The most bytes, with room for what frames them.
    pub(crate) const MAX_BYTES: usize = 1_800_000;

    /// How many operations come before the first of `writes`.
    pub(crate) fn offset(&self) -> usize {
        self.guard.as_ref().map_or(0, |guard| 1 + usize::from(guard.then_delete))
    }
}

impl Store {
    /// Runs a transaction; gives the version of each document after it, in the order of the operations.
    ///
    /// If the condition of the guard does not hold, the failure's index is 0.
    pub(crate) async fn batch(&self, call: &Call, batch: &Batch<'_>) -> Result<Vec<Option<Etag>>, Failure> {
        let done = call
            .run(|timeout| async move {
                self.build(batch).execute().options(BatchOptions::default().timeout(timeout)).await
            })
            .await?;
        Ok(done.results().iter().map(|result| result.etag().cloned()).collect())
    }

    /// Makes writes to one partition, as many at a time as a transaction holds. A document that is gone does not
    /// matter.
    pub(crate) async fn apply_to_rest(
        &self,
        call: &Call,
        partition: &str,
        writes: Vec<Write>,
    ) -> Result<(), Failure> {
        for writes in writes.chunks(Batch::MAX_WRITES) {
            let mut writes = writes.to_vec();
            while !writes.is_empty() {
                let batch = Batch { partition, guard: None, writes: &writes };
                let Err(failure) = self.batch(call, &batch).await else { break };
                match (failure.cause(), failure.index()) {
                    (Cause::NotFound, Some(gone)) if gone < writes.len() => {
                        writes.remove(gone);
                    }
                    _ => return Err(failure),
                }
            }
        }
        Ok(())
    }

    fn build(&self, batch: &Batch<'_>) -> cosmonaut::Batch {
        let mut request = self.container.batch(batch.partition);
        if let Some(guard) = &batch.guard {
            request = request.patch(&*guard.id, guard.patch.clone());
            if guard.then_delete {
                request = request.delete(&*guard.id);
            }
        }
        for Write { kind, id, document, version } in batch.writes {
            let text = || document.as_ref().map_or_else(String::new, |document| document.get().to_owned());
            request = match kind {
                WriteKind::Create => request.create(RawItem::from(text())),
                WriteKind::Upsert => request.upsert(RawItem::from(text())),
                WriteKind::Delete => match version {
                    Some(version) => request.delete_if_match(&**id, &**version),
                    None => request.delete(&**id),
                },
                WriteKind::Keep => request.patch(&**id, Patch::new().set("/ttl", -1)),
                WriteKind::Deliver => {
                    request.patch(&**id, delivered(batch.partition, DELIVERED_TTL).set("/traced", true))
                }
                WriteKind::DeliverUntraced => {
                    request.patch(&**id, delivered(batch.partition, DELIVERED_UNTRACED_TTL))
                }
                WriteKind::Expire => request.patch(&**id, Patch::new().set("/ttl", DELIVERED_TTL)),
            };
        }
        request
    }
}

/// Makes an intent one that was delivered, and is kept for so many seconds.
fn delivered(partition: &str, ttl: i32) -> Patch {
    Patch::new().set("/type", kind_in(partition, Intent::DELIVERED)).set("/visibleAt", ()).set("/ttl", ttl)
}
