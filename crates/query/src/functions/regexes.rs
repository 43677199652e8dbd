//! `RegexMatch`.
//!
//! The engine runs in time linear in the text, and so has neither back-references nor look-around; a pattern that uses
//! them is not valid here.

use regex::RegexBuilder;

pub(crate) use regex::Regex as Pattern;

use super::Args;
use crate::eval::Val;

/// Whether patterns can be matched at all.
pub(crate) const AVAILABLE: bool = true;

/// Whether the pattern occurs in the text; undefined for an invalid pattern or modifier.
pub(super) fn matches<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let modifiers = (args.len() > 2).then(|| args.get(2));
    let regex = compile(args.get(1), modifiers)?;
    Some(Val::Bool(regex.is_match(args.str(0)?)))
}

/// Prepares a pattern with the modifiers `m`, `s`, `i` and `x`.
pub(crate) fn compile(pattern: &Val<'_>, modifiers: Option<&Val<'_>>) -> Option<Pattern> {
    // Enough for any pattern a person writes; bounds what a hostile one may take.
    const MAX_COMPILED_BYTES: usize = 1 << 20;
    let Val::Str(pattern) = pattern else { return None };
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(MAX_COMPILED_BYTES).dfa_size_limit(MAX_COMPILED_BYTES);
    match modifiers {
        None => {}
        Some(Val::Str(modifiers)) => {
            for modifier in modifiers.chars() {
                match modifier {
                    'm' => builder.multi_line(true),
                    's' => builder.dot_matches_new_line(true),
                    'i' => builder.case_insensitive(true),
                    'x' => builder.ignore_whitespace(true),
                    _ => return None,
                };
            }
        }
        Some(_) => return None,
    }
    builder.build().ok()
}
