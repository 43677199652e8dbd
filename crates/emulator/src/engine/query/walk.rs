//! Reading documents in the order of an index, from a position on.
//!
//! Whether that is the best way to an order is decided in [`order_choice`](super::order_choice).

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use cosmonaut_query::raw::RawJson;
use cosmonaut_query::value::Value;

use super::compiled::Compiled;
use super::feeder::{Batch, Candidate, Feeder, View, mismatched, term_of};
use super::page::PageRun;
use super::resume::turned;
use super::source::next_document;
use super::token::{Key, Position};
use crate::Failure;
use crate::engine::Document;
use crate::index::{Composite, Filter, IndexPath, OrderPart, Span, Step, span_at};

/// The next documents in the order of one path, those without a value before all others or after them.
pub(super) fn along_path(
    page: &mut PageRun<'_>,
    view: View<'_>,
    order: &OrderPart,
    from: Option<&Position>,
) -> Result<Batch, Failure> {
    let (defined, undefined): (Read, Read) = (along_terms, along_undefined);
    let (first, second) = if order.descending { (defined, undefined) } else { (undefined, defined) };
    let begun_undefined = from.map(|position| value_of(position).is_some_and(Value::is_undefined));
    let mut feeder = Feeder::new(view, page.room);
    let next = match begun_undefined == Some(order.descending) {
        true => second(page, view, &mut feeder, order, from)?,
        false => match first(page, view, &mut feeder, order, from)? {
            Some(next) => Some(next),
            None => second(page, view, &mut feeder, order, None)?,
        },
    };
    Ok(feeder.batch(next))
}

/// Reads a part of a path's documents from a position on; where to go on, if not all have room.
type Read = for<'s> fn(
    &mut PageRun<'_>,
    View<'s>,
    &mut Feeder<'s>,
    &OrderPart,
    Option<&Position>,
) -> Result<Option<Position>, Failure>;

/// The documents that have no value at the path. No index lists them, so all documents are candidates, unless there can
/// be none; [`is_elsewhere`] tells which of them to leave out.
fn along_undefined<'s>(
    page: &mut PageRun<'_>,
    view: View<'s>,
    feeder: &mut Feeder<'s>,
    order: &OrderPart,
    from: Option<&Position>,
) -> Result<Option<Position>, Failure> {
    let with_value = view.state.index().at(&order.path.0).map_or(0, |terms| terms.count(&Span::ALL, 0));
    let span = page.compiled.filter.as_ref().map_or(Span::ALL, |filter| span_at(filter, &order.path));
    if span != Span::ALL || with_value >= view.state.len() {
        return Ok(None);
    }
    let backwards = page.ties_descending();
    let seek = |number| {
        let found = match backwards {
            true => view.state.documents_up_to(number).next_back(),
            false => next_document(view.state, number),
        };
        found.map(|document| document.number)
    };
    Ok(feeder.by_seeking(&seek, from, backwards, &|| Key::Values(vec![Value::Undefined])))
}

/// Whether a candidate that was taken for one without a value has one.
pub(super) fn is_elsewhere(compiled: &Compiled, candidate: &Candidate) -> bool {
    let is_undefined =
        matches!(&candidate.key, Key::Values(values) if matches!(&values[..], [Value::Undefined]));
    let order = compiled.order.as_deref();
    is_undefined && order.is_some_and(|order| has_value(&candidate.document, &order[0].path))
}

fn has_value(document: &Document, path: &IndexPath) -> bool {
    let text = document.text();
    let found = path.0.iter().try_fold(RawJson::new(&text), |value, step| match step {
        Step::Member(name) => value.member(name),
        Step::Element => None,
    });
    found.is_some()
}

