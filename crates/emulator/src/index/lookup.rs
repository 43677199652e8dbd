//! Filters turned into sets of document numbers that can be sought in, without listing what need not be listed.
//!
//! A set holds every document that the filter keeps and possibly others. What a filter's query means is not known here.

use std::ops::Bound;

use cosmonaut_query::search::Language;
use cosmonaut_query::spatial::{Rectangle, Surface};
use cosmonaut_query::value::Value;

use super::path::{IndexPath, Step};
use super::postings::PostingsRef;
use super::term::Term;
use super::terms::{PathTerms, Span};
use super::{Coverage, Index};

/// The most numbers that are listed from a stretch of terms; longer ones are walked, or left to be tested.
///
/// Few in tests, so that their small containers come to it.
const LIST_LIMIT: usize = if cfg!(test) { 4 } else { 10_000 };

/// The most documents that are listed from a spatial index; where there are more, all are tested.
///
/// Few in tests, so that their small containers come to it.
const SHAPE_LIMIT: usize = if cfg!(test) { 64 } else { 100_000 };

/// With no more sets than this, all of them are sought in for each number.
///
/// One in tests, so that their small containers come to it.
const FEW_SETS: usize = if cfg!(test) { 1 } else { 32 };

/// About how many numbers are looked for at a time.
///
/// One in tests, so that their small containers come to both ways.
const SOUGHT_AT_ONCE: usize = if cfg!(test) { 1 } else { 4096 };

/// A condition on terms or shapes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Filter {
    /// All of these hold.
    All(Vec<Filter>),
    /// At least one of these holds.
    Any(Vec<Filter>),
    /// The path has one of these terms.
    Terms(IndexPath, Vec<Term>),
    /// The path has a term of this stretch.
    Span(IndexPath, Span),
    /// The path has a shape that touches one of these rectangles, of coordinates on this surface.
    Touches(IndexPath, Surface, Vec<Rectangle>),
    /// The path has a text with terms. They are looked for beforehand, which makes this [`Filter::Found`].
    Text(TextFilter),
    /// The document is one of those that were found to have so many terms at the path.
    Found(IndexPath, usize, Found),
}

/// A condition on the text at a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextFilter {
    pub(crate) path: IndexPath,
    /// The language of texts at that path.
    pub(crate) language: Language,
    /// Each a string or an object that describes a term.
    pub(crate) terms: Vec<Value>,
    /// Whether the text has all of them, or any.
    pub(crate) all: bool,
}

/// What was found of a condition on texts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    /// No index holds the texts.
    NotIndexed,
    /// The index cannot tell.
    Unknown,
    /// The documents that may fulfil it, sorted.
    Documents(Vec<u64>),
}

impl Filter {
    /// Whether texts have to be looked for.
    pub(crate) fn asks_for_texts(&self) -> bool {
        match self {
            Filter::All(parts) | Filter::Any(parts) => parts.iter().any(Filter::asks_for_texts),
            Filter::Text(_) => true,
            Filter::Terms(..) | Filter::Span(..) | Filter::Touches(..) | Filter::Found(..) => false,
        }
    }

    /// The same filter with what `find` finds of its texts.
    pub(crate) fn with_texts<E>(
        &self,
        find: &mut impl FnMut(&TextFilter) -> Result<Found, E>,
    ) -> Result<Filter, E> {
        let mut each =
            |parts: &[Filter]| parts.iter().map(|part| part.with_texts(find)).collect::<Result<Vec<_>, E>>();
        Ok(match self {
            Filter::All(parts) => Filter::All(each(parts)?),
            Filter::Any(parts) => Filter::Any(each(parts)?),
            Filter::Text(text) => Filter::Found(text.path.clone(), text.terms.len(), find(text)?),
            Filter::Terms(..) | Filter::Span(..) | Filter::Touches(..) | Filter::Found(..) => self.clone(),
        })
    }
}

