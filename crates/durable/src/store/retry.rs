//! When a request is repeated, and after which pause.

use std::time::Duration;

/// The first pause; each that follows is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The longest.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// How long to wait before another attempt; `None` if there is no time for it.
///
/// `chance` spreads the attempts of many callers: all 64 bits of it are used.
pub(super) fn pause(attempt: u32, asked: Option<Duration>, left: Duration, chance: u64) -> Option<Duration> {
    let grown = FIRST_PAUSE.saturating_mul(1 << attempt.min(10)).min(LONGEST_PAUSE);
    let spread = grown.mul_f64(0.5 + chance as f64 / u64::MAX as f64 / 2.0);
    let pause = asked.unwrap_or(Duration::ZERO).max(spread);
    (pause < left).then_some(pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_obey_the_service_and_end_with_the_call() {
        let ms = Duration::from_millis;
        for (attempt, asked, left, chance, expected) in [
            (0, None, ms(1000), u64::MAX, Some(ms(10))),
            (0, None, ms(1000), 0, Some(ms(5))),
            (3, None, ms(1000), u64::MAX, Some(ms(80))),
            (60, None, ms(1000), u64::MAX, Some(ms(500))),
            (0, Some(ms(70)), ms(1000), 0, Some(ms(70))),
            (0, Some(ms(70)), ms(70), 0, None),
            (0, None, ms(0), 0, None),
        ] {
            assert_eq!(pause(attempt, asked, left, chance), expected, "{attempt} {asked:?} {left:?}");
        }
    }
}
