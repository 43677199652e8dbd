//! How long a slow answer takes: always the same, anywhere between two bounds, or by median and 99th percentile.
//!
//! Written as `50ms`, `10ms..80ms` or `p50=20ms,p99=400ms`, and read from that.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::World;

/// How long something takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Always this long.
    Fixed(Duration),
    /// Any time from the first to the second, all equally likely.
    Between(Duration, Duration),
    /// Half take no longer than `p50`, one in a hundred longer than `p99`, as answers of a busy server do.
    Spread {
        /// The median.
        p50: Duration,
        /// What one in a hundred exceeds.
        p99: Duration,
    },
}

/// How many standard deviations the 99th percentile is above the median.
const P99_DEVIATIONS: f64 = 2.326_347_874;

/// No sample is longer than this many times the 99th percentile.
const LONGEST: u32 = 10;

impl Delay {
    /// One such time.
    pub fn sample(&self, world: &dyn World) -> Duration {
        match *self {
            Self::Fixed(delay) => delay,
            Self::Between(least, most) => {
                least + most.saturating_sub(least).mul_f64(fraction(world.random()))
            }
            Self::Spread { p50, p99 } => {
                if p50.is_zero() || p99 <= p50 {
                    return p50;
                }
                let deviation = (p99.as_secs_f64() / p50.as_secs_f64()).ln() / P99_DEVIATIONS;
                let seconds = p50.as_secs_f64() * (deviation * normal(world)).exp();
                Duration::try_from_secs_f64(seconds).unwrap_or(p99).min(p99.saturating_mul(LONGEST))
            }
        }
    }
}

/// A number from 0 up to but not including 1.
pub(crate) fn fraction(random: u64) -> f64 {
    (random >> 11) as f64 / (1u64 << 53) as f64
}

/// A number with mean 0 and deviation 1, by the method of Box and Muller.
fn normal(world: &dyn World) -> f64 {
    let (radius, angle) = (1.0 - fraction(world.random()), fraction(world.random()));
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// A text that is no time, or no delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotADelay {
    text: String,
    remedy: &'static str,
}

impl fmt::Display for NotADelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a time ({})", self.text, self.remedy)
    }
}

impl std::error::Error for NotADelay {}

const TRY_DELAY: &str = "try \"50ms\", \"10ms..80ms\" or \"p50=20ms,p99=400ms\"";

impl FromStr for Delay {
    type Err = NotADelay;

    fn from_str(text: &str) -> Result<Self, NotADelay> {
        let wrong = |remedy| NotADelay { text: text.to_owned(), remedy };
        let read = |part: &str| duration(part).ok_or_else(|| wrong(TRY_DELAY));
        if let Some((p50, p99)) = text.split_once(',') {
            let named = |part: &str, name: &str| {
                let value = part.trim().strip_prefix(name).and_then(|rest| rest.trim().strip_prefix('='));
                value.ok_or_else(|| wrong(TRY_DELAY)).and_then(read)
            };
            let (p50, p99) = (named(p50, "p50")?, named(p99, "p99")?);
            return if p50 <= p99 {
                Ok(Self::Spread { p50, p99 })
            } else {
                Err(wrong("p99 is not less than p50"))
            };
        }
        match text.split_once("..") {
            None => read(text).map(Self::Fixed),
            Some((least, most)) => match (read(least)?, read(most)?) {
                (least, most) if least <= most => Ok(Self::Between(least, most)),
                _ => Err(wrong("the lower bound comes first")),
            },
        }
    }
}

/// Reads `50ms`, `1.5s`, `200us` or `2m`; 0 needs no unit.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let seconds = match text[end..].trim() {
        "us" | "µs" => number / 1e6,
        "ms" => number / 1e3,
        "s" => number,
        "m" => number * 60.0,
        "" if number == 0.0 => 0.0,
        _ => return None,
    };
    // An hour is longer than any client waits, and so low that adding times never overflows.
    (seconds <= 3600.0).then(|| Duration::from_micros((seconds * 1e6).round() as u64))
}

/// A time as [`duration`] reads it.
pub(crate) struct Written(pub(crate) Duration);

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_micros() {
            micros if micros % 1_000_000 == 0 => write!(f, "{}s", micros / 1_000_000),
            micros if micros % 1_000 == 0 => write!(f, "{}ms", micros / 1_000),
            micros => write!(f, "{micros}us"),
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fixed(delay) => Written(delay).fmt(f),
            Self::Between(least, most) => write!(f, "{}..{}", Written(least), Written(most)),
            Self::Spread { p50, p99 } => write!(f, "p50={},p99={}", Written(p50), Written(p99)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::SystemWorld;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn delays_are_read_as_they_are_written() {
        for (text, delay) in [
            ("50ms", Delay::Fixed(ms(50))),
            ("2s", Delay::Fixed(ms(2000))),
            ("0s", Delay::Fixed(ms(0))),
            ("1500us", Delay::Fixed(Duration::from_micros(1500))),
            ("10ms..80ms", Delay::Between(ms(10), ms(80))),
            ("p50=20ms,p99=400ms", Delay::Spread { p50: ms(20), p99: ms(400) }),
        ] {
            assert_eq!(text.parse(), Ok(delay), "{text}");
            assert_eq!(delay.to_string(), text);
        }
        assert_eq!(" 1.5s ".parse(), Ok(Delay::Fixed(ms(1500))));
        assert_eq!("0".parse(), Ok(Delay::Fixed(ms(0))));
    }

    #[test]
    fn what_is_no_delay_says_what_would_be() {
        for (text, part) in [
            ("", "50ms"),
            ("50", "50ms"),
            ("5x", "50ms"),
            ("-5ms", "50ms"),
            ("1e3ms", "50ms"),
            ("99999999h", "50ms"),
            ("90m", "50ms"),
            ("80ms..10ms", "lower bound"),
            ("p50=1s,p99=1ms", "p99"),
            ("p99=1s,p50=1ms", "p50=20ms"),
        ] {
            let error = text.parse::<Delay>().unwrap_err().to_string();
            assert!(error.contains(part) && error.contains(text), "{error}");
        }
    }

    #[test]
    fn a_spread_has_the_median_and_the_tail_it_was_given() {
        let world = SystemWorld::new();
        let delay = Delay::Spread { p50: ms(20), p99: ms(400) };
        let mut samples: Vec<_> = (0..20_000).map(|_| delay.sample(&world)).collect();
        samples.sort();
        let (p50, p99) = (samples[10_000], samples[19_800]);
        assert!((ms(18)..ms(22)).contains(&p50), "{p50:?}");
        assert!((ms(300)..ms(530)).contains(&p99), "{p99:?}");
    }

    proptest! {
        #[test]
        fn samples_stay_between_the_bounds(least in 0u64..10_000, more in 0u64..10_000) {
            let (least, most) = (ms(least), ms(least + more));
            let sample = Delay::Between(least, most).sample(&SystemWorld::new());
            prop_assert!(least <= sample && sample <= most);
        }

        #[test]
        fn no_text_is_too_odd_to_be_refused(text in "[p0-9=,.ms]{0,24}") {
            if let Ok(delay) = text.parse::<Delay>() {
                prop_assert_eq!(delay.to_string().parse::<Delay>(), Ok(delay));
            }
        }
    }
}
