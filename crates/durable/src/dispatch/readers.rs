//! The readers of a process: which there are, as its slots and the container's partitions change.

use std::sync::{Arc, Weak};
use std::time::Duration;

use cosmonaut::FeedRange;
use tokio::sync::Notify;

use super::division::{Piece, divide, partition_of_slots, ranges_of};
use super::pause::pause;
use super::reader::{Feed, Reader};
use super::searched::{Extent, Searched};
use super::{Shared, State};
use crate::clock::{self, Task};
use crate::lease::Slots;

/// How often it is looked whether partitions have split; a reader that notices one says so at once.
const SELDOM: Duration = Duration::from_secs(60);

/// The readers that run.
#[derive(Default)]
struct Readers {
    running: Vec<Running>,
    next_number: u64,
}

/// A reader that runs; it ends when this is dropped.
struct Running {
    number: u64,
    piece: Piece,
    feed: Feed,
    searched: Searched,
    _task: Task,
}

/// Keeps readers for the slots of this process, whatever changes.
pub(super) async fn keep(shared: Weak<Shared>, changed: Arc<Notify>) {
    let (mut readers, mut failures) = (Readers::default(), 0);
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let rest = match readers.follow(&shared).await {
            Ok(()) => {
                failures = 0;
                SELDOM
            }
            Err(error) => {
                failures += 1;
                tracing::warn!(%error, "the partitions of the container cannot be read; it is tried again");
                shared.rounds().fail(error);
                pause(failures)
            }
        };
        shared.asked.news.notify_waiters();
        drop(shared);
        clock::until(clock::instant() + rest, changed.notified()).await;
    }
}

impl Readers {
    /// Makes the readers be those of the slots that this process has now.
    async fn follow(&mut self, shared: &Arc<Shared>) -> cosmonaut::Result<()> {
        let slots = shared.leases.owned();
        let partitions = if slots.is_empty() { Vec::new() } else { shared.container.feed_ranges().await? };
        shared.own(&slots, &partitions);
        let pieces = divide(&slots, &partitions);
        let before = std::mem::take(&mut self.running);
        let (mut kept, replaced): (Vec<_>, Vec<_>) =
            before.into_iter().partition(|running| pieces.contains(&running.piece));
        let is_new = |piece: &&Piece| kept.iter().all(|running| running.piece != **piece);
        let new: Vec<Piece> = pieces.iter().filter(is_new).cloned().collect();
        for piece in new {
            self.next_number += 1;
            let reader = succeed(Reader::new(self.next_number, piece, &shared.container), &replaced);
            kept.push(start(reader, shared));
        }
        self.running = kept;
        shared.rounds().divide(slots, self.running.iter().map(|running| running.number));
        Ok(())
    }
}

/// Lets a reader go on where others end: what they know need not be searched for.
fn succeed(mut reader: Reader, replaced: &[Running]) -> Reader {
    let overlaps = |running: &&Running| running.piece.range.overlaps(&reader.piece.range);
    let predecessors: Vec<&Running> = replaced.iter().filter(overlaps).collect();
    reader.takes_over = predecessors.iter().map(|running| Arc::clone(&running.feed)).collect();
    let complete = || predecessors.iter().filter_map(|running| Some((running, running.searched.get()?)));
    // A slot at the border of a piece may be known in part only.
    let whole: Slots = complete().flat_map(|(running, _)| whole_slots(&running.piece)).collect();
    reader.to_search = ranges_of(&reader.piece, &reader.piece.slots.without(&whole));
    reader.knowledge.inherited = complete().map(|(_, extent)| extent).reduce(Extent::both);
    reader
}

fn whole_slots(piece: &Piece) -> Vec<u8> {
    let is_whole = |slot: &u8| {
        let only: Slots = [*slot].into_iter().collect();
        only.ranges().iter().all(|range| piece.range.contains(range))
    };
    piece.slots.iter().filter(is_whole).collect()
}

fn start(reader: Reader, shared: &Arc<Shared>) -> Running {
    let (number, piece, feed) = (reader.number, reader.piece.clone(), Arc::clone(&reader.feed));
    let searched = reader.knowledge.searched.clone();
    let task = Task::spawn(reader.run(Arc::downgrade(shared), Arc::clone(&shared.asked)));
    Running { number, piece, feed, searched, _task: task }
}

impl Shared {
    /// These slots are this process's now, in a container with these partitions.
    fn own(&self, slots: &Slots, partitions: &[FeedRange]) {
        let now = self.now_ms();
        let mut state = self.state();
        let State { instances, work, troubles, misfits, .. } = &mut *state;
        troubles.divide(partition_of_slots(partitions));
        instances.keep_only(slots);
        misfits.keep_only(slots);
        work.own(slots, now);
        state.slots = *slots;
        drop(state);
        self.slots.send_if_modified(|known| std::mem::replace(known, *slots) != *slots);
    }
}
