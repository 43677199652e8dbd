//! Going through a long text step by step, so that somebody can stop it.

use std::ops::Range;

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::hybrid::regex;
use regex_automata::{Anchored, Input};

use super::threads;
use crate::eval::EvalError;

/// How much of a text is matched before somebody is asked whether to go on. The worst pattern takes some milliseconds.
const MATCHED_AT_ONCE: usize = 256;

/// Whether the pattern occurs in the text.
pub(super) fn occurs(
    regex: &regex::Regex,
    text: &str,
    go_on: &dyn Fn() -> Result<(), EvalError>,
) -> Result<bool, EvalError> {
    let (dfa, mut cache) = (regex.forward(), regex.create_cache());
    match end(dfa, cache.as_parts_mut().0, text, 0, true, go_on)? {
        Some(end) => Ok(end.is_some()),
        None => Ok(threads::first(dfa.get_nfa(), text, 0, true, go_on)?.is_some()),
    }
}

/// The first match at or after a place.
pub(super) fn first(
    regex: &regex::Regex,
    cache: &mut regex::Cache,
    text: &str,
    from: usize,
    go_on: &dyn Fn() -> Result<(), EvalError>,
) -> Result<Option<Range<usize>>, EvalError> {
    let (forward, reverse) = cache.as_parts_mut();
    let found = match end(regex.forward(), forward, text, from, false, go_on)? {
        Some(None) => return Ok(None),
        Some(Some(end)) => start(regex.reverse(), reverse, text, from..end, go_on)?.map(|start| start..end),
        None => None,
    };
    match found {
        Some(found) => Ok(Some(found)),
        None => threads::first(regex.forward().get_nfa(), text, from, false, go_on),
    }
}

/// Where the first match ends or, with `any`, where some match does; the outer option is none if it cannot be told this
/// way, as with `\b` beside letters that are not ASCII.
fn end(
    dfa: &DFA,
    cache: &mut Cache,
    text: &str,
    from: usize,
    any: bool,
    go_on: &dyn Fn() -> Result<(), EvalError>,
) -> Result<Option<Option<usize>>, EvalError> {
    let input = Input::new(text).span(from..text.len());
    let Ok(mut state) = dfa.start_state_forward(cache, &input) else { return Ok(None) };
    let mut found = None;
    for (at, byte) in text.bytes().enumerate().skip(from) {
        if (at - from).is_multiple_of(MATCHED_AT_ONCE) {
            go_on()?;
        }
        let Ok(next) = dfa.next_state(cache, state, byte) else { return Ok(None) };
        state = next;
        // A state knows of a match one byte late.
        if state.is_match() {
            found = Some(at);
            if any {
                return Ok(Some(found));
            }
        } else if state.is_dead() {
            return Ok(Some(found));
        } else if state.is_quit() {
            return Ok(None);
        }
    }
    let Ok(last) = dfa.next_eoi_state(cache, state) else { return Ok(None) };
    Ok(Some(if last.is_match() { Some(text.len()) } else { found }))
}

/// Where the match that ends with the span starts.
fn start(
    dfa: &DFA,
    cache: &mut Cache,
    text: &str,
    span: Range<usize>,
    go_on: &dyn Fn() -> Result<(), EvalError>,
) -> Result<Option<usize>, EvalError> {
    let input = Input::new(text).span(span.clone()).anchored(Anchored::Yes);
    let Ok(mut state) = dfa.start_state_reverse(cache, &input) else { return Ok(None) };
    let mut found = span.end;
    for (gone, byte) in text.as_bytes()[span.clone()].iter().rev().enumerate() {
        if gone.is_multiple_of(MATCHED_AT_ONCE) {
            go_on()?;
        }
        let Ok(next) = dfa.next_state(cache, state, *byte) else { return Ok(None) };
        state = next;
        if state.is_match() {
            found = span.end - gone;
        } else if state.is_dead() {
            return Ok(Some(found));
        } else if state.is_quit() {
            return Ok(None);
        }
    }
    let before = span.start.checked_sub(1).and_then(|before| text.as_bytes().get(before));
    let last = match before {
        Some(byte) => dfa.next_state(cache, state, *byte),
        None => dfa.next_eoi_state(cache, state),
    };
    let Ok(last) = last else { return Ok(None) };
    match last.is_quit() {
        true => Ok(None),
        false => Ok(Some(if last.is_match() { span.start } else { found })),
    }
}
