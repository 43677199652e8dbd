//! A sorted map from short keys to document numbers: the keys lie side by side as bytes, in chunks.
//!
//! There can be millions of keys, most of which have one document. A key and the number of its document then take ten
//! bytes more than the key. What a key stands for, a term or a place on the ring, is its owner's business.

mod chunk;

use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::ops::{Bound, Range};

use super::postings::{Postings, PostingsRef};
use chunk::Chunk;

/// The most keys of a chunk.
///
/// Few in tests, so that their small maps have several.
const CHUNK: usize = if cfg!(test) { 8 } else { 128 };

/// A sorted map from keys of a few hundred bytes at most to document numbers.
#[derive(Default)]
pub(crate) struct KeyedNumbers {
    /// By a key that is not greater than the first one of the chunk. No chunk is empty.
    chunks: BTreeMap<Box<[u8]>, Chunk>,
}

/// A key with its documents.
#[derive(Clone, Copy)]
pub(crate) struct KeyEntry<'t> {
    pub(crate) key: &'t [u8],
    pub(crate) postings: PostingsRef<'t>,
}

impl KeyedNumbers {
    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The documents with this key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<PostingsRef<'_>> {
        let (_, chunk) = self.chunks.range::<[u8], _>(up_to(key)).next_back()?;
        chunk.search(key).ok().map(|place| chunk.postings(place))
    }

    /// Adds a document to a key; false if it was there.
    pub(crate) fn add(&mut self, key: &[u8], number: u64) -> bool {
        let Some((start, chunk)) = self.chunks.range_mut::<[u8], _>(up_to(key)).next_back() else {
            self.insert_first(key, number);
            return true;
        };
        let place = match chunk.search(key) {
            Ok(place) => return chunk.add(place, number),
            Err(place) => place,
        };
        if chunk.len() < CHUNK {
            chunk.insert(place, key, number);
            return true;
        }
        let start = start.clone();
        if place == CHUNK && self.next_start(&start).is_none() {
            // Keys that only grow fill one chunk after the other.
            self.chunks.insert(key.into(), Chunk::of(key, number));
            return true;
        }
        self.split_and_insert(&start, place, key, number);
        true
    }

    /// Adds a key that is greater than all others, with its documents, which are sorted and at least one.
    pub(crate) fn push(&mut self, key: &[u8], numbers: impl IntoIterator<Item = u64>) {
        let mut numbers = numbers.into_iter();
        let Some(first) = numbers.next() else { return };
        let mut postings = Postings::One(first);
        for number in numbers {
            postings.insert(number);
        }
        let last = self.chunks.last_entry().filter(|last| last.get().len() < CHUNK);
        let chunk = match last {
            Some(last) => last.into_mut(),
            None => self.chunks.entry(key.into()).or_default(),
        };
        chunk.insert(chunk.len(), key, 0);
        chunk.set(chunk.len() - 1, postings);
    }

    /// Inserts a key that is less than all others.
    fn insert_first(&mut self, key: &[u8], number: u64) {
        let chunk = match self.chunks.first_entry().filter(|first| first.get().len() < CHUNK) {
            Some(first) => {
                let mut chunk = first.remove();
                chunk.insert(0, key, number);
                chunk
            }
            None => Chunk::of(key, number),
        };
        self.chunks.insert(key.into(), chunk);
    }

    fn split_and_insert(&mut self, start: &[u8], place: usize, key: &[u8], number: u64) {
        let Some(chunk) = self.chunks.get_mut(start) else { return };
        let mut upper = chunk.split_off(CHUNK / 2);
        match place.checked_sub(CHUNK / 2) {
            Some(place) if place > 0 => upper.insert(place, key, number),
            Some(_) | None => chunk.insert(place, key, number),
        }
        self.chunks.insert(upper.key(0).into(), upper);
    }

    /// Takes a document from a key; false if it was not there.
    pub(crate) fn take(&mut self, key: &[u8], number: u64) -> bool {
        let Some((start, chunk)) = self.chunks.range_mut::<[u8], _>(up_to(key)).next_back() else {
            return false;
        };
        let Ok(place) = chunk.search(key) else { return false };
        match chunk.take(place, number) {
            None => return false,
            Some(false) => return true,
            Some(true) => chunk.remove(place),
        }
        if chunk.len() < CHUNK / 4 {
            let start = start.clone();
            self.merge(&start);
        }
        true
    }

    /// Joins a chunk that has become small with the next, if that leaves room for more.
    fn merge(&mut self, start: &[u8]) {
        let next =
            self.next_start(start).filter(|next| self.chunks[*next].len() < CHUNK / 2).map(<[u8]>::to_vec);
        let Some(upper) = next.and_then(|next| self.chunks.remove(&next[..])) else {
            match self.chunks.get_mut(start) {
                Some(chunk) if chunk.len() == 0 => drop(self.chunks.remove(start)),
                Some(chunk) => chunk.shrink(),
                None => {}
            }
            return;
        };
        if let Some(chunk) = self.chunks.get_mut(start) {
            chunk.append(upper);
        }
    }

    fn next_start(&self, start: &[u8]) -> Option<&[u8]> {
        let after = (Bound::Excluded(start), Bound::Unbounded);
        self.chunks.range::<[u8], _>(after).next().map(|(next, _)| &**next)
    }

    /// The keys between two bounds, in order; none if there can be none.
    pub(crate) fn range(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> KeyRange<'_> {
        let first = match low {
            Bound::Unbounded => None,
            Bound::Included(low) | Bound::Excluded(low) => {
                self.chunks.range::<[u8], _>(up_to(low)).next_back().map(|(start, _)| &**start)
            }
        };
        let is_none = match (first, high) {
            (Some(start), Bound::Included(high) | Bound::Excluded(high)) => high < start,
            (Some(_) | None, _) => false,
        };
        if is_none {
            return KeyRange::default();
        }
        let from = first.map_or(Bound::Unbounded, Bound::Included);
        let mut middle = self.chunks.range::<[u8], _>((from, high));
        let front = middle.next().map(|(_, chunk)| (chunk, chunk.from(low)..chunk.until(high)));
        let back = middle.next_back().map(|(_, chunk)| (chunk, 0..chunk.until(high)));
        KeyRange { front, middle, back }
    }

    fn iter(&self) -> KeyRange<'_> {
        self.range(Bound::Unbounded, Bound::Unbounded)
    }
}

