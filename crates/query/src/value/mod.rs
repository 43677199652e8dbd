//! A JSON value as the dialect sees it, `undefined` included.
//!
//! This is the owned form, for constants, parameters, results and merging. Evaluation over stored documents
//! borrows from their bytes instead.

mod hash;
mod json;
mod number;
mod order;
#[cfg(test)]
pub(crate) mod tests;

pub use json::{write_number, write_string};
pub use number::WideNumber;
pub(crate) use number::is_exact;
pub(crate) use order::{compare_integer, compare_numbers};
pub use order::{compare_strings, string_rank};

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
    /// A number that is a double.
    Number(f64),
    /// An integer that no double is equal to. Computations take the nearest double; order and text are exact.
    Integer(i64),
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
            Value::Number(_) | Value::Integer(_) => Kind::Number,
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

    /// An integer in the one form that it has: a double where one is equal to it.
    pub fn integer(value: i64) -> Value {
        if is_exact(value) { Value::Number(value as f64) } else { Value::Integer(value) }
    }

    /// The nearest double, where this is a number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Integer(number) => Some(*number as f64),
            _ => None,
        }
    }
}

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

/// An object's members by name, which is the order that comparing and hashing use.
fn sorted_members(members: &[(Box<str>, Value)]) -> Vec<&(Box<str>, Value)> {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by(|x, y| x.0.cmp(&y.0));
    sorted
}
