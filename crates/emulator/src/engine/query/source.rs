//! Where the candidates of an unordered read come from: an index lookup, a stretch of an index, a key, or everything.
//!
//! Candidates come in an order that can be resumed from a [`Position`]. Whether a candidate has rows is for the
//! compiled query to say.

use cosmonaut_wire::EpkRange;

use super::compiled::Compiled;
use super::feeder::{Batch, Feeder, View, mismatched};
use super::token::{Key, Position};
use crate::Failure;
use crate::engine::{Document, ReplicaState};
use crate::index::{Numbers, PathTerms, Span, Used, numbers_of, only_span, span_of};

/// The most documents of a range of keys that are listed by number.
const LIST_LIMIT: usize = 10_000;

/// The most documents of a stretch that are counted to compare it with other ways.
const COUNT_LIMIT: usize = 50_000;

enum Source<'s> {
    Numbers(Numbers<'s>),
    Walk(Option<&'s PathTerms>, Span),
    /// A walk along terms that the index has no more, and that were listed for this look.
    Listed(PathTerms, Span),
    Scan,
}

/// The next candidates of a part from a position on: no more than there is room for.
pub(super) fn read(
    view: View<'_>,
    compiled: &Compiled,
    from: Option<&Position>,
    used: &mut Used,
    room: usize,
) -> Result<Batch, Failure> {
    let mut feeder = Feeder::new(view, room);
    let next = match choose(view, compiled, from, used)? {
        Source::Numbers(numbers) => feeder.by_number(from, &|number| numbers.at_or_after(number)),
        Source::Scan => feeder
            .by_number(from, &|number| next_document(view.state, number).map(|document| document.number)),
        Source::Walk(None, _) => None,
        Source::Listed(terms, span) => feeder.by_term(&terms, span, from),
        Source::Walk(Some(terms), span) => feeder.by_term(terms, span, from),
    };
    Ok(feeder.batch(next))
}

fn choose<'s>(
    view: View<'s>,
    compiled: &Compiled,
    from: Option<&Position>,
    used: &mut Used,
) -> Result<Source<'s>, Failure> {
    let index = view.state.index();
    let filter = compiled.filter.as_ref();
    let walk = || {
        let (path, span) = span_of(index, filter?)?;
        Some((Source::Walk(index.at(&path.0), span), path))
    };
    match from.map(|position| &position.key) {
        // A walk that was begun goes on as one: its candidates are not in the order of their numbers.
        Some(Key::Term(_)) => {
            // The path may have been excluded since. That is seldom, so it may take long.
            let listed = || {
                let (path, span) = only_span(filter?)?;
                Some(Source::Listed(index.list(&path, view.state.documents()), span))
            };
            return walk().map(|(source, _)| source).or_else(listed).ok_or_else(mismatched);
        }
        Some(Key::Values(_) | Key::Composite(_) | Key::Digest(_)) => return Err(mismatched()),
        Some(Key::Number) | None => {}
    }
    // A sequence that was begun by number goes on by number.
    let walk = if from.is_none() { walk() } else { None };
    let numbers = candidates(view, used);
    Ok(match (numbers, walk) {
        (Some(numbers), Some((source, _))) if !source.is_much_shorter(numbers.estimate()) => {
            Source::Numbers(numbers)
        }
        (_, Some((source, path))) => {
            if !used.paths.contains(&path) {
                used.paths.push(path);
            }
            source
        }
        (Some(numbers), None) => Source::Numbers(numbers),
        (None, None) => Source::Scan,
    })
}

impl Source<'_> {
    /// Whether this is a walk past far fewer documents than `candidates`.
    fn is_much_shorter(&self, candidates: usize) -> bool {
        let enough = (candidates / 4).min(COUNT_LIMIT);
        match self {
            Source::Walk(Some(terms), span) => terms.count(span, enough) < enough,
            Source::Walk(None, _) => true,
            Source::Numbers(_) | Source::Listed(..) | Source::Scan => false,
        }
    }
}

/// The documents that the filter and the keys leave, if they are few enough to be worth finding.
pub(super) fn candidates<'s>(view: View<'s>, used: &mut Used) -> Option<Numbers<'s>> {
    let keys = &view.part.keys;
    if keys.is_empty() {
        return Some(Numbers::List(Vec::new()));
    }
    let index = view.state.index();
    let mut sets: Vec<_> =
        view.filter.into_iter().filter_map(|filter| numbers_of(index, filter, used)).collect();
    if *keys != view.part.range.range {
        let smallest = sets.iter().map(Numbers::estimate).min();
        sets.extend(of_keys(view.state, keys, smallest));
    }
    Numbers::every(sets)
}

/// The documents whose keys are in a range, unless they are many keys and many more documents than `smallest`.
fn of_keys<'s>(state: &'s ReplicaState, keys: &EpkRange, smallest: Option<usize>) -> Option<Numbers<'s>> {
    let mut places = state.places_in(keys);
    let (first, second) = match (places.next(), places.next()) {
        (None, _) => return Some(Numbers::List(Vec::new())),
        (Some(only), None) => return Some(Numbers::Postings(only.postings)),
        (Some(first), Some(second)) => (first, second),
    };
    let limit = smallest.unwrap_or(LIST_LIMIT);
    let all = [first, second].into_iter().chain(places).flat_map(|entry| entry.postings.iter());
    let mut numbers: Vec<u64> = all.take(limit.saturating_add(1)).collect();
    if numbers.len() > limit {
        return None;
    }
    numbers.sort_unstable();
    Some(Numbers::List(numbers))
}

/// The first document from a number on.
pub(super) fn next_document(state: &ReplicaState, number: u64) -> Option<&Document> {
    match number.checked_sub(1) {
        Some(before) => state.documents_after(before).next(),
        None => state.documents().next(),
    }
}
