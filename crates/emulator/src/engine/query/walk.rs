//! Reading documents in the order of an index, from a position on.
//!
//! Whether that is the best way to an order is decided in [`order_choice`](super::order_choice).

use std::cmp::Ordering;
use std::ops::Bound;

use cosmonaut_query::raw::RawJson;
use cosmonaut_query::value::Value;

use super::feeder::{Candidate, Feeder, Flow, PartEnd, View, mismatched, term_of};
use super::page::{PageRun, order_key};
use super::resume::turned;
use super::source::next_document;
use super::token::{Key, Position};
use crate::Failure;
use crate::engine::Document;
use crate::index::{Composite, Filter, IndexPath, OrderPart, Postings, Span, Step, Term, span_at};

/// Takes documents in the order of one path, those without a value before all others or after them.
pub(super) fn along_path(
    page: &mut PageRun<'_>,
    view: View<'_>,
    order: &OrderPart,
    from: Option<&Position>,
) -> Result<PartEnd, Failure> {
    let (defined, undefined): (Read, Read) = (along_terms, along_undefined);
    let (first, second) = if order.descending { (defined, undefined) } else { (undefined, defined) };
    let begun_undefined = from.map(|position| value_of(position).is_some_and(Value::is_undefined));
    if begun_undefined == Some(order.descending) {
        return second(page, view, order, from);
    }
    match first(page, view, order, from)? {
        PartEnd::Exhausted => second(page, view, order, None),
        end @ (PartEnd::Full | PartEnd::Paused(_)) => Ok(end),
    }
}

/// Reads a part of a path's documents from a position on.
type Read = fn(&mut PageRun<'_>, View<'_>, &OrderPart, Option<&Position>) -> Result<PartEnd, Failure>;

/// Takes the documents that have no value at the path. No index lists them, so all documents are looked at, unless
/// there can be none.
fn along_undefined(
    page: &mut PageRun<'_>,
    view: View<'_>,
    order: &OrderPart,
    from: Option<&Position>,
) -> Result<PartEnd, Failure> {
    let with_value = view.state.index().at(&order.path.0).map_or(0, |terms| terms.count(&Span::ALL, 0));
    let span = page.compiled.filter.as_ref().map_or(Span::ALL, |filter| span_at(filter, &order.path));
    if span != Span::ALL || with_value >= view.state.len() {
        return Ok(PartEnd::Exhausted);
    }
    let backwards = page.ties_descending();
    let seek = |number| {
        let found = match backwards {
            true => view.state.documents_up_to(number).next_back(),
            false => next_document(view.state, number),
        };
        found.map(|document| document.number)
    };
    let mut visit = |candidate: Candidate<'_>| match has_value(candidate.document, &order.path) {
        true if page.output.is_full() => Ok(Flow::Full),
        true => Ok(Flow::Next),
        false => page.take(candidate),
    };
    let undefined = || Key::Values(vec![Value::Undefined]);
    let end = Feeder::new(view, &mut visit).by_seeking(&seek, from, backwards, &undefined)?;
    Ok(end.unwrap_or(PartEnd::Exhausted))
}

fn has_value(document: &Document, path: &IndexPath) -> bool {
    let body = RawJson::new(&document.body);
    let found = path.0.iter().try_fold(body, |value, step| match step {
        Step::Member(name) => value.member(name),
        Step::Element => None,
    });
    found.is_some()
}

/// Takes the documents that have a value at the path.
fn along_terms(
    page: &mut PageRun<'_>,
    view: View<'_>,
    order: &OrderPart,
    from: Option<&Position>,
) -> Result<PartEnd, Failure> {
    let Some(terms) = view.state.index().at(&order.path.0) else { return Ok(PartEnd::Exhausted) };
    let first = from.map(term_of).transpose()?;
    let filter = page.compiled.filter.as_ref();
    let mut span = filter.map_or(Span::ALL, |filter| span_at(filter, &order.path));
    if let Some(term) = &first {
        let at = Bound::Included(term.clone());
        let rest =
            if order.descending { Span { high: at, ..Span::ALL } } else { Span { low: at, ..Span::ALL } };
        span = span.and(rest);
    }
    let program = page.compiled.program.clone();
    let ties_descending = page.ties_descending();
    let mut visit = |candidate: Candidate<'_>| page.take(candidate);
    let feeder = Feeder::new(view, &mut visit);
    let mut walk = PathWalk { feeder, order, ties_descending, from, first: first.as_ref() };
    let mut entries = terms.range(&span);
    let mut end = PartEnd::Exhausted;
    while let Some((term, postings)) = if order.descending { entries.next_back() } else { entries.next() } {
        let keys = |document: &Document| order_key(&program, document);
        if let Some(found) = walk.term(term, postings, &keys)? {
            end = found;
            break;
        }
    }
    page.tally.used.lookups += 1;
    Ok(end)
}

/// A walk along the index of one path.
struct PathWalk<'w, 's, 'v> {
    feeder: Feeder<'w, 's, 'v>,
    order: &'w OrderPart,
    ties_descending: bool,
    from: Option<&'w Position>,
    first: Option<&'w Term>,
}

