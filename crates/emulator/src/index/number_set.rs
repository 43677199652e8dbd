//! A set of very many document numbers: a bit for each where they lie close together, two bytes for each where not.

use std::ops::Bound;

use crate::packed::PackedMap;

/// How many numbers share a block.
const BLOCK: u64 = 1 << 16;
/// Above this many numbers, a block takes less room as bits.
const SPARSE_LIMIT: usize = 4096;
const WORDS: usize = BLOCK as usize / 64;

/// A sorted set of numbers.
#[derive(Debug, Default)]
pub(crate) struct NumberSet {
    /// By the upper part of their numbers; none is empty.
    blocks: PackedMap<u64, Block>,
    len: usize,
}

/// The lower parts of numbers that share their upper part.
#[derive(Debug)]
enum Block {
    /// Sorted.
    Sparse(Vec<u16>),
    /// A bit for each, and how many are set.
    Dense(Box<[u64; WORDS]>, usize),
}

fn upper(number: u64) -> u64 {
    number / BLOCK
}

fn lower(number: u64) -> u16 {
    (number % BLOCK) as u16
}

impl NumberSet {
    /// Adds a number; false if it was there.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let added = match self.blocks.get_mut(&upper(number)) {
            Some(block) => block.insert(lower(number)),
            None => self.blocks.insert(upper(number), Block::Sparse(vec![lower(number)])).is_none(),
        };
        self.len += usize::from(added);
        added
    }

    /// Takes out a number; false if it was not there.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        let Some(block) = self.blocks.get_mut(&upper(number)) else { return false };
        if !block.remove(lower(number)) {
            return false;
        }
        self.len -= 1;
        if block.is_empty() {
            self.blocks.remove(&upper(number));
        }
        true
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The least number that is not less than `number`.
    pub(super) fn at_or_after(&self, number: u64) -> Option<u64> {
        let mut blocks = self.blocks.range(Bound::Included(&upper(number)), Bound::Unbounded);
        let (at, block) = blocks.next()?;
        let from = if *at == upper(number) { lower(number) } else { 0 };
        let found = block.at_or_after(from).map(|found| joined(*at, found));
        found.or_else(|| blocks.next().and_then(|(at, block)| Some(joined(*at, block.at_or_after(0)?))))
    }

    /// The greatest number that is not greater than `number`.
    pub(super) fn at_or_before(&self, number: u64) -> Option<u64> {
        let mut blocks = self.blocks.range(Bound::Unbounded, Bound::Included(&upper(number))).rev();
        let (at, block) = blocks.next()?;
        let from = if *at == upper(number) { lower(number) } else { u16::MAX };
        let found = block.at_or_before(from).map(|found| joined(*at, found));
        found.or_else(|| {
            blocks.next().and_then(|(at, block)| Some(joined(*at, block.at_or_before(u16::MAX)?)))
        })
    }

    /// All numbers, the least first.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.blocks.iter().flat_map(|(at, block)| block.iter().map(|lower| joined(*at, lower)))
    }
}

impl FromIterator<u64> for NumberSet {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut set = Self::default();
        for number in numbers {
            set.insert(number);
        }
        set
    }
}

fn joined(upper: u64, lower: u16) -> u64 {
    upper * BLOCK + u64::from(lower)
}

/// The word that holds a bit, and the bit in it.
fn place(lower: u16) -> (usize, u32) {
    (usize::from(lower / 64), u32::from(lower % 64))
}

impl Block {
    fn insert(&mut self, lower: u16) -> bool {
        match self {
            Self::Sparse(list) => {
                let Err(at) = list.binary_search(&lower) else { return false };
                if list.len() == SPARSE_LIMIT {
                    *self = Self::dense(list);
                    return self.insert(lower);
                }
                if list.len() == list.capacity() {
                    list.reserve_exact((list.len() / 8).max(4));
                }
                list.insert(at, lower);
                true
            }
            Self::Dense(words, count) => {
                let (word, bit) = place(lower);
                let added = words[word] & 1 << bit == 0;
                words[word] |= 1 << bit;
                *count += usize::from(added);
                added
            }
        }
    }

