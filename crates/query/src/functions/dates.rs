//! Functions of dates and times, which are strings such as `2020-07-09T23:20:13.4575530Z`.
//!
//! A text that is no date, a part that does not exist, or a result outside the years 1 to 9999 is undefined.

use super::Args;
use super::args::as_integer;
use super::calendar::{
    self, Date, TICKS_PER_DAY, TICKS_PER_HOUR, TICKS_PER_MILLI, TICKS_PER_MINUTE, TICKS_PER_SECOND,
};
use crate::eval::Val;

/// A part of a date and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

const TICKS_PER_MICRO: i64 = 10;
const NANOS_PER_TICK: i64 = 100;

impl Part {
    fn read(name: &str) -> Option<Part> {
        Some(match name.to_ascii_lowercase().as_str() {
            "year" | "yyyy" | "yy" => Part::Year,
            "month" | "mm" | "m" => Part::Month,
            "day" | "dd" | "d" => Part::Day,
            "hour" | "hh" => Part::Hour,
            "minute" | "mi" | "n" => Part::Minute,
            "second" | "ss" | "s" => Part::Second,
            "millisecond" | "ms" => Part::Millisecond,
            "microsecond" | "mcs" => Part::Microsecond,
            "nanosecond" | "ns" => Part::Nanosecond,
            _ => return None,
        })
    }

    /// The length of the part in ticks, where it has a fixed one of at least a tick.
    fn ticks(self) -> Option<i64> {
        match self {
            Part::Year | Part::Month | Part::Nanosecond => None,
            Part::Day => Some(TICKS_PER_DAY),
            Part::Hour => Some(TICKS_PER_HOUR),
            Part::Minute => Some(TICKS_PER_MINUTE),
            Part::Second => Some(TICKS_PER_SECOND),
            Part::Millisecond => Some(TICKS_PER_MILLI),
            Part::Microsecond => Some(TICKS_PER_MICRO),
        }
    }
}

fn moment(args: &Args<'_, '_>, index: usize) -> Option<i64> {
    calendar::parse(args.str(index)?)
}

fn text<'a>(ticks: i64) -> Option<Val<'a>> {
    calendar::format(ticks).map(Val::string)
}

fn number<'a>(value: i64) -> Option<Val<'a>> {
    Some(Val::integer(value))
}

/// `DateTimeAdd(part, number, date)`
pub(crate) fn add<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let (part, count, ticks) = (Part::read(args.str(0)?)?, args.integer(1)?, moment(args, 2)?);
    let sum = match (part, part.ticks()) {
        (_, Some(length)) => ticks.checked_add(count.checked_mul(length)?)?,
        (Part::Nanosecond, None) => ticks.checked_add(count / NANOS_PER_TICK)?,
        (Part::Year, None) => Date::from_ticks(ticks)?.add_months(count.checked_mul(12)?)?.ticks()?,
        (_, None) => Date::from_ticks(ticks)?.add_months(count)?.ticks()?,
    };
    text(sum)
}

/// `DateTimeDiff(part, start, end)`: how many boundaries of the part lie between.
pub(super) fn diff<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let (part, start, end) = (Part::read(args.str(0)?)?, moment(args, 1)?, moment(args, 2)?);
    let count = |ticks: i64| -> Option<i64> {
        match (part, part.ticks()) {
            (_, Some(length)) => Some(ticks.div_euclid(length)),
            (Part::Nanosecond, None) => Some(ticks),
            (Part::Year, None) => Some(Date::from_ticks(ticks)?.year),
            (_, None) => Date::from_ticks(ticks).map(|date| date.year * 12 + date.month),
        }
    };
    let difference = count(end)? - count(start)?;
    let scale = if part == Part::Nanosecond { NANOS_PER_TICK as f64 } else { 1.0 };
    Some(Val::Number(difference as f64 * scale))
}

