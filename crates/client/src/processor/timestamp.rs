//! Times as leases hold them: ISO 8601 in UTC, as .NET writes them. No clock is read here.

use std::time::Duration;

const DAY: u64 = 86_400;

/// A time since 1970 as text, with seven digits of the second: `2026-11-16T07:07:37.1234567Z`.
pub(super) fn write(time: Duration) -> String {
    let (days, second) = (time.as_secs() / DAY, time.as_secs() % DAY);
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let ticks = time.subsec_nanos() / 100;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ticks:07}Z")
}

/// The time since 1970 that a text names, with any number of digits of the second, and `Z`, an offset or nothing
/// (which is UTC) behind it. `None` if it is no time since 1970.
pub(super) fn read(text: &str) -> Option<Duration> {
    let (date, rest) = text.trim().split_once(['T', ' '])?;
    let (clock, offset) = match rest.find(['Z', 'z', '+', '-']) {
        Some(end) => (&rest[..end], offset_of(&rest[end..])?),
        None => (rest, 0),
    };
    let mut date = date.splitn(3, '-').map(number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut clock = clock.splitn(3, ':').map(number);
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next().unwrap_or(Some(0))?);
    let is_valid = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !is_valid {
        return None;
    }
    let seconds =
        days_until(year, month, day)? * DAY as i64 + (hour * 3600 + minute * 60 + second) as i64 - offset;
    Some(Duration::new(u64::try_from(seconds).ok()?, nanos(fraction)?))
}

fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn nanos(fraction: &str) -> Option<u32> {
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nine: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    nine.parse().ok()
}

/// The seconds that an offset such as `+05:30` is ahead of UTC.
fn offset_of(text: &str) -> Option<i64> {
    let sign = match text.get(..1)? {
        "Z" | "z" => return (text.len() == 1).then_some(0),
        "+" => 1,
        _ => -1,
    };
    let (hour, minute) = text.get(1..)?.split_once(':')?;
    Some(sign * (number(hour)? * 3600 + number(minute)? * 60) as i64)
}

/// The days from 1970 to a date of the Gregorian calendar. March begins the year, so that the leap day ends it.
fn days_until(year: u64, month: u64, day: u64) -> Option<i64> {
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year;
    Some(days as i64 - EPOCH as i64)
}

/// The days from the first of March of the year 0 to 1970.
const EPOCH: u64 = 719_468;

/// The date that comes so many days after the start of 1970.
fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + EPOCH;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_form_that_net_writes() {
        for (text, seconds, nanos) in [
            ("1970-01-01T00:00:00Z", 0, 0),
            ("2000-02-29T12:00:00.5Z", 951_825_600, 500_000_000),
            ("2026-11-16T07:07:37.1234567Z", 1_794_812_857, 123_456_700),
            ("2026-11-16T07:07:37.1234567", 1_794_812_857, 123_456_700),
            ("2026-11-16T12:37:37+05:30", 1_794_812_857, 0),
            ("2026-11-16T02:07:37-05:00", 1_794_812_857, 0),
            ("2024-12-31T23:59:59.999999999Z", 1_735_689_599, 999_999_999),
        ] {
            assert_eq!(read(text), Some(Duration::new(seconds, nanos)), "{text}");
        }
        for text in
            ["", "now", "1969-12-31T23:59:59Z", "2026-13-01T00:00:00Z", "2026-11-16", "2026-11-16T07:07:3é"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read_back(seconds in 0..253_402_300_799_u64, ticks in 0..10_000_000_u32) {
            let time = Duration::new(seconds, ticks * 100);
            assert_eq!(read(&write(time)), Some(time));
        }
    }
}
