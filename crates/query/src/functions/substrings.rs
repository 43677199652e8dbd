//! Functions that look for several texts, for the last one, or for a delimiter. Positions count characters.

use super::Args;
use super::strings::{byte_at, cut};
use crate::eval::Val;

/// The position of the last occurrence that ends at or before the third argument; -1 if there is none.
pub(super) fn last_index_of<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let (text, part) = (args.str(0)?, args.str(1)?);
    let end = if args.len() < 3 { text.len() } else { byte_at(text, args.number(2)? + 1.0) };
    let found = text[..end].rfind(part).map(|at| text[..at].chars().count());
    Some(Val::Number(found.map_or(-1.0, |at| at as f64)))
}

/// The text after the first delimiter; empty if there is none.
pub(super) fn after<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    beside(args, |text, delimiter| text.find(delimiter), |at, size, length| at + size..length)
}

/// The text before the first delimiter; empty if there is none.
pub(super) fn before<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    beside(args, |text, delimiter| text.find(delimiter), |at, _, _| 0..at)
}

/// The text after the last delimiter; empty if there is none.
pub(super) fn after_last<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    beside(args, |text, delimiter| text.rfind(delimiter), |at, size, length| at + size..length)
}

/// The text before the last delimiter; empty if there is none.
pub(super) fn before_last<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    beside(args, |text, delimiter| text.rfind(delimiter), |at, _, _| 0..at)
}

/// What `side` takes of the text, given the place and the size of the delimiter and the length of the text.
fn beside<'a>(
    args: &mut Args<'a, '_>,
    find: fn(&str, &str) -> Option<usize>,
    side: fn(usize, usize, usize) -> std::ops::Range<usize>,
) -> Option<Val<'a>> {
    let Val::Str(delimiter) = args.take(1) else { return None };
    cut(args, |text| find(text, &delimiter).map_or(0..0, |at| side(at, delimiter.len(), text.len())))
}

pub(super) fn contains_all_ci<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    contains_each(args, false, str::to_lowercase)
}

pub(super) fn contains_all_cs<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    contains_each(args, false, str::to_owned)
}

pub(super) fn contains_any_ci<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    contains_each(args, true, str::to_lowercase)
}

pub(super) fn contains_any_cs<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    contains_each(args, true, str::to_owned)
}

/// Whether the text holds one of the others, or all of them. One that is no string leaves the answer open, unless another
/// is decisive.
fn contains_each<'a>(args: &mut Args<'a, '_>, decisive: bool, folded: fn(&str) -> String) -> Option<Val<'a>> {
    let text = folded(args.str(0)?);
    let mut open = false;
    for index in 1..args.len() {
        args.work(text.len())?;
        match args.str(index) {
            None => open = true,
            Some(part) if text.contains(&folded(part)) == decisive => return Some(Val::Bool(decisive)),
            Some(_) => {}
        }
    }
    (!open).then_some(Val::Bool(!decisive))
}
