//! Writes that another region has answered already, and that may still be applied where they were sent first.
//!
//! On an account where every region takes writes, a leg that is applied late would overwrite the caller's next write
//! of the same item. So a leg that loses is left running for a while, and the driver's next write with the same
//! partition key waits until it is over. Writes of other processes do not wait.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cosmonaut_policy::{CosmosOperation, OperationType, PartitionTarget};
use tokio::sync::Notify;

use crate::cache::container_path;

/// What a write is waited for by: its container and its partition key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct WriteKey {
    container: Box<str>,
    partition_key: Box<[u8]>,
}

impl WriteKey {
    /// `None` for what is not a write with a partition key.
    pub(crate) fn of(operation: &CosmosOperation) -> Option<Self> {
        if operation.is_read_only() {
            return None;
        }
        let PartitionTarget::Key { header, .. } = operation.target() else { return None };
        let container = container_path(operation.path())?;
        Some(Self { container: container.into(), partition_key: header.as_bytes().into() })
    }
}

/// Writes that are left running.
#[derive(Default)]
pub(crate) struct LeftWrites {
    /// How many there are, so that every other write sees at a glance that there is none.
    count: AtomicUsize,
    by_key: Mutex<HashMap<WriteKey, usize>>,
    one_is_over: Notify,
}

/// A write that is left running. Over when dropped.
pub(crate) struct LeftWrite {
    writes: Arc<LeftWrites>,
    key: WriteKey,
}

impl LeftWrites {
    /// Notes a write that is left running.
    pub(crate) fn add(self: &Arc<Self>, key: WriteKey) -> LeftWrite {
        *self.lock().entry(key.clone()).or_default() += 1;
        self.count.fetch_add(1, Ordering::AcqRel);
        LeftWrite { writes: Arc::clone(self), key }
    }

    /// A wait until no write with the operation's key is left; `None` if there is none now.
    pub(crate) fn before(&self, operation: &CosmosOperation) -> Option<impl Future<Output = ()> + Send + '_> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        // Whatever comes late, it cannot overwrite a new item: it has another id, or there is a conflict.
        let is_create = operation.operation_type() == OperationType::Create;
        let key = WriteKey::of(operation).filter(|key| !is_create && self.lock().contains_key(key))?;
        Some(async move {
            loop {
                let mut over = pin!(self.one_is_over.notified());
                over.as_mut().enable();
                if !self.lock().contains_key(&key) {
                    return;
                }
                over.await;
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WriteKey, usize>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LeftWrite {
    fn drop(&mut self) {
        let mut by_key = self.writes.lock();
        if let Some(count) = by_key.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                by_key.remove(&self.key);
            }
        }
        drop(by_key);
        self.writes.count.fetch_sub(1, Ordering::AcqRel);
        self.writes.one_is_over.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use cosmonaut_wire::{PartitionKey, ResourcePath};

    use super::*;

    fn operation(kind: OperationType, key: &str) -> CosmosOperation {
        let path = ResourcePath::parse("/dbs/d/colls/c/docs/1").unwrap();
        CosmosOperation::new(kind, path).with_target(PartitionKey::from(key))
    }

    #[tokio::test]
    async fn a_write_waits_for_those_of_its_key_alone() {
        let writes = Arc::new(LeftWrites::default());
        let upsert = operation(OperationType::Upsert, "a");
        assert!(writes.before(&upsert).is_none());
        let left = [(); 2].map(|()| writes.add(WriteKey::of(&upsert).unwrap()));
        for (kind, key, waits) in [
            (OperationType::Delete, "a", true),
            (OperationType::Delete, "b", false),
            (OperationType::Create, "a", false),
            (OperationType::Read, "a", false),
        ] {
            assert_eq!(writes.before(&operation(kind, key)).is_some(), waits, "{kind:?} {key}");
        }
        let [first, second] = left;
        let waiting = writes.before(&upsert).unwrap();
        drop(first);
        let both = async {
            tokio::task::yield_now().await;
            drop(second);
        };
        tokio::join!(waiting, both);
        assert!(writes.before(&upsert).is_none());
    }
}
