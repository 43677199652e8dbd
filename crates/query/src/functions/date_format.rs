//! `DateTimeFormat`: a date and time as text, by a pattern such as `yyyy-MM-dd HH:mm:ss.fff`.
//!
//! A run of one of the letters `y M d H m s f F` stands for a field, `\` lets the next character stand for itself, and all
//! other characters do so anyway. Names of months and days are English.

use std::fmt::Write;

use super::Args;
use super::calendar::{self, Date, TICKS_PER_DAY, TICKS_PER_HOUR, TICKS_PER_MINUTE, TICKS_PER_SECOND};
use crate::eval::Val;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// From the day of 1970-01-01 on.
const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// A fraction of a second has so many digits.
const FRACTION_DIGITS: usize = 7;

/// `DateTimeFormat(date, format)`; undefined for a fraction of too many digits and for a `\` at the end.
pub(super) fn format<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let ticks = calendar::parse(args.str(0)?)?;
    let date = Date::from_ticks(ticks)?;
    let pattern = args.str(1)?;
    let mut out = String::new();
    let mut rest = pattern.chars().peekable();
    while let Some(letter) = rest.next() {
        if letter == '\\' {
            out.push(rest.next()?);
            continue;
        }
        let mut width = 1;
        while "yMdHmsfF".contains(letter) && rest.next_if_eq(&letter).is_some() {
            width += 1;
        }
        write_field(&mut out, letter, width, (date, ticks))?;
    }
    Some(Val::string(out))
}

/// Writes the field that `width` times `letter` stands for.
fn write_field(out: &mut String, letter: char, width: usize, (date, ticks): (Date, i64)) -> Option<()> {
    let time = date.ticks_of_day;
    match letter {
        'y' if width <= 2 => number(out, date.year % 100, width),
        'y' => number(out, date.year, width),
        'M' if width >= 3 => name(out, MONTHS.get(usize::try_from(date.month - 1).ok()?)?, width),
        'M' => number(out, date.month, width),
        'd' if width >= 3 => {
            let day = ticks.div_euclid(TICKS_PER_DAY).rem_euclid(7);
            name(out, DAYS.get(usize::try_from(day).ok()?)?, width);
        }
        'd' => number(out, date.day, width),
        'H' => number(out, time / TICKS_PER_HOUR, width.min(2)),
        'm' => number(out, time / TICKS_PER_MINUTE % 60, width.min(2)),
        's' => number(out, time / TICKS_PER_SECOND % 60, width.min(2)),
        'f' | 'F' => {
            let digits = format!("{:07}", time % TICKS_PER_SECOND);
            let digits = digits.get(..width).filter(|_| width <= FRACTION_DIGITS)?;
            out.push_str(if letter == 'F' { digits.trim_end_matches('0') } else { digits });
        }
        other => out.push(other),
    }
    Some(())
}

fn number(out: &mut String, value: i64, width: usize) {
    // More zeros than any field has digits say nothing.
    let _ = write!(out, "{value:0width$}", width = width.min(FRACTION_DIGITS));
}

/// A name, of which three letters are enough for three letters of pattern.
fn name(out: &mut String, name: &str, width: usize) {
    out.push_str(if width == 3 { name.get(..3).unwrap_or(name) } else { name });
}
