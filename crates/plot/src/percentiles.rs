//! Percentiles of times, and times in words.

use std::time::Duration;

/// The median and the 99th percentile, if there is anything to take them of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// Half of all do not exceed it.
    pub p50: Option<Duration>,
    /// 99 of 100 do not exceed it.
    pub p99: Option<Duration>,
}

impl Percentiles {
    /// Those of these times, in any order.
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { p50: nearest_rank(&times, 50), p99: nearest_rank(&times, 99) }
    }
}

/// The least time that so many percent of all do not exceed.
fn nearest_rank(sorted: &[Duration], percent: usize) -> Option<Duration> {
    sorted.get((sorted.len() * percent).div_ceil(100).checked_sub(1)?).copied()
}

/// A time as people write it; a dash if there is none.
pub fn in_words(time: Option<Duration>) -> String {
    match time.map(|time| time.as_secs_f64() * 1e3) {
        None => "–".to_owned(),
        Some(ms) if ms >= 1_000.0 => format!("{:.2} s", ms / 1e3),
        Some(ms) if ms >= 100.0 => format!("{ms:.0} ms"),
        Some(ms) => format!("{ms:.1} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_percentile_is_one_of_the_times() {
        for (times, p50, p99) in [
            (vec![], None, None),
            (vec![ms(7)], Some(ms(7)), Some(ms(7))),
            (vec![ms(2), ms(1)], Some(ms(1)), Some(ms(2))),
            ((1..=100).rev().map(ms).collect(), Some(ms(50)), Some(ms(99))),
            ((1..=101).map(ms).collect(), Some(ms(51)), Some(ms(100))),
        ] {
            assert_eq!(Percentiles::of(times.clone()), Percentiles { p50, p99 }, "{times:?}");
        }
    }

    #[test]
    fn a_time_has_as_many_digits_as_matter() {
        for (time, text) in [
            (None, "–"),
            (Some(ms(0)), "0.0 ms"),
            (Some(Duration::from_micros(1_234)), "1.2 ms"),
            (Some(ms(250)), "250 ms"),
            (Some(ms(1_500)), "1.50 s"),
        ] {
            assert_eq!(in_words(time), text);
        }
    }
}
