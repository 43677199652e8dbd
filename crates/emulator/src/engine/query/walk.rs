//! Reading documents in the order of an index, from a position on.
//!
//! Whether that is the best way to an order is decided in [`ordered`](super::ordered).

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use cosmonaut_query::value::Value;

use super::feeder::{Batch, Candidate, Feeder, View, mismatched, term_of};
use super::page::PageRun;
use super::token::{Key, Position};
use crate::Failure;
use crate::engine::Document;
use crate::index::{Composite, Filter, IndexPath, OrderPart, Span, span_at};

/// The next documents in the order of one path.
pub(super) fn along_path(
    page: &mut PageRun<'_>,
    view: View<'_>,
    order: &OrderPart,
    from: Option<&Position>,
) -> Result<Batch, Failure> {
    let Some(terms) = view.state.index().at(&order.path.0) else { return Ok(Batch::default()) };
    let first = from.map(term_of).transpose()?;
    let filter = page.compiled.filter.as_ref();
    let mut span = filter.map_or(Span::ALL, |filter| span_at(filter, &order.path));
    if let Some(term) = &first {
        let at = Bound::Included(term.clone());
        let rest =
            if order.descending { Span { high: at, ..Span::ALL } } else { Span { low: at, ..Span::ALL } };
        span = span.and(rest);
    }
    let mut feeder = Feeder::new(view, page.room);
    let mut entries = terms.range(&span);
    let mut next = None;
    while let Some((term, postings)) = if order.descending { entries.next_back() } else { entries.next() } {
        let from = from.filter(|_| first.as_ref() == Some(term));
        let key = || Key::Term(term.clone());
        if term.is_exact() {
            next = feeder.by_postings(postings, from, order.descending, &key);
        } else if !feeder.group(postings, from) {
            next = Some(begin(key(), order.descending));
        }
        if next.is_some() {
            break;
        }
    }
    page.tally.used.lookups += 1;
    Ok(feeder.batch(next))
}

/// The position before all documents of a key.
fn begin(key: Key, descending: bool) -> Position {
    Position { key, number: if descending { u64::MAX } else { 0 }, rows: Some(0) }
}

/// Puts documents in order that share a term but not their value, from a position on.
pub(super) fn in_order(
    documents: Vec<Arc<Document>>,
    from: Option<&Position>,
    descending: bool,
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
    let turned = |order: Ordering| if descending { order.reverse() } else { order };
    members.sort_by(|(a, x), (b, y)| turned(a.total_cmp(b).then(x.number.cmp(&y.number))));
    let reached = from.and_then(|position| Some((value_of(position)?, position)));
    let candidate = |(value, document): (Value, Arc<Document>)| {
        let mut rows = 0;
        if let Some((last, position)) = reached {
            match turned(value.total_cmp(last).then(document.number.cmp(&position.number))) {
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
        Key::Number | Key::Term(_) | Key::Composite(_) => None,
    }
}

/// The next documents in the order of a composite index, or the opposite; equal ones in a direction of their own.
pub(super) fn along_composite(
    page: &mut PageRun<'_>,
    view: View<'_>,
    composite: &Composite,
    (backwards, ties_descending): (bool, bool),
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
    let mut feeder = Feeder::new(view, page.room);
    let mut entries = composite.entries().range::<[u8], _>((low, high));
    let mut next = None;
    while let Some((entry, postings)) = if backwards { entries.next_back() } else { entries.next() } {
        let from = from.filter(|_| first.as_deref() == Some(&entry[..]));
        next = feeder.by_postings(postings, from, ties_descending, &|| Key::Composite(entry.clone()));
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
