//! A sorted map for very many small entries: they lie side by side in chunks, without room to spare.
//!
//! The standard library's tree keeps its nodes a third to half empty, and those of keys that only grow are always half
//! empty. With millions of entries in a dozen trees that is most of what they take.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;

/// The most entries of a chunk: moving half of them costs about as much as finding the chunk.
///
/// Few in tests, so that their small maps have several.
const CHUNK: usize = if cfg!(test) { 8 } else { 128 };

/// A sorted map.
#[derive(Clone)]
pub(crate) struct PackedMap<K, V> {
    /// Sorted entries, never none, by a key that is not greater than the first of them.
    chunks: BTreeMap<K, Vec<(K, V)>>,
    len: usize,
}

impl<K, V> Default for PackedMap<K, V> {
    fn default() -> Self {
        Self { chunks: BTreeMap::new(), len: 0 }
    }
}

impl<K: Ord + Clone + fmt::Debug, V: fmt::Debug> fmt::Debug for PackedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord + Clone, V> PackedMap<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let (_, chunk) = self.chunks.range(..=key).next_back()?;
        let place = chunk.binary_search_by(|(known, _)| known.cmp(key)).ok()?;
        Some(&chunk[place].1)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let (_, chunk) = self.chunks.range_mut(..=key).next_back()?;
        let place = chunk.binary_search_by(|(known, _)| known.cmp(key)).ok()?;
        Some(&mut chunk[place].1)
    }

    /// Puts a value in the place of the one that the key has, if any, and returns that one.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let Some((start, chunk)) = self.chunks.range_mut(..=&key).next_back() else {
            self.insert_first(key, value);
            return None;
        };
        let place = match chunk.binary_search_by(|(known, _)| known.cmp(&key)) {
            Ok(place) => return Some(std::mem::replace(&mut chunk[place].1, value)),
            Err(place) => place,
        };
        self.len += 1;
        if chunk.len() < CHUNK {
            insert_exactly(chunk, place, (key, value));
            return None;
        }
        let start = start.clone();
        if place == CHUNK && self.next_start(&start).is_none() {
            // Keys that only grow fill one chunk after the other.
            self.chunks.insert(key.clone(), vec![(key, value)]);
            return None;
        }
        self.split_and_insert(&start, place, (key, value));
        None
    }

    /// The same, fast if the key is greater than all others.
    fn push(&mut self, key: K, value: V) {
        let Some(mut last) = self.chunks.last_entry() else {
            self.insert_first(key, value);
            return;
        };
        let chunk = last.get_mut();
        if chunk.last().is_none_or(|(greatest, _)| *greatest >= key) {
            self.insert(key, value);
            return;
        }
        self.len += 1;
        if chunk.len() < CHUNK {
            chunk.push((key, value));
            return;
        }
        let mut next = Vec::with_capacity(CHUNK);
        next.push((key.clone(), value));
        self.chunks.insert(key, next);
    }

    /// Inserts a key that is less than all others.
    fn insert_first(&mut self, key: K, value: V) {
        self.len += 1;
        let first =
            self.chunks.first_key_value().filter(|(_, chunk)| chunk.len() < CHUNK).map(|(start, _)| start);
        let mut chunk = match first.cloned() {
            Some(start) => self.chunks.remove(&start).unwrap_or_default(),
            None => Vec::new(),
        };
        insert_exactly(&mut chunk, 0, (key.clone(), value));
        self.chunks.insert(key, chunk);
    }

    fn split_and_insert(&mut self, start: &K, place: usize, entry: (K, V)) {
        let Some(chunk) = self.chunks.get_mut(start) else { return };
        let mut upper = chunk.split_off(CHUNK / 2);
        chunk.shrink_to_fit();
        match place.checked_sub(CHUNK / 2) {
            Some(place) if place > 0 => insert_exactly(&mut upper, place, entry),
            Some(_) | None => insert_exactly(chunk, place, entry),
        }
        self.chunks.insert(upper[0].0.clone(), upper);
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let (start, chunk) = self.chunks.range_mut(..=key).next_back()?;
        let place = chunk.binary_search_by(|(known, _)| known.cmp(key)).ok()?;
        let (_, value) = chunk.remove(place);
        self.len -= 1;
        if chunk.len() < CHUNK / 4 {
            let start = start.clone();
            self.merge(&start);
        } else if chunk.len() < chunk.capacity() / 2 {
            chunk.shrink_to_fit();
        }
        Some(value)
    }

    /// Joins a chunk that has become small with the next, if that leaves room for more.
    fn merge(&mut self, start: &K) {
        let next = self.next_start(start).filter(|next| self.chunks[*next].len() < CHUNK / 2).cloned();
        let Some(mut upper) = next.and_then(|next| self.chunks.remove(&next)) else {
            if self.chunks.get(start).is_some_and(Vec::is_empty) {
                self.chunks.remove(start);
            }
            return;
        };
        if let Some(chunk) = self.chunks.get_mut(start) {
            chunk.reserve_exact(upper.len());
            chunk.append(&mut upper);
        }
    }

    fn next_start(&self, start: &K) -> Option<&K> {
        self.chunks.range((Bound::Excluded(start), Bound::Unbounded)).next().map(|(next, _)| next)
    }

    /// The entries between two bounds, in order; none if there can be none.
    pub(crate) fn range<'m>(
        &'m self,
        low: Bound<&K>,
        high: Bound<&K>,
    ) -> impl DoubleEndedIterator<Item = (&'m K, &'m V)> + use<'m, K, V> {
        let first = match low {
            Bound::Unbounded => None,
            Bound::Included(low) | Bound::Excluded(low) => self.chunks.range(..=low).next_back(),
        };
        let from = first.map_or(Bound::Unbounded, |(start, _)| Bound::Included(start));
        // The ends are narrowed here, so that no bound is needed for longer than this call.
        let (head, tail) = match (from, high) {
            (Bound::Included(start), Bound::Included(high) | Bound::Excluded(high)) if high < start => {
                (None, None)
            }
            _ => {
                let mut chunks = self.chunks.range((from, high)).map(|(_, chunk)| &chunk[..]);
                (chunks.next(), chunks.next_back())
            }
        };
        let begin = |chunk: &'m [(K, V)]| match low {
            Bound::Unbounded => chunk,
            Bound::Included(low) => &chunk[chunk.partition_point(|(key, _)| key < low)..],
            Bound::Excluded(low) => &chunk[chunk.partition_point(|(key, _)| key <= low)..],
        };
        let end = |chunk: &'m [(K, V)]| match high {
            Bound::Unbounded => chunk,
            Bound::Included(high) => &chunk[..chunk.partition_point(|(key, _)| key <= high)],
            Bound::Excluded(high) => &chunk[..chunk.partition_point(|(key, _)| key < high)],
        };
        let head = head.map_or(&[][..], |chunk| end(begin(chunk)));
        let (middle, tail) = match tail {
            None => (None, &[][..]),
            Some(tail) => {
                let mut middle = self.chunks.range((from, high));
                middle.next();
                middle.next_back();
                (Some(middle), end(tail))
            }
        };
        let middle = middle.into_iter().flatten().flat_map(|(_, chunk)| chunk.iter());
        head.iter().chain(middle).chain(tail).map(|(key, value)| (key, value))
    }

    /// All entries, in order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.chunks.values().flatten().map(|(key, value)| (key, value))
    }

    pub(crate) fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// The entry with the least key.
    pub(crate) fn first(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }
}