/// The bound of chunks that may hold a key.
fn up_to(key: &[u8]) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Unbounded, Bound::Included(key))
}

/// A stretch of keys, to be read from both ends.
#[derive(Default)]
pub(crate) struct KeyRange<'t> {
    front: Option<(&'t Chunk, Range<usize>)>,
    middle: btree_map::Range<'t, Box<[u8]>, Chunk>,
    back: Option<(&'t Chunk, Range<usize>)>,
}

impl<'t> Iterator for KeyRange<'t> {
    type Item = KeyEntry<'t>;

    fn next(&mut self) -> Option<KeyEntry<'t>> {
        loop {
            if let Some((chunk, places)) = &mut self.front {
                if let Some(place) = places.next() {
                    return Some(chunk.entry(place));
                }
                self.front = None;
            }
            match self.middle.next() {
                Some((_, chunk)) => self.front = Some((chunk, 0..chunk.len())),
                None => {
                    let (chunk, places) = self.back.as_mut()?;
                    return places.next().map(|place| chunk.entry(place));
                }
            }
        }
    }
}

impl<'t> DoubleEndedIterator for KeyRange<'t> {
    fn next_back(&mut self) -> Option<KeyEntry<'t>> {
        loop {
            if let Some((chunk, places)) = &mut self.back {
                if let Some(place) = places.next_back() {
                    return Some(chunk.entry(place));
                }
                self.back = None;
            }
            match self.middle.next_back() {
                Some((_, chunk)) => self.back = Some((chunk, 0..chunk.len())),
                None => {
                    let (chunk, places) = self.front.as_mut()?;
                    return places.next_back().map(|place| chunk.entry(place));
                }
            }
        }
    }
}

