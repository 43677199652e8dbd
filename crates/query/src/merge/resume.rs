//! Going on with an ordered query where it stopped: which rows were given, and how to ask for the others.

use std::cmp::Ordering;
use std::sync::Arc;

use cosmonaut_wire::model::SortOrder;
use cosmonaut_wire::{ResourceId, mutation};

use super::Window;
use super::mark::Mark;
use super::ordered::compare;
use crate::value::{Kind, Value};

/// Where a merge stopped, so that another can go on from there: see [`Merger::checkpoint`](super::Merger::checkpoint).
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// How many rows are still passed over and still given.
    pub window: Window,
    /// What was given.
    pub reached: Reached,
}

/// What a merge has given.
#[derive(Clone, Debug, PartialEq)]
pub enum Reached {
    /// Nothing that has to be left out: the sources themselves go on where they were, or from their beginning.
    Start,
    /// The rows of an ordered result up to one.
    Ordered {
        /// The values that this row is sorted by.
        order: Vec<Value>,
        /// For each source, which of its rows that sort alike were given.
        standings: Vec<Standing>,
        /// The row, for `DISTINCT` to know it again.
        row: Option<Mark>,
    },
    /// The rows of a result without order, up to the one with this mark.
    Marked(Mark),
}

/// Which of a source's rows that sort as the last given row does were given. Those that sort before were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// All of them.
    All,
    /// Up to one of a document.
    UpTo {
        /// The `_rid` of the document.
        rid: String,
        /// How many rows of the document were given; more than one only with `JOIN`.
        given: usize,
        /// Whether documents that sort alike came with falling `_rid`s; `None` for the direction of the first key.
        falling: Option<bool>,
    },
    /// None.
    None,
}

impl Standing {
    /// Which rows the source still has to be asked for.
    pub fn remaining(&self) -> Remaining {
        match self {
            Standing::All => Remaining::After,
            Standing::UpTo { .. } | Standing::None => Remaining::FromIt,
        }
    }
}

/// Which rows of a source can still come after a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    /// Those that sort after it.
    After,
    /// Those and the ones that sort alike.
    FromIt,
}

/// Recognises the rows that were given before.
pub(super) struct Resume {
    pub(super) order: Vec<Value>,
    pub(super) standings: Vec<Standing>,
    directions: Arc<[SortOrder]>,
    /// How many rows of the document that a source stands at have come again.
    passed: Vec<usize>,
}

impl Resume {
    pub(super) fn new(order: Vec<Value>, standings: Vec<Standing>, directions: Arc<[SortOrder]>) -> Resume {
        let passed = vec![0; standings.len()];
        Resume { order, standings, directions, passed }
    }

    /// Whether this row of a source was already given.
    pub(super) fn was_given(&mut self, source: usize, keys: &[Value], rid: &str) -> bool {
        match compare(keys, &self.order, &self.directions) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => match self.standings.get(source) {
                Some(Standing::All) => true,
                Some(Standing::None) | None => false,
                Some(Standing::UpTo { .. }) if mutation!("order-by-resumes-behind-a-tie") => true,
                Some(Standing::UpTo { .. }) if mutation!("order-by-repeats-a-tie") => false,
                Some(Standing::UpTo { rid: last, given, falling }) => {
                    match self.document_order(rid, last, *falling) {
                        Ordering::Less => true,
                        Ordering::Greater => false,
                        Ordering::Equal => {
                            self.passed[source] += 1;
                            self.passed[source] <= *given
                        }
                    }
                }
            },
        }
    }

    /// How many rows of a document, sorted like this, a source has given before.
    pub(super) fn given_of(&self, source: usize, order: &[Value], rid: &str) -> usize {
        match self.standings.get(source) {
            Some(Standing::UpTo { rid: last, given, .. }) if last == rid && self.order == order => *given,
            Some(Standing::All | Standing::UpTo { .. } | Standing::None) | None => 0,
        }
    }

    /// Among rows that sort alike, a source gives documents by `_rid`: in the direction that it said or, if it said
    /// nothing, in the one of the first key.
    fn document_order(&self, rid: &str, other: &str, falling: Option<bool>) -> Ordering {
        let order = compare_rids(rid, other);
        let falling = falling.unwrap_or(self.directions.first() == Some(&SortOrder::Descending));
        if falling { order.reverse() } else { order }
    }
}

/// Documents of a container come in the order of the numbers in their ids.
fn compare_rids(a: &str, b: &str) -> Ordering {
    let number = |rid: &str| rid.parse::<ResourceId>().ok().and_then(|rid| rid.number());
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.cmp(b),
    }
}

