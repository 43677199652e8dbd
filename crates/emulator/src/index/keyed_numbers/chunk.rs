//! A chunk of a map of keys: some keys that follow each other, as bytes side by side.

use std::ops::Bound;

use super::KeyEntry;
use crate::index::postings::{Postings, PostingsRef};

/// Keys that follow each other.
#[derive(Default)]
pub(super) struct Chunk {
    /// One after the other.
    keys: Vec<u8>,
    /// Where each of them ends. The keys of a chunk have less than 64 KiB together.
    ends: Vec<u16>,
    /// The only document of each or, with [`SEVERAL`], the place of its documents in `several`.
    numbers: Vec<u64>,
    several: Vec<Postings>,
}

/// Set where a key has several documents. Document numbers are far below.
const SEVERAL: u64 = 1 << 63;

impl Chunk {
    pub(super) fn of(key: &[u8], number: u64) -> Self {
        let mut chunk = Self::default();
        chunk.insert(0, key, number);
        chunk
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Where the key at a place begins.
    fn start(&self, place: usize) -> usize {
        place.checked_sub(1).map_or(0, |before| usize::from(self.ends[before]))
    }

    pub(super) fn key(&self, place: usize) -> &[u8] {
        &self.keys[self.start(place)..usize::from(self.ends[place])]
    }

    pub(super) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.key(middle).cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    /// The first place that a lower bound leaves.
    pub(super) fn from(&self, low: Bound<&[u8]>) -> usize {
        match low {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.search(key).unwrap_or_else(|place| place),
            Bound::Excluded(key) => self.search(key).map_or_else(|place| place, |place| place + 1),
        }
    }

    /// The place after the last that an upper bound leaves.
    pub(super) fn until(&self, high: Bound<&[u8]>) -> usize {
        match high {
            Bound::Unbounded => self.len(),
            Bound::Included(key) => self.from(Bound::Excluded(key)),
            Bound::Excluded(key) => self.from(Bound::Included(key)),
        }
    }

    pub(super) fn entry(&self, place: usize) -> KeyEntry<'_> {
        KeyEntry { key: self.key(place), postings: self.postings(place) }
    }

    pub(super) fn postings(&self, place: usize) -> PostingsRef<'_> {
        let number = self.numbers[place];
        match number & SEVERAL {
            0 => PostingsRef::One(number),
            _ => PostingsRef::Several(&self.several[(number & !SEVERAL) as usize]),
        }
    }

    pub(super) fn insert(&mut self, place: usize, key: &[u8], number: u64) {
        let start = self.start(place);
        // Room for a few more at most, where the standard library would double it.
        if self.ends.len() == self.ends.capacity() {
            let more = (self.ends.len() / 8).clamp(1, 8);
            self.ends.reserve_exact(more);
            self.numbers.reserve_exact(more);
        }
        if self.keys.len() + key.len() > self.keys.capacity() {
            self.keys.reserve_exact(key.len().max(self.keys.len() / 16));
        }
        self.keys.extend_from_slice(key);
        self.keys[start..].rotate_right(key.len());
        self.ends[place..].iter_mut().for_each(|end| *end += key.len() as u16);
        self.ends.insert(place, (start + key.len()) as u16);
        self.numbers.insert(place, number);
    }

    /// Takes out a key with a single document.
    pub(super) fn remove(&mut self, place: usize) {
        let (start, end) = (self.start(place), usize::from(self.ends[place]));
        self.keys.drain(start..end);
        self.ends.remove(place);
        self.ends[place..].iter_mut().for_each(|later| *later -= (end - start) as u16);
        self.numbers.remove(place);
    }

    pub(super) fn add(&mut self, place: usize, number: u64) -> bool {
        match self.numbers[place] {
            only if only & SEVERAL != 0 => self.several[(only & !SEVERAL) as usize].insert(number),
            only if only == number => false,
            only => {
                let mut postings = Postings::One(only);
                postings.insert(number);
                self.set(place, postings);
                true
            }
        }
    }

    /// Takes a document from a key; `None` if it was not there, else whether it was the only one.
    pub(super) fn take(&mut self, place: usize, number: u64) -> Option<bool> {
        let only = self.numbers[place];
        if only & SEVERAL == 0 {
            return (only == number).then_some(true);
        }
        let at = (only & !SEVERAL) as usize;
        self.several[at].remove(number)?;
        if let Postings::One(last) = self.several[at] {
            self.numbers[place] = last;
            self.drop_several(at);
        }
        Some(false)
    }

    /// Takes out a set of documents; the last one takes its place.
    fn drop_several(&mut self, at: usize) {
        self.several.swap_remove(at);
        let moved = self.several.len() as u64 | SEVERAL;
        if let Some(number) = self.numbers.iter_mut().find(|number| **number == moved) {
            *number = at as u64 | SEVERAL;
        }
    }

    pub(super) fn set(&mut self, place: usize, postings: Postings) {
        self.numbers[place] = match postings {
            Postings::One(number) => number,
            several @ (Postings::List(_) | Postings::Set(_)) => {
                if self.several.len() == self.several.capacity() {
                    self.several.reserve_exact((self.several.len() / 8).max(1));
                }
                self.several.push(several);
                (self.several.len() - 1) as u64 | SEVERAL
            }
        };
    }

    pub(super) fn split_off(&mut self, place: usize) -> Self {
        let start = self.start(place);
        let mut upper = Self {
            keys: self.keys.split_off(start),
            ends: self.ends.split_off(place),
            numbers: self.numbers.split_off(place),
            several: Vec::new(),
        };
        upper.ends.iter_mut().for_each(|end| *end -= start as u16);
        let mut several: Vec<_> = std::mem::take(&mut self.several).into_iter().map(Some).collect();
        for half in [&mut *self, &mut upper] {
            for place in 0..half.len() {
                if half.numbers[place] & SEVERAL != 0
                    && let Some(postings) = several[(half.numbers[place] & !SEVERAL) as usize].take()
                {
                    half.set(place, postings);
                }
            }
        }
        self.shrink();
        upper
    }

    pub(super) fn append(&mut self, upper: Self) {
        let (bytes, sets) = (self.keys.len() as u16, self.several.len() as u64);
        self.keys.reserve_exact(upper.keys.len());
        self.keys.extend(upper.keys);
        self.ends.extend(upper.ends.iter().map(|end| end + bytes));
        self.numbers.extend(
            upper.numbers.iter().map(|number| if number & SEVERAL == 0 { *number } else { number + sets }),
        );
        self.several.extend(upper.several);
        self.shrink();
    }

    pub(super) fn shrink(&mut self) {
        self.keys.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.numbers.shrink_to_fit();
        self.several.shrink_to_fit();
    }
}
