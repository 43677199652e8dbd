//! What a replica holds: documents, the ways to find them, the index, and the log.
//!
//! Reading only, but for the steps that a [`Transaction`](super::Transaction) is made of; who may read what is
//! decided by the callers.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use cosmonaut_wire::model::TimeToLive;
use cosmonaut_wire::{EpkRange, PartitionKey, mutation};

use super::named::{ItemName, Named};
use super::write_place::WritePlace;
use super::{LogEntry, Versions};
use crate::Timestamp;
use crate::engine::unique::UniqueKeys;
use crate::engine::{Document, Progress, RegionId};
use crate::index::{Index, KeyRange, KeyedNumbers};
use crate::packed::PackedMap;
use crate::storage::Commit;

/// What a replica holds at one moment.
#[derive(Debug)]
pub struct ReplicaState {
    pub(super) progress: Progress,
    /// In the order in which the replica has made or applied them.
    pub(super) log: VecDeque<Arc<LogEntry>>,
    /// The last commits that the log does not hold any more.
    pub(super) truncated: Progress,
    /// Which versions win; only where several regions write.
    pub(super) versions: Option<Box<Versions>>,
    pub(super) retention: Retention,
    pub(super) default_ttl: Option<TimeToLive>,
    pub(super) phase: Phase,
    /// The latest commits with their promises, but for those that are long safe.
    pub(super) unsafe_commits: VecDeque<(i64, Commit)>,
    documents: PackedMap<u64, Arc<Document>>,
    by_item: HashSet<Named>,
    by_epk: KeyedNumbers,
    by_lsn: PackedMap<WritePlace, ()>,
    expiries: PackedMap<(u64, u64), ()>,
    pub(super) unique_keys: UniqueKeys,
    /// Who holds which unique values: two, while regions that wrote at the same time have not agreed.
    pub(super) unique: BTreeSet<(Box<[u8]>, u64)>,
    index: Index,
    bytes: u64,
    /// The documents that were written since somebody began to copy them.
    pub(super) touched: Option<BTreeSet<u64>>,
}

/// Below this many documents, no thread is started to put them into a replica.
///
/// Few in tests, so that their small containers come to it.
const FEW: usize = if cfg!(test) { 4 } else { 1000 };

/// Whether a replica takes writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It does.
    Live,
    /// Its partition was split: writes go to the children.
    Split,
    /// Its region has left the account.
    Left,
    /// Its container was deleted.
    Deleted,
}

/// How much of the log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retention {
    /// Only the latest commits, for whoever follows closely.
    Tail,
    /// Everything of the last minutes, for the feed of all versions.
    Minutes(u32),
}

impl Retention {
    /// How many commits a log without a retention time keeps.
    pub(super) const TAIL: usize = 256;
}

/// What the versions of an item are known by: the key's header form, which ends in `]`, and the id.
pub(crate) fn item_name(key: &PartitionKey, id: &str) -> String {
    let mut name = String::with_capacity(id.len() + 48);
    key.write_header(&mut name);
    name.push_str(id);
    name
}

impl ReplicaState {
    /// An empty replica whose log goes on after `progress`.
    pub(crate) fn new(progress: Progress, index: Index, unique_keys: UniqueKeys) -> Self {
        Self {
            truncated: progress.clone(),
            progress,
            log: VecDeque::new(),
            versions: None,
            retention: Retention::Tail,
            default_ttl: None,
            phase: Phase::Live,
            unsafe_commits: VecDeque::new(),
            documents: PackedMap::default(),
            by_item: HashSet::new(),
            by_epk: KeyedNumbers::default(),
            by_lsn: PackedMap::default(),
            expiries: PackedMap::default(),
            unique_keys,
            unique: BTreeSet::new(),
            index,
            bytes: 0,
            touched: None,
        }
    }

    /// The number of the latest commit.
    pub fn lsn(&self) -> i64 {
        self.progress.total()
    }

    /// The latest commit of each sequence.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// From now on, versions of several regions are compared.
    pub(crate) fn compare_versions(&mut self) {
        self.versions.get_or_insert_default();
    }

    /// Whether it remembers anything that was deleted.
    pub(crate) fn has_tombstones(&self) -> bool {
        self.versions.as_ref().is_some_and(|versions| versions.has_tombstones())
    }

    pub(crate) fn versions(&mut self) -> Option<&mut Versions> {
        self.versions.as_deref_mut()
    }

