//! What an index can be asked, and how such questions combine.

use std::cmp::Ordering;
use std::ops::Bound;

use super::path::DocPath;
use crate::value::{Kind, Value};

/// A condition on a document that an index can answer.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexFilter {
    /// All of these hold.
    And(Vec<IndexFilter>),
    /// At least one of these holds; with none of them, no document qualifies.
    Or(Vec<IndexFilter>),
    /// The path leads to this value, which is not undefined.
    Equal(DocPath, Value),
    /// The path leads to one of these values, none of which is undefined.
    In(DocPath, Vec<Value>),
    /// The path leads to a value of the bounds' kind between them. At least one bound is given, both are of
    /// the same kind, and a missing one stands for the end of that kind.
    Range {
        /// The path.
        path: DocPath,
        /// The lower bound.
        low: Bound<Value>,
        /// The upper bound.
        high: Bound<Value>,
    },
    /// The path leads to a string that starts with this one; with the empty string, to any string.
    Prefix(DocPath, Box<str>),
    /// The path leads to anything at all, an empty array or object included.
    Defined(DocPath),
    /// The path leads to a shape that is no farther than a distance from a GeoJSON shape. With 0 they meet.
    Near(DocPath, Value, f64),
    /// The path leads to a text that has terms, each a string or an object with a term and a distance.
    Text {
        /// The path.
        path: DocPath,
        /// The terms.
        terms: Vec<Value>,
        /// Whether the text has all of them, or at least one.
        all: bool,
    },
}

impl IndexFilter {
    /// The condition that no document fulfils.
    pub(super) fn nothing() -> IndexFilter {
        IndexFilter::Or(Vec::new())
    }

    /// Whether no document can fulfil this.
    pub fn is_nothing(&self) -> bool {
        matches!(self, IndexFilter::Or(alternatives) if alternatives.is_empty())
    }

    /// Both of two conditions.
    pub(super) fn and(self, other: IndexFilter) -> IndexFilter {
        use IndexFilter::{And, Range};
        match (self, other) {
            (a, _) if a.is_nothing() => a,
            (_, b) if b.is_nothing() => b,
            (Range { path, low, high }, Range { path: other, low: low2, high: high2 })
                if path == other && path.is_single() =>
            {
                intersect(path, (low, high), (low2, high2))
            }
            (And(mut all), And(more)) => {
                all.extend(more);
                And(all)
            }
            (And(mut all), one) => {
                // A range can narrow one that is already there.
                let narrowed = all.iter().position(|known| known.narrows_with(&one));
                match narrowed {
                    Some(at) => {
                        let known = all.remove(at);
                        all.into_iter().fold(known.and(one), IndexFilter::and)
                    }
                    None => {
                        all.push(one);
                        And(all)
                    }
                }
            }
            (one, And(all)) => And(all).and(one),
            (a, b) => And(vec![a, b]),
        }
    }

    /// Either of two conditions.
    pub(super) fn or(self, other: IndexFilter) -> IndexFilter {
        use IndexFilter::{Equal, In, Or};
        match (self, other) {
            (Or(mut any), Or(more)) => {
                any.extend(more);
                Or(any)
            }
            (Or(any), one) | (one, Or(any)) if any.is_empty() => one,
            (Equal(path, a), Equal(other, b)) if path == other => In(path, vec![a, b]),
            (In(path, mut values), Equal(other, value)) if path == other => {
                values.push(value);
                In(path, values)
            }
            (In(path, mut values), In(other, more)) if path == other => {
                values.extend(more);
                In(path, values)
            }
            (Or(mut any), one) | (one, Or(mut any)) => {
                any.push(one);
                Or(any)
            }
            (a, b) => Or(vec![a, b]),
        }
    }

    fn narrows_with(&self, other: &IndexFilter) -> bool {
        match (self, other) {
            (IndexFilter::Range { path, .. }, IndexFilter::Range { path: other, .. }) => {
                path == other && path.is_single()
            }
            _ => false,
        }
    }

    /// A range with one bound.
    pub(super) fn half_range(path: DocPath, low: Bound<Value>, high: Bound<Value>) -> IndexFilter {
        IndexFilter::Range { path, low, high }
    }
}

type Bounds = (Bound<Value>, Bound<Value>);

/// The range within both of two ranges over a path that leads to one value.
fn intersect(path: DocPath, a: Bounds, b: Bounds) -> IndexFilter {
    if kind(&a) != kind(&b) {
        return IndexFilter::nothing();
    }
    let low = tighter(a.0, b.0, Ordering::Greater);
    let high = tighter(a.1, b.1, Ordering::Less);
    IndexFilter::Range { path, low, high }
}

fn kind(bounds: &Bounds) -> Option<Kind> {
    [&bounds.0, &bounds.1].into_iter().find_map(|bound| match bound {
        Bound::Included(value) | Bound::Excluded(value) => Some(value.kind()),
        Bound::Unbounded => None,
    })
}

/// The bound that lets less through: of two values the one that compares as `tight`, of equals the excluding one.
fn tighter(a: Bound<Value>, b: Bound<Value>, tight: Ordering) -> Bound<Value> {
    use Bound::{Excluded, Included, Unbounded};
    let order = match (&a, &b) {
        (Unbounded, _) => return b,
        (_, Unbounded) => return a,
        (Included(x) | Excluded(x), Included(y) | Excluded(y)) => x.total_cmp(y),
    };
    match order {
        order if order == tight => a,
        Ordering::Equal if matches!(a, Excluded(_)) => a,
        _ => b,
    }
}