/// The condition that stands in a rewritten query for the rows that remain after a position.
///
/// Comparison operators of the dialect never hold across types, so the types that sort later are named. The
/// dialect cannot order arrays or objects among themselves; there the condition lets rows through that were
/// already given, and the merger leaves them out.
pub fn resume_filter(
    expressions: &[String],
    directions: &[SortOrder],
    order: &[Value],
    remaining: Remaining,
) -> String {
    let keys: Vec<_> = expressions.iter().zip(directions).zip(order).collect();
    let mut same = String::new();
    let mut alternatives = Vec::new();
    for ((expression, direction), value) in keys {
        alternatives.push(format!("({same}{})", sorts_after(expression, *direction, value)));
        same.push_str(&format!("{} AND ", is_same(expression, value)));
    }
    if remaining == Remaining::FromIt {
        alternatives.push(format!("({same}true)"));
    }
    match alternatives.is_empty() {
        true => "true".to_owned(),
        false => format!("({})", alternatives.join(" OR ")),
    }
}

/// The rows that remain after a position, for a service that is told the position beside the query: the `resumeFilter` of
/// the request. `None` if a condition says it as well; only arrays and objects, which are sorted by their hash, no
/// condition can compare.
///
/// No document is named, so that all rows that sort alike come again and the merger leaves out those that were given. In
/// which direction documents come that sort alike may be another one than before.
pub fn resume_place(order: &[Value], remaining: Remaining) -> Option<String> {
    if !order.iter().any(|value| matches!(value.kind(), Kind::Array | Kind::Object)) {
        return None;
    }
    let values: Vec<String> = order.iter().map(resume_value).collect();
    let exclude = remaining == Remaining::After;
    Some(format!(r#"{{"value":[{}],"exclude":{exclude}}}"#, values.join(",")))
}

fn resume_value(value: &Value) -> String {
    let kind = match value.kind() {
        Kind::Array => "array",
        Kind::Object => "object",
        Kind::Undefined | Kind::Null | Kind::Bool | Kind::Number | Kind::String => {
            return literal(value).unwrap_or_else(|| "[]".to_owned());
        }
    };
    let hash = value.hash128();
    let (low, high) = ((hash as u64).cast_signed(), ((hash >> 64) as u64).cast_signed());
    format!(r#"{{"type":"{kind}","low":{low},"high":{high}}}"#)
}

/// The conditions for what sorts behind a value of the only key, one after the other: first what is of the value's kind,
/// which an index has in one stretch, then all other kinds.
///
/// One condition for all is [`resume_filter`], for which fewer indexes know where to begin.
pub fn filters_behind(expression: &str, direction: SortOrder, value: &Value) -> Vec<String> {
    let (within, others) = behind(expression, direction, value);
    let others = (!others.is_empty()).then(|| format!("({})", others.join(" OR ")));
    let all: Vec<String> = within.into_iter().chain(others).collect();
    if all.is_empty() { vec!["false".to_owned()] } else { all }
}

fn is_same(expression: &str, value: &Value) -> String {
    match literal(value) {
        Some(literal) => format!("{expression} = {literal}"),
        None => format!("(NOT IS_DEFINED({expression}))"),
    }
}

fn sorts_after(expression: &str, direction: SortOrder, value: &Value) -> String {
    let (within, others) = behind(expression, direction, value);
    let alternatives: Vec<String> = within.into_iter().chain(others).collect();
    match alternatives.is_empty() {
        true => "false".to_owned(),
        false => format!("({})", alternatives.join(" OR ")),
    }
}

/// What sorts behind a value: the condition for its own kind, and those for other kinds.
fn behind(expression: &str, direction: SortOrder, value: &Value) -> (Option<String>, Vec<String>) {
    let kind = value.kind();
    let (operator, later): (_, fn(&Kind, &Kind) -> bool) = match direction {
        SortOrder::Ascending => (">", |other, kind| other > kind),
        SortOrder::Descending => ("<", |other, kind| other < kind),
    };
    let within = match (kind, literal(value)) {
        (Kind::Bool | Kind::Number | Kind::String, Some(literal)) => {
            Some(format!("{expression} {operator} {literal}"))
        }
        (Kind::Array | Kind::Object, _) => Some(has_kind(expression, kind)),
        _ => None,
    };
    let kinds =
        [Kind::Undefined, Kind::Null, Kind::Bool, Kind::Number, Kind::String, Kind::Array, Kind::Object];
    let others = kinds.iter().filter(|other| later(other, &kind)).map(|other| has_kind(expression, *other));
    (within, others.collect())
}

fn has_kind(expression: &str, kind: Kind) -> String {
    let function = match kind {
        Kind::Undefined => return format!("(NOT IS_DEFINED({expression}))"),
        Kind::Null => "IS_NULL",
        Kind::Bool => "IS_BOOL",
        Kind::Number => "IS_NUMBER",
        Kind::String => "IS_STRING",
        Kind::Array => "IS_ARRAY",
        Kind::Object => "IS_OBJECT",
    };
    format!("{function}({expression})")
}

/// JSON is also how the dialect writes constants.
fn literal(value: &Value) -> Option<String> {
    value.to_json().and_then(|json| String::from_utf8(json).ok())
}
