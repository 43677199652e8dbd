//! From what a query's text says about paths to what the index can be asked.
//!
//! Computed properties are in no document and so in no index: conditions on them restrict nothing.

use std::ops::Bound;

use cosmonaut_query::Setting;
use cosmonaut_query::access::{DocPath, DocSegment, IndexFilter, OrderPath, ScoreOrder};
use cosmonaut_query::raw::RawJson;
use cosmonaut_query::search::Language;
use cosmonaut_query::spatial::Surface;
use cosmonaut_query::value::Value;

use crate::index::{Filter, IndexPath, OrderPart, Score, Span, Step, Term, TextFilter};

/// The filter in the index's terms; `None` if it restricts nothing.
pub(super) fn from_access(filter: &IndexFilter, computed: &[&str], setting: &Setting) -> Option<Filter> {
    match filter {
        IndexFilter::And(parts) => {
            let mut parts: Vec<Filter> =
                parts.iter().filter_map(|part| from_access(part, computed, setting)).collect();
            match parts.len() {
                0 => None,
                1 => parts.pop(),
                _ => Some(Filter::All(parts)),
            }
        }
        IndexFilter::Or(parts) => {
            let parts = parts.iter().map(|part| from_access(part, computed, setting));
            parts.collect::<Option<Vec<_>>>().map(Filter::Any)
        }
        IndexFilter::Equal(path, value) => terms(path, std::slice::from_ref(value), computed),
        IndexFilter::In(path, values) => terms(path, values, computed),
        IndexFilter::Range { path, low, high } => span(path, Span::of_range(low, high), computed),
        IndexFilter::Prefix(path, prefix) => span(path, Span::of_prefix(prefix), computed),
        IndexFilter::Defined(path) => span(path, Span::ALL, computed),
        IndexFilter::Near(path, shape, distance) => {
            near(stored(path, computed)?, shape, *distance, setting.surface)
        }
        IndexFilter::Text { path, terms, all } => {
            let (path, terms) = (stored(path, computed)?, terms.clone());
            Some(Filter::Text(TextFilter { language: language_at(&path, setting), path, terms, all: *all }))
        }
    }
}

/// The score in the index's terms; `None` if it is one of something that is not stored.
pub(super) fn score_from_access(score: &ScoreOrder, computed: &[&str], setting: &Setting) -> Option<Score> {
    Some(match score {
        ScoreOrder::Vector { path, vector, metric } => {
            let names: Vec<&str> = path.segments().iter().filter_map(member).collect();
            let metric = metric.or_else(|| setting.metric_at(&names)).unwrap_or_default();
            Score::Vector { path: stored(path, computed)?, vector: vector.clone(), metric }
        }
        ScoreOrder::Text { path, terms, hits, corpus } => {
            let path = stored(path, computed)?;
            let (terms, hits) = (terms.clone(), hits.clone());
            Score::Text { language: language_at(&path, setting), path, terms, hits, corpus: *corpus }
        }
    })
}

/// The language of texts at a path.
pub(super) fn language_at(path: &IndexPath, setting: &Setting) -> Language {
    let names: Vec<&str> = path.0.iter().filter_map(name).collect();
    setting.language_at(&names)
}

fn name(step: &Step) -> Option<&str> {
    match step {
        Step::Member(name) => Some(name),
        Step::Element => None,
    }
}

fn member(segment: &DocSegment) -> Option<&str> {
    match segment {
        DocSegment::Member(name) => Some(name),
        DocSegment::Element => None,
    }
}

/// The order in the index's terms; `None` if it sorts by something that is not stored.
pub(super) fn order_from_access(order: &[OrderPath], computed: &[&str]) -> Option<Vec<OrderPart>> {
    let part =
        |key: &OrderPath| Some(OrderPart { path: stored(&key.path, computed)?, descending: key.descending });
    order.iter().map(part).collect()
}

fn terms(path: &DocPath, values: &[Value], computed: &[&str]) -> Option<Filter> {
    let mut terms: Vec<Term> = values.iter().filter_map(Term::of).collect();
    terms.sort();
    terms.dedup();
    Some(Filter::Terms(stored(path, computed)?, terms))
}

fn span(path: &DocPath, span: Span, computed: &[&str]) -> Option<Filter> {
    Some(Filter::Span(stored(path, computed)?, span))
}

/// What touches the surroundings of a shape; nothing does if it is none.
fn near(path: IndexPath, shape: &Value, distance: f64, surface: Surface) -> Option<Filter> {
    let text = shape.to_json()?;
    Some(match surface.extent_within(RawJson::new(&text), distance) {
        Some(rectangles) => Filter::Touches(path, surface, rectangles),
        None => Filter::Any(Vec::new()),
    })
}

/// The path as the index knows it; `None` if it starts at a computed property.
pub(super) fn stored(path: &DocPath, computed: &[&str]) -> Option<IndexPath> {
    if let Some(DocSegment::Member(first)) = path.segments().first()
        && computed.contains(&first.as_str())
    {
        return None;
    }
    let step = |segment: &DocSegment| match segment {
        DocSegment::Member(name) => Step::Member(name.as_str().into()),
        DocSegment::Element => Step::Element,
    };
    Some(IndexPath(path.segments().iter().map(step).collect()))
}

impl Span {
    /// The terms of a range of values, all of one kind; a missing bound is the end of that kind.
    fn of_range(low: &Bound<Value>, high: &Bound<Value>) -> Span {
        let given = |bound: &Bound<Value>| match bound {
            Bound::Included(value) | Bound::Excluded(value) => Term::of(value),
            Bound::Unbounded => None,
        };
        let kind = given(low).or_else(|| given(high)).map_or(Span::ALL, |term| Span::of_kind(&term));
        Span { low: widened(low), high: widened(high) }.and(kind)
    }

    /// The terms of strings that start with `prefix`.
    fn of_prefix(prefix: &str) -> Span {
        let Some(Term::String(bytes)) = Term::of(&Value::from(prefix)) else { return Span::ALL };
        let mut end = bytes.to_vec();
        // No byte of a string is 0xFF, so the last one can always be raised.
        let high = match end.last_mut() {
            Some(last) => {
                *last += 1;
                Term::String(end.into())
            }
            None => Term::Array,
        };
        Span { low: Bound::Included(Term::String(bytes)), high: Bound::Excluded(high) }
    }

    /// All terms of the same kind.
    fn of_kind(term: &Term) -> Span {
        let empty = || Term::String(Default::default());
        let (low, high) = match term {
            Term::Null => (Term::Null, Term::Bool(false)),
            Term::Bool(_) => (Term::Bool(false), Term::Number(0, 0)),
            Term::Number(..) => (Term::Number(0, 0), empty()),
            Term::String(_) => (empty(), Term::Array),
            Term::Array => (Term::Array, Term::Object),
            Term::Object => return Span { low: Bound::Included(Term::Object), high: Bound::Unbounded },
        };
        Span { low: Bound::Included(low), high: Bound::Excluded(high) }
    }
}

/// The bound in terms. One that shares its term with other values has to let the term in.
fn widened(bound: &Bound<Value>) -> Bound<Term> {
    match bound {
        Bound::Included(value) => Term::of(value).map_or(Bound::Unbounded, Bound::Included),
        Bound::Excluded(value) => match Term::of(value) {
            Some(term) if term.is_exact() => Bound::Excluded(term),
            Some(term) => Bound::Included(term),
            None => Bound::Unbounded,
        },
        Bound::Unbounded => Bound::Unbounded,
    }
}