/// A set of document numbers.
pub(crate) enum Numbers<'i> {
    /// The documents with one term.
    Postings(PostingsRef<'i>),
    /// A sorted list.
    List(Vec<u64>),
    /// A sorted list that was made before.
    Found(&'i [u64]),
    /// What is in at least one of these.
    Any(Vec<Numbers<'i>>),
    /// What is in all of these.
    Every(Vec<Numbers<'i>>),
}

/// What a lookup did.
#[derive(Debug, Default)]
pub(crate) struct Used {
    /// How many places of the index were sought.
    pub(crate) lookups: usize,
    /// The paths that narrowed the result.
    pub(crate) paths: Vec<IndexPath>,
    /// The paths that would have, were they indexed.
    pub(crate) missed: Vec<IndexPath>,
    /// The paths whose spatial indexes narrowed the result.
    pub(crate) shapes: Vec<IndexPath>,
    /// The paths whose spatial indexes would have, were there any.
    pub(crate) missed_shapes: Vec<IndexPath>,
}

impl Used {
    /// Adds what another lookup did.
    pub(crate) fn add(&mut self, other: Used) {
        let Used { lookups, paths, missed, shapes, missed_shapes } = other;
        self.lookups += lookups;
        let lists = [
            (&mut self.paths, paths),
            (&mut self.missed, missed),
            (&mut self.shapes, shapes),
            (&mut self.missed_shapes, missed_shapes),
        ];
        for (list, more) in lists {
            more.iter().for_each(|path| note(list, path));
        }
    }
}

/// The documents that `filter` may keep; `None` if the index cannot tell, or only by listing very many.
pub(crate) fn numbers_of<'i>(index: &'i Index, filter: &'i Filter, used: &mut Used) -> Option<Numbers<'i>> {
    evaluate(index, filter, used)
}

/// The first stretch of terms that a filter demands of a path outside arrays, all its demands on that path combined.
///
/// It depends on the filter and the policy alone, so a walk that was begun can be found again.
pub(crate) fn span_of(index: &Index, filter: &Filter) -> Option<(IndexPath, Span)> {
    let parts = match filter {
        Filter::All(parts) => &parts[..],
        Filter::Any(_)
        | Filter::Terms(..)
        | Filter::Span(..)
        | Filter::Touches(..)
        | Filter::Text(_)
        | Filter::Found(..) => std::slice::from_ref(filter),
    };
    let walkable = |part: &Filter| match part {
        Filter::Span(path, _) if is_walkable(index, path) => Some(path.clone()),
        _ => None,
    };
    let path = parts.iter().find_map(walkable)?;
    Some((path.clone(), narrowed(parts, &path)))
}

/// The stretch of terms that a filter demands of the only path outside arrays of which it demands one; none if there are
/// several. Indexed or not, a walk that was begun has followed it.
pub(crate) fn only_span(filter: &Filter) -> Option<(IndexPath, Span)> {
    let parts = match filter {
        Filter::All(parts) => &parts[..],
        Filter::Any(_)
        | Filter::Terms(..)
        | Filter::Span(..)
        | Filter::Touches(..)
        | Filter::Text(_)
        | Filter::Found(..) => std::slice::from_ref(filter),
    };
    let mut paths = parts.iter().filter_map(|part| match part {
        Filter::Span(path, _) if !path.0.contains(&Step::Element) => Some(path),
        Filter::Span(..)
        | Filter::All(_)
        | Filter::Any(_)
        | Filter::Terms(..)
        | Filter::Touches(..)
        | Filter::Text(_)
        | Filter::Found(..) => None,
    });
    let path = paths.next()?;
    paths.all(|other| other == path).then(|| (path.clone(), narrowed(parts, path)))
}

/// The stretch that a filter demands of `path`; everything if it demands none.
pub(crate) fn span_at(filter: &Filter, path: &IndexPath) -> Span {
    match filter {
        Filter::All(parts) => narrowed(parts, path),
        Filter::Any(_)
        | Filter::Terms(..)
        | Filter::Span(..)
        | Filter::Touches(..)
        | Filter::Text(_)
        | Filter::Found(..) => narrowed(std::slice::from_ref(filter), path),
    }
}

/// Whether each document with a value at `path` is found there exactly once.
fn is_walkable(index: &Index, path: &IndexPath) -> bool {
    !path.0.contains(&Step::Element) && index.coverage(&path.0) == Coverage::Indexed
}

fn narrowed(parts: &[Filter], path: &IndexPath) -> Span {
    parts.iter().fold(Span::ALL, |span, part| match part {
        Filter::Span(at, narrower) if at == path => span.and(narrower.clone()),
        Filter::Terms(at, terms) if at == path && terms.len() == 1 => {
            span.and(Span { low: Bound::Included(terms[0].clone()), high: Bound::Included(terms[0].clone()) })
        }
        _ => span,
    })
}

fn evaluate<'i>(index: &'i Index, filter: &'i Filter, used: &mut Used) -> Option<Numbers<'i>> {
    match filter {
        Filter::All(parts) => every(index, parts, used),
        Filter::Any(parts) => {
            let parts = parts.iter().map(|part| evaluate(index, part, used)).collect::<Option<Vec<_>>>()?;
            Some(Numbers::any(parts))
        }
        Filter::Terms(path, terms) => {
            let at = located(index, path, used)?;
            used.lookups += terms.len();
            let found = terms.iter().filter_map(|term| at?.get(term)).map(Numbers::Postings).collect();
            Some(Numbers::any(found))
        }
        Filter::Span(path, span) => {
            let Some(at) = located(index, path, used)? else { return Some(Numbers::List(Vec::new())) };
            used.lookups += 1;
            if at.count(span, LIST_LIMIT) > LIST_LIMIT {
                return None;
            }
            let mut list: Vec<u64> = at.range(span).flat_map(|(_, postings)| postings.iter()).collect();
            list.sort_unstable();
            list.dedup();
            Some(Numbers::List(list))
        }
        Filter::Touches(path, surface, rectangles) => {
            let covered = index.covers_shapes(&path.0, *surface);
            note(if covered { &mut used.shapes } else { &mut used.missed_shapes }, path);
            used.lookups += usize::from(covered);
            covered.then(|| index.touching(&path.0, rectangles, SHAPE_LIMIT))?.map(Numbers::List)
        }
        // It was not looked for, so nothing is known.
        Filter::Text(_) => None,
        Filter::Found(path, terms, found) => {
            let is_indexed = !matches!(found, Found::NotIndexed);
            note(if is_indexed { &mut used.paths } else { &mut used.missed }, path);
            used.lookups += terms;
            match found {
                Found::Documents(numbers) => Some(Numbers::Found(numbers)),
                Found::NotIndexed | Found::Unknown => None,
            }
        }
    }
}

/// Adds a path to a list that does not have it yet.
fn note(list: &mut Vec<IndexPath>, path: &IndexPath) {
    if !list.contains(path) {
        list.push(path.clone());
    }
}

/// The terms at a path, `Some(None)` if there are none, `None` if the path is not indexed; and takes note of it.
fn located<'i>(index: &'i Index, path: &IndexPath, used: &mut Used) -> Option<Option<&'i PathTerms>> {
    let indexed = index.coverage(&path.0) == Coverage::Indexed;
    note(if indexed { &mut used.paths } else { &mut used.missed }, path);
    indexed.then(|| index.at(&path.0))
}

fn every<'i>(index: &'i Index, parts: &'i [Filter], used: &mut Used) -> Option<Numbers<'i>> {
    // Stretches come last, because nothing has to be listed from them once a set is known to be empty.
    let (spans, others): (Vec<_>, Vec<_>) = parts.iter().partition(|part| matches!(part, Filter::Span(..)));
    let mut found: Vec<Numbers<'i>> = Vec::new();
    for part in others.into_iter().chain(spans) {
        if found.iter().any(|set| set.estimate() == 0) {
            break;
        }
        found.extend(evaluate(index, part, used));
    }
    Numbers::every(found)
}

impl<'i> Numbers<'i> {
    fn any(mut parts: Vec<Numbers<'i>>) -> Numbers<'i> {
        match parts.len() {
            0 => Numbers::List(Vec::new()),
            1 => parts.remove(0),
            count => {
                // To seek in thousands of sets for each number takes longer than to list all numbers, unless these are many.
                let numbers = parts.iter().map(Numbers::estimate).fold(0, usize::saturating_add);
                let pays = count > FEW_SETS && numbers <= count.saturating_mul(SOUGHT_AT_ONCE);
                let listed = if pays { Numbers::listed(&parts) } else { None };
                listed.map_or(Numbers::Any(parts), Numbers::List)
            }
        }
    }

    /// All numbers of sets that can be gone through, sorted; none if one of them cannot.
    fn listed(parts: &[Numbers<'i>]) -> Option<Vec<u64>> {
        let mut list = Vec::new();
        for part in parts {
            match part {
                Numbers::Postings(postings) => list.extend(postings.iter()),
                Numbers::List(numbers) => list.extend(numbers),
                Numbers::Found(numbers) => list.extend(*numbers),
                Numbers::Any(_) | Numbers::Every(_) => return None,
            }
        }
        list.sort_unstable();
        list.dedup();
        Some(list)
    }

    /// What is in all of `parts`, the smallest of which leads; `None` if there are no parts.
    pub(crate) fn every(mut parts: Vec<Numbers<'i>>) -> Option<Numbers<'i>> {
        parts.sort_by_key(Numbers::estimate);
        match parts.len() {
            0 => None,
            1 => Some(parts.remove(0)),
            _ => Some(Numbers::Every(parts)),
        }
    }

    /// About how many numbers there are; `usize::MAX` if that is not known.
    pub(crate) fn estimate(&self) -> usize {
        match self {
            Numbers::Postings(postings) => postings.len(),
            Numbers::List(list) => list.len(),
            Numbers::Found(list) => list.len(),
            Numbers::Any(parts) => parts.iter().map(Numbers::estimate).fold(0, usize::saturating_add),
            Numbers::Every(parts) => parts.iter().map(Numbers::estimate).min().unwrap_or(0),
        }
    }

    /// The least number that is not less than `number`.
    pub(crate) fn at_or_after(&self, number: u64) -> Option<u64> {
        match self {
            Numbers::Postings(postings) => postings.at_or_after(number),
            Numbers::List(list) => next_in(list, number),
            Numbers::Found(list) => next_in(list, number),
            Numbers::Any(parts) => parts.iter().filter_map(|part| part.at_or_after(number)).min(),
            Numbers::Every(parts) => leapfrog(parts, number),
        }
    }
}

fn next_in(list: &[u64], number: u64) -> Option<u64> {
    list.get(list.partition_point(|known| *known < number)).copied()
}

/// Each part in turn moves on to the first number that it shares with the one before, until all agree.
fn leapfrog(parts: &[Numbers<'_>], mut number: u64) -> Option<u64> {
    let mut agreed = 0;
    for part in parts.iter().cycle() {
        let found = part.at_or_after(number)?;
        agreed = if found == number { agreed + 1 } else { 1 };
        number = found;
        if agreed >= parts.len() {
            return Some(number);
        }
    }
    None
}
