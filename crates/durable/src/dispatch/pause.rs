//! How long something that has failed is left alone.

use std::time::Duration;

/// The first pause; each that follows is twice as long.
const FIRST_MS: u64 = 100;
/// The longest.
const LONGEST_MS: u64 = 30_000;

/// The pause after so many failures in a row, in milliseconds; none without a failure.
pub(super) fn pause_ms(failures: u32) -> u64 {
    match failures {
        0 => 0,
        // More than that many doublings are longer than the longest.
        n => (FIRST_MS << (n - 1).min(16)).min(LONGEST_MS),
    }
}

/// As [`pause_ms`].
pub(super) fn pause(failures: u32) -> Duration {
    Duration::from_millis(pause_ms(failures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        for (failures, expected) in
            [(0, 0), (1, 100), (2, 200), (5, 1600), (9, 25_600), (10, 30_000), (u32::MAX, 30_000)]
        {
            assert_eq!(pause_ms(failures), expected, "{failures}");
        }
    }
}
