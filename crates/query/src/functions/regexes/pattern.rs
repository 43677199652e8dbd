//! A regular expression, ready to be matched, and its matches in a text.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use regex::{Regex, RegexBuilder};
use regex_automata::hybrid::dfa::DFA;
use regex_automata::hybrid::regex as lazy;
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;

use super::stepping;
use crate::eval::{EvalError, Val};

/// Whether patterns can be matched at all.
pub(crate) const AVAILABLE: bool = true;

/// Enough for any pattern that a person writes; bounds what a hostile one may take.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// Texts up to this length are matched at once: even the worst pattern is done with them within a second.
const SHORT: usize = 1024;

/// Groups are found at once too, so they are looked for only if no more than this follows the start of a match, and less
/// where the pattern has many states: the worst pattern is done with so many of them and bytes within a second.
const LONGEST_WITH_GROUPS: usize = 64 * 1024;
const MOST_STEPS_WITH_GROUPS: usize = 1 << 26;

/// A pattern, ready to be matched.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    text: Box<str>,
    modifiers: Modifiers,
    /// What goes through long texts step by step; none if that cannot be.
    steps: OnceLock<Option<Arc<lazy::Regex>>>,
}

/// The modifiers `m`, `s`, `i` and `x`.
#[derive(Clone, Copy, Debug, Default)]
struct Modifiers {
    multi_line: bool,
    dot_matches_new_line: bool,
    case_insensitive: bool,
    ignore_whitespace: bool,
}

/// Prepares a pattern with its modifiers; none if either is not valid.
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
    /// How many groups there are, the whole match being one.
    pub(super) fn groups(&self) -> usize {
        self.regex.captures_len()
    }

    /// Whether the pattern occurs in the text. `go_on` is asked now and then, and its error ends the match.
    pub(super) fn is_match(
        &self,
        text: &str,
        go_on: impl Fn() -> Result<(), EvalError>,
    ) -> Result<bool, EvalError> {
        match self.steps_for(text) {
            Some(steps) => stepping::occurs(steps, text, &go_on),
            None => Ok(self.regex.is_match(text)),
        }
    }

    /// The matches in a text, one after the other. `go_on` is asked now and then, and its error ends the search.
    pub(super) fn matches<'p, G>(&'p self, text: &'p str, go_on: G) -> Matches<'p, G>
    where
        G: Fn() -> Result<(), EvalError>,
    {
        let stepping = self.steps_for(text).map(|steps| (steps, steps.create_cache()));
        Matches { pattern: self, text, stepping, go_on, from: Some(0), last_end: None }
    }

    /// What a group of a match holds; none if it takes no part in the match.
    pub(super) fn group<'t>(
        &self,
        text: &'t str,
        whole: Range<usize>,
        group: usize,
    ) -> Result<Option<&'t str>, EvalError> {
        if group == 0 {
            return Ok(text.get(whole));
        }
        let states = self.steps_for(text).map_or(1, |steps| steps.forward().get_nfa().states().len());
        let limit = LONGEST_WITH_GROUPS.min(MOST_STEPS_WITH_GROUPS / states).max(SHORT);
        if text.len() - whole.start > limit {
            return Err(EvalError::ValueTooLarge { limit });
        }
        let captures = self.regex.captures_at(text, whole.start);
        Ok(captures.and_then(|captures| captures.get(group)).map(|found| found.as_str()))
    }

    fn steps_for(&self, text: &str) -> Option<&lazy::Regex> {
        match text.len() > SHORT {
            true => self.steps.get_or_init(|| self.stepping().map(Arc::new)).as_deref(),
            false => None,
        }
    }

    fn stepping(&self) -> Option<lazy::Regex> {
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
        lazy::Regex::builder().syntax(syntax).thompson(nfa).dfa(limits).build(&self.text).ok()
    }
}

/// The matches of a pattern in a text. They do not overlap, and an empty one does not touch the one before.
pub(super) struct Matches<'p, G> {
    pattern: &'p Pattern,
    text: &'p str,
    stepping: Option<(&'p lazy::Regex, lazy::Cache)>,
    go_on: G,
    /// Where to look next; none at the end.
    from: Option<usize>,
    last_end: Option<usize>,
}

impl<G: Fn() -> Result<(), EvalError>> Matches<'_, G> {
    /// The next match; none after the last.
    pub(super) fn next(&mut self) -> Result<Option<Range<usize>>, EvalError> {
        while let Some(from) = self.from {
            let Some(found) = self.first(from)? else { break };
            let empty = found.is_empty();
            self.from = if empty { next_character(self.text, found.end) } else { Some(found.end) };
            // A match between the bytes of a character is none.
            let whole = self.text.is_char_boundary(found.start);
            if whole && !(empty && self.last_end == Some(found.end)) {
                self.last_end = Some(found.end);
                return Ok(Some(found));
            }
        }
        self.from = None;
        Ok(None)
    }

    fn first(&mut self, from: usize) -> Result<Option<Range<usize>>, EvalError> {
        (self.go_on)()?;
        match &mut self.stepping {
            Some((steps, cache)) => stepping::first(steps, cache, self.text, from, &self.go_on),
            None => Ok(self.pattern.regex.find_at(self.text, from).map(|found| found.range())),
        }
    }
}

/// Where the character after the one at a place starts; none after the last.
fn next_character(text: &str, at: usize) -> Option<usize> {
    (at + 1..=text.len()).find(|place| text.is_char_boundary(*place))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Asked often enough to be stopped, where one call of the engine would take minutes.
    #[test]
    fn a_long_match_beside_letters_that_are_not_ascii_can_be_stopped() {
        use std::cell::Cell;

        let pattern = Val::string("(\\b[a-zé]{1,300}\\b[ ]?){1,3}x");
        let compiled = compile(&pattern, None).unwrap();
        let text = "é".repeat(400_000);
        let asked = Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            if asked.get() > 20 { Err(EvalError::Interrupted) } else { Ok(()) }
        };
        assert_eq!(compiled.is_match(&text, stop), Err(EvalError::Interrupted));
        asked.set(0);
        assert_eq!(compiled.matches(&text, stop).next(), Err(EvalError::Interrupted));
        let groups = compile(&Val::string("(\\w{1,4}){1,3}(é)"), None).unwrap();
        let text = "é".repeat(30_000);
        assert!(matches!(groups.group(&text, 0..2, 1), Err(EvalError::ValueTooLarge { .. })));
    }

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
                let mut matches = compiled.matches(&text, || Ok(()));
                let mut all = Vec::new();
                while let Some(found) = matches.next().unwrap() {
                    all.push(found);
                }
                let expected: Vec<_> = compiled.regex.find_iter(&text).map(|found| found.range()).collect();
                prop_assert_eq!(all, expected, "{} {}", pattern, text);
            }
        }
    }
}
