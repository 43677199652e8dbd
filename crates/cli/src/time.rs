//! Times for people: moments in UTC, how long ago, how long. Nothing here reads a clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// The days of four centuries, after which the calendar repeats itself.
const CYCLE: u64 = 146_097;
const MONTHS: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// Milliseconds since 1970.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// `2026-11-15 14:59:39Z`
pub(crate) fn utc(millis: u64) -> String {
    let (year, month, day) = date(millis / DAY);
    let in_day = millis % DAY;
    let (hour, minute, second) = (in_day / HOUR, in_day % HOUR / MINUTE, in_day % MINUTE / SECOND);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

/// `340 ms`, `12.3 s`, `5 min 12 s`, `3 h 5 min` or `12 d 4 h`
pub(crate) fn span(time: Duration) -> String {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    match millis {
        0..SECOND => format!("{millis} ms"),
        SECOND..MINUTE => format!("{:.1} s", millis as f64 / 1000.0),
        MINUTE..HOUR => format!("{} min {} s", millis / MINUTE, millis % MINUTE / SECOND),
        HOUR..DAY => format!("{} h {} min", millis / HOUR, millis % HOUR / MINUTE),
        _ => format!("{} d {} h", millis / DAY, millis % DAY / HOUR),
    }
}

/// A moment from an argument: how long ago (`7d`, `12h`, `30m`, `45s`), a day or a time of one, in UTC.
pub(crate) fn moment(text: &str, now: u64) -> Result<u64, String> {
    ago(text)
        .map(|ago| now.saturating_sub(ago))
        .or_else(|| calendar(text))
        .ok_or_else(|| format!("{text:?} is no time (try 7d, 12h, 2026-11-15 or 2026-11-15T14:00:00Z)"))
}

fn ago(text: &str) -> Option<u64> {
    let (at, _) = text.char_indices().next_back()?;
    let (number, unit) = text.split_at(at);
    let unit = match unit {
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        _ => return None,
    };
    digits(number)?.checked_mul(unit)
}

/// `2026-11-15`, or that and `T14:00:00` or ` 14:00:00`, with or without a `Z`.
fn calendar(text: &str) -> Option<u64> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (day, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, "00:00:00"));
    let (year, month, day) = three(day, '-')?;
    let (hour, minute, second) = three(time, ':')?;
    if !(1970..=9999).contains(&year) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_before(year, month, day)?;
    Some(days * DAY + hour * HOUR + minute * MINUTE + second * SECOND)
}

fn three(text: &str, between: char) -> Option<(u64, u64, u64)> {
    let mut parts = text.split(between).map(digits);
    let found = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(found)
}

/// Digits only: no sign, no blank.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u64, month: usize) -> u64 {
    MONTHS[month] + u64::from(month == 1 && is_leap(year))
}

/// The date that is `days` after the first of 1970.
fn date(days: u64) -> (u64, usize, u64) {
    let (mut year, mut left) = (1970 + days / CYCLE * 400, days % CYCLE);
    while left >= 365 + u64::from(is_leap(year)) {
        left -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 0;
    while left >= days_of(year, month) {
        left -= days_of(year, month);
        month += 1;
    }
    (year, month + 1, left + 1)
}

/// How many days after the first of 1970 a date is; `None` if there is no such day.
fn days_before(year: u64, month: u64, day: u64) -> Option<u64> {
    let month = usize::try_from(month).ok().filter(|month| (1..=12).contains(month))? - 1;
    if day == 0 || day > days_of(year, month) {
        return None;
    }
    let years: u64 = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum();
    let months: u64 = (0..month).map(|month| days_of(year, month)).sum();
    Some(years + months + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        for (millis, text) in [
            (0, "1970-01-01 00:00:00Z"),
            (951_782_400_000, "2000-02-29 00:00:00Z"),
            (1_794_754_779_999, "2026-11-15 14:59:39Z"),
            (4_107_542_400_000, "2100-03-01 00:00:00Z"),
            (253_402_300_799_000, "9999-12-31 23:59:59Z"),
        ] {
            assert_eq!(utc(millis), text);
        }
        assert!(utc(u64::MAX).ends_with('Z'), "whatever is stored is shown");
    }

    #[test]
    fn moments_are_read_as_they_are_written_and_as_how_long_ago() {
        let now = 1_794_754_779_000;
        for (text, expected) in [
            ("7d", now - 7 * DAY),
            ("12h", now - 12 * HOUR),
            ("30m", now - 30 * MINUTE),
            ("0s", now),
            ("2000-02-29", 951_782_400_000),
            ("2026-11-15T14:59:39Z", now),
            ("2026-11-15 14:59:39Z", now),
            ("2026-11-15t14:59:39", now),
            ("999999d", 0),
        ] {
            assert_eq!(moment(text, now), Ok(expected), "{text}");
        }
        for text in
            ["", "d", "7", "7w", "-7d", "ä", "2026-13-01", "2026-02-29", "2026-1", "2026-11-15T24:00:00"]
        {
            assert!(moment(text, now).unwrap_err().contains("7d"), "{text}");
        }
    }

    #[test]
    fn every_day_of_the_calendar_is_read_back() {
        for days in (0..2_932_896).step_by(9973) {
            assert_eq!(calendar(&utc(days * DAY)), Some(days * DAY));
        }
    }

    #[test]
    fn spans_have_two_digits_of_sense() {
        for (millis, text) in [
            (0, "0 ms"),
            (340, "340 ms"),
            (12_345, "12.3 s"),
            (312_000, "5 min 12 s"),
            (11_100_000, "3 h 5 min"),
            (1_051_200_000, "12 d 4 h"),
        ] {
            assert_eq!(span(Duration::from_millis(millis)), text);
        }
    }
}