/// The documents that have a value at the path.
fn along_terms<'s>(
    page: &mut PageRun<'_>,
    view: View<'s>,
    feeder: &mut Feeder<'s>,
    order: &OrderPart,
    from: Option<&Position>,
) -> Result<Option<Position>, Failure> {
    let Some(terms) = view.state.index().at(&order.path.0) else { return Ok(None) };
    let first = from.map(term_of).transpose()?;
    let filter = page.compiled.filter.as_ref();
    let mut span = filter.map_or(Span::ALL, |filter| span_at(filter, &order.path));
    if let Some(term) = &first {
        let at = Bound::Included(term.clone());
        let rest =
            if order.descending { Span { high: at, ..Span::ALL } } else { Span { low: at, ..Span::ALL } };
        span = span.and(rest);
    }
    let ties_descending = page.ties_descending();
    let mut entries = terms.range(&span);
    let mut next = None;
    while let Some((key, postings)) = if order.descending { entries.next_back() } else { entries.next() } {
        let term = key.term();
        let from = from.filter(|_| first.as_ref() == Some(&term));
        let key = || Key::Term(term.clone());
        if term.is_exact() {
            next = feeder.by_postings(postings, from, ties_descending, &key);
        } else if !feeder.group(postings, from) {
            next = Some(begin(key(), ties_descending));
        }
        if next.is_some() {
            break;
        }
    }
    page.tally.used.lookups += 1;
    Ok(next)
}

/// The position before all documents of a key.
pub(super) fn begin(key: Key, descending: bool) -> Position {
    Position { key, number: if descending { u64::MAX } else { 0 }, rows: Some(0) }
}

/// Puts documents in order that share a term but not their value, from a position on.
pub(super) fn in_order(
    documents: Vec<Arc<Document>>,
    from: Option<&Position>,
    (descending, ties_descending): (bool, bool),
    keys: &dyn Fn(&Document) -> Result<Key, Failure>,
) -> Result<Vec<Candidate>, Failure> {
    let mut members = Vec::with_capacity(documents.len());
    for document in documents {
        // A document without rows has no values either, and nothing to give.
        if let Key::Values(values) = keys(&document)?
            && let [value] = &values[..]
        {
            members.push((value.clone(), document));
        }
    }
    let compare = |(a, x): (&Value, u64), (b, y): (&Value, u64)| {
        turned(a.total_cmp(b), descending).then(turned(x.cmp(&y), ties_descending))
    };
    members.sort_by(|(a, x), (b, y)| compare((a, x.number), (b, y.number)));
    let reached = from.and_then(|position| Some((value_of(position)?, position)));
    let candidate = |(value, document): (Value, Arc<Document>)| {
        let mut rows = 0;
        if let Some((last, position)) = reached {
            match compare((&value, document.number), (last, position.number)) {
                Ordering::Less => return None,
                Ordering::Equal => rows = position.rows?,
                Ordering::Greater => {}
            }
        }
        Some(Candidate { document, rows, key: Key::Values(vec![value]) })
    };
    Ok(members.into_iter().filter_map(candidate).collect())
}

fn value_of(position: &Position) -> Option<&Value> {
    match &position.key {
        Key::Values(values) => values.first(),
        Key::Number | Key::Term(_) | Key::Composite(_) | Key::Digest(_) => None,
    }
}

/// The next documents in the order of a composite index, or the opposite.
pub(super) fn along_composite(
    page: &mut PageRun<'_>,
    view: View<'_>,
    composite: &Composite,
    backwards: bool,
    from: Option<&Position>,
) -> Result<Batch, Failure> {
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
    let mut feeder = Feeder::new(view, page.room);
    let mut entries = composite.entries().range::<[u8], _>((low, high));
    let mut next = None;
    while let Some((entry, postings)) = if backwards { entries.next_back() } else { entries.next() } {
        let from = from.filter(|_| first.as_deref() == Some(&entry[..]));
        next = feeder.by_postings(postings.into(), from, ties_descending, &|| Key::Composite(entry.clone()));
        if next.is_some() {
            break;
        }
    }
    page.tally.used.lookups += 1;
    Ok(feeder.batch(next))
}

/// The entry that a position is at.
fn entry_of(composite: &Composite, position: &Position) -> Result<Vec<u8>, Failure> {
    match &position.key {
        Key::Composite(entry) => Ok(entry.to_vec()),
        Key::Values(values) if values.len() == composite.parts().len() => Ok(composite.encode(values)),
        Key::Values(_) | Key::Number | Key::Term(_) | Key::Digest(_) => Err(mismatched()),
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
    composite.encode(&values)
}

/// The first bytes after all that begin with `prefix`; `None` if there are none.
pub(super) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let keep = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut after = prefix[..=keep].to_vec();
    after[keep] += 1;
    Some(after)
}