impl PathWalk<'_, '_, '_> {
    fn term(
        &mut self,
        term: &Term,
        postings: &Postings,
        keys: &dyn Fn(&Document) -> Result<Key, Failure>,
    ) -> Result<Option<PartEnd>, Failure> {
        let from = self.from.filter(|_| self.first == Some(term));
        if term.is_exact() {
            return self
                .feeder
                .by_postings(postings, from, self.ties_descending, &|| Key::Term(term.clone()));
        }
        self.group(postings, from, keys)
    }

    /// Documents that share a term but not their value: they are put in order here.
    fn group(
        &mut self,
        postings: &Postings,
        from: Option<&Position>,
        keys: &dyn Fn(&Document) -> Result<Key, Failure>,
    ) -> Result<Option<PartEnd>, Failure> {
        let mut members = Vec::new();
        for document in postings.iter().filter_map(|number| self.feeder.document(number)) {
            // A document without rows has no values either, and nothing to give.
            if let Key::Values(values) = keys(document)?
                && let [value] = &values[..]
            {
                members.push((value.clone(), document));
            }
        }
        let compare = |(a, x): (&Value, u64), (b, y): (&Value, u64)| {
            let by_value = turned(a.total_cmp(b), self.order.descending);
            by_value.then(turned(x.cmp(&y), self.ties_descending))
        };
        members.sort_by(|(a, x), (b, y)| compare((a, x.number), (b, y.number)));
        let reached = from.and_then(|position| Some((value_of(position)?, position)));
        for (value, document) in members {
            let mut rows = 0;
            if let Some((last, position)) = reached {
                match compare((&value, document.number), (last, position.number)) {
                    Ordering::Less => continue,
                    Ordering::Equal => match position.rows {
                        None => continue,
                        Some(given) => rows = given,
                    },
                    Ordering::Greater => {}
                }
            }
            let key = Key::Values(vec![value]);
            if let Some(end) = self.feeder.hand(Candidate { document, rows, key })? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }
}

fn value_of(position: &Position) -> Option<&Value> {
    match &position.key {
        Key::Values(values) => values.first(),
        Key::Number | Key::Term(_) | Key::Composite(_) => None,
    }
}

/// Takes documents in the order of a composite index, or the opposite; equal ones in a direction of their own.
pub(super) fn along_composite(
    page: &mut PageRun<'_>,
    view: View<'_>,
    composite: &Composite,
    backwards: bool,
    from: Option<&Position>,
) -> Result<PartEnd, Failure> {
    let first = from.map(|position| entry_of(composite, position)).transpose()?;
    let prefix = equal_prefix(page.compiled.filter.as_ref(), composite);
    let after = after_prefix(&prefix);
    let (mut low, mut high) =
        (Bound::Included(&prefix[..]), after.as_deref().map_or(Bound::Unbounded, Bound::Excluded));
    if let Some(first) = &first {
        if !first.starts_with(&prefix) {
            return Err(mismatched());
        }
        let at = Bound::Included(&first[..]);
        if backwards { high = at } else { low = at }
    }
    let ties_descending = page.ties_descending();
    let mut visit = |candidate: Candidate<'_>| page.take(candidate);
    let mut feeder = Feeder::new(view, &mut visit);
    let mut entries = composite.entries().range::<[u8], _>((low, high));
    let mut end = PartEnd::Exhausted;
    while let Some((entry, postings)) = if backwards { entries.next_back() } else { entries.next() } {
        let from = from.filter(|_| first.as_deref() == Some(&entry[..]));
        if let Some(found) =
            feeder.by_postings(postings, from, ties_descending, &|| Key::Composite(entry.clone()))?
        {
            end = found;
            break;
        }
    }
    page.tally.used.lookups += 1;
    Ok(end)
}

/// The entry that a position is at.
fn entry_of(composite: &Composite, position: &Position) -> Result<Vec<u8>, Failure> {
    match &position.key {
        Key::Composite(entry) => Ok(entry.to_vec()),
        Key::Values(values) if values.len() == composite.parts().len() => {
            Ok(composite.encode(values.iter().cloned()))
        }
        Key::Values(_) | Key::Number | Key::Term(_) => Err(mismatched()),
    }
}

/// What all entries that the filter can keep begin with: the values that it demands of the leading paths.
pub(super) fn equal_prefix(filter: Option<&Filter>, composite: &Composite) -> Vec<u8> {
    let parts = match filter {
        Some(Filter::All(parts)) => &parts[..],
        Some(filter) => std::slice::from_ref(filter),
        None => &[],
    };
    let demanded = |path: &IndexPath| {
        parts.iter().find_map(|part| match part {
            Filter::Terms(at, terms) if at == path => match &terms[..] {
                [term] if term.is_exact() => Some(term.to_value()),
                _ => None,
            },
            _ => None,
        })
    };
    let values: Vec<Value> = composite.parts().iter().map_while(|part| demanded(&part.path)).collect();
    composite.encode(values)
}

/// The first bytes after all that begin with `prefix`; `None` if there are none.
pub(super) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let keep = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut after = prefix[..=keep].to_vec();
    after[keep] += 1;
    Some(after)
}
