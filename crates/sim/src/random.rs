//! Chance, all of it from one seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A stream of random numbers. Clones go on with the same stream; [`Random::fork`] begins another.
#[derive(Clone, Debug)]
pub struct Random(Arc<AtomicU64>);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed)))
    }

    /// A stream of its own for one purpose: what is drawn from it does not change what others draw.
    pub fn fork(&self, purpose: &str) -> Self {
        let mut state = self.0.load(Ordering::Relaxed);
        for byte in purpose.bytes() {
            state = mix(state ^ u64::from(byte));
        }
        Self::new(state)
    }

    /// The next number, evenly spread over all 64 bits.
    pub fn next(&self) -> u64 {
        mix(self.0.fetch_add(STEP, Ordering::Relaxed))
    }

    /// A number below a bound, which is not 0.
    pub fn below(&self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A number of a range, both ends included.
    pub fn between(&self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// Yes, so many times out of a hundred.
    pub fn percent(&self, share: u64) -> bool {
        self.below(100) < share
    }

    /// One of several, which are not none.
    pub fn pick<'a, T>(&self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len() as u64) as usize]
    }
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64.
fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(STEP);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
