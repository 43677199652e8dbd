//! Writes that another region has answered already, and that may still be applied where they were sent first.
//!
//! On an account where every region takes writes, a leg that is applied late would overwrite the caller's next write
//! of the same item, or delete an item that was created since. So a leg that loses is left running for a while, and the
//! driver's next write with the same partition key waits until it is over. It waits for those alone that were left
//! before it began, so that on a busy account a write for many keys has its turn. Writes of other processes do not wait.

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

    /// What the writes for any key of the container are waited for by; `None` if that is this key.
    fn of_any_key(&self) -> Option<Self> {
        self.partition_key.as_ref().map(|_| Self { container: self.container.clone(), partition_key: None })
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
struct ByKey {
    /// The writes of each key in the order of their numbers. No key has none.
    left: HashMap<WriteKey, Vec<Numbered>>,
    /// The number of the write that is left next.
    next: u64,
}

/// A write that is left.
struct Numbered {
    number: u64,
    /// Whether it may take an item away.
    may_remove: bool,
}

/// A write that is about to be sent.
struct NextWrite {
    key: WriteKey,
    /// `None` if the write may be for any key itself.
    any_key: Option<WriteKey>,
    is_create: bool,
    /// The number of the first write that was left after this one had begun.
    until: u64,
}

impl NextWrite {
    /// Whether it waits for one of the left writes of a key that it may meet. What comes late cannot overwrite an item
    /// that is created meanwhile: it has another id, or there is a conflict. It can delete that item.
    fn waits_for(&self, left: &[Numbered]) -> bool {
        let mut before = left.iter().take_while(|left| left.number < self.until);
        before.any(|left| left.may_remove || !self.is_create)
    }
}

impl ByKey {
    fn has_any_before(&self, next: &NextWrite) -> bool {
        let waits_for_those_of = |key| self.left.get(key).is_some_and(|left| next.waits_for(left));
        match &next.any_key {
            Some(any_key) => waits_for_those_of(&next.key) || waits_for_those_of(any_key),
            None => {
                let in_container = |key: &WriteKey| key.container == next.key.container;
                self.left.iter().any(|(key, left)| in_container(key) && next.waits_for(left))
            }
        }
    }

    fn add(&mut self, key: WriteKey, may_remove: bool) -> u64 {
        let number = self.next;
        self.next += 1;
        self.left.entry(key).or_default().push(Numbered { number, may_remove });
        number
    }

    fn remove(&mut self, key: &WriteKey, number: u64) {
        let Some(left) = self.left.get_mut(key) else { return };
        left.retain(|left| left.number != number);
        if left.is_empty() {
            self.left.remove(key);
        }
    }
}

/// A write that is left running. Over when dropped.
pub(crate) struct LeftWrite {
    writes: Arc<LeftWrites>,
    key: WriteKey,
    number: u64,
}

impl LeftWrites {
    /// Notes a write that is left running; `None` if no other write has to wait for it.
    pub(crate) fn add(self: &Arc<Self>, operation: &CosmosOperation) -> Option<LeftWrite> {
        let key = WriteKey::of(operation)?;
        let number = self.lock().add(key.clone(), operation.operation_type().may_remove());
        self.count.fetch_add(1, Ordering::AcqRel);
        Some(LeftWrite { writes: Arc::clone(self), key, number })
    }

    /// A wait for the writes that are left now and that the operation has to wait for; `None` if there is none.
    pub(crate) fn before(&self, operation: &CosmosOperation) -> Option<impl Future<Output = ()> + Send + '_> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let key = WriteKey::of(operation)?;
        let (any_key, is_create) = (key.of_any_key(), operation.operation_type() == OperationType::Create);
        let by_key = self.lock();
        let next = NextWrite { key, any_key, is_create, until: by_key.next };
        if !by_key.has_any_before(&next) {
            return None;
        }
        drop(by_key);
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
        self.writes.lock().remove(&self.key, self.number);
        self.writes.count.fetch_sub(1, Ordering::AcqRel);
        self.writes.one_is_over.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Waker};

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

    /// Whether a wait is over now.
    fn is_over(waiting: Pin<&mut impl Future<Output = ()>>) -> bool {
        waiting.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_write_does_not_wait_for_those_that_are_left_after_it_has_begun() {
        let delete = operation(OperationType::Delete, "a");
        let [upsert, create] =
            [OperationType::Upsert, OperationType::Create].map(|kind| operation(kind, "a"));
        for next in [upsert, create, bulk("c")] {
            let writes = Arc::new(LeftWrites::default());
            let before = writes.add(&delete).unwrap();
            let mut waiting = pin!(writes.before(&next).unwrap());
            let after = [writes.add(&delete).unwrap(), writes.add(&bulk("c")).unwrap()];
            assert!(!is_over(waiting.as_mut()));
            drop(before);
            assert!(is_over(waiting), "{:?}", next.operation_type());
            assert!(writes.before(&next).is_some(), "what begins now waits for them");
            drop(after);
        }
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
            assert!(writes.before(&create).is_none() && writes.lock().left.is_empty(), "{kind:?} is over");
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
