//! A page of a container's change feed, over one partition or several.
//!
//! What the changes of one partition look like is in `incremental` and `versions`.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_wire::{EpkRange, PartitionKey, SessionToken};

use super::incremental::{self, Reached};
use super::versions::{self, PreviousImages};
use super::{DEFAULT_PAGE, FeedPosition, PAGE_BYTES, SLICE, timed_out};
use crate::engine::container::Container;
use crate::engine::key::KeyReader;
use crate::engine::layout::gone;
use crate::engine::{Document, FeedScope, PartitionRange, Progress, RegionId, Replica, charge};
use crate::pace::Next;
use crate::storage::Commit;
use crate::{Failure, Pace, Timestamp};

/// Which changes a feed shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedMode {
    /// The latest version of each item that changed.
    Incremental,
    /// Every version and every delete, for as long as the container's policy keeps them; without one, for seven days from
    /// the first time that somebody asks for them.
    FullFidelity,
}

/// Where a feed starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedStart {
    /// With the first change.
    Beginning,
    /// With the next change.
    Now,
    /// With the first change at or after a time, in seconds since 1970.
    Time(u64),
    /// Where an earlier page ended.
    After(FeedPosition),
}

/// What a page of changes is asked with.
#[derive(Clone, Debug)]
pub struct ChangeRequest<'a> {
    /// What part of the container.
    pub scope: FeedScope,
    /// Which changes.
    pub mode: FeedMode,
    /// From where.
    pub start: FeedStart,
    /// How many at most; a commit that alone has more comes whole.
    pub max_items: Option<usize>,
    /// What the session has seen.
    pub session: Option<&'a SessionToken>,
    /// How long the page may take.
    pub pace: Pace,
}

/// A page of changes.
#[derive(Clone, Debug)]
pub struct ChangePage {
    /// The changes as JSON text. None of them if there is nothing new.
    pub items: Vec<Bytes>,
    /// Whether the page has ended because it took long: there may be more, even if it has nothing.
    pub is_late: bool,
    /// Where the next page starts; the entity tag of the reply.
    pub next: FeedPosition,
    /// What it cost.
    pub charge: f64,
    /// The latest commit of the partition, the highest if there are several.
    pub lsn: i64,
    /// How many commits every region has of that partition.
    pub committed: i64,
    /// What the session has seen now.
    pub session: SessionToken,
    /// The partition, if all changes are from one.
    pub range: Option<Arc<PartitionRange>>,
    /// Resolve when the reply may be sent.
    pub commits: Vec<Commit>,
}

/// What is left of a page.
pub(super) struct Room {
    items: usize,
    bytes: usize,
    is_late: bool,
}

impl Room {
    fn new(max_items: Option<usize>) -> Self {
        Self { items: max_items.unwrap_or(DEFAULT_PAGE).max(1), bytes: PAGE_BYTES, is_late: false }
    }

    /// Takes the changes of one commit; false, and none taken, if they do not fit and the page has others.
    pub(super) fn take(&mut self, commit: &[Bytes], is_first: bool) -> bool {
        let bytes = commit.iter().map(Bytes::len).sum();
        if !is_first && (commit.len() > self.items || bytes > self.bytes) {
            return false;
        }
        self.items = self.items.saturating_sub(commit.len());
        self.bytes = self.bytes.saturating_sub(bytes);
        true
    }

    fn is_full(&self) -> bool {
        self.items == 0 || self.bytes == 0 || self.is_late
    }
}

/// The part of one partition that a page reads.
pub(super) struct Part<'a> {
    pub(super) keys: &'a EpkRange,
    /// The only partition key, or hierarchical prefix, to show.
    pub(super) key: Option<&'a PartitionKey>,
    pub(super) reader: &'a KeyReader,
    pub(super) after: Progress,
    pub(super) now: Timestamp,
}

impl Part<'_> {
    pub(super) fn shows(&self, document: &Document) -> bool {
        self.keys.contains(&document.epk) && self.key.is_none_or(|key| self.reader.covers(key, &document.key))
    }
}

