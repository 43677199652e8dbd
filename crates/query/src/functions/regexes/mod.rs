//! Functions of regular expressions.
//!
//! The engine runs in time linear in the text, and so has neither back-references nor look-around; a pattern that uses
//! them is not valid here, and what is asked of an invalid pattern is undefined.

mod pattern;
mod stepping;
mod threads;

pub(crate) use pattern::{AVAILABLE, Pattern, compile};

use super::Args;
use crate::eval::Val;
use crate::value::write_string;

/// Whether the pattern occurs in the text.
pub(super) fn matches<'a>(pattern: &Pattern, args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    args.str(0)?;
    args.try_for(|args, work| pattern.is_match(args.str(0).unwrap_or_default(), || work(usize::MAX)))
        .map(Val::Bool)
}

/// The first match, or a group of it; undefined if there is none.
pub(super) fn extract<'a>(pattern: &Pattern, args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let group = group(pattern, args)?;
    let found = args.try_for(|args, work| {
        let text = args.str(0).unwrap_or_default();
        let mut matches = pattern.matches(text, || work(usize::MAX));
        let Some(whole) = matches.next()? else { return Ok(None) };
        Ok(pattern.group(text, whole, group)?.map(str::to_owned))
    })?;
    found.map(Val::string)
}

/// An array of all matches, or of a group of each; empty if there are none.
pub(super) fn extract_all<'a>(pattern: &Pattern, args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let group = group(pattern, args)?;
    let limit = args.limit();
    let found = args.try_for(|args, work| {
        let text = args.str(0).unwrap_or_default();
        let mut matches = pattern.matches(text, || work(usize::MAX));
        let mut out = vec![b'['];
        while let Some(whole) = matches.next()? {
            let Some(found) = pattern.group(text, whole, group)? else { continue };
            if out.len() > 1 {
                out.push(b',');
            }
            write_string(found, &mut out);
            if out.len() > limit {
                break;
            }
        }
        out.push(b']');
        Ok(out)
    })?;
    args.reserve(found.len())?;
    Some(Val::json(found))
}

/// The text with its first match replaced; the replacement is taken as it is.
pub(super) fn replace<'a>(pattern: &Pattern, args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let (text, with) = (args.str(0)?, args.str(2)?);
    let size = text.len().saturating_add(with.len());
    let found = args.try_for(|args, work| {
        let text = args.str(0).unwrap_or_default();
        pattern.matches(text, || work(usize::MAX)).next()
    })?;
    let Some(found) = found else { return args.take_str(0).map(Val::Str) };
    args.reserve(size)?;
    let (text, with) = (args.str(0)?, args.str(2)?);
    Some(Val::string([&text[..found.start], with, &text[found.end..]].concat()))
}

/// The group that the fourth argument asks for, if the pattern has it; 0 is the whole match.
fn group(pattern: &Pattern, args: &Args<'_, '_>) -> Option<usize> {
    args.str(0)?;
    let group = if args.len() < 4 { 0 } else { usize::try_from(args.integer(3)?).ok()? };
    (group < pattern.groups()).then_some(group)
}
