//! What is written before the turn that it belongs to, because no single transaction holds both.
//!
//! Nobody sees it before the commit. Each write is bound to the lock, and prolongs it: a process that was
//! paused for too long cannot write over what its successor has committed under the same ids. Without a commit the
//! service removes it after a while; the commit takes that time to live away.

use cosmonaut::Patch;
use duroxide::providers::ProviderError;

use super::lock::holds_lock;
use super::lost_lock;
use super::turns::Held;
use crate::clock;
use crate::core::Core;
use crate::model::{Document, HEAD, Kind, Write};
use crate::store::{Batch, Call, Cause, Guard};

/// How many bytes are written at once, unless a document has more: few, so that the lock outlives each write.
const MAX_BYTES: usize = 800_000;

/// Documents that are to be written ahead.
pub(super) struct Ahead {
    writes: Vec<Write>,
    expires: bool,
}

impl Ahead {
    /// With `ttl`, they go after so many seconds unless they are kept.
    pub(super) fn new<T: Kind>(documents: Vec<Document<T>>, ttl: Option<i32>) -> Self {
        let writes = documents.into_iter().map(|mut document| {
            document.ttl = ttl;
            Write::upsert(&document)
        });
        Self { writes: writes.collect(), expires: ttl.is_some() }
    }

    /// Writes them as long as the lock is held; gives what has to be done to keep them.
    pub(super) async fn write(
        self,
        core: &Core,
        call: &Call,
        held: &Held,
        token: &str,
    ) -> Result<Vec<Write>, ProviderError> {
        let ids = self.writes.iter().filter(|_| self.expires).map(|write| Write::keep(&*write.id));
        let kept = ids.collect();
        // One operation of each transaction is the head's.
        for writes in parts(self.writes, (Batch::MAX_WRITES - 1, MAX_BYTES), Write::size) {
            let now = core.store.settled_ms(call).await?;
            let (began, time) = (core.store.clock().reading(), held.prolonged());
            let until = now.saturating_add(clock::millis(time));
            let patch = Patch::new().set("/lock/until", until).condition(holds_lock(token));
            let guard = Some(Guard { id: HEAD.to_owned(), patch, then_delete: false });
            let batch = Batch { partition: &held.head.instance_id, guard, writes: &writes };
            match core.store.batch(call, &batch).await {
                Ok(_) => held.end().set(began, time),
                Err(failure) => match (failure.cause(), failure.index()) {
                    (Cause::Condition | Cause::NotFound, Some(0)) => return Err(lost_lock(call.operation())),
                    _ => return Err(failure.into_error(call)),
                },
            }
        }
        Ok(kept)
    }
}

/// Groups writes, in order, so that each group has at most so many and so many bytes.
pub(super) fn parts(
    writes: Vec<Write>,
    (most, most_bytes): (usize, usize),
    size_of: impl Fn(&Write) -> usize,
) -> Vec<Vec<Write>> {
    let (mut parts, mut part, mut size) = (Vec::new(), Vec::new(), 0);
    for write in writes {
        let bytes = size_of(&write);
        if !part.is_empty() && (part.len() == most || size + bytes > most_bytes) {
            parts.push(std::mem::take(&mut part));
            size = 0;
        }
        size += bytes;
        part.push(write);
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_the_order_and_the_limits() {
        let writes: Vec<_> = (0..250).map(|n| Write::delete(n.to_string())).collect();
        let ids: Vec<_> = writes.iter().map(|write| write.id.clone()).collect();
        let grouped = parts(writes.clone(), (99, 100_000), Write::size);
        assert_eq!(grouped.iter().map(Vec::len).collect::<Vec<_>>(), [99, 99, 52]);
        assert_eq!(grouped.concat().iter().map(|write| write.id.clone()).collect::<Vec<_>>(), ids);
        let grouped = parts(writes, (99, 100), |_| 50);
        assert!(grouped.iter().all(|part| part.len() == 2));
        assert!(parts(Vec::new(), (99, 100), Write::size).is_empty());
    }
}
