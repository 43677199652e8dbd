//! A JSON value as the dialect sees it, `undefined` included, with its equality and the one total order.
//!
//! This is the owned form, for constants, parameters, results and merging. Evaluation over stored documents
//! borrows from their bytes instead.

mod json;
#[cfg(test)]
pub(crate) mod tests;

use std::cmp::Ordering;

pub use json::{write_number, write_string};

/// A value of the dialect.
///
/// Equality is the dialect's deep equality: `-0` equals `0` and the order of an object's members is irrelevant. A NaN
/// equals itself, so that every value can be the key of a group.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// No value: a missing member, or an operation that has no result.
    #[default]
    Undefined,
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// A number; always an IEEE double.
    Number(f64),
    /// A string.
    String(Box<str>),
    /// An array; never holds `Undefined`.
    Array(Vec<Value>),
    /// An object, members in document order; never holds `Undefined` and never a name twice.
    Object(Vec<(Box<str>, Value)>),
}

/// The kinds of values, in the order that `ORDER BY` puts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// See [`Value::Undefined`].
    Undefined,
    /// See [`Value::Null`].
    Null,
    /// See [`Value::Bool`].
    Bool,
    /// See [`Value::Number`].
    Number,
    /// See [`Value::String`].
    String,
    /// See [`Value::Array`].
    Array,
    /// See [`Value::Object`].
    Object,
}

impl Value {
    /// The kind of this value.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Undefined => Kind::Undefined,
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Bool,
            Value::Number(_) => Kind::Number,
            Value::String(_) => Kind::String,
            Value::Array(_) => Kind::Array,
            Value::Object(_) => Kind::Object,
        }
    }

    /// Whether this is no value at all.
    pub fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined)
    }

    /// The member called `name`, where this is an object that has it.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(members) => {
                members.iter().find(|(member, _)| **member == *name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The order of `ORDER BY`, `MIN` and `MAX`: by kind first, then by content.
    ///
    /// Strings compare by their UTF-8 bytes, arrays element by element, objects member by member after sorting
    /// by name. A NaN, which no JSON document can hold, sorts before all other numbers.
    pub fn total_cmp(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Number(a), Value::Number(b)) => cmp_numbers(*a, *b),
            (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Value::Array(a), Value::Array(b)) => a
                .iter()
                .zip(b)
                .map(|(x, y)| x.total_cmp(y))
                .find(|o| o.is_ne())
                .unwrap_or(a.len().cmp(&b.len())),
            (Value::Object(a), Value::Object(b)) => cmp_objects(a, b),
            _ => self.kind().cmp(&other.kind()),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.total_cmp(other).is_eq()
    }
}

impl Eq for Value {}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Number(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::String(value.into())
    }
}

/// Orders numbers with `-0 = 0` and NaN first.
pub(crate) fn cmp_numbers(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

fn cmp_objects(a: &[(Box<str>, Value)], b: &[(Box<str>, Value)]) -> Ordering {
    for (x, y) in sorted_members(a).into_iter().zip(sorted_members(b)) {
        let order = x.0.cmp(&y.0).then_with(|| x.1.total_cmp(&y.1));
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

/// An object's members by name, which is the order that comparing and hashing use.
fn sorted_members(members: &[(Box<str>, Value)]) -> Vec<&(Box<str>, Value)> {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by(|x, y| x.0.cmp(&y.0));
    sorted
}
