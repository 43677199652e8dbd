//! Going on with an ordered query where it stopped: which rows were given, and how to ask for the others.

use std::cmp::Ordering;
use std::sync::Arc;

use cosmonaut_wire::ResourceId;
use cosmonaut_wire::model::SortOrder;

use super::ordered::compare;
use crate::value::{Kind, Value};

/// The place of a row in an ordered result.
#[derive(Clone, Debug, PartialEq)]
pub struct Position {
    /// The values it is sorted by.
    pub order: Vec<Value>,
    /// The `_rid` of its document.
    pub rid: String,
    /// How many rows of that document were given, this one included; more than one only with `JOIN`.
    pub given: usize,
}

/// Which rows of a source can still come after a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    /// Those that sort after it: for the sources before the one that the position is in.
    After,
    /// Those and the ones that sort alike: for the position's own source and those behind it.
    FromIt,
}

/// Recognises the rows that were given before a position was reached.
pub(super) struct Resume {
    target: usize,
    position: Position,
    directions: Arc<[SortOrder]>,
    passed: usize,
}

impl Resume {
    pub(super) fn new(target: usize, position: Position, directions: Arc<[SortOrder]>) -> Resume {
        Resume { target, position, directions, passed: 0 }
    }

    /// Whether this row of a source was already given.
    pub(super) fn was_given(&mut self, source: usize, keys: &[Value], rid: &str) -> bool {
        match compare(keys, &self.position.order, &self.directions) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => match source.cmp(&self.target) {
                Ordering::Less => true,
                Ordering::Greater => false,
                Ordering::Equal => self.was_given_in_target(rid),
            },
        }
    }

    /// Among rows that sort alike, a source gives documents by `_rid`, backwards if the first key descends.
    fn was_given_in_target(&mut self, rid: &str) -> bool {
        let descending = self.directions.first() == Some(&SortOrder::Descending);
        let order = compare_rids(rid, &self.position.rid);
        match if descending { order.reverse() } else { order } {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => {
                self.passed += 1;
                self.passed <= self.position.given
            }
        }
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

fn is_same(expression: &str, value: &Value) -> String {
    match literal(value) {
        Some(literal) => format!("{expression} = {literal}"),
        None => format!("(NOT IS_DEFINED({expression}))"),
    }
}

fn sorts_after(expression: &str, direction: SortOrder, value: &Value) -> String {
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
    let alternatives: Vec<String> = within.into_iter().chain(others).collect();
    match alternatives.is_empty() {
        true => "false".to_owned(),
        false => format!("({})", alternatives.join(" OR ")),
    }
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
