//! Functions of strings. Positions and lengths count characters, that is Unicode scalar values.

use std::borrow::Cow;
use std::collections::HashSet;

use super::Args;
use crate::eval::Val;
use crate::value::write_string;

pub(super) fn concat<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let mut size = 0;
    for index in 0..args.len() {
        size += args.str(index)?.len();
    }
    args.reserve(size)?;
    Some(Val::string((0..args.len()).filter_map(|index| args.str(index)).collect::<String>()))
}

pub(super) fn contains<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    compare(args, |text, part| text.contains(part))
}

pub(super) fn ends_with<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    compare(args, |text, part| text.ends_with(part))
}

pub(super) fn starts_with<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    compare(args, |text, part| text.starts_with(part))
}

pub(super) fn equals<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    compare(args, |text, other| text == other)
}

/// Asks `test` about the first two arguments, in lower case if the third is `true`.
fn compare<'a>(args: &Args<'a, '_>, test: impl Fn(&str, &str) -> bool) -> Option<Val<'a>> {
    let (text, other, ignore_case) = (args.str(0)?, args.str(1)?, args.flag(2)?);
    Some(Val::Bool(match ignore_case {
        true => test(&text.to_lowercase(), &other.to_lowercase()),
        false => test(text, other),
    }))
}

/// The position of the first occurrence at or after the third argument; -1 if there is none.
pub(super) fn index_of<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let (text, part) = (args.str(0)?, args.str(1)?);
    let start = if args.len() < 3 { 0.0 } else { args.number(2)? };
    let from = byte_at(text, start);
    let found = text[from..].find(part).map(|at| text[..from + at].chars().count());
    Some(Val::Number(found.map_or(-1.0, |at| at as f64)))
}

pub(super) fn left<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let count = args.number(1)?;
    cut(args, |text| 0..byte_at(text, count))
}

pub(super) fn right<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let count = args.number(1)?;
    cut(args, |text| byte_at(text, text.chars().count() as f64 - count.max(0.0))..text.len())
}

pub(super) fn substring<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let (start, count) = (args.number(1)?, args.number(2)?);
    cut(args, |text| {
        let from = byte_at(text, start);
        from..from + byte_at(&text[from..], count)
    })
}

pub(super) fn length<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    Some(Val::Number(args.str(0)?.chars().count() as f64))
}

pub(super) fn lower<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    Some(Val::string(args.str(0)?.to_lowercase()))
}

pub(super) fn upper<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    Some(Val::string(args.str(0)?.to_uppercase()))
}

pub(super) fn reverse<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    Some(Val::string(args.str(0)?.chars().rev().collect::<String>()))
}

pub(super) fn trim<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    trimmed(args, true, true)
}

pub(super) fn trim_start<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    trimmed(args, true, false)
}

pub(super) fn trim_end<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    trimmed(args, false, true)
}

/// Removes whitespace, or the characters of the second argument, from the ends asked for.
fn trimmed<'a>(args: &mut Args<'a, '_>, start: bool, end: bool) -> Option<Val<'a>> {
    let set: Option<HashSet<char>> = if args.len() < 2 { None } else { Some(args.str(1)?.chars().collect()) };
    let unwanted = |c: char| set.as_ref().map_or(c.is_whitespace(), |set| set.contains(&c));
    cut(args, |text| {
        let from = if start { text.len() - text.trim_start_matches(unwanted).len() } else { 0 };
        let kept = if end { text[from..].trim_end_matches(unwanted).len() } else { text.len() - from };
        from..from + kept
    })
}

/// Every occurrence of the second argument replaced by the third; an empty one occurs nowhere.
pub(super) fn replace<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let (text, part, with) = (args.str(0)?, args.str(1)?, args.str(2)?);
    let count = if part.is_empty() { 0 } else { text.matches(part).count() };
    if count == 0 {
        return args.take_str(0).map(Val::Str);
    }
    let size = (text.len() - count * part.len()).saturating_add(count.saturating_mul(with.len()));
    args.reserve(size)?;
    let (text, part, with) = (args.str(0)?, args.str(1)?, args.str(2)?);
    Some(Val::string(text.replace(part, with)))
}

/// The string so many times over, the count's fraction cut; undefined for a negative count and beyond 10,000 characters.
pub(super) fn replicate<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    const MAX_CHARACTERS: f64 = 10_000.0;
    let (text, count) = (args.str(0)?, args.number(1)?.trunc());
    let fits = count >= 0.0 && count.is_finite() && text.chars().count() as f64 * count <= MAX_CHARACTERS;
    // An empty string may be asked for any number of times, so the count is bounded on its own too.
    fits.then(|| Val::string(if text.is_empty() { String::new() } else { text.repeat(count as usize) }))
}

/// The strings of an array with a separator between them; undefined if an element is no string.
pub(super) fn join<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let separator = args.str(1)?.to_owned();
    let array = args.take(0);
    let mut out = String::new();
    for (index, element) in array.elements()?.enumerate() {
        if index > 0 {
            out.push_str(&separator);
        }
        out.push_str(&element.as_str()?);
        args.reserve(out.len().saturating_add(separator.len()))?;
    }
    Some(Val::string(out))
}

/// The parts of a string between separators; an empty separator occurs nowhere.
pub(super) fn split<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let (text, separator) = (args.take_str(0)?, args.take_str(1)?);
    let mut out = vec![b'['];
    let parts: Box<dyn Iterator<Item = &str>> = if separator.is_empty() {
        Box::new(std::iter::once(&*text))
    } else {
        Box::new(text.split(&*separator))
    };
    for part in parts {
        if out.len() > 1 {
            out.push(b',');
        }
        write_string(part, &mut out);
        args.reserve(out.len())?;
    }
    out.push(b']');
    Some(Val::json(out))
}

/// The byte at which character `index` starts: the first for a negative index, the end for one too large.
pub(super) fn byte_at(text: &str, index: f64) -> usize {
    if index < 1.0 || index.is_nan() {
        return 0;
    }
    text.char_indices().nth(index as usize).map_or(text.len(), |(at, _)| at)
}

/// A part of the first argument, borrowed where the argument is.
pub(super) fn cut<'a>(
    args: &mut Args<'a, '_>,
    range: impl Fn(&str) -> std::ops::Range<usize>,
) -> Option<Val<'a>> {
    Some(Val::Str(match args.take_str(0)? {
        Cow::Borrowed(text) => Cow::Borrowed(&text[range(text)]),
        Cow::Owned(text) => Cow::Owned(text[range(&text)].to_owned()),
    }))
}
