//! JSON text read in place: kinds, members, elements and scalars of a stored document without building a tree.
//!
//! The bytes are expected to have passed [`validate`] once, when they were stored. Over other bytes the answers are
//! unspecified but nothing panics, loops or reads out of bounds.

mod paths;
mod scan;
#[cfg(test)]
mod tests;
mod validate;

use std::borrow::Cow;

pub use paths::{PathScan, PathSet, Slots};
pub use scan::read_string;
pub use validate::{JsonError, MAX_DEPTH, validate};

use crate::value::{Kind, Value, is_exact};

/// One JSON value inside a longer text, without whitespace around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawJson<'d>(&'d [u8]);

impl<'d> RawJson<'d> {
    /// The value that `text` holds, whitespace around it passed over.
    pub fn new(text: &'d [u8]) -> RawJson<'d> {
        RawJson(text.trim_ascii())
    }

    /// The text of this value.
    pub fn as_bytes(self) -> &'d [u8] {
        self.0
    }

    /// What this value is, from its first byte.
    pub fn kind(self) -> Kind {
        match self.0.first() {
            Some(b'n') => Kind::Null,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'"') => Kind::String,
            Some(b'[') => Kind::Array,
            Some(b'{') => Kind::Object,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            _ => Kind::Undefined,
        }
    }

    /// The boolean, where this is one.
    pub fn as_bool(self) -> Option<bool> {
        match self.0 {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// The number, where this is one.
    pub fn as_number(self) -> Option<f64> {
        scan::parse_number(self.0)
    }

    /// The integer, where this is one that no double is equal to.
    pub fn as_inexact_integer(self) -> Option<i64> {
        // Fewer digits always fit a double.
        const FEWEST_DIGITS: usize = 16;
        if self.0.len() < FEWEST_DIGITS {
            return None;
        }
        let integer = std::str::from_utf8(self.0).ok()?.parse::<i64>().ok()?;
        (!is_exact(integer)).then_some(integer)
    }

    /// The string, where this is one; borrowed unless it holds an escape.
    pub fn as_str(self) -> Option<Cow<'d, str>> {
        let inner = self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        Some(scan::unescape(inner))
    }

    /// The last member called `name`, where this is an object that has it.
    pub fn member(self, name: &str) -> Option<RawJson<'d>> {
        // The last of several equal names wins, as in every common JSON reader, so the scan goes on to the end.
        self.members().filter(|(key, _)| key.is(name)).last().map(|(_, value)| value)
    }

    /// The element at `index`, where this is an array that has it.
    pub fn element(self, index: usize) -> Option<RawJson<'d>> {
        self.elements().nth(index)
    }

    /// The elements of this array; none if it is not an array.
    pub fn elements(self) -> Elements<'d> {
        Elements { text: self.0, at: if self.kind() == Kind::Array { 1 } else { self.0.len() } }
    }

    /// The members of this object in document order; none if it is not an object.
    pub fn members(self) -> Members<'d> {
        Members { text: self.0, at: if self.kind() == Kind::Object { 1 } else { self.0.len() } }
    }

    /// This value as an owned tree.
    pub fn to_value(self) -> Value {
        self.build(MAX_DEPTH)
    }

    fn build(self, depth: usize) -> Value {
        match self.kind() {
            Kind::Undefined => Value::Undefined,
            Kind::Null => Value::Null,
            Kind::Bool => self.as_bool().map_or(Value::Undefined, Value::Bool),
            Kind::Number => match self.as_inexact_integer() {
                Some(integer) => Value::Integer(integer),
                None => self.as_number().map_or(Value::Undefined, Value::Number),
            },
            Kind::String => self.as_str().map_or(Value::Undefined, |text| Value::String(text.into())),
            // Validated text is never deeper; this bounds the recursion for text that is not.
            Kind::Array | Kind::Object if depth == 0 => Value::Undefined,
            Kind::Array => Value::Array(self.elements().map(|element| element.build(depth - 1)).collect()),
            Kind::Object => Value::Object(last_wins(self.members(), depth - 1)),
        }
    }
}

/// Builds an object's members, a repeated name keeping its first place and its last value.
fn last_wins(members: Members<'_>, depth: usize) -> Vec<(Box<str>, Value)> {
    // Looking back through the list is cheapest for the few members that most objects have.
    const INDEXED: usize = 16;
    let mut built: Vec<(Box<str>, Value)> = Vec::new();
    let mut index = std::collections::HashMap::new();
    for (key, value) in members {
        let (name, value) = (key.name(), value.build(depth));
        let place = if index.is_empty() {
            built.iter().position(|(known, _)| **known == *name)
        } else {
            index.get(&*name).copied()
        };
        match place {
            Some(place) => built[place].1 = value,
            None => {
                let name: Box<str> = name.into();
                if !index.is_empty() {
                    index.insert(name.clone(), built.len());
                }
                built.push((name, value));
                if built.len() == INDEXED {
                    index = built.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect();
                }
            }
        }
    }
    built
}

/// The name of a member as it stands in the text, between its quotes.
#[derive(Clone, Copy, Debug)]
pub struct RawKey<'d> {
    text: &'d [u8],
    escaped: bool,
}

impl<'d> RawKey<'d> {
    /// Reads the name that starts at `at` with its quote, and finds where its value starts.
    fn read(text: &'d [u8], at: usize) -> Option<(RawKey<'d>, usize)> {
        let (end, escaped) = scan::read_string(text, at);
        let name = text.get(at + 1..end - 1)?;
        let value = scan::skip_blank(text, scan::skip_blank(text, end) + 1);
        Some((RawKey { text: name, escaped }, value))
    }

    /// Whether the name is `name`; compares bytes unless the text holds an escape.
    pub fn is(self, name: &str) -> bool {
        self.text == name.as_bytes() || (self.escaped && *self.name() == *name)
    }

    /// The name, unescaped.
    pub fn name(self) -> Cow<'d, str> {
        if self.escaped { scan::unescape(self.text) } else { scan::plain(self.text) }
    }
}

/// Iterates over the elements of an array.
#[derive(Clone, Debug)]
pub struct Elements<'d> {
    text: &'d [u8],
    at: usize,
}

impl<'d> Iterator for Elements<'d> {
    type Item = RawJson<'d>;

    fn next(&mut self) -> Option<RawJson<'d>> {
        let start = scan::next_item(self.text, self.at)?;
        self.at = scan::skip_value(self.text, start);
        (self.at > start).then(|| RawJson(&self.text[start..self.at]))
    }
}

/// Iterates over the members of an object.
#[derive(Clone, Debug)]
pub struct Members<'d> {
    text: &'d [u8],
    at: usize,
}

impl<'d> Iterator for Members<'d> {
    type Item = (RawKey<'d>, RawJson<'d>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = scan::next_item(self.text, self.at)?;
        if self.text[start] != b'"' {
            return None;
        }
        let (key, value) = RawKey::read(self.text, start)?;
        self.at = scan::skip_value(self.text, value);
        (self.at > value).then(|| (key, RawJson(&self.text[value..self.at])))
    }
}
