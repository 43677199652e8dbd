//! Maps and sets of small numbers that come out the same in every run.
//!
//! The keys are numbers of calls and items, which nobody chooses to do harm.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

pub(super) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;
pub(super) type Set<K> = HashSet<K, BuildHasherDefault<Mixer>>;

/// Multiplies and turns.
#[derive(Default)]
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        // The upper bits are the well mixed ones, and a table takes the lower ones too.
        self.0.rotate_left(26)
    }
}
