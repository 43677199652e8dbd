//! What waits on one link of a partition: commits in order or, once there are too many of them, only their number.
//!
//! A region that is away for long needs no list of all that happened: it catches up from the documents of the region
//! that the commits come from.

use std::collections::VecDeque;
use std::sync::Arc;

use cosmonaut_wire::EpkRange;

use crate::Timestamp;
use crate::engine::replica::LogEntry;
use crate::storage::Commit;

/// A commit on its way to another region.
#[derive(Clone, Debug)]
pub(crate) struct Shipment {
    pub(crate) due: Timestamp,
    pub(crate) entry: Arc<LogEntry>,
    /// Resolves when the commit is safe.
    pub(crate) commit: Commit,
}

/// What waits on one link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog {
    shipments: VecDeque<Shipment>,
    /// The bytes of the documents that these commits have written.
    bytes: usize,
    skipped: Option<Skipped>,
}

/// Commits that are not kept one by one.
#[derive(Clone, Copy, Debug)]
struct Skipped {
    commits: u64,
    /// How many of them have changed anything.
    changing: u64,
    /// When the first of them was made.
    since: Timestamp,
}

/// How many commits wait on a closed link before they are skipped; few in tests, so that those see it happen.
pub(crate) const MOST_WAITING: usize = if cfg!(test) { 3 } else { 4096 };
/// How many bytes the documents of these commits have at most.
const MOST_BYTES: usize = if cfg!(test) { 4 } else { 16 } * 1024 * 1024;

impl Backlog {
    /// Adds a commit, due no earlier than what waits before it. On an open link nothing is skipped: there is only as
    /// much as its lag makes wait.
    pub(super) fn push(&mut self, mut shipment: Shipment, is_open: bool) {
        if let Some(skipped) = &mut self.skipped {
            skipped.commits += 1;
            skipped.changing += u64::from(!shipment.entry.changes.is_empty());
            return;
        }
        let since = self.shipments.front().map_or(shipment.entry.timestamp, |first| first.entry.timestamp);
        self.bytes += size(&shipment.entry);
        shipment.due = shipment.due.max(self.shipments.back().map_or(Timestamp(0), |last| last.due));
        self.shipments.push_back(shipment);
        if !is_open && (self.shipments.len() > MOST_WAITING || self.bytes > MOST_BYTES) {
            let (commits, changing) = (self.len(), self.changing());
            *self = Self { skipped: Some(Skipped { commits, changing, since }), ..Self::default() };
        }
    }

    /// How many commits wait.
    pub(crate) fn len(&self) -> u64 {
        self.skipped.map_or(self.shipments.len() as u64, |skipped| skipped.commits)
    }

    /// How many of them have changed anything: after a split, some are the other child's.
    pub(crate) fn changing(&self) -> u64 {
        let changing = self.shipments.iter().filter(|shipment| !shipment.entry.changes.is_empty());
        self.skipped.map_or(changing.count() as u64, |skipped| skipped.changing)
    }

    /// When the oldest of them was made.
    pub(crate) fn since(&self) -> Option<Timestamp> {
        let first = self.shipments.front().map(|shipment| shipment.entry.timestamp);
        self.skipped.map(|skipped| skipped.since).or(first)
    }

    /// The commits, unless they were skipped.
    pub(crate) fn shipments(&self) -> Option<&VecDeque<Shipment>> {
        self.skipped.is_none().then_some(&self.shipments)
    }

    /// When the first may be taken. What was skipped does not wait for a lag again.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        let first = self.shipments.front().map(|shipment| shipment.due);
        self.skipped.map(|_| Timestamp(0)).or(first)
    }

    /// Takes what is due.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Self {
        self.take_while(|shipment| shipment.due <= now)
    }

    /// Takes what was committed up to here, and more if that was skipped.
    pub(crate) fn take_through(&mut self, lsn: i64) -> Self {
        self.take_while(|shipment| shipment.entry.lsn <= lsn)
    }

    fn take_while(&mut self, is_taken: impl Fn(&Shipment) -> bool) -> Self {
        if self.skipped.is_some() {
            return std::mem::take(self);
        }
        let end = self.shipments.partition_point(is_taken);
        let taken: VecDeque<Shipment> = self.shipments.drain(..end).collect();
        let bytes = taken.iter().map(|shipment| size(&shipment.entry)).sum();
        self.bytes -= bytes;
        if self.shipments.is_empty() {
            self.shipments.shrink_to(MOST_WAITING);
        }
        Self { shipments: taken, bytes, skipped: None }
    }

    /// Keeps commits up to one, `left` of those that were skipped.
    pub(crate) fn cut_after(&mut self, lsn: i64, left: u64) {
        self.shipments.retain(|shipment| shipment.entry.lsn <= lsn);
        self.bytes = self.shipments.iter().map(|shipment| size(&shipment.entry)).sum();
        let cut = |skipped: Skipped| Skipped {
            commits: skipped.commits.min(left),
            changing: skipped.changing.min(left),
            ..skipped
        };
        self.skipped = self.skipped.map(cut).filter(|skipped| skipped.commits > 0);
    }

    /// What a child partition of these keys has on the way: every commit, but only the changes to its keys.
    pub(super) fn within(&self, keys: &EpkRange) -> Self {
        let narrow = |shipment: &Shipment| Shipment {
            entry: Arc::new(shipment.entry.within(keys)),
            ..shipment.clone()
        };
        let shipments: VecDeque<Shipment> = self.shipments.iter().map(narrow).collect();
        let bytes = shipments.iter().map(|shipment| size(&shipment.entry)).sum();
        Self { shipments, bytes, skipped: self.skipped }
    }

    /// How many commits are kept, and how many bytes their documents have.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.shipments.len(), self.bytes)
    }
}

fn size(entry: &LogEntry) -> usize {
    entry.changes.iter().map(|change| change.document().text_len()).sum()
}
