//! Waits that grow from one retry to the next.

use std::time::Duration;

/// The wait before the retry after `retries` earlier ones: `first`, then each time `factor` as long, up to
/// `most`.
///
/// `chance`, from 0 to 1, spreads it over its upper half, so that clients that failed together do not come
/// back together.
pub(crate) fn backoff(first: Duration, factor: f64, most: Duration, retries: u32, chance: f64) -> Duration {
    let exponent = i32::try_from(retries).unwrap_or(i32::MAX);
    let grown = first.as_secs_f64() * factor.max(1.0).powi(exponent);
    let capped = grown.min(most.as_secs_f64());
    let spread = capped * (0.5 + chance.clamp(0.0, 1.0) / 2.0);
    Duration::try_from_secs_f64(spread).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms;

    #[test]
    fn waits_grow_to_a_limit_and_spread_over_their_upper_half() {
        for (retries, chance, expected) in
            [(0, 1.0, 100), (0, 0.0, 50), (1, 1.0, 200), (3, 1.0, 800), (4, 1.0, 1000), (u32::MAX, 0.0, 500)]
        {
            assert_eq!(backoff(ms(100), 2.0, ms(1000), retries, chance), ms(expected), "{retries}, {chance}");
        }
        assert_eq!(
            backoff(ms(100), f64::NAN, ms(1000), 3, f64::NAN),
            ms(1000),
            "odd numbers end at the limit"
        );
    }
}