/// Makes room for a few entries at most, where the standard library would double it.
fn insert_exactly<T>(chunk: &mut Vec<T>, place: usize, entry: T) {
    if chunk.len() == chunk.capacity() {
        chunk.reserve_exact((chunk.len() / 8).clamp(1, 8));
    }
    chunk.insert(place, entry);
}

/// Built in one go from entries in the order of their keys, each key once.
impl<K: Ord + Clone, V> FromIterator<(K, V)> for PackedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        for (key, value) in entries {
            map.push(key, value);
        }
        if let Some(mut last) = map.chunks.last_entry() {
            last.get_mut().shrink_to_fit();
        }
        map
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for PackedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.chunks.values().flatten().eq(other.chunks.values().flatten())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bound(kind: u8, key: &u16) -> Bound<&u16> {
        match kind {
            0 => Bound::Unbounded,
            1 => Bound::Included(key),
            _ => Bound::Excluded(key),
        }
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_map(
            steps in prop::collection::vec((0u8..3, 0u16..300), 0..900),
            growing in 0u16..100,
            spans in prop::collection::vec((0u8..3, 0u16..310, 0u8..3, 0u16..310), 20),
        ) {
            let (mut map, mut model) = (PackedMap::default(), BTreeMap::new());
            for key in 1000..1000 + growing {
                prop_assert_eq!(map.insert(key, key), model.insert(key, key));
            }
            for (nth, (step, key)) in steps.into_iter().enumerate() {
                match step {
                    0 => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                    _ => prop_assert_eq!(map.insert(key, nth as u16), model.insert(key, nth as u16)),
                }
                prop_assert_eq!(map.get(&key), model.get(&key));
                prop_assert_eq!(map.len(), model.len());
            }
            prop_assert!(map.iter().eq(model.iter()));
            prop_assert_eq!(map.first(), model.first_key_value());
            for (low_kind, low, high_kind, high) in spans {
                let found = || map.range(bound(low_kind, &low), bound(high_kind, &high));
                let inside = |key: &u16| {
                    let above = match low_kind { 0 => true, 1 => *key >= low, _ => *key > low };
                    let below = match high_kind { 0 => true, 1 => *key <= high, _ => *key < high };
                    above && below
                };
                let expected: Vec<_> = model.iter().filter(|(key, _)| inside(key)).collect();
                prop_assert_eq!(&found().collect::<Vec<_>>(), &expected);
                prop_assert!(found().rev().eq(expected.into_iter().rev()));
            }
        }
    }

    #[test]
    fn keys_that_grow_leave_no_room_unused() {
        let map: PackedMap<u64, ()> = (0..CHUNK as u64 * 10 + 1).map(|key| (key, ())).collect();
        assert_eq!((map.chunks.len(), map.len()), (11, CHUNK * 10 + 1));
        assert!(map.chunks.values().all(|chunk| chunk.capacity() <= CHUNK));
        assert!(map.chunks.values().last().is_some_and(|last| last.capacity() < CHUNK));
    }

    #[test]
    fn keys_in_any_order_make_a_sorted_map() {
        let keys = (0..500u64).map(|nth| nth * 7919 % 300);
        let map: PackedMap<u64, u64> = keys.clone().zip(0..).collect();
        let model: BTreeMap<u64, u64> = keys.zip(0..).collect();
        assert!(map.iter().eq(model.iter()));
        assert_eq!(map.len(), model.len());
    }
}
