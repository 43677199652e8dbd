//! What a bulk run has in hand: operations by partition, and which of them make up the next request.
//!
//! Pure. What holds:
//! - an operation in hand is in one place: in the queue of its partition, in a request, or behind another on its item;
//! - of one item at most one operation is in a queue or a request, so operations on an item are applied in their order;
//! - a request has operations of one partition, and is within the service's limits.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use cosmonaut_driver::{Moment, PartitionInfo};
use cosmonaut_wire::model::{BatchOperation, MAX_BATCH_BYTES, MAX_BATCH_OPERATIONS, PartitionKeyDefinition};
use cosmonaut_wire::partition_key::KeyShapeError;
use cosmonaut_wire::{EffectivePartitionKey, PartitionKey, PartitionKeyRangeId};

use super::pace::{Answered, Pace, Refused, Throttled};

/// What a request's body has beside its operations, and to spare.
const ENVELOPE: usize = 1024;

/// An operation in hand.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) index: u64,
    pub(super) key: PartitionKey,
    pub(super) id: Option<String>,
    /// Where the container has its key. The container may be made anew with another definition of keys.
    pub(super) place: EffectivePartitionKey,
    pub(super) operation: BatchOperation,
    /// What it takes in a request, about.
    pub(super) bytes: usize,
    /// How often it was sent.
    pub(super) tries: u32,
    /// How often its partition was not where it should be.
    pub(super) strays: u32,
    /// How often it met another operation on its item.
    pub(super) collisions: u32,
    /// How long it was throttled.
    pub(super) refused: Refused,
}

/// Which item an operation is about: its key as it is written, and its id.
type Item = (String, String);

impl Held {
    fn item(&self) -> Option<Item> {
        Some((self.operation.partition_key.clone()?, self.id.clone()?))
    }

    /// Finds its place by the definition of the container's keys.
    ///
    /// # Errors
    /// If its key is none of the container's.
    pub(super) fn find_place(&mut self, definition: &PartitionKeyDefinition) -> Result<(), KeyShapeError> {
        self.place = self.key.effective(definition)?;
        Ok(())
    }
}

/// A request that is to be sent.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) partition: PartitionKeyRangeId,
    pub(super) operations: Vec<Held>,
}

/// How much may be in hand and under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Bytes in hand, from which on nothing more is taken.
    pub(super) bytes: usize,
    /// Operations under way in one partition.
    pub(super) per_partition: usize,
    /// Requests under way in all.
    pub(super) requests: usize,
    /// How long a partition may refuse everything.
    pub(super) patience: Duration,
}

#[derive(Debug)]
struct Partition {
    info: PartitionInfo,
    queue: VecDeque<Held>,
    queued_bytes: usize,
    pace: Pace,
}

/// What is in hand.
#[derive(Debug)]
pub(super) struct Backlog {
    bounds: Bounds,
    /// In the order of the ring.
    partitions: Vec<Partition>,
    /// How keys are defined, if that has changed: what was under way then has its place by another definition.
    redefined: Option<PartitionKeyDefinition>,
    /// For each item with an operation in a queue or a request, those behind it.
    behind: HashMap<Item, VecDeque<Held>>,
    bytes: usize,
    count: usize,
    requests: usize,
    /// The partition that is asked first for the next request, so that each gets its turn.
    next: usize,
}