impl fmt::Debug for KeyedNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = |entry: KeyEntry<'_>| entry.postings.iter().collect::<Vec<_>>();
        f.debug_map().entries(self.iter().map(|entry| (entry.key, numbers(entry)))).finish()
    }
}

/// Two maps are equal if they have the same documents for the same keys.
impl PartialEq for KeyedNumbers {
    fn eq(&self, other: &Self) -> bool {
        let same =
            |(a, b): (KeyEntry<'_>, KeyEntry<'_>)| a.key == b.key && a.postings.iter().eq(b.postings.iter());
        self.iter().count() == other.iter().count() && self.iter().zip(other.iter()).all(same)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn key(nth: u16) -> Vec<u8> {
        match nth % 4 {
            0 => vec![b'y'; usize::from(nth)],
            1 => nth.to_be_bytes().to_vec(),
            _ => format!("x{nth}").into_bytes(),
        }
    }

    type Model = BTreeMap<Vec<u8>, BTreeSet<u64>>;

    fn listed<'t>(entries: impl Iterator<Item = KeyEntry<'t>>) -> Vec<(Vec<u8>, Vec<u64>)> {
        entries.map(|entry| (entry.key.to_vec(), entry.postings.iter().collect())).collect()
    }

    fn expected(model: &Model) -> Vec<(Vec<u8>, Vec<u64>)> {
        model.iter().map(|(key, numbers)| (key.clone(), numbers.iter().copied().collect())).collect()
    }

    fn bound(kind: u8, key: &[u8]) -> Bound<&[u8]> {
        match kind {
            0 => Bound::Unbounded,
            1 => Bound::Included(key),
            _ => Bound::Excluded(key),
        }
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_map_of_sets(
            steps in prop::collection::vec((0u8..3, 0u16..120, 1u64..6), 0..600),
            spans in prop::collection::vec((0u8..3, 0u16..120, 0u8..3, 0u16..120), 20),
        ) {
            let (mut map, mut model) = (KeyedNumbers::default(), Model::new());
            for (step, nth, number) in steps {
                let key = key(nth);
                if step == 0 {
                    let known = model.get_mut(&key);
                    let was_there = known.is_some_and(|numbers| numbers.remove(&number));
                    model.retain(|_, numbers| !numbers.is_empty());
                    prop_assert_eq!(map.take(&key, number), was_there);
                } else {
                    let added = model.entry(key.clone()).or_default().insert(number);
                    prop_assert_eq!(map.add(&key, number), added);
                }
                let found = map.get(&key).map(|postings| postings.iter().collect::<BTreeSet<_>>());
                prop_assert_eq!(found.as_ref(), model.get(&key));
            }
            prop_assert_eq!(map.is_empty(), model.is_empty());
            prop_assert_eq!(listed(map.iter()), expected(&model));
            for (low_kind, low, high_kind, high) in spans {
                let (low, high) = (key(low), key(high));
                let inside = |key: &[u8]| {
                    let above = match low_kind { 0 => true, 1 => key >= &low[..], _ => key > &low[..] };
                    let below = match high_kind { 0 => true, 1 => key <= &high[..], _ => key < &high[..] };
                    above && below
                };
                let mut wanted = expected(&model);
                wanted.retain(|(key, _)| inside(key));
                let found = || map.range(bound(low_kind, &low), bound(high_kind, &high));
                prop_assert_eq!(&listed(found()), &wanted);
                wanted.reverse();
                prop_assert_eq!(listed(found().rev()), wanted);
            }
            let mut pushed = KeyedNumbers::default();
            for (key, numbers) in &model {
                pushed.push(key, numbers.iter().copied());
            }
            prop_assert!(pushed == map);
        }
    }
}
