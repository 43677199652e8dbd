//! Going through a long text where no automaton of one state can: beside letters that are not ASCII, `\b` depends on more
//! than the last byte.
//!
//! All ways to match are followed at once, the preferred ones first, and each knows where it began.

use std::ops::Range;

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

use crate::eval::EvalError;

/// How many ways are followed by a byte before somebody is asked whether to go on.
const FOLLOWED_AT_ONCE: usize = 1 << 14;

/// The first match at or after a place or, with `any`, some match.
pub(super) fn first(
    nfa: &NFA,
    text: &str,
    from: usize,
    any: bool,
    go_on: &dyn Fn() -> Result<(), EvalError>,
) -> Result<Option<Range<usize>>, EvalError> {
    let mut now = Threads::new(nfa);
    let mut next = Threads::new(nfa);
    let (mut found, mut followed) = (None, 0);
    for at in from..=text.len() {
        if found.is_none() {
            now.add(nfa.start_anchored(), at, text, at);
        } else if now.waiting.is_empty() {
            break;
        }
        followed += 1 + now.known;
        if followed >= FOLLOWED_AT_ONCE {
            followed = 0;
            go_on()?;
        }
        for (state, start) in now.waiting.drain(..) {
            let target = match nfa.state(state) {
                State::ByteRange { trans } => trans.matches(text.as_bytes(), at).then_some(trans.next),
                State::Sparse(transitions) => transitions.matches(text.as_bytes(), at),
                State::Dense(transitions) => transitions.matches(text.as_bytes(), at),
                State::Match { .. } => {
                    found = Some(start..at);
                    // The ways behind it are less preferred.
                    break;
                }
                State::Look { .. }
                | State::Union { .. }
                | State::BinaryUnion { .. }
                | State::Capture { .. }
                | State::Fail => None,
            };
            if let Some(target) = target {
                next.add(target, start, text, at + 1);
            }
        }
        if any && found.is_some() {
            break;
        }
        now.clear();
        std::mem::swap(&mut now, &mut next);
    }
    Ok(found)
}

/// The ways to match that wait for a byte, or have matched.
struct Threads<'n> {
    nfa: &'n NFA,
    /// Each in its state, with the place where it began; the preferred ones first.
    waiting: Vec<(StateID, usize)>,
    /// The states that were come upon, each at its round.
    seen: Vec<u32>,
    round: u32,
    /// How many these are.
    known: usize,
    stack: Vec<StateID>,
}

impl<'n> Threads<'n> {
    fn new(nfa: &'n NFA) -> Self {
        let seen = vec![0; nfa.states().len()];
        Threads { nfa, waiting: Vec::new(), seen, round: 1, known: 0, stack: Vec::new() }
    }

    /// Follows a way as far as it goes without a byte.
    fn add(&mut self, state: StateID, start: usize, text: &str, at: usize) {
        self.stack.push(state);
        while let Some(state) = self.stack.pop() {
            if std::mem::replace(&mut self.seen[state], self.round) == self.round {
                continue;
            }
            self.known += 1;
            match self.nfa.state(state) {
                State::Look { look, next } => {
                    if self.nfa.look_matcher().matches(*look, text.as_bytes(), at) {
                        self.stack.push(*next);
                    }
                }
                State::Union { alternates } => self.stack.extend(alternates.iter().rev()),
                State::BinaryUnion { alt1, alt2 } => self.stack.extend([*alt2, *alt1]),
                State::Capture { next, .. } => self.stack.push(*next),
                State::Fail => {}
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) | State::Match { .. } => {
                    self.waiting.push((state, start));
                }
            }
        }
    }

    fn clear(&mut self) {
        self.waiting.clear();
        self.known = 0;
        self.round = match self.round.checked_add(1) {
            Some(round) => round,
            None => {
                self.seen.fill(0);
                1
            }
        };
    }
}
