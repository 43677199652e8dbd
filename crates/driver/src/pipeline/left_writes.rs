//! Writes that another region has answered already, and that may still be applied where they were sent first.
//!
//! On an account where every region takes writes, a leg that is applied late would overwrite the caller's next write
//! of the same item, or delete an item that was created since. So a leg that loses is left running for a while, and the
//! driver's next write with the same partition key waits until it is over. Writes of other processes do not wait.

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
struct WriteKey {
    container: Box<str>,
    /// `None` for a write that may be for any key of the container, as a bulk request is.
    partition_key: Option<Box<[u8]>>,
}

impl WriteKey {
    /// `None` for what is not a write of items.
    fn of(operation: &CosmosOperation) -> Option<Self> {
        if operation.is_read_only() || !operation.is_partitioned() {
            return None;
        }
        let container = container_path(operation.path())?.into();
        let partition_key = match operation.target() {
            PartitionTarget::Key { header, .. } => Some(header.as_bytes().into()),
            PartitionTarget::None | PartitionTarget::Range(_) | PartitionTarget::Epk { .. } => None,
        };
        Some(Self { container, partition_key })
    }

    fn may_meet(&self, other: &Self) -> bool {
        let may_be_one = match (&self.partition_key, &other.partition_key) {
            (Some(one), Some(other)) => one == other,
            (None, _) | (_, None) => true,
        };
        may_be_one && self.container == other.container
    }
}

/// Writes that are left running.
#[derive(Default)]
pub(crate) struct LeftWrites {
    /// How many there are, so that every other write sees at a glance that there is none.
    count: AtomicUsize,
    by_key: Mutex<ByKey>,
    one_is_over: Notify,
}

#[derive(Default)]
struct ByKey(HashMap<WriteKey, Count>);

/// How many writes of a key are left.
#[derive(Default)]
struct Count {
    all: usize,
    /// Those that may take an item away.
    removing: usize,
}

/// A write that is about to be sent.
struct NextWrite {
    key: WriteKey,
    is_create: bool,
}

impl NextWrite {
    /// Whether it waits for left writes of a key. What comes late cannot overwrite an item that is created meanwhile:
    /// it has another id, or there is a conflict. It can delete that item.
    fn waits_for(&self, key: &WriteKey, count: &Count) -> bool {
        (!self.is_create || count.removing > 0) && self.key.may_meet(key)
    }
}

impl ByKey {
    fn has_any_before(&self, next: &NextWrite) -> bool {
        // Few are left at any time, if any.
        self.0.iter().any(|(key, count)| next.waits_for(key, count))
    }
}

/// A write that is left running. Over when dropped.
pub(crate) struct LeftWrite {
    writes: Arc<LeftWrites>,
    key: WriteKey,
    may_remove: bool,
}

impl LeftWrites {
    /// Notes a write that is left running; `None` if no other write has to wait for it.
    pub(crate) fn add(self: &Arc<Self>, operation: &CosmosOperation) -> Option<LeftWrite> {
        let key = WriteKey::of(operation)?;
        let may_remove = operation.operation_type().may_remove();
        let mut by_key = self.lock();
        let count = by_key.0.entry(key.clone()).or_default();
        count.all += 1;
        count.removing += usize::from(may_remove);
        drop(by_key);
        self.count.fetch_add(1, Ordering::AcqRel);
        Some(LeftWrite { writes: Arc::clone(self), key, may_remove })
    }

    /// A wait until no write is left that the operation has to wait for; `None` if there is none now.
    pub(crate) fn before(&self, operation: &CosmosOperation) -> Option<impl Future<Output = ()> + Send + '_> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let is_create = operation.operation_type() == OperationType::Create;
        let next = NextWrite { key: WriteKey::of(operation)?, is_create };
        if !self.lock().has_any_before(&next) {
            return None;
        }
        Some(async move {
            loop {
                let mut over = pin!(self.one_is_over.notified());
                over.as_mut().enable();
                if !self.lock().has_any_before(&next) {
                    return;
                }
                over.await;
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, ByKey> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LeftWrite {
    fn drop(&mut self) {
        let mut by_key = self.writes.lock();
        if let Some(count) = by_key.0.get_mut(&self.key) {
            count.all -= 1;
            count.removing -= usize::from(self.may_remove);
            if count.all == 0 {
                by_key.0.remove(&self.key);
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

    fn bulk(container: &str) -> CosmosOperation {
        let path = ResourcePath::parse(&format!("/dbs/d/colls/{container}/docs")).unwrap();
        CosmosOperation::new(OperationType::Bulk, path).with_target(PartitionTarget::Range("0".into()))
    }

    #[tokio::test]
    async fn a_write_waits_for_those_of_its_key_alone() {
        let writes = Arc::new(LeftWrites::default());
        let upsert = operation(OperationType::Upsert, "a");
        assert!(writes.before(&upsert).is_none());
        let left = [(); 2].map(|()| writes.add(&upsert).unwrap());
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

    #[test]
    fn a_create_waits_for_what_may_delete_its_item() {
        let writes = Arc::new(LeftWrites::default());
        let create = operation(OperationType::Create, "a");
        for (kind, waits) in [
            (OperationType::Create, false),
            (OperationType::Upsert, false),
            (OperationType::Replace, false),
            (OperationType::Delete, true),
            (OperationType::Batch, true),
        ] {
            let of_another_key = writes.add(&operation(kind, "b")).unwrap();
            assert!(writes.before(&create).is_none(), "{kind:?} of another key");
            let left = writes.add(&operation(kind, "a")).unwrap();
            assert_eq!(writes.before(&create).is_some(), waits, "{kind:?}");
            drop((left, of_another_key));
            assert!(writes.before(&create).is_none() && writes.lock().0.is_empty(), "{kind:?} is over");
        }
    }

    #[test]
    fn a_bulk_request_waits_for_every_write_of_its_container() {
        let writes = Arc::new(LeftWrites::default());
        let left = writes.add(&operation(OperationType::Upsert, "a")).unwrap();
        assert!(writes.before(&bulk("c")).is_some());
        assert!(writes.before(&bulk("another")).is_none());
        drop(left);
        let left = writes.add(&bulk("c")).unwrap();
        for (kind, waits) in
            [(OperationType::Upsert, true), (OperationType::Create, true), (OperationType::Read, false)]
        {
            assert_eq!(
                writes.before(&operation(kind, "a")).is_some(),
                waits,
                "{kind:?} after a bulk request"
            );
        }
        drop(left);
    }
}
