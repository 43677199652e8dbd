//! The values that evaluation works on: scalars, and the JSON text of arrays and objects, borrowed where possible.
//!
//! A built array or object is written as JSON at once, since writing it is what most queries do with it; so there
//! is one way to read an array, whether it was stored or built.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::raw::{Elements, Members, RawJson};
use crate::value::{
    Kind, Value, compare_integer, compare_numbers, compare_strings, is_exact, write_number, write_string,
};

/// A value during evaluation.
#[derive(Clone, Debug, Default)]
pub(crate) enum Val<'a> {
    #[default]
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    /// An integer that no double is equal to.
    Integer(i64),
    Str(Cow<'a, str>),
    /// The text of an array or an object.
    Json(Cow<'a, [u8]>),
}

impl<'a> Val<'a> {
    pub(crate) fn from_raw(raw: RawJson<'a>) -> Val<'a> {
        match raw.kind() {
            Kind::Undefined => Val::Undefined,
            Kind::Null => Val::Null,
            Kind::Bool => raw.as_bool().map_or(Val::Undefined, Val::Bool),
            Kind::Number => match raw.as_inexact_integer() {
                Some(integer) => Val::Integer(integer),
                None => raw.as_number().map_or(Val::Undefined, Val::Number),
            },
            Kind::String => raw.as_str().map_or(Val::Undefined, Val::Str),
            Kind::Array | Kind::Object => Val::Json(Cow::Borrowed(raw.as_bytes())),
        }
    }

    pub(crate) fn from_value(value: &'a Value) -> Val<'a> {
        match value {
            Value::Undefined => Val::Undefined,
            Value::Null => Val::Null,
            Value::Bool(value) => Val::Bool(*value),
            Value::Number(value) => Val::Number(*value),
            Value::Integer(value) => Val::Integer(*value),
            Value::String(value) => Val::Str(Cow::Borrowed(value)),
            Value::Array(_) | Value::Object(_) => value.to_json().map_or(Val::Undefined, Val::json),
        }
    }

    pub(crate) fn string(text: impl Into<String>) -> Val<'a> {
        Val::Str(Cow::Owned(text.into()))
    }

    /// An integer, as a double where one is equal to it.
    pub(crate) fn integer(value: i64) -> Val<'a> {
        if is_exact(value) { Val::Number(value as f64) } else { Val::Integer(value) }
    }

    /// The nearest double, where this is a number.
    pub(crate) fn as_f64(&self) -> Option<f64> {
        match self {
            Val::Number(number) => Some(*number),
            Val::Integer(number) => Some(*number as f64),
            _ => None,
        }
    }

    /// The array or object with this text.
    pub(crate) fn json(text: Vec<u8>) -> Val<'a> {
        Val::Json(Cow::Owned(text))
    }

    /// The same value, borrowed from this one.
    pub(crate) fn borrow(&self) -> Val<'_> {
        match self {
            Val::Undefined => Val::Undefined,
            Val::Null => Val::Null,
            Val::Bool(value) => Val::Bool(*value),
            Val::Number(value) => Val::Number(*value),
            Val::Integer(value) => Val::Integer(*value),
            Val::Str(text) => Val::Str(Cow::Borrowed(text)),
            Val::Json(text) => Val::Json(Cow::Borrowed(text)),
        }
    }

    /// The same value, borrowing nothing.
    pub(crate) fn detach<'b>(self) -> Val<'b> {
        match self {
            Val::Undefined => Val::Undefined,
            Val::Null => Val::Null,
            Val::Bool(value) => Val::Bool(value),
            Val::Number(value) => Val::Number(value),
            Val::Integer(value) => Val::Integer(value),
            Val::Str(text) => Val::Str(Cow::Owned(text.into_owned())),
            Val::Json(text) => Val::Json(Cow::Owned(text.into_owned())),
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        match self {
            Val::Undefined => Value::Undefined,
            Val::Null => Value::Null,
            Val::Bool(value) => Value::Bool(*value),
            Val::Number(value) => Value::Number(*value),
            Val::Integer(value) => Value::Integer(*value),
            Val::Str(text) => Value::String((&**text).into()),
            Val::Json(text) => RawJson::new(text).to_value(),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Val::Undefined => Kind::Undefined,
            Val::Null => Kind::Null,
            Val::Bool(_) => Kind::Bool,
            Val::Number(_) | Val::Integer(_) => Kind::Number,
            Val::Str(_) => Kind::String,
            Val::Json(text) => RawJson::new(text).kind(),
        }
    }

    /// How many bytes have to be gone through to read it.
    pub(crate) fn size(&self) -> usize {
        match self {
            Val::Str(text) => text.len(),
            Val::Json(text) => text.len(),
            Val::Undefined | Val::Null | Val::Bool(_) | Val::Number(_) | Val::Integer(_) => 0,
        }
    }

    pub(crate) fn is_undefined(&self) -> bool {
        matches!(self, Val::Undefined)
    }

    pub(crate) fn is_true(&self) -> bool {
        matches!(self, Val::Bool(true))
    }

    /// The elements, where this is an array.
    pub(crate) fn elements(&self) -> Option<Elements<'_>> {
        match self {
            Val::Json(text) if text.first() == Some(&b'[') => Some(RawJson::new(text).elements()),
            _ => None,
        }
    }

    /// The members, where this is an object.
    pub(crate) fn members(&self) -> Option<Members<'_>> {
        match self {
            Val::Json(text) if text.first() == Some(&b'{') => Some(RawJson::new(text).members()),
            _ => None,
        }
    }

    pub(crate) fn member(self, name: &str) -> Val<'a> {
        self.part(|raw| raw.member(name))
    }

    pub(crate) fn element(self, index: usize) -> Val<'a> {
        self.part(|raw| raw.element(index))
    }

    /// A part of this array or object: borrowed where this is, copied out of it where it is owned.
    fn part(self, find: impl for<'r> Fn(RawJson<'r>) -> Option<RawJson<'r>>) -> Val<'a> {
        match self {
            Val::Json(Cow::Borrowed(text)) => find(RawJson::new(text)).map_or(Val::Undefined, Val::from_raw),
            Val::Json(Cow::Owned(text)) => {
                find(RawJson::new(&text)).map_or(Val::Undefined, |raw| Val::from_raw(raw).detach())
            }
            _ => Val::Undefined,
        }
    }

    /// Appends this value as JSON; `false`, and nothing written, where it has no JSON form.
    pub(crate) fn write_json(&self, out: &mut Vec<u8>) -> bool {
        match self {
            Val::Undefined => return false,
            Val::Null => out.extend_from_slice(b"null"),
            Val::Bool(true) => out.extend_from_slice(b"true"),
            Val::Bool(false) => out.extend_from_slice(b"false"),
            Val::Number(number) => return write_number(*number, out),
            Val::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Val::Str(text) => write_string(text, out),
            Val::Json(text) => out.extend_from_slice(text),
        }
        true
    }

    /// The bytes by which equal values are found in a hash table.
    pub(crate) fn canonical(&self) -> Vec<u8> {
        self.to_value().canonical()
    }

    /// Deep equality of two defined values.
    pub(crate) fn equals(&self, other: &Val<'_>) -> bool {
        match (self, other) {
            (Val::Json(a), Val::Json(b)) => a == b || self.to_value() == other.to_value(),
            (Val::Number(a), Val::Number(b)) => a == b,
            _ => self.cmp_scalar(other).is_eq(),
        }
    }

    /// The total order of scalars. Arrays and objects sort after them by kind, and are equal among themselves.
    pub(crate) fn cmp_scalar(&self, other: &Val<'_>) -> Ordering {
        match (self, other) {
            (Val::Bool(a), Val::Bool(b)) => a.cmp(b),
            (Val::Number(a), Val::Number(b)) => compare_numbers(*a, *b),
            (Val::Integer(a), Val::Integer(b)) => a.cmp(b),
            (Val::Integer(a), Val::Number(b)) => compare_integer(*a, *b),
            (Val::Number(a), Val::Integer(b)) => compare_integer(*b, *a).reverse(),
            (Val::Str(a), Val::Str(b)) => compare_strings(a, b),
            _ => self.kind().cmp(&other.kind()),
        }
    }
}