impl Backlog {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            partitions: Vec::new(),
            redefined: None,
            behind: HashMap::new(),
            bytes: 0,
            count: 0,
            requests: 0,
            next: 0,
        }
    }

    /// Whether another operation may be taken.
    pub(super) fn has_room(&self) -> bool {
        self.bytes < self.bounds.bytes
    }

    /// Whether nothing is in hand.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The partitions are these now: whatever waits goes to where it belongs.
    pub(super) fn divide(&mut self, infos: Vec<PartitionInfo>) {
        let mut before: HashMap<_, _> = HashMap::new();
        let mut waiting = Vec::new();
        for mut partition in std::mem::take(&mut self.partitions) {
            waiting.extend(partition.queue.drain(..));
            before.insert(partition.info.id.range().clone(), partition.pace);
        }
        let fresh = || Pace::new(MAX_BATCH_OPERATIONS, self.bounds.per_partition);
        self.partitions = infos
            .into_iter()
            .map(|info| {
                let pace = before.remove(info.id.range()).unwrap_or_else(fresh);
                Partition { info, queue: VecDeque::new(), queued_bytes: 0, pace }
            })
            .collect();
        waiting.sort_by_key(|held| held.index);
        for held in waiting {
            self.enqueue(held);
        }
    }

    /// The keys are defined in another way now: whatever waits finds its place anew. Gives what has none, and is over.
    /// The partitions are to be said next.
    pub(super) fn redefine(&mut self, definition: &PartitionKeyDefinition) -> Vec<(Held, KeyShapeError)> {
        let (mut over, mut over_in_queues) = (Vec::new(), Vec::new());
        let replace = |waiting: &mut VecDeque<Held>, over: &mut Vec<(Held, KeyShapeError)>| {
            for mut held in std::mem::take(waiting) {
                match held.find_place(definition) {
                    Ok(()) => waiting.push_back(held),
                    Err(error) => over.push((held, error)),
                }
            }
        };
        self.behind.values_mut().for_each(|behind| replace(behind, &mut over));
        for partition in &mut self.partitions {
            replace(&mut partition.queue, &mut over_in_queues);
        }
        for (held, _) in &over {
            self.forget(held);
        }
        for (held, _) in &over_in_queues {
            self.finish(held);
        }
        over.extend(over_in_queues);
        self.redefined = Some(definition.clone());
        over
    }

    /// Takes an operation. Says whether its partition can fill a request, and may send it now.
    pub(super) fn take(&mut self, held: Held, now: Moment) -> bool {
        self.bytes += held.bytes;
        self.count += 1;
        if let Some(item) = held.item() {
            if let Some(behind) = self.behind.get_mut(&item) {
                behind.push_back(held);
                return false;
            }
            self.behind.insert(item, VecDeque::new());
        }
        let at = self.enqueue(held);
        self.partitions.get(at).is_some_and(|partition| partition.is_full() && partition.pace.room(now) > 0)
    }

    fn enqueue(&mut self, held: Held) -> usize {
        let at = self.partition_of(&held.place);
        if let Some(partition) = self.partitions.get_mut(at) {
            partition.queued_bytes += held.bytes;
            partition.queue.push_back(held);
        }
        at
    }

    /// Queues an operation that has waited for another, before all that were taken after it. At the end of a long queue,
    /// an item with many operations would be done with one for each time that the queue goes round.
    fn enqueue_in_turn(&mut self, held: Held) {
        let at = self.partition_of(&held.place);
        if let Some(partition) = self.partitions.get_mut(at) {
            partition.queued_bytes += held.bytes;
            let turn = partition.queue.partition_point(|waiting| waiting.index < held.index);
            partition.queue.insert(turn, held);
        }
    }

    /// The partition that holds a place: they cover the ring without a gap.
    fn partition_of(&self, place: &EffectivePartitionKey) -> usize {
        self.partitions.partition_point(|partition| partition.info.range.min <= *place).saturating_sub(1)
    }

    /// The next request. Unless `all`, only a full one, or the first of a partition that has none under way.
    pub(super) fn next_request(&mut self, all: bool, now: Moment) -> Option<Request> {
        if self.requests >= self.bounds.requests {
            return None;
        }
        let count = self.partitions.len();
        let with_work = self.partitions.iter().filter(|partition| partition.has_work()).count();
        // No partition keeps the others from having requests of their own.
        let share = (self.bounds.requests / with_work.max(1)).max(1);
        let chosen = (0..count).map(|step| (self.next + step) % count).find(|at| {
            let partition = &self.partitions[*at];
            let ready = all || partition.is_full() || partition.pace.requests() == 0;
            let has_share = partition.pace.requests() < share;
            ready && has_share && !partition.queue.is_empty() && partition.pace.room(now) > 0
        })?;
        self.next = chosen + 1;
        self.requests += 1;
        let partition = &mut self.partitions[chosen];
        let operations = partition.fill(partition.pace.room(now));
        partition.pace.sent(operations.len());
        Some(Request { partition: partition.info.id.range().clone(), operations })
    }

    /// When a partition's pause ends for which something waits.
    pub(super) fn next_pause_end(&self, now: Moment) -> Option<Moment> {
        let waiting = self.partitions.iter().filter(|partition| !partition.queue.is_empty());
        waiting.filter_map(|partition| partition.pace.paused_until(now)).min()
    }

    /// A request was answered, or has failed.
    pub(super) fn answered(&mut self, partition: &PartitionKeyRangeId, answer: Answered) -> Throttled {
        self.requests = self.requests.saturating_sub(1);
        let patience = self.bounds.patience;
        // One that has split has no pace any more.
        self.partition(partition).map_or(Throttled::SentAgain, |known| known.pace.answered(answer, patience))
    }

    /// Whether there is still a partition of this id.
    pub(super) fn knows(&mut self, partition: &PartitionKeyRangeId) -> bool {
        self.partition(partition).is_some()
    }

    fn partition(&mut self, id: &PartitionKeyRangeId) -> Option<&mut Partition> {
        self.partitions.iter_mut().find(|known| known.info.id.range() == id)
    }

    /// Nothing is sent to the partition that holds a place until then.
    pub(super) fn pause(&mut self, place: &EffectivePartitionKey, until: Moment) {
        let at = self.partition_of(place);
        if let Some(partition) = self.partitions.get_mut(at) {
            partition.pace.pause(until);
        }
    }

    /// Operations that are to be sent again, before all others, in their order. Gives what has no place any more, and is
    /// over.
    pub(super) fn put_back(&mut self, operations: Vec<Held>) -> Vec<(Held, KeyShapeError)> {
        let mut over = Vec::new();
        for mut held in operations.into_iter().rev() {
            if let Some(Err(error)) = self.redefined.as_ref().map(|definition| held.find_place(definition)) {
                over.push((held, error));
                continue;
            }
            let at = self.partition_of(&held.place);
            if let Some(partition) = self.partitions.get_mut(at) {
                partition.queued_bytes += held.bytes;
                partition.queue.push_front(held);
            }
        }
        over.iter().for_each(|(held, _)| self.finish(held));
        over
    }

    /// An operation is over: the next one on its item may go.
    pub(super) fn finish(&mut self, held: &Held) {
        self.forget(held);
        let Some(item) = held.item() else { return };
        match self.behind.get_mut(&item).and_then(VecDeque::pop_front) {
            Some(next) => self.enqueue_in_turn(next),
            None => {
                self.behind.remove(&item);
            }
        }
    }

    /// An operation is not in hand any more.
    fn forget(&mut self, held: &Held) {
        self.bytes = self.bytes.saturating_sub(held.bytes);
        self.count = self.count.saturating_sub(1);
    }
}

impl Partition {
    fn has_work(&self) -> bool {
        !self.queue.is_empty() || self.pace.requests() > 0
    }

    fn is_full(&self) -> bool {
        self.queue.len() >= MAX_BATCH_OPERATIONS || self.queued_bytes + ENVELOPE >= MAX_BATCH_BYTES
    }

    /// Operations for one request. One that is larger than a request may be goes alone: the service refuses it.
    fn fill(&mut self, room: usize) -> Vec<Held> {
        let (mut operations, mut bytes) = (Vec::new(), ENVELOPE);
        while operations.len() < room.min(MAX_BATCH_OPERATIONS) {
            let Some(next) = self.queue.front() else { break };
            if !operations.is_empty() && bytes + next.bytes > MAX_BATCH_BYTES {
                break;
            }
            bytes += next.bytes;
            self.queued_bytes = self.queued_bytes.saturating_sub(next.bytes);
            operations.extend(self.queue.pop_front());
        }
        operations
    }
}

#[cfg(test)]
mod tests;
