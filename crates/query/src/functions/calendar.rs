//! Moments as ticks of 100 ns since 1970, and the calendar dates and texts they stand for.
//!
//! The range is that of the service: the years 1 to 9999 of the Gregorian calendar, in UTC.

use std::fmt::Write;

pub(super) const TICKS_PER_MILLI: i64 = 10_000;
pub(super) const TICKS_PER_SECOND: i64 = 1000 * TICKS_PER_MILLI;
pub(super) const TICKS_PER_MINUTE: i64 = 60 * TICKS_PER_SECOND;
pub(super) const TICKS_PER_HOUR: i64 = 60 * TICKS_PER_MINUTE;
pub(super) const TICKS_PER_DAY: i64 = 24 * TICKS_PER_HOUR;

/// A moment, split into the fields of its date and the ticks since midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) ticks_of_day: i64,
}

impl Date {
    pub(super) fn from_ticks(ticks: i64) -> Option<Date> {
        let (year, month, day) = civil(ticks.div_euclid(TICKS_PER_DAY));
        (1..=9999).contains(&year).then_some(Date {
            year,
            month,
            day,
            ticks_of_day: ticks.rem_euclid(TICKS_PER_DAY),
        })
    }

    /// The moment, if the fields make a date.
    pub(super) fn ticks(self) -> Option<i64> {
        let valid = (1..=9999).contains(&self.year)
            && (1..=12).contains(&self.month)
            && (1..=days_in_month(self.year, self.month)).contains(&self.day)
            && (0..TICKS_PER_DAY).contains(&self.ticks_of_day);
        valid.then(|| days(self.year, self.month, self.day) * TICKS_PER_DAY + self.ticks_of_day)
    }

    /// The same day and time so many months on, or the last day of that month if it is shorter.
    pub(super) fn add_months(self, months: i64) -> Option<Date> {
        let month = (self.year * 12 + self.month - 1).checked_add(months)?;
        let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
        if !(1..=9999).contains(&year) {
            return None;
        }
        Some(Date { year, month, day: self.day.min(days_in_month(year, month)), ..self })
    }
}

/// A moment as `YYYY-MM-DDThh:mm:ss.fffffffZ`.
pub(super) fn format(ticks: i64) -> Option<String> {
    let date = Date::from_ticks(ticks)?;
    let time = date.ticks_of_day;
    let mut out = String::with_capacity(28);
    let _ = write!(
        out,
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:07}Z",
        date.year,
        date.month,
        date.day,
        time / TICKS_PER_HOUR,
        time / TICKS_PER_MINUTE % 60,
        time / TICKS_PER_SECOND % 60,
        time % TICKS_PER_SECOND
    );
    Some(out)
}

/// The moment that an ISO 8601 text names: a date, alone or with a time of up to seven decimals, the `Z` optional. A space
/// may stand for the `T`.
pub(super) fn parse(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let [year, month, day] = fields(date, '-', [4, 2, 2])?;
    let ticks_of_day = time.map_or(Some(0), parse_time)?;
    Date { year, month, day, ticks_of_day }.ticks()
}

fn parse_time(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let [hour, minute, second] = fields(clock, ':', [2, 2, 2])?;
    let width = fraction.len();
    if hour > 23 || minute > 59 || second > 59 || !(1..=7).contains(&width) {
        return None;
    }
    let fraction = digits(fraction)? * 10_i64.pow(7 - width as u32);
    Some(hour * TICKS_PER_HOUR + minute * TICKS_PER_MINUTE + second * TICKS_PER_SECOND + fraction)
}

fn fields(text: &str, separator: char, widths: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut out = [0; 3];
    for (field, width) in out.iter_mut().zip(widths) {
        *field = digits(parts.next().filter(|part| part.len() == width)?)?;
    }
    parts.next().is_none().then_some(out)
}

fn digits(text: &str) -> Option<i64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date.
///
/// Years are counted from March, so that the leap day comes last and the lengths of the months before a given one
/// follow from its number alone: five months have 153 days, wherever they start.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let month_from_march = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * month_from_march + 2) / 5 + day - 1 - DAYS_TO_EPOCH
}

/// Days from the March of year 0 to 1970-01-01.
const DAYS_TO_EPOCH: i64 = 719_468;
const DAYS_PER_ERA: i64 = 146_097;

/// The date so many days from 1970-01-01; [`days`] undone.
fn civil(days_from_epoch: i64) -> (i64, i64, i64) {
    let days = days_from_epoch + DAYS_TO_EPOCH;
    let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    // Take the leap days away, and every year has 365.
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / (DAYS_PER_ERA - 1);
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (year_of_era * 365 + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_the_calendar_follows_the_one_before() {
        let first = days(1, 1, 1);
        let mut expected = (1, 1, 1);
        for day in first..=days(9999, 12, 31) {
            assert_eq!(civil(day), expected);
            assert_eq!(days(expected.0, expected.1, expected.2), day);
            let (year, month, date) = expected;
            expected = match (month, date < days_in_month(year, month)) {
                (_, true) => (year, month, date + 1),
                (12, false) => (year + 1, 1, 1),
                (_, false) => (year, month + 1, 1),
            };
        }
        assert_eq!(expected, (10_000, 1, 1));
        assert_eq!(days(1970, 1, 1), 0);
    }
}
