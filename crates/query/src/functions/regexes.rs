//! `RegexMatch`.
//!
//! The engine runs in time linear in the text, and so has neither back-references nor look-around; a pattern that uses
//! them is not valid here.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use regex_automata::Input;
use regex_automata::hybrid::dfa::DFA;
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;

use super::Args;
use crate::eval::{EvalError, Val};

/// Whether patterns can be matched at all.
pub(crate) const AVAILABLE: bool = true;

/// Enough for any pattern that a person writes; bounds what a hostile one may take.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// Texts up to this length are matched at once: even the worst pattern is done with them within a second.
const SHORT: usize = 1024;

/// How much of a text is matched before somebody is asked whether to go on. The worst pattern takes some milliseconds.
const MATCHED_AT_ONCE: usize = 256;

/// A pattern, ready to be matched.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    text: Box<str>,
    modifiers: Modifiers,
    /// What goes through long texts step by step; none if that cannot be.
    steps: OnceLock<Option<DFA>>,
}

/// The modifiers `m`, `s`, `i` and `x`.
#[derive(Clone, Copy, Debug, Default)]
struct Modifiers {
    multi_line: bool,
    dot_matches_new_line: bool,
    case_insensitive: bool,
    ignore_whitespace: bool,
}

/// Whether the pattern occurs in the text; undefined for an invalid pattern or modifier.
pub(super) fn matches<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    // Preparing a pattern takes as long as going through so much.
    args.work(1 << 14)?;
    let modifiers = (args.len() > 2).then(|| args.get(2));
    let pattern = compile(args.get(1), modifiers)?;
    args.str(0)?;
    args.try_for(|args, work| pattern.is_match(args.str(0).unwrap_or_default(), || work(usize::MAX)))
        .map(Val::Bool)
}

/// Prepares a pattern with its modifiers.
pub(crate) fn compile(pattern: &Val<'_>, modifiers: Option<&Val<'_>>) -> Option<Pattern> {
    let Val::Str(text) = pattern else { return None };
    let modifiers = match modifiers {
        None => Modifiers::default(),
        Some(Val::Str(letters)) => Modifiers::read(letters)?,
        Some(_) => return None,
    };
    let mut builder = RegexBuilder::new(text);
    builder.size_limit(MAX_COMPILED_BYTES).dfa_size_limit(MAX_COMPILED_BYTES);
    builder.multi_line(modifiers.multi_line).dot_matches_new_line(modifiers.dot_matches_new_line);
    builder.case_insensitive(modifiers.case_insensitive).ignore_whitespace(modifiers.ignore_whitespace);
    Some(Pattern { regex: builder.build().ok()?, text: (&**text).into(), modifiers, steps: OnceLock::new() })
}

impl Modifiers {
    fn read(letters: &str) -> Option<Modifiers> {
        let mut modifiers = Modifiers::default();
        for letter in letters.chars() {
            match letter {
                'm' => modifiers.multi_line = true,
                's' => modifiers.dot_matches_new_line = true,
                'i' => modifiers.case_insensitive = true,
                'x' => modifiers.ignore_whitespace = true,
                _ => return None,
            }
        }
        Some(modifiers)
    }
}

impl Pattern {
    /// Whether the pattern occurs in the text. `go_on` is asked now and then, and its error ends the match.
    pub(crate) fn is_match(
        &self,
        text: &str,
        go_on: impl Fn() -> Result<(), EvalError>,
    ) -> Result<bool, EvalError> {
        if text.len() > SHORT
            && let Some(dfa) = self.steps.get_or_init(|| self.stepping())
            && let Some(found) = step_through(dfa, text, go_on)?
        {
            return Ok(found);
        }
        Ok(self.regex.is_match(text))
    }

    fn stepping(&self) -> Option<DFA> {
        let Modifiers { multi_line, dot_matches_new_line, case_insensitive, ignore_whitespace } =
            self.modifiers;
        let syntax = syntax::Config::new()
            .multi_line(multi_line)
            .dot_matches_new_line(dot_matches_new_line)
            .case_insensitive(case_insensitive)
            .ignore_whitespace(ignore_whitespace);
        let limits = DFA::config()
            .cache_capacity(MAX_COMPILED_BYTES)
            .skip_cache_capacity_check(true)
            .unicode_word_boundary(true);
        let nfa = thompson::Config::new().nfa_size_limit(Some(MAX_COMPILED_BYTES));
        DFA::builder().syntax(syntax).thompson(nfa).configure(limits).build(&self.text).ok()
    }
}

/// Whether the pattern occurs in the text; none if it cannot be told this way, as with `\b` beside letters that are not
/// ASCII.
fn step_through(
    dfa: &DFA,
    text: &str,
    go_on: impl Fn() -> Result<(), EvalError>,
) -> Result<Option<bool>, EvalError> {
    let mut cache = dfa.create_cache();
    let Ok(mut state) = dfa.start_state_forward(&mut cache, &Input::new(text)) else { return Ok(None) };
    for stretch in text.as_bytes().chunks(MATCHED_AT_ONCE) {
        go_on()?;
        for byte in stretch {
            let Ok(next) = dfa.next_state(&mut cache, state, *byte) else { return Ok(None) };
            state = next;
            if state.is_match() {
                return Ok(Some(true));
            }
            if state.is_dead() {
                return Ok(Some(false));
            }
            if state.is_quit() {
                return Ok(None);
            }
        }
    }
    Ok(dfa.next_eoi_state(&mut cache, state).ok().map(|last| last.is_match()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn long_texts_are_matched_as_short_ones_are(
            pattern in "[ab.é^$]{0,3}(\\(a\\|b\\)[*+?]?){0,2}(\\\\[bBwds])?[ab]{0,3}(\\{2,3\\})?",
            modifiers in "[msix]{0,2}",
            pieces in prop::collection::vec(prop_oneof![Just("a"), Just("b"), Just("é"), Just("\n"), Just(" ")], 0..40),
            at in 0usize..40,
        ) {
            let modifiers = Val::string(modifiers);
            if let Some(compiled) = compile(&Val::string(pattern.clone()), Some(&modifiers)) {
                let mut pieces: Vec<&str> = pieces;
                let filler = "c".repeat(SHORT);
                pieces.insert(at.min(pieces.len()), &filler);
                let text = pieces.concat();
                let found = compiled.is_match(&text, || Ok(())).unwrap();
                prop_assert_eq!(found, compiled.regex.is_match(&text), "{} {}", pattern, text);
            }
        }
    }
}
