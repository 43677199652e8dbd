//! Dispatch slots: the parts into which all instances fall, for processes to share.

use std::fmt;

/// How many slots there are. Stored in documents: it cannot change.
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

/// The slot of an instance: FNV-1a of its name, which is stored in documents and so must stay what it is.
pub fn slot_of(instance: &str) -> u8 {
    let hash = instance.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    // The low bits alone are a poor hash of short names.
    (hash ^ hash >> 32 ^ hash >> 16 ^ hash >> 8) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_same_slot_for_ever() {
        let slots = ["", "a", "order-123", "größer \"'/?#\\"].map(slot_of);
        assert_eq!(slots, [192, 45, 127, 120]);
    }

    #[test]
    fn names_spread_over_all_slots() {
        let mut counts = [0_u32; SLOT_COUNT];
        (0..25_600).for_each(|n| counts[usize::from(slot_of(&format!("order-{n}")))] += 1);
        assert!(counts.iter().all(|count| (50..200).contains(count)), "{counts:?}");
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
