//! Gathering the documents that a query has to look at, from a position on, a batch at a time.
//!
//! Which documents those are is the business of whoever gives the numbers or the entries of an index. The query looks
//! at them when the replica is released: nothing is evaluated here.

use std::ops::Bound;
use std::sync::Arc;

use cosmonaut_wire::PartitionKey;
use cosmonaut_wire::model::PartitionKeyDefinition;

use super::parts::Part;
use super::token::{Key, Position};
use crate::engine::key::covers;
use crate::engine::{Document, ReplicaState};
use crate::index::{Filter, PathTerms, PostingsRef, Span, Term};
use crate::{Failure, Timestamp};

/// The most candidates that are looked for before the replica is released, so that writes get their turn.
///
/// Few in tests, so that their small containers are read in several turns.
pub(super) const CHUNK: usize = if cfg!(test) { 3 } else { 4096 };

/// A replica as a query reads it.
#[derive(Clone, Copy)]
pub(super) struct View<'s> {
    pub(super) state: &'s ReplicaState,
    pub(super) part: &'s Part,
    /// The only partition key, or hierarchical prefix, that the query may see, and what such a key is here.
    pub(super) key: Option<(&'s PartitionKey, &'s PartitionKeyDefinition)>,
    pub(super) now: Timestamp,
    /// What every document with a row fulfils.
    pub(super) filter: Option<&'s Filter>,
}

/// A document on its way to the query.
pub(super) struct Candidate {
    pub(super) document: Arc<Document>,
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

/// What was found.
pub(super) enum Found {
    /// The next candidate.
    One(Candidate),
    /// Documents that share a term but not their value, in no order; and where among them to go on.
    Group(Vec<Arc<Document>>, Option<Position>),
}

/// Candidates in their order, and where those begin that follow them; `None` if there are no more.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) found: Vec<Found>,
    pub(super) next: Option<Position>,
}

/// Gathers a batch of candidates.
pub(super) struct Feeder<'s> {
    view: View<'s>,
    room: usize,
    found: Vec<Found>,
}

impl<'s> Feeder<'s> {
    /// One that looks at so many numbers.
    pub(super) fn new(view: View<'s>, room: usize) -> Feeder<'s> {
        Feeder { view, room, found: Vec::new() }
    }

    pub(super) fn batch(self, next: Option<Position>) -> Batch {
        Batch { found: self.found, next }
    }

    /// The document of a number, if the query may see it.
    pub(super) fn document(&self, number: u64) -> Option<&'s Arc<Document>> {
        let View { state, part, key, now, filter: _ } = self.view;
        state.share(number).filter(|document| {
            part.keys.contains(&document.epk)
                && key.is_none_or(|(named, definition)| covers(definition, named, &document.key))
                && state.is_live(document, now)
        })
    }

    /// Takes the document of a number, if there is one; where to go on, if the batch has no room for it.
    fn offer(&mut self, number: u64, rows: u64, key: &dyn Fn() -> Key) -> Option<Position> {
        let Some(room) = self.room.checked_sub(1) else {
            return Some(Position { key: key(), number, rows: Some(rows) });
        };
        self.room = room;
        if let Some(document) = self.document(number) {
            self.found.push(Found::One(Candidate { document: Arc::clone(document), rows, key: key() }));
        }
        None
    }

    /// Takes documents that share a term but not their value; false, and none taken, if the batch has no room for them.
    pub(super) fn group(&mut self, postings: PostingsRef<'_>, from: Option<&Position>) -> bool {
        if self.room == 0 {
            return false;
        }
        let before = self.room;
        let mut looked = 0;
        let documents = postings.iter().inspect(|_| looked += 1).filter_map(|number| self.document(number));
        let documents = documents.cloned().collect();
        self.room = before.saturating_sub(looked);
        self.found.push(Found::Group(documents, from.cloned()));
        true
    }

    /// Takes the documents that `seek` finds, by number.
    pub(super) fn by_number(
        &mut self,
        from: Option<&Position>,
        seek: &dyn Fn(u64) -> Option<u64>,
    ) -> Option<Position> {
        self.by_seeking(seek, from, false, &|| Key::Number)
    }

    /// Takes the documents of a stretch of terms, by term and number.
    pub(super) fn by_term(
        &mut self,
        terms: &PathTerms,
        span: Span,
        from: Option<&Position>,
    ) -> Option<Position> {
        let first = from.and_then(|position| match &position.key {
            Key::Term(term) => Some(term),
            Key::Number | Key::Values(_) | Key::Composite(_) | Key::Digest(_) => None,
        });
        let span = match first {
            Some(term) => span.and(Span { low: Bound::Included(term.clone()), ..Span::ALL }),
            None => span,
        };
        for (key, postings) in terms.range(&span) {
            let from = from.filter(|_| first == Some(&key.term()));
            if let Some(end) = self.by_postings(postings, from, false, &|| Key::Term(key.term())) {
                return Some(end);
            }
        }
        None
    }

    /// Takes the documents of one entry of an index; where to go on, if not all have room.
    pub(super) fn by_postings(
        &mut self,
        postings: PostingsRef<'_>,
        from: Option<&Position>,
        descending: bool,
        key: &dyn Fn() -> Key,
    ) -> Option<Position> {
        let seek =
            |number| if descending { postings.at_or_before(number) } else { postings.at_or_after(number) };
        self.by_seeking(&seek, from, descending, key)
    }

    /// Takes the documents that `seek` finds, by number in a direction; where to go on, if not all have room.
    ///
    /// `seek` finds the next number that is wanted, in that direction from the given one on.
    pub(super) fn by_seeking(
        &mut self,
        seek: &dyn Fn(u64) -> Option<u64>,
        from: Option<&Position>,
        descending: bool,
        key: &dyn Fn() -> Key,
    ) -> Option<Position> {
        let (mut next, mut rows) = start(from, descending)?;
        while let Some(number) = seek(next) {
            // Only the document that the position names has rows that were given.
            let rows = Some(std::mem::take(&mut rows)).filter(|_| number == next).unwrap_or(0);
            if let Some(end) = self.offer(number, rows, key) {
                return Some(end);
            }
            next = if descending { number.checked_sub(1) } else { number.checked_add(1) }?;
        }
        None
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
        Key::Number | Key::Composite(_) | Key::Digest(_) => Err(mismatched()),
    }
}

/// A continuation of another query.
pub(super) fn mismatched() -> Failure {
    Failure::bad_request(
        "Invalid Continuation Token: it belongs to another query or to another order of it (start without a token)",
    )
}