impl Container {
    /// Reads a page of changes.
    pub fn change_feed(&self, region: RegionId, request: &ChangeRequest<'_>) -> Result<ChangePage, Failure> {
        let mut commits = Vec::new();
        if request.mode == FeedMode::FullFidelity {
            versions::check(&request.start)?;
            commits.push(self.keep_versions()?);
        }
        let layout = self.layout();
        if let FeedStart::After(position) = &request.start
            && let Some(stranger) = position.stranger(&layout)
        {
            return Err(gone(stranger));
        }
        let parts = request.scope.resolve(&layout, self.definition())?;
        let single = if let [(range, _)] = &parts[..] { Some(Arc::clone(range)) } else { None };
        let mut page = ChangePage {
            items: Vec::new(),
            is_late: false,
            next: FeedPosition::PerRange(Vec::new()),
            charge: 0.0,
            lsn: 0,
            committed: 0,
            session: SessionToken::default(),
            range: single,
            commits,
        };
        let mut room = Room::new(request.max_items);
        let mut reached = Vec::with_capacity(parts.len());
        for (range, keys) in &parts {
            let point = self.read_part(region, request, range, keys, &mut room, &mut page)?;
            reached.push((range.id.clone(), point));
        }
        page.next = match &reached[..] {
            [] => FeedPosition::At(Progress::default()),
            [(_, point)] => FeedPosition::At(point.clone()),
            _ => FeedPosition::PerRange(reached),
        };
        page.charge = charge::feed(page.items.iter().map(Bytes::len).sum());
        Ok(page)
    }

    /// Adds the changes of one partition to a page; says how far the reader has come in it.
    fn read_part(
        &self,
        region: RegionId,
        request: &ChangeRequest<'_>,
        range: &Arc<PartitionRange>,
        keys: &EpkRange,
        room: &mut Room,
        page: &mut ChangePage,
    ) -> Result<Progress, Failure> {
        let replica = range.replica(region);
        let now = self.now();
        replica.admit(now)?;
        let mut after = begin(request, range, replica)?;
        let reached = loop {
            let key = if let FeedScope::Key(key) = &request.scope { Some(key) } else { None };
            let part = Part { keys, key, reader: self.keys(), after: after.clone(), now };
            let looked = replica.read(|state| {
                self.check_alive(state)?;
                range.check_session(request.session, state)?;
                if state.lsn() >= page.lsn {
                    (page.lsn, page.committed) = (state.lsn(), range.committed().min(state.lsn()));
                }
                page.commits.push(state.commit());
                let seen = range.session(state);
                page.session.merge(&seen).map_err(|error| Failure::bad_request(error.to_string()))?;
                if room.is_full() {
                    page.is_late |= room.is_late;
                    return Ok(Looked::All(Reached::End(after.clone())));
                }
                Ok(match request.mode {
                    FeedMode::Incremental => {
                        Looked::All(incremental::read(state, &part, room, &mut page.items))
                    }
                    FeedMode::FullFidelity => Looked::Commits(versions::look(state, &part.after)?),
                })
            });
            let reached = looked.and_then(|looked| match looked {
                Looked::All(reached) => Ok(reached),
                Looked::Commits(commits) => {
                    let images = PreviousImages::kept_by(&self.properties());
                    versions::read(commits, &part, images, room, &mut page.items)
                }
            });
            match (reached, request.pace.next()) {
                (Err(failure), _) => break Err(failure),
                (Ok(_), Next::Stop) => break Err(timed_out()),
                (Ok(Reached::End(point)), next) => {
                    // A partition without news does not use up the time of the next one, however late it is.
                    room.is_late |= next == Next::EndPage && point != after;
                    break Ok(point);
                }
                (Ok(Reached::Slice(point)), Next::EndPage) => {
                    (room.is_late, page.is_late) = (true, true);
                    break Ok(point);
                }
                (Ok(Reached::Slice(point)), Next::GoOn) => after = point,
            }
        };
        replica.spend(charge::feed(0));
        reached
    }
}

/// What was looked at of a partition while it was held.
enum Looked {
    /// All that is needed.
    All(Reached),
    /// Commits, which are yet to be described.
    Commits(versions::Stretch),
}

/// The point after which a reader begins.
fn begin(
    request: &ChangeRequest<'_>,
    range: &PartitionRange,
    replica: &Replica,
) -> Result<Progress, Failure> {
    Ok(match &request.start {
        FeedStart::Beginning => Progress::default(),
        FeedStart::Now => replica.read(|state| state.progress().clone()),
        FeedStart::Time(seconds) => {
            let mut point = Progress::default();
            // Others have their turn between two slices. What is written meanwhile comes after the point.
            while !replica.read(|state| state.pass_before(*seconds, &mut point, SLICE)) {
                if request.pace.next() == Next::Stop {
                    return Err(timed_out());
                }
            }
            point
        }
        FeedStart::After(position) => position.of(range).cloned().unwrap_or_default(),
    })
}
