//! The checksum of a stored row: its table, its key and its value.
//!
//! Each step can be undone if the word that went in is known, so a change within one word of eight bytes always shows;
//! any other goes unnoticed once in 2^64 times. It is no protection against somebody who wants to deceive.

use redb::Key;

/// The checksum of what has been taken in so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checksum(u64);

impl Checksum {
    /// How many bytes of a stored value are its checksum: the last ones.
    pub(super) const LEN: usize = 8;

    /// What the rows of one table begin with.
    pub(super) fn of_table(name: &str) -> Self {
        Self(0x9e37_79b9_7f4a_7c15).bytes(name.as_bytes())
    }

    /// The checksum of a row, whose table this one stands for.
    pub(super) fn of_row<K: Key>(self, key: &K::SelfType<'_>, value: &[u8]) -> u64 {
        self.bytes(K::as_bytes(key).as_ref()).bytes(value).finish()
    }

    /// The checksum of a few numbers.
    pub(super) fn of_numbers<const N: usize>(numbers: [u64; N]) -> u64 {
        numbers.into_iter().fold(Self(N as u64), Self::word).finish()
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        let (words, tail) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last[..tail.len()].copy_from_slice(tail);
        let start = self.word(bytes.len() as u64);
        words
            .iter()
            .fold(start, |sum, word| sum.word(u64::from_le_bytes(*word)))
            .word(u64::from_le_bytes(last))
    }

    fn word(self, word: u64) -> Self {
        Self((self.0 ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25).rotate_left(31))
    }

    fn finish(self) -> u64 {
        let mixed = (self.0 ^ self.0 >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ mixed >> 29
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_flipped_bit_of_key_and_value_shows(
            key: u64, value in prop::collection::vec(any::<u8>(), 1..100), nth: prop::sample::Index, bit in 0u8..8,
        ) {
            let of = |key, value: &[u8]| Checksum::of_table("document").of_row::<u64>(&key, value);
            let mut altered = value.clone();
            let at = nth.index(value.len());
            altered[at] ^= 1 << bit;
            prop_assert_ne!(of(key, &value), of(key, &altered));
            prop_assert_ne!(of(key, &value), of(key ^ 1 << (nth.index(8) * 8 + usize::from(bit)), &value));
            prop_assert_ne!(of(key, &value), of(key, &value[..at]));
            prop_assert_ne!(of(key, &value), Checksum::of_table("commit").of_row::<u64>(&key, &value));
        }
    }
}
