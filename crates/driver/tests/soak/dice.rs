//! Chance that a seed decides, so that a run can be repeated.

use std::time::Duration;

/// Numbers that look random and are the same for the same seed (SplitMix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let span = (most - least).as_millis() as u64;
        least + Duration::from_millis(self.next() % (span + 1))
    }
}

#[test]
fn equal_seeds_give_equal_dice() {
    let rolls = |seed| {
        let mut dice = Dice::new(seed);
        [dice.next(), dice.next(), dice.next()]
    };
    assert_eq!(rolls(7), rolls(7));
    assert_ne!(rolls(7), rolls(8));
}
