//! Dispatch slots: the parts into which all instances fall, for processes to share.
//!
//! A slot is an equal part of the hashes of partition keys. So the instances of neighbouring slots are together in the
//! container, and a process reads the changes of its own slots only.

use std::fmt;
use std::ops::Range;

use cosmonaut::FeedRange;

/// How many slots there are. All processes that share a container must agree: it cannot change.
pub const SLOT_COUNT: usize = 256;

/// A set of slots.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Slots([u64; SLOT_COUNT / 64]);

impl Slots {
    /// Every slot.
    pub const fn all() -> Self {
        Self([u64::MAX; SLOT_COUNT / 64])
    }

    /// No slot.
    pub const fn none() -> Self {
        Self([0; SLOT_COUNT / 64])
    }

    /// Whether a slot is in the set.
    pub fn contains(&self, slot: u8) -> bool {
        self.0[usize::from(slot / 64)] & 1 << (slot % 64) != 0
    }

    /// Adds a slot.
    pub fn insert(&mut self, slot: u8) {
        self.0[usize::from(slot / 64)] |= 1 << (slot % 64);
    }

    /// How many slots are in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slots that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut left = *self;
        left.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= !other);
        left
    }

    /// The slots that are in `other`, too.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        self.without(&Self::all().without(other))
    }

    /// The runs of neighbouring slots, in order.
    pub fn runs(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for slot in self.iter().map(usize::from) {
            match runs.last_mut() {
                Some(run) if run.end == slot => run.end += 1,
                Some(_) | None => runs.push(slot..slot + 1),
            }
        }
        runs
    }

    /// The parts of the container that hold the slots: one for each run.
    pub fn ranges(&self) -> Vec<FeedRange> {
        self.runs().into_iter().filter_map(|run| FeedRange::equal_parts(run, SLOT_COUNT)).collect()
    }

    /// The slots in order.
    pub fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=u8::MAX).filter(|slot| self.contains(*slot))
    }
}

impl FromIterator<u8> for Slots {
    fn from_iter<I: IntoIterator<Item = u8>>(slots: I) -> Self {
        let mut set = Self::none();
        slots.into_iter().for_each(|slot| set.insert(slot));
        set
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The slot of an instance: which equal part of the container its partition key is in.
pub fn slot_of(instance: &str) -> u8 {
    FeedRange::part_of(instance, SLOT_COUNT) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_same_slot_for_ever() {
        // The hashes are the service's: 32E9…, 2424…, 22E3… and 3E82…; the two highest of 16 bits are never set.
        let slots = ["", "abc", "redmond", "é😀 café"].map(slot_of);
        assert_eq!(slots, [0x32E9 >> 6, 0x2424 >> 6, 0x22E3 >> 6, 0x3E82 >> 6].map(|slot: u16| slot as u8));
    }

    #[test]
    fn names_spread_over_all_slots() {
        let mut counts = [0_u32; SLOT_COUNT];
        (0..25_600).for_each(|n| counts[usize::from(slot_of(&format!("order-{n}")))] += 1);
        assert!(counts.iter().all(|count| (50..200).contains(count)), "{counts:?}");
    }

    #[test]
    fn runs_of_neighbours_are_one_range_each() {
        let some: Slots = [0, 1, 2, 7, 254, 255].into_iter().collect();
        assert_eq!(some.runs(), [0..3, 7..8, 254..256]);
        assert_eq!(Slots::all().ranges(), [FeedRange::full()]);
        assert!(Slots::none().ranges().is_empty());
        assert_eq!(some.within(&Slots::all()), some);
        assert!(some.within(&Slots::none()).is_empty());
    }

    #[test]
    fn sets_add_and_take_away() {
        let some: Slots = [0, 63, 64, 255].into_iter().collect();
        assert_eq!(some.iter().collect::<Vec<_>>(), [0, 63, 64, 255]);
        assert_eq!((some.len(), Slots::all().len(), Slots::none().len()), (4, 256, 0));
        assert_eq!(Slots::all().without(&some).len(), 252);
        assert!(!Slots::all().without(&some).contains(63));
    }
}