    /// Resolves once all that is in the replica is safe.
    pub fn commit(&self) -> Commit {
        self.unsafe_commits.back().map_or(Commit::done(), |(_, commit)| commit.clone())
    }

    /// Resolves once a commit of this replica is safe: what is read should not be lost after it was seen.
    pub fn commit_of(&self, lsn: i64) -> Commit {
        if mutation!("read-shows-what-is-not-safe") {
            return Commit::done();
        }
        if self.versions.is_some() {
            // Of several sequences, only the latest promise includes all.
            return self.commit();
        }
        let after = self.unsafe_commits.partition_point(|(at, _)| *at <= lsn);
        after.checked_sub(1).map_or(Commit::done(), |nth| self.unsafe_commits[nth].1.clone())
    }

    /// Keeps the promise of the latest commit.
    pub(crate) fn promise(&mut self, commit: &Commit) {
        while self.unsafe_commits.front().is_some_and(|(_, commit)| commit.is_done()) {
            self.unsafe_commits.pop_front();
        }
        if !commit.is_done() {
            // A commit of another region may have come to the journal before one that is here already.
            let latest = self.unsafe_commits.back().map_or(commit, |(_, last)| last.later(commit)).clone();
            self.unsafe_commits.push_back((self.lsn(), latest));
        }
    }

    /// The document of that number, expired or not.
    pub fn document(&self, number: u64) -> Option<&Document> {
        self.documents.get(&number).map(|document| &**document)
    }

    /// The same, to be kept.
    pub(crate) fn share(&self, number: u64) -> Option<&Arc<Document>> {
        self.documents.get(&number)
    }

    /// All of them, to be kept.
    pub(crate) fn shared(&self) -> impl Iterator<Item = &Arc<Document>> {
        self.documents.values()
    }

    /// All documents after a number, expired or not, by number.
    pub fn documents_after(&self, number: u64) -> impl DoubleEndedIterator<Item = &Document> {
        self.documents.range(Bound::Excluded(&number), Bound::Unbounded).map(|(_, document)| &**document)
    }

    /// The same, to be kept.
    pub(crate) fn shared_after(&self, number: u64) -> impl Iterator<Item = &Arc<Document>> {
        self.documents.range(Bound::Excluded(&number), Bound::Unbounded).map(|(_, document)| document)
    }

    /// All documents up to a number and with it, expired or not, by number.
    pub fn documents_up_to(&self, number: u64) -> impl DoubleEndedIterator<Item = &Document> {
        self.documents.range(Bound::Unbounded, Bound::Included(&number)).map(|(_, document)| &**document)
    }

    /// All documents, expired or not, by number.
    pub fn documents(&self) -> impl DoubleEndedIterator<Item = &Document> {
        self.documents.values().map(|document| &**document)
    }

    /// How many documents there are, expired or not.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// How many bytes the documents have.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The document with a key and id, expired or not.
    pub fn find(&self, key: &PartitionKey, id: &str) -> Option<&Arc<Document>> {
        self.by_item.get(&(key, id) as &dyn ItemName).map(|Named(document)| document)
    }

