//! Handing documents to a query one after the other, from a position on, a chunk at a time.
//!
//! Which documents those are is the business of whoever gives the numbers or the entries of an index.

use std::ops::Bound;

use cosmonaut_wire::PartitionKey;
use cosmonaut_wire::model::PartitionKeyDefinition;

use super::parts::Part;
use super::token::{Key, Position};
use crate::engine::key::covers;
use crate::engine::{Document, ReplicaState};
use crate::index::{PathTerms, Postings, Span, Term};
use crate::{Failure, Timestamp};

/// How many candidates are looked at before the replica is released for a moment, so that writes get their turn.
///
/// Few in tests, so that their small containers are read in several turns.
const CHUNK: usize = if cfg!(test) { 3 } else { 4096 };

/// A replica as a query reads it.
#[derive(Clone, Copy)]
pub(super) struct View<'s> {
    pub(super) state: &'s ReplicaState,
    pub(super) part: &'s Part,
    /// The only partition key, or hierarchical prefix, that the query may see, and what such a key is here.
    pub(super) key: Option<(&'s PartitionKey, &'s PartitionKeyDefinition)>,
    pub(super) now: Timestamp,
}

/// A document on its way to the query.
pub(super) struct Candidate<'s> {
    pub(super) document: &'s Document,
    /// How many of its rows were given before.
    pub(super) rows: u64,
    /// Its place in the sequence, before its number.
    pub(super) key: Key,
}

/// What a visit says about the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Go on.
    Next,
    /// The page takes no more; this candidate belongs on the next one, or a part of it does.
    Full,
    /// No candidate can add anything.
    Done,
}

/// How a read of a part came to its end.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PartEnd {
    /// There are no more candidates, or no more are wanted.
    Exhausted,
    /// The page is full, and there are more candidates.
    Full,
    /// It should go on here after others had their turn.
    Paused(Position),
}

/// What is done with each candidate.
pub(super) type Visit<'v> = dyn FnMut(Candidate<'_>) -> Result<Flow, Failure> + 'v;

/// Hands candidates to a visit, a chunk at a time.
pub(super) struct Feeder<'f, 's, 'v> {
    view: View<'s>,
    visit: &'f mut Visit<'v>,
    budget: usize,
}

impl<'f, 's, 'v> Feeder<'f, 's, 'v> {
    pub(super) fn new(view: View<'s>, visit: &'f mut Visit<'v>) -> Feeder<'f, 's, 'v> {
        Feeder { view, visit, budget: CHUNK }
    }

    /// The document of a number, if the query may see it.
    pub(super) fn document(&self, number: u64) -> Option<&'s Document> {
        let View { state, part, key, now } = self.view;
        state.document(number).filter(|document| {
            part.keys.contains(&document.epk)
                && key.is_none_or(|(named, definition)| covers(definition, named, &document.key))
                && state.is_live(document, now)
        })
    }

    /// Hands over one candidate without regard to the chunk; `Some` if that ended the read.
    pub(super) fn hand(&mut self, candidate: Candidate<'_>) -> Result<Option<PartEnd>, Failure> {
        Ok(match (self.visit)(candidate)? {
            Flow::Next => None,
            Flow::Full => Some(PartEnd::Full),
            Flow::Done => Some(PartEnd::Exhausted),
        })
    }

    /// Hands over the document of a number, if there is one; `Some` if the read ends here.
    fn offer(&mut self, number: u64, rows: u64, key: &dyn Fn() -> Key) -> Result<Option<PartEnd>, Failure> {
        let Some(budget) = self.budget.checked_sub(1) else {
            return Ok(Some(PartEnd::Paused(Position { key: key(), number, rows: Some(rows) })));
        };
        self.budget = budget;
        match self.document(number) {
            Some(document) => self.hand(Candidate { document, rows, key: key() }),
            None => Ok(None),
        }
    }

    /// Hands over the documents that `seek` finds, by number.
    pub(super) fn by_number(
        &mut self,
        from: Option<&Position>,
        seek: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<PartEnd, Failure> {
        let end = self.by_seeking(seek, from, false, &|| Key::Number)?;
        Ok(end.unwrap_or(PartEnd::Exhausted))
    }

    /// Hands over the documents of a stretch of terms, by term and number.
    pub(super) fn by_term(
        &mut self,
        terms: &PathTerms,
        span: Span,
        from: Option<&Position>,
    ) -> Result<PartEnd, Failure> {
        let first = from.and_then(|position| match &position.key {
            Key::Term(term) => Some(term),
            Key::Number | Key::Values(_) | Key::Composite(_) => None,
        });
        let span = match first {
            Some(term) => span.and(Span { low: Bound::Included(term.clone()), ..Span::ALL }),
            None => span,
        };
        for (term, postings) in terms.range(&span) {
            let from = from.filter(|_| first == Some(term));
            if let Some(end) = self.by_postings(postings, from, false, &|| Key::Term(term.clone()))? {
                return Ok(end);
            }
        }
        Ok(PartEnd::Exhausted)
    }

    /// Hands over the documents of one entry of an index; `Some` if the read ends here.
    pub(super) fn by_postings(
        &mut self,
        postings: &Postings,
        from: Option<&Position>,
        descending: bool,
        key: &dyn Fn() -> Key,
    ) -> Result<Option<PartEnd>, Failure> {
        let seek =
            |number| if descending { postings.at_or_before(number) } else { postings.at_or_after(number) };
        self.by_seeking(&seek, from, descending, key)
    }

    /// Hands over the documents that `seek` finds, by number in a direction; `Some` if the read ends here.
    ///
    /// `seek` finds the next number that is wanted, in that direction from the given one on.
    pub(super) fn by_seeking(
        &mut self,
        seek: &dyn Fn(u64) -> Option<u64>,
        from: Option<&Position>,
        descending: bool,
        key: &dyn Fn() -> Key,
    ) -> Result<Option<PartEnd>, Failure> {
        let Some((mut next, mut rows)) = start(from, descending) else { return Ok(None) };
        while let Some(number) = seek(next) {
            // Only the document that the position names has rows that were given.
            let rows = Some(std::mem::take(&mut rows)).filter(|_| number == next).unwrap_or(0);
            if let Some(end) = self.offer(number, rows, key)? {
                return Ok(Some(end));
            }
            let after = if descending { number.checked_sub(1) } else { number.checked_add(1) };
            let Some(after) = after else { break };
            next = after;
        }
        Ok(None)
    }
}

/// The first number from a position on and how many of its rows were given; `None` if no number is left.
fn start(from: Option<&Position>, descending: bool) -> Option<(u64, u64)> {
    match from {
        None => Some((if descending { u64::MAX } else { 0 }, 0)),
        Some(Position { number, rows: Some(rows), .. }) => Some((*number, *rows)),
        Some(Position { number, rows: None, .. }) => {
            let next = if descending { number.checked_sub(1) } else { number.checked_add(1) };
            next.map(|next| (next, 0))
        }
    }
}

/// The term that a position of an ordered walk over one path is at.
pub(super) fn term_of(position: &Position) -> Result<Term, Failure> {
    match &position.key {
        Key::Term(term) => Ok(term.clone()),
        Key::Values(values) => match &values[..] {
            [value] => Term::of(value).ok_or_else(mismatched),
            _ => Err(mismatched()),
        },
        Key::Number | Key::Composite(_) => Err(mismatched()),
    }
}

/// A continuation of another query.
pub(super) fn mismatched() -> Failure {
    Failure::bad_request(
        "Invalid Continuation Token: it belongs to another query or to another order of it (start without a token)",
    )
}