    fn remove(&mut self, lower: u16) -> bool {
        match self {
            Self::Sparse(list) => match list.binary_search(&lower) {
                Ok(at) => {
                    list.remove(at);
                    if list.len() < list.capacity() / 2 {
                        list.shrink_to_fit();
                    }
                    true
                }
                Err(_) => false,
            },
            Self::Dense(words, count) => {
                let (word, bit) = place(lower);
                let removed = words[word] & 1 << bit != 0;
                words[word] &= !(1 << bit);
                *count -= usize::from(removed);
                // Well below the limit, so that a block that hovers around it does not change form on every write.
                if *count < SPARSE_LIMIT / 2 {
                    let list = self.iter().collect();
                    *self = Self::Sparse(list);
                }
                removed
            }
        }
    }

    fn dense(list: &[u16]) -> Self {
        let mut words = Box::new([0; WORDS]);
        for lower in list {
            let (word, bit) = place(*lower);
            words[word] |= 1 << bit;
        }
        Self::Dense(words, list.len())
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Sparse(list) => list.is_empty(),
            Self::Dense(_, count) => *count == 0,
        }
    }

    fn at_or_after(&self, lower: u16) -> Option<u16> {
        match self {
            Self::Sparse(list) => list.get(list.partition_point(|known| *known < lower)).copied(),
            Self::Dense(words, _) => {
                let (word, bit) = place(lower);
                let first = words[word] & (u64::MAX << bit);
                let rest = words[word + 1..].iter().copied();
                let (at, found) =
                    (word..).zip(std::iter::once(first).chain(rest)).find(|(_, word)| *word != 0)?;
                Some((at * 64) as u16 + found.trailing_zeros() as u16)
            }
        }
    }

    fn at_or_before(&self, lower: u16) -> Option<u16> {
        match self {
            Self::Sparse(list) => {
                let at = list.partition_point(|known| *known <= lower);
                at.checked_sub(1).map(|at| list[at])
            }
            Self::Dense(words, _) => {
                let (word, bit) = place(lower);
                let last = words[word] & (u64::MAX >> (63 - bit));
                let before = words[..word].iter().copied().enumerate().rev();
                let (at, found) = std::iter::once((word, last)).chain(before).find(|(_, word)| *word != 0)?;
                Some((at * 64) as u16 + 63 - found.leading_zeros() as u16)
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        let mut next = Some(0);
        std::iter::from_fn(move || {
            let found = self.at_or_after(next?)?;
            next = found.checked_add(1);
            Some(found)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn any_number() -> impl Strategy<Value = u64> {
        prop_oneof![0..200u64, BLOCK - 100..BLOCK + 100, Just(u64::MAX), Just(7 * BLOCK)]
    }

    proptest! {
        /// Starts with a full stretch, so that blocks of both forms are met and change their form.
        #[test]
        fn it_is_a_sorted_set(
            stretch in 0..SPARSE_LIMIT as u64 * 2,
            steps in prop::collection::vec((any::<bool>(), any_number()), 0..300),
            probes in prop::collection::vec(any_number(), 20),
        ) {
            let mut set: NumberSet = (0..stretch).collect();
            let mut model: BTreeSet<u64> = (0..stretch).collect();
            for (add, number) in steps {
                let (changed, expected) = match add {
                    true => (set.insert(number), model.insert(number)),
                    false => (set.remove(number), model.remove(&number)),
                };
                prop_assert_eq!(changed, expected);
            }
            prop_assert_eq!(set.len(), model.len());
            prop_assert!(set.iter().eq(model.iter().copied()));
            for probe in probes {
                prop_assert_eq!(set.at_or_after(probe), model.range(probe..).next().copied());
                prop_assert_eq!(set.at_or_before(probe), model.range(..=probe).next_back().copied());
            }
        }
    }

    #[test]
    fn a_block_that_empties_goes_back_to_a_list_and_away() {
        let mut set: NumberSet = (0..BLOCK).collect();
        assert!(matches!(set.blocks.get(&0), Some(Block::Dense(..))));
        assert!((10..BLOCK).all(|number| set.remove(number)));
        assert!(matches!(set.blocks.get(&0), Some(Block::Sparse(_))));
        assert!((0..10).all(|number| set.remove(number)));
        assert!(set.blocks.is_empty());
    }
}