    /// The documents whose keys are in a range, expired or not, by key and then by number.
    pub fn in_epk<'s>(&'s self, keys: &EpkRange) -> impl Iterator<Item = &'s Document> + use<'s> {
        let numbers = self.places_in(keys).flat_map(|entry| entry.postings.iter());
        numbers.filter_map(|number| self.document(number))
    }

    /// The numbers of these documents, by the places of their keys.
    pub(crate) fn places_in(&self, keys: &EpkRange) -> KeyRange<'_> {
        let (low, high) = (keys.min.as_bytes(), keys.max.as_bytes());
        self.by_epk.range(Bound::Included(low), Bound::Excluded(high))
    }

    /// The documents whose current version was written after a point, in the order of writing: exactly so within a
    /// sequence, and by their time between sequences.
    pub fn changed_after(&self, position: &Progress) -> impl Iterator<Item = &Document> {
        let rest = |(origin, _)| self.changed_in(origin, position.get(origin)).peekable();
        let mut sequences: Vec<_> = self.progress.sequences().map(rest).collect();
        std::iter::from_fn(move || {
            let heads = sequences.iter_mut().enumerate();
            let next = heads.filter_map(|(nth, rest)| Some((rest.peek()?.ts(), nth))).min()?;
            sequences[next.1].next()
        })
    }

    /// The same in one sequence.
    fn changed_in(&self, origin: RegionId, lsn: i64) -> impl Iterator<Item = &Document> {
        let (after, last) = (WritePlace::after(origin, lsn), WritePlace::after(origin, i64::MAX));
        let rest = self.by_lsn.range(Bound::Excluded(&after), Bound::Included(&last));
        rest.filter_map(|(place, ())| self.document(place.number()))
    }

    /// Moves a point past changes, up to the first of each sequence that was written at or after a time, in seconds since
    /// 1970; false if `most` changes were passed before.
    ///
    /// Every change is looked at, as the clock may have been set back between two runs.
    pub(crate) fn pass_before(&self, seconds: u64, point: &mut Progress, most: usize) -> bool {
        let mut passed = 0;
        for (origin, last) in self.progress.sequences() {
            let rest = self.changed_in(origin, point.get(origin));
            let mut reached = last;
            for document in rest {
                if document.ts() >= seconds {
                    reached = document.lsn - 1;
                    break;
                }
                if passed == most {
                    return false;
                }
                passed += 1;
                // All changes of a commit have its time.
                point.set(origin, document.lsn);
            }
            point.set(origin, reached.max(point.get(origin)));
        }
        true
    }

    /// Whether a document has not expired.
    pub fn is_live(&self, document: &Document, now: Timestamp) -> bool {
        document.expires(self.default_ttl).is_none_or(|expires| now.seconds() < expires)
    }

    /// Whether nothing here can expire, so that [`ReplicaState::is_live`] need not be asked.
    pub fn all_live(&self, now: Timestamp) -> bool {
        self.expiries.first().is_none_or(|((expires, _), ())| now.seconds() < *expires)
    }

    /// The index over the documents.
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// The next commits that the log still holds after a point, oldest first; `None` if some of them are gone.
    pub(crate) fn log_after(&self, position: &Progress, most: usize) -> Option<Vec<Arc<LogEntry>>> {
        if !position.covers(&self.truncated) {
            return None;
        }
        let is_after = |entry: &&Arc<LogEntry>| entry.lsn > position.get(entry.origin());
        // Commits of several regions come one after another in no order of their numbers.
        let begin = match self.progress.sequences().count() {
            0 | 1 => self.log.partition_point(|entry| !is_after(&entry)),
            _ => 0,
        };
        Some(self.log.range(begin..).filter(is_after).take(most).cloned().collect())
    }

    /// The last commits that the log does not hold any more.
    pub(crate) fn truncated(&self) -> &Progress {
        &self.truncated
    }

    pub(crate) fn retention(&self) -> Retention {
        self.retention
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn retire(&mut self, phase: Phase) {
        self.phase = phase;
    }

    /// Items that have expired by now, soonest first.
    pub(crate) fn expired(&self, now: Timestamp) -> impl Iterator<Item = u64> {
        let end = (now.seconds() + 1, 0);
        self.expiries.range(Bound::Unbounded, Bound::Excluded(&end)).map(|((_, number), ())| *number)
    }

    fn touch(&mut self, number: u64) {
        if let Some(touched) = &mut self.touched {
            touched.insert(number);
        }
    }

    /// Puts a document in every place where it is looked for; says how many index terms it has.
    pub(crate) fn insert(&mut self, document: Arc<Document>) -> usize {
        let text = document.text();
        self.insert_with(document, &text)
    }

    /// The same for a document whose text is at hand.
    pub(super) fn insert_with(&mut self, document: Arc<Document>, text: &[u8]) -> usize {
        let number = document.number;
        self.touch(number);
        self.by_item.replace(Named(Arc::clone(&document)));
        self.by_epk.add(document.epk.as_bytes(), number);
        self.by_lsn.insert(WritePlace::of(&document), ());
        if let Some(expires) = document.expires(self.default_ttl) {
            self.expiries.insert((expires, number), ());
        }
        let names = self.unique_keys.names(&document.key, text);
        self.unique.extend(names.into_iter().map(|name| (name, number)));
        self.bytes += text.len() as u64;
        let terms = if document.indexed { self.index.insert(number, text) } else { 0 };
        self.documents.insert(number, document);
        terms
    }

    /// Puts documents into an empty replica, all at once: the index is built beside everything else.
    pub(crate) fn fill(&mut self, mut documents: Vec<Arc<Document>>) {
        if documents.len() < FEW {
            for document in documents {
                self.insert(document);
            }
            return;
        }
        documents.sort_unstable_by_key(|document| document.number);
        let Self { index, by_item, by_epk, by_lsn, .. } = self;
        index.fill(&documents, || {
            by_item.reserve(documents.len());
            by_item.extend(documents.iter().map(|document| Named(Arc::clone(document))));
            let mut places: Vec<_> =
                documents.iter().map(|document| (&document.epk, document.number)).collect();
            places.sort_unstable();
            for same in places.chunk_by(|(a, _), (b, _)| a == b) {
                by_epk.push(same[0].0.as_bytes(), same.iter().map(|(_, number)| *number));
            }
            *by_lsn = sorted(&documents, |document| (WritePlace::of(document), ()));
        });
        for document in &documents {
            if !self.unique_keys.is_empty() {
                let names = self.unique_keys.names(&document.key, &document.text());
                self.unique.extend(names.into_iter().map(|name| (name, document.number)));
            }
            self.bytes += document.text_len() as u64;
        }
        self.documents = documents.into_iter().map(|document| (document.number, document)).collect();
        self.follow(self.default_ttl, self.retention);
    }

    /// Takes a document from all of these places; says how many index terms it had.
    pub(crate) fn remove(&mut self, number: u64) -> Option<(Arc<Document>, usize)> {
        let document = self.documents.remove(&number)?;
        self.touch(number);
        // Whoever copies a replica may learn of the item's new document before it learns that this one is gone.
        if let Some(named) = self.by_item.take(&*document as &dyn ItemName)
            && named.0.number != number
        {
            self.by_item.insert(named);
        }
        self.by_epk.take(document.epk.as_bytes(), number);
        self.by_lsn.remove(&WritePlace::of(&document));
        if let Some(expires) = document.expires(self.default_ttl) {
            self.expiries.remove(&(expires, number));
        }
        let text = document.text();
        for name in self.unique_keys.names(&document.key, &text) {
            self.unique.remove(&(name, number));
        }
        self.bytes -= text.len() as u64;
        let terms = if document.indexed { self.index.remove(number, &text) } else { 0 };
        Some((document, terms))
    }

    /// Follows the container's properties: how long items live and how much of the log is kept.
    pub(crate) fn follow(&mut self, default_ttl: Option<TimeToLive>, retention: Retention) {
        if retention != self.retention && matches!(retention, Retention::Minutes(_)) {
            // What was written before is not promised to the feed of all versions, and may be gone in part.
            self.log.clear();
            self.truncated = self.progress.clone();
        }
        self.retention = retention;
        if default_ttl == self.default_ttl {
            return;
        }
        self.default_ttl = default_ttl;
        let expiry =
            |(number, document): (&u64, &Arc<Document>)| Some((document.expires(default_ttl)?, *number));
        let mut expiries: Vec<_> = self.documents.iter().filter_map(expiry).collect();
        expiries.sort_unstable();
        self.expiries = expiries.into_iter().map(|entry| (entry, ())).collect();
    }

    /// The next documents after a number, to be kept; all from the first on without one.
    pub(super) fn share_after(&self, number: Option<u64>, most: usize) -> Vec<Arc<Document>> {
        let after = number.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        self.documents.range(after, Bound::Unbounded).take(most).map(|(_, found)| Arc::clone(found)).collect()
    }

    pub(super) fn index_mut(&mut self) -> &mut Index {
        &mut self.index
    }

    /// Takes over a log read from disk.
    pub(crate) fn restore_log(&mut self, log: Vec<LogEntry>) {
        self.truncated = self.progress.clone();
        for entry in log.iter().rev() {
            self.truncated.set(entry.origin(), entry.lsn - 1);
        }
        self.log = log.into_iter().map(Arc::new).collect();
    }

    /// Forgets the commits that need not be kept; says whether there were any.
    pub(crate) fn truncate(&mut self, now: Timestamp) -> bool {
        let mut any = false;
        while let Some(entry) = self.log.front() {
            let kept = match self.retention {
                Retention::Tail => self.log.len() <= Retention::TAIL,
                Retention::Minutes(minutes) => {
                    now.micros_since(entry.timestamp) < u64::from(minutes) * 60_000_000
                }
            };
            if kept {
                break;
            }
            self.truncated.set(entry.origin(), entry.lsn);
            self.log.pop_front();
            any = true;
        }
        any
    }
}

/// A map with an entry for each document.
fn sorted<K: Ord + Clone, V>(
    documents: &[Arc<Document>],
    entry: impl Fn(&Document) -> (K, V),
) -> PackedMap<K, V> {
    let mut entries: Vec<_> = documents.iter().map(|document| entry(document)).collect();
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    entries.into_iter().collect()
}
