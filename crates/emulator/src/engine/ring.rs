//! Places on the ring of effective partition keys, as numbers that can be halved.
//!
//! Hashes fill only a part of the key space, and that part is what partitions divide, so that documents spread.

use cosmonaut_wire::model::{PartitionKeyDefinition, PartitionKeyKind};
use cosmonaut_wire::{EffectivePartitionKey, EpkRange};

/// How the keys of a container lie in the key space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ring {
    /// A 32-bit hash, written as the ordered encoding of a number.
    V1,
    /// A hash of which 126 bits are used.
    V2,
}

impl Ring {
    /// The ring of a container with this definition.
    pub(crate) fn of(definition: &PartitionKeyDefinition) -> Self {
        match definition.kind() {
            PartitionKeyKind::MultiHash => Self::V2,
            PartitionKeyKind::Hash | PartitionKeyKind::Range | PartitionKeyKind::Other(_) => {
                if definition.version() < 2 { Self::V1 } else { Self::V2 }
            }
        }
    }

    /// Divides the whole ring into `count` ranges that hold about as many keys each.
    pub(crate) fn divide(self, count: u32) -> Vec<EpkRange> {
        let count = u128::from(count.max(1));
        let cut = |nth: u128| match nth {
            0 => EffectivePartitionKey::MIN,
            _ if nth == count => EffectivePartitionKey::MAX,
            // Dividing first loses less than `count` places of 2^32 or 2^126, and never overflows.
            _ => self.place(self.end() / count * nth + self.end() % count * nth / count - 1),
        };
        (0..count).map(|nth| EpkRange { min: cut(nth), max: cut(nth + 1) }).collect()
    }

    /// The two halves of a range; `None` if it cannot be divided further.
    pub(crate) fn halve(self, range: &EpkRange) -> Option<[EpkRange; 2]> {
        let low = self.position(&range.min);
        let high =
            if range.max == EffectivePartitionKey::MAX { self.end() } else { self.position(&range.max) };
        let middle = self.place(low + high.checked_sub(low)? / 2);
        (range.min < middle && middle < range.max).then(|| {
            [
                EpkRange { min: range.min.clone(), max: middle.clone() },
                EpkRange { min: middle, max: range.max.clone() },
            ]
        })
    }

    /// One past the highest hash.
    fn end(self) -> u128 {
        match self {
            Self::V1 => 1 << 32,
            Self::V2 => 1 << 126,
        }
    }

    fn place(self, hash: u128) -> EffectivePartitionKey {
        match self {
            Self::V1 => EffectivePartitionKey::from_bytes(&encode_v1(hash as u32)),
            Self::V2 => EffectivePartitionKey::from_bytes(&hash.to_be_bytes()),
        }
    }

    /// The hash at a place that [`Ring::place`] made; close to it for any other place.
    fn position(self, place: &EffectivePartitionKey) -> u128 {
        match self {
            Self::V1 => decode_v1(place.as_bytes()),
            Self::V2 => {
                let mut wide = [0; 16];
                let bytes = place.as_bytes();
                let len = bytes.len().min(16);
                wide[..len].copy_from_slice(&bytes[..len]);
                u128::from_be_bytes(wide).min(self.end())
            }
        }
    }
}

/// Stands before a number in an ordered key.
const NUMBER: u8 = 5;

/// A hash as version 1 writes it: the bits of the double, the first eight as they are, the rest in sevens whose
/// lowest bit says whether more follow.
fn encode_v1(hash: u32) -> Vec<u8> {
    let bits = f64::from(hash).to_bits() | 1 << 63;
    let mut bytes = vec![NUMBER, (bits >> 56) as u8];
    let mut rest = bits << 8;
    while rest != 0 {
        let more = u8::from(rest << 7 != 0);
        bytes.push((rest >> 56) as u8 & 0xFE | more);
        rest <<= 7;
    }
    bytes
}

fn decode_v1(bytes: &[u8]) -> u128 {
    let [NUMBER, first, rest @ ..] = bytes else { return 0 };
    let mut bits = u64::from(*first) << 56;
    for (nth, byte) in rest.iter().take(8).enumerate() {
        bits |= u64::from(byte & 0xFE) << 48 >> (7 * nth);
    }
    // Casting clamps what is no hash, so any place has a position.
    u128::from(f64::from_bits(bits & !(1 << 63)) as u32)
}

#[cfg(test)]
mod tests {
    use cosmonaut_wire::PartitionKey;

    use super::*;

    #[test]
    fn ranges_are_gap_free_and_cut_where_the_service_cuts() {
        for (ring, count, first_cut) in [
            (Ring::V2, 2, "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"),
            (Ring::V2, 4, "0FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"),
            (Ring::V1, 2, "05C1DFFFFFFFFC"),
        ] {
            let ranges = ring.divide(count);
            assert_eq!(ranges[0].max.to_string(), first_cut);
            assert_eq!(ranges[0].min, EffectivePartitionKey::MIN);
            assert_eq!(ranges[ranges.len() - 1].max, EffectivePartitionKey::MAX);
            assert!(ranges.windows(2).all(|pair| pair[0].max == pair[1].min && !pair[0].is_empty()));
        }
        assert_eq!(Ring::V2.divide(1), [EpkRange::FULL]);
    }

    #[test]
    fn keys_spread_evenly_over_the_ranges() {
        for (version, ring) in [(1, Ring::V1), (2, Ring::V2)] {
            let mut definition = PartitionKeyDefinition::from("/pk");
            definition.version = Some(version);
            assert_eq!(Ring::of(&definition), ring);
            for count in [2u32, 3, 5] {
                let ranges = ring.divide(count);
                let mut held = vec![0; ranges.len()];
                for key in 0..1000 {
                    let place = PartitionKey::from(format!("key {key}")).effective(&definition).unwrap();
                    held[ranges.iter().position(|range| range.contains(&place)).unwrap()] += 1;
                }
                let fair = 1000 / count;
                assert!(held.iter().all(|n| (fair / 2..fair * 2).contains(n)), "{ring:?} {held:?}");
            }
        }
    }

    #[test]
    fn halves_cover_the_range_and_end_when_nothing_is_left() {
        for ring in [Ring::V1, Ring::V2] {
            let mut range = EpkRange::FULL;
            let mut halvings = 0;
            while let Some([low, high]) = ring.halve(&range) {
                assert!(low.min == range.min && low.max == high.min && high.max == range.max);
                range = if halvings % 2 == 0 { low } else { high };
                halvings += 1;
            }
            assert!((31..=127).contains(&halvings), "{ring:?} {halvings}");
        }
    }

    #[test]
    fn version_1_places_keep_the_order_of_hashes() {
        let hashes = [0, 1, 2, 255, 65_536, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, u32::MAX];
        for pair in hashes.windows(2) {
            assert!(encode_v1(pair[0]) < encode_v1(pair[1]), "{pair:?}");
            assert_eq!(decode_v1(&encode_v1(pair[1])), u128::from(pair[1]));
        }
    }
}