/// `DateTimePart(part, date)`; the parts below a second hold what the ones above them hold too.
pub(super) fn part<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let (part, ticks) = (Part::read(args.str(0)?)?, moment(args, 1)?);
    part_of(part, ticks)
}

pub(super) fn year<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    part_of(Part::Year, moment(args, 0)?)
}

pub(super) fn month<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    part_of(Part::Month, moment(args, 0)?)
}

pub(super) fn day<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    part_of(Part::Day, moment(args, 0)?)
}

fn part_of<'a>(part: Part, ticks: i64) -> Option<Val<'a>> {
    let date = Date::from_ticks(ticks)?;
    let fraction = date.ticks_of_day % TICKS_PER_SECOND;
    number(match part {
        Part::Year => date.year,
        Part::Month => date.month,
        Part::Day => date.day,
        Part::Hour => date.ticks_of_day / TICKS_PER_HOUR,
        Part::Minute => date.ticks_of_day / TICKS_PER_MINUTE % 60,
        Part::Second => date.ticks_of_day / TICKS_PER_SECOND % 60,
        Part::Millisecond => fraction / TICKS_PER_MILLI,
        Part::Microsecond => fraction / TICKS_PER_MICRO,
        Part::Nanosecond => fraction * NANOS_PER_TICK,
    })
}

/// `DateTimeBin(date, part, [size], [origin])`: the start of the bin that holds the date. Bins are days or shorter, their
/// origin 1970 unless given, and not before 1601.
pub(super) fn bin<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    const FIRST_YEAR: i64 = 1601;
    let (ticks, part) = (moment(args, 0)?, Part::read(args.str(1)?)?);
    let size = if args.len() < 3 { 1 } else { args.integer(2).filter(|size| *size > 0)? };
    let origin = if args.len() < 4 { 0 } else { moment(args, 3)? };
    if Date::from_ticks(origin)?.year < FIRST_YEAR {
        return None;
    }
    let length = match (part, part.ticks()) {
        (_, Some(length)) => size.checked_mul(length)?,
        // Nothing finer than a tick can be told apart.
        (Part::Nanosecond, None) => (size / NANOS_PER_TICK).max(1),
        (_, None) => return None,
    };
    text((ticks - origin).div_euclid(length).checked_mul(length)?.checked_add(origin)?)
}

/// `DateTimeFromParts(year, month, day, [hour], [minute], [second], [ticks])`
pub(super) fn from_parts<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let optional = |index: usize, limit: i64| match index < args.len() {
        true => args.integer(index).filter(|value| (0..limit).contains(value)),
        false => Some(0),
    };
    let ticks_of_day = optional(3, 24)? * TICKS_PER_HOUR
        + optional(4, 60)? * TICKS_PER_MINUTE
        + optional(5, 60)? * TICKS_PER_SECOND
        + optional(6, TICKS_PER_SECOND)?;
    let date = Date { year: args.integer(0)?, month: args.integer(1)?, day: args.integer(2)?, ticks_of_day };
    text(date.ticks()?)
}

/// Whether the argument is a date and time that the other functions understand.
pub(super) fn is_date_time<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    Some(Val::Bool(moment(args, 0).is_some()))
}

pub(super) fn to_ticks<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    number(moment(args, 0)?)
}

pub(super) fn to_timestamp<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    number(moment(args, 0)?.div_euclid(TICKS_PER_MILLI))
}

pub(super) fn from_ticks<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    text(args.integer(0)?)
}

pub(super) fn from_timestamp<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    text(as_integer(&Val::Number(args.number(0)?.trunc()))?.checked_mul(TICKS_PER_MILLI)?)
}

pub(crate) fn now(ticks: i64) -> Val<'static> {
    text(ticks).unwrap_or_default()
}

pub(super) fn now_ticks(ticks: i64) -> Val<'static> {
    Val::integer(ticks)
}

pub(super) fn now_timestamp(ticks: i64) -> Val<'static> {
    Val::Number(ticks.div_euclid(TICKS_PER_MILLI) as f64)
}
