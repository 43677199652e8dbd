//! The read feed: all items, in the order of their creation within each partition.
//!
//! A continuation names a stretch of the key space and the last item given from it, both of which a split leaves as
//! they are: the children of a split partition are read on together, merged by number.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_wire::{EffectivePartitionKey, EpkRange, SessionToken};

use super::{DEFAULT_PAGE, PAGE_BYTES, SLICE};
use crate::engine::container::Container;
use crate::engine::{Document, FeedScope, PartitionRange, RegionId, charge};
use crate::storage::Commit;
use crate::{Failure, Timestamp};

/// A page of items.
#[derive(Clone, Debug, Default)]
pub struct FeedPage {
    /// The items as JSON text.
    pub items: Vec<Bytes>,
    /// Where the next page starts; none after the last.
    pub continuation: Option<String>,
    /// What it cost.
    pub charge: f64,
    /// The latest commit of the partition, the highest if there are several.
    pub lsn: i64,
    /// How many commits every region has of that partition.
    pub committed: i64,
    /// What the session has seen now.
    pub session: SessionToken,
    /// The partition, if all items are from one.
    pub range: Option<Arc<PartitionRange>>,
    /// Resolve when the reply may be sent.
    pub commits: Vec<Commit>,
}

/// A stretch of the key space that is read as one, and the last item given from it.
#[derive(Clone, Debug, PartialEq)]
struct Stretch {
    keys: EpkRange,
    after: u64,
}

/// The parts of partitions that make up a scope.
type Parts = Vec<(Arc<PartitionRange>, EpkRange)>;

impl Container {
    /// Reads a page of items.
    pub fn read_feed(
        &self,
        region: RegionId,
        scope: &FeedScope,
        max_items: Option<usize>,
        continuation: Option<&str>,
        session: Option<&SessionToken>,
    ) -> Result<FeedPage, Failure> {
        let parts = scope.resolve(&self.layout(), self.definition())?;
        let begin = continuation.map(str::parse::<Stretch>).transpose()?;
        let mut stretch = begin.or_else(|| next_stretch(&parts, None));
        let most = max_items.unwrap_or(DEFAULT_PAGE).max(1);
        let mut reader =
            Reader { container: self, region, scope, session, parts, most, page: FeedPage::default() };
        let mut bytes = 0;
        while let Some(current) = stretch {
            stretch = reader.read(current, &mut bytes)?;
            if reader.page.items.len() == most || bytes >= PAGE_BYTES || reader.page.continuation.is_some() {
                break;
            }
        }
        let mut page = reader.page;
        if page.continuation.is_none() {
            page.continuation = stretch.map(|next| next.to_string());
        }
        page.range = if let [(range, _)] = &reader.parts[..] { Some(Arc::clone(range)) } else { None };
        page.charge = charge::feed(bytes);
        Ok(page)
    }
}

/// A page that is being filled.
struct Reader<'a> {
    container: &'a Container,
    region: RegionId,
    scope: &'a FeedScope,
    session: Option<&'a SessionToken>,
    parts: Parts,
    most: usize,
    page: FeedPage,
}

impl Reader<'_> {
    /// Adds items of a stretch; returns where to go on, if anywhere. A stretch that does not fit is continued.
    fn read(&mut self, stretch: Stretch, bytes: &mut usize) -> Result<Option<Stretch>, Failure> {
        let mut after = stretch.after;
        for (number, body) in self.find(&stretch)? {
            let items = &mut self.page.items;
            if items.len() == self.most || !items.is_empty() && *bytes + body.len() > PAGE_BYTES {
                self.page.continuation = Some(Stretch { keys: stretch.keys, after }.to_string());
                return Ok(None);
            }
            *bytes += body.len();
            after = number;
            items.push(body);
        }
        Ok(next_stretch(&self.parts, Some(&stretch.keys.max)))
    }

    /// The first items of a stretch by number: one more than a page has, to tell whether more follow.
    fn find(&mut self, stretch: &Stretch) -> Result<Vec<(u64, Bytes)>, Failure> {
        let now = self.container.now();
        let most = self.most + 1;
        let mut found = Vec::new();
        for (range, keys) in self.parts.clone() {
            let Some(keys) = keys.intersection(&stretch.keys) else { continue };
            let replica = range.replica(self.region);
            replica.admit(now)?;
            let part = (&range, &keys);
            let mut from = Some(stretch.after);
            let enough = found.len() + most;
            while let Some(after) = from {
                let next = self.find_some(part, after, now, &mut found)?;
                from = next.filter(|_| found.len() < enough);
            }
            replica.spend(charge::feed(0));
        }
        found.sort_unstable_by_key(|(number, _)| *number);
        found.truncate(most);
        Ok(found)
    }
}

impl Reader<'_> {
    /// Looks at some documents of a partition; returns the last of them if there may be more.
    fn find_some(
        &mut self,
        (range, keys): (&Arc<PartitionRange>, &EpkRange),
        after: u64,
        now: Timestamp,
        found: &mut Vec<(u64, Bytes)>,
    ) -> Result<Option<u64>, Failure> {
        let Self { container, scope, session, page, .. } = self;
        range.replica(self.region).read(|state| {
            container.check_alive(state)?;
            range.check_session(*session, state)?;
            if state.lsn() >= page.lsn {
                (page.lsn, page.committed) = (state.lsn(), range.committed().min(state.lsn()));
            }
            page.commits.push(state.commit());
            let seen = range.session(state);
            page.session.merge(&seen).map_err(|error| Failure::bad_request(error.to_string()))?;
            let (mut looked, mut last) = (0, after);
            for document in state.documents_after(after).take(SLICE) {
                (looked, last) = (looked + 1, document.number);
                if keys.contains(&document.epk)
                    && is_named(container, scope, document)
                    && state.is_live(document, now)
                {
                    found.push((document.number, document.text().into()));
                }
            }
            Ok((looked == SLICE).then_some(last))
        })
    }
}

/// Whether a scope shows a document whose place on the ring it covers.
fn is_named(container: &Container, scope: &FeedScope, document: &Document) -> bool {
    match scope {
        FeedScope::Key(key) => container.keys().covers(key, &document.key),
        FeedScope::Container | FeedScope::Range(_) | FeedScope::RangePart { .. } | FeedScope::Epk(_) => true,
    }
}

/// The first part of a partition at or after a place.
fn next_stretch(parts: &Parts, from: Option<&EffectivePartitionKey>) -> Option<Stretch> {
    let part = parts.iter().find(|(_, keys)| from.is_none_or(|from| *from < keys.max))?;
    let mut keys = part.1.clone();
    if let Some(from) = from {
        keys.min = keys.min.max(from.clone());
    }
    Some(Stretch { keys, after: 0 })
}

impl fmt::Display for Stretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.keys.min, self.keys.max, self.after)
    }
}

impl FromStr for Stretch {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let parse = || {
            let mut fields = text.split('-');
            let keys = EpkRange { min: fields.next()?.parse().ok()?, max: fields.next()?.parse().ok()? };
            let after = fields.next()?.parse().ok()?;
            (fields.next().is_none() && !keys.is_empty()).then_some(Self { keys, after })
        };
        parse().ok_or_else(|| {
            let shown: String = text.chars().take(200).collect();
            Failure::bad_request(format!(
                "{shown:?} is not a continuation of a read feed (send x-ms-continuation of the last page)"
            ))
        })
    }
}
