//! The read feed: all items, in the order of their creation within each partition.
//!
//! A continuation names a stretch of the key space and the last item given from it, both of which a split leaves as
//! they are: the children of a split partition are read on together, merged by number.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_wire::{EffectivePartitionKey, EpkRange, SessionToken};

use super::{DEFAULT_PAGE, PAGE_BYTES, SLICE, timed_out};
use crate::engine::container::Container;
use crate::engine::{Document, FeedScope, PartitionRange, RegionId, charge};
use crate::pace::Next;
use crate::storage::Commit;
use crate::{Failure, Pace, Timestamp};

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

/// What a page of items is asked with.
#[derive(Clone, Debug)]
pub struct FeedRequest<'a> {
    /// What part of the container.
    pub scope: &'a FeedScope,
    /// How many items at most.
    pub max_items: Option<usize>,
    /// Where the last page ended.
    pub continuation: Option<&'a str>,
    /// What the session has seen.
    pub session: Option<&'a SessionToken>,
    /// How long the page may take.
    pub pace: Pace,
}

impl<'a> FeedRequest<'a> {
    /// The first page.
    pub fn new(scope: &'a FeedScope) -> Self {
        Self { scope, max_items: None, continuation: None, session: None, pace: Pace::default() }
    }
}

impl Container {
    /// Reads a page of items.
    pub fn read_feed(&self, region: RegionId, request: &FeedRequest<'_>) -> Result<FeedPage, Failure> {
        let parts = request.scope.resolve(&self.layout(), self.definition())?;
        let begin = request.continuation.map(str::parse::<Stretch>).transpose()?;
        let mut stretch = begin.or_else(|| next_stretch(&parts, None));
        let most = request.max_items.unwrap_or(DEFAULT_PAGE).max(1);
        let page = FeedPage::default();
        let mut reader =
            Reader { container: self, region, request, parts, most, page, bytes: 0, is_late: false };
        while let Some(current) = stretch {
            stretch = reader.read(current)?;
            if reader.is_full() || reader.is_late || reader.page.continuation.is_some() {
                break;
            }
        }
        let mut page = reader.page;
        if page.continuation.is_none() {
            page.continuation = stretch.map(|next| next.to_string());
        }
        page.range = if let [(range, _)] = &reader.parts[..] { Some(Arc::clone(range)) } else { None };
        page.charge = charge::feed(reader.bytes);
        Ok(page)
    }
}

/// A page that is being filled.
struct Reader<'a> {
    container: &'a Container,
    region: RegionId,
    request: &'a FeedRequest<'a>,
    parts: Parts,
    most: usize,
    page: FeedPage,
    bytes: usize,
    /// Whether the page has taken as long as it may.
    is_late: bool,
}

/// What is found of a stretch in one partition.
struct Scan {
    range: Arc<PartitionRange>,
    keys: EpkRange,
    /// Up to which number it has looked; none once it has seen everything.
    reached: Option<u64>,
    found: Vec<Arc<Document>>,
    bytes: usize,
}

/// The first items of a stretch by number.
struct Found {
    documents: Vec<Arc<Document>>,
    /// After which number there may be more.
    more_after: Option<u64>,
}

impl Reader<'_> {
    fn is_full(&self) -> bool {
        self.page.items.len() == self.most || self.bytes >= PAGE_BYTES
    }

    /// Adds items of a stretch; returns where to go on, if anywhere. A stretch that does not fit is continued.
    fn read(&mut self, stretch: Stretch) -> Result<Option<Stretch>, Failure> {
        let Found { documents, more_after } = self.find(&stretch)?;
        let mut after = stretch.after;
        for document in documents {
            let items = &mut self.page.items;
            let bytes = self.bytes + document.text_len();
            if items.len() == self.most || !items.is_empty() && bytes > PAGE_BYTES {
                self.page.continuation = Some(Stretch { keys: stretch.keys, after }.to_string());
                return Ok(None);
            }
            self.bytes = bytes;
            after = document.number;
            items.push(document.text().into());
        }
        if let Some(after) = more_after {
            self.page.continuation = Some(Stretch { keys: stretch.keys, after }.to_string());
            return Ok(None);
        }
        Ok(next_stretch(&self.parts, Some(&stretch.keys.max)))
    }

    /// Looks for a little more than a page has, to tell whether more follows, or for as long as a page may take.
    fn find(&mut self, stretch: &Stretch) -> Result<Found, Failure> {
        let now = self.container.now();
        let mut scans = Vec::new();
        for (range, keys) in &self.parts {
            let Some(keys) = keys.intersection(&stretch.keys) else { continue };
            range.replica(self.region).admit(now)?;
            let reached = Some(stretch.after);
            scans.push(Scan { range: Arc::clone(range), keys, reached, found: Vec::new(), bytes: 0 });
        }
        // By turns, so that every partition gets on before the page ends.
        while !self.is_late {
            let mut is_done = true;
            for scan in &mut scans {
                if !scan.has_enough(self.most) {
                    self.look(scan, now)?;
                    is_done = false;
                }
            }
            if is_done {
                break;
            }
            self.is_late = match self.request.pace.next() {
                Next::GoOn => false,
                Next::EndPage => true,
                Next::Stop => return Err(timed_out()),
            };
        }
        for scan in &scans {
            scan.range.replica(self.region).spend(charge::feed(0));
        }
        let more_after = scans.iter().filter_map(|scan| scan.reached).min();
        let mut documents: Vec<_> = scans.into_iter().flat_map(|scan| scan.found).collect();
        documents.retain(|document| more_after.is_none_or(|after| document.number <= after));
        documents.sort_unstable_by_key(|document| document.number);
        Ok(Found { documents, more_after })
    }

    /// Looks at some documents of a partition.
    fn look(&mut self, scan: &mut Scan, now: Timestamp) -> Result<(), Failure> {
        let Self { container, request, page, .. } = self;
        let Scan { range, keys, reached, found, bytes } = scan;
        let Some(after) = *reached else { return Ok(()) };
        range.replica(self.region).read(|state| {
            container.check_alive(state)?;
            range.check_session(request.session, state)?;
            if state.lsn() >= page.lsn {
                (page.lsn, page.committed) = (state.lsn(), range.committed().min(state.lsn()));
            }
            page.commits.push(state.commit());
            let seen = range.session(state);
            page.session.merge(&seen).map_err(|error| Failure::bad_request(error.to_string()))?;
            let (mut looked, mut last) = (0, after);
            for document in state.shared_after(after).take(SLICE) {
                (looked, last) = (looked + 1, document.number);
                if keys.contains(&document.epk)
                    && is_named(container, request.scope, document)
                    && state.is_live(document, now)
                {
                    *bytes += document.text_len();
                    found.push(Arc::clone(document));
                }
            }
            *reached = (looked == SLICE).then_some(last);
            Ok(())
        })
    }
}

impl Scan {
    /// Whether no page of so many items needs more of this partition.
    fn has_enough(&self, most: usize) -> bool {
        self.reached.is_none() || self.found.len() > most || self.bytes > PAGE_BYTES
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
