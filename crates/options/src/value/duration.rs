//! Durations as text: `250ms`, `30s`, `5m`, `2h`, `1d`, or ISO 8601 such as `PT30S` and `P1DT12H`.
//!
//! Only spans of a fixed length: no months, no years, nothing negative. All arithmetic is in whole
//! nanoseconds, so what is read is exactly what was written.

use std::time::Duration;

use crate::{EnvValue, Expected, OptionValue};

const NANOS_PER_MILLI: u128 = 1_000_000;
const NANOS_PER_SECOND: u128 = 1_000_000_000;
const NANOS_PER_MINUTE: u128 = 60 * NANOS_PER_SECOND;
const NANOS_PER_HOUR: u128 = 60 * NANOS_PER_MINUTE;
const NANOS_PER_DAY: u128 = 24 * NANOS_PER_HOUR;

/// The short units, largest first.
const UNITS: [(&str, u128); 7] = [
    ("d", NANOS_PER_DAY),
    ("h", NANOS_PER_HOUR),
    ("m", NANOS_PER_MINUTE),
    ("s", NANOS_PER_SECOND),
    ("ms", NANOS_PER_MILLI),
    ("us", 1_000),
    ("ns", 1),
];

impl OptionValue for Duration {
    /// In the largest unit that divides it.
    fn render(&self) -> String {
        let nanos = self.as_nanos();
        if nanos == 0 {
            return "0s".to_owned();
        }
        let (unit, size) =
            UNITS.into_iter().find(|(_, size)| nanos.is_multiple_of(*size)).unwrap_or(("ns", 1));
        format!("{}{unit}", nanos / size)
    }
}

impl EnvValue for Duration {
    fn parse(text: &str) -> Result<Self, Expected> {
        parse(text).ok_or(Expected::new("a duration (try \"30s\" or \"PT30S\")"))
    }
}

/// Reads a variable that counts milliseconds by its name, or says its unit itself.
///
/// # Errors
/// If it does neither.
pub fn milliseconds(text: &str) -> Result<Duration, Expected> {
    counted(text, NANOS_PER_MILLI).ok_or(Expected::new(
        "a number of milliseconds or a duration (try \"250\", \"250ms\" or \"PT0.25S\")",
    ))
}

/// Reads a variable that counts seconds by its name, or says its unit itself.
///
/// # Errors
/// If it does neither.
pub fn seconds(text: &str) -> Result<Duration, Expected> {
    counted(text, NANOS_PER_SECOND)
        .ok_or(Expected::new("a number of seconds or a duration (try \"30\", \"30s\" or \"PT30S\")"))
}

/// Reads a variable that counts minutes by its name, or says its unit itself.
///
/// # Errors
/// If it does neither.
pub fn minutes(text: &str) -> Result<Duration, Expected> {
    counted(text, NANOS_PER_MINUTE)
        .ok_or(Expected::new("a number of minutes or a duration (try \"5\", \"5m\" or \"PT5M\")"))
}

fn counted(text: &str, unit: u128) -> Option<Duration> {
    let count = text.trim();
    if !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()) {
        from_nanos(amount(count, unit)?)
    } else {
        parse(text)
    }
}

fn parse(text: &str) -> Option<Duration> {
    let text = text.trim().to_ascii_lowercase();
    match text.strip_prefix('p') {
        Some(iso) => from_nanos(parse_iso(iso)?),
        None => {
            let (number, unit) = split_number(&text)?;
            let (_, size) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
            from_nanos(amount(number, size)?)
        }
    }
}

/// What follows the `P`: weeks and days, then after a `T` hours, minutes and seconds, each at most once and
/// in order.
fn parse_iso(text: &str) -> Option<u128> {
    let (date, time) = text.split_once('t').map_or((text, None), |(date, time)| (date, Some(time)));
    let days = components(date, &[("w", 7 * NANOS_PER_DAY), ("d", NANOS_PER_DAY)])?;
    let Some(time) = time else { return (!date.is_empty()).then_some(days) };
    let units = [("h", NANOS_PER_HOUR), ("m", NANOS_PER_MINUTE), ("s", NANOS_PER_SECOND)];
    if time.is_empty() { None } else { days.checked_add(components(time, &units)?) }
}

fn components(mut text: &str, units: &[(&str, u128)]) -> Option<u128> {
    let mut total = 0_u128;
    for (name, size) in units {
        let digits = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let (number, rest) = text.split_at(digits);
        if let Some(rest) = rest.strip_prefix(name) {
            // Only the last component may have a fraction.
            if number.contains('.') && !rest.is_empty() {
                return None;
            }
            total = total.checked_add(amount(number, *size)?)?;
            text = rest;
        }
    }
    text.is_empty().then_some(total)
}

fn split_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    Some(text.split_at(end))
}

/// `number` times `size`, exactly: a fraction finer than a nanosecond is refused rather than rounded.
fn amount(number: &str, size: u128) -> Option<u128> {
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let whole = digits(whole)?.checked_mul(size)?;
    let Some(fraction) = fraction else { return Some(whole) };
    // 18 digits times a week in nanoseconds still fits.
    let scale = 10_u128.checked_pow(u32::try_from(fraction.len()).ok().filter(|length| *length <= 18)?)?;
    let part = digits(fraction)?.checked_mul(size)?;
    if part.is_multiple_of(scale) { whole.checked_add(part / scale) } else { None }
}

fn digits(text: &str) -> Option<u128> {
    // `parse` alone would take a sign.
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn from_nanos(nanos: u128) -> Option<Duration> {
    let seconds = u64::try_from(nanos / NANOS_PER_SECOND).ok()?;
    let rest = u32::try_from(nanos % NANOS_PER_SECOND).ok()?;
    Some(Duration::new(seconds, rest))
}
