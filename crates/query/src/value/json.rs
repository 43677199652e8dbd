//! Values to and from JSON text, and the canonical form that stands for a value in a hash table.
//!
//! Numbers print as JavaScript prints them, but integers of 64 bits with all their digits. Reading goes through [`crate::raw`], which checks the text first.

use std::io::Write;

pub use cosmonaut_wire::json_text::{write_number, write_string};

use super::{Value, sorted_members};
use crate::raw::{JsonError, RawJson, validate};

impl Value {
    /// Reads one JSON value; whitespace around it is allowed.
    pub fn from_json(text: &[u8]) -> Result<Value, JsonError> {
        validate(text)?;
        Ok(RawJson::new(text).to_value())
    }

    /// Appends this value as compact JSON and reports whether there was anything to write.
    ///
    /// `Undefined` and numbers that JSON cannot hold write nothing; inside arrays and objects they vanish.
    pub fn write_json(&self, out: &mut Vec<u8>) -> bool {
        match self {
            Value::Undefined => return false,
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Number(number) => return write_number(*number, out),
            Value::Integer(number) => {
                let _ = write!(out, "{number}");
            }
            Value::String(text) => write_string(text, out),
            Value::Array(elements) => {
                write_list(out, b'[', b']', elements.iter(), |e, out| e.write_json(out))
            }
            Value::Object(members) => write_list(out, b'{', b'}', members.iter(), |(name, value), out| {
                write_string(name, out);
                out.push(b':');
                value.write_json(out)
            }),
        }
        true
    }

    /// This value as JSON text, or `None` where it has no JSON form.
    pub fn to_json(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        self.write_json(&mut out).then_some(out)
    }

    /// Appends bytes that are equal for two values exactly if the values are equal.
    ///
    /// `DISTINCT`, `GROUP BY` and the set functions key their hash tables by it: members are sorted by name,
    /// `-0` is `0`, and `undefined` has a form of its own.
    pub fn write_canonical(&self, out: &mut Vec<u8>) {
        match self {
            Value::Undefined => out.push(b'u'),
            Value::Number(number) if !number.is_finite() => {
                let _ = write!(out, "{number}");
            }
            Value::Array(elements) => write_list(out, b'[', b']', elements.iter(), |element, out| {
                element.write_canonical(out);
                true
            }),
            Value::Object(members) => {
                write_list(out, b'{', b'}', sorted_members(members).into_iter(), |(name, value), out| {
                    write_string(name, out);
                    out.push(b':');
                    value.write_canonical(out);
                    true
                });
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Integer(_) | Value::String(_) => {
                self.write_json(out);
            }
        }
    }

    /// The bytes of [`Value::write_canonical`].
    pub fn canonical(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_canonical(&mut out);
        out
    }
}

/// Writes a bracketed, comma-separated list, taking back the items that had nothing to write.
fn write_list<T>(
    out: &mut Vec<u8>,
    open: u8,
    close: u8,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(T, &mut Vec<u8>) -> bool,
) {
    out.push(open);
    let first = out.len();
    for item in items {
        let start = out.len();
        if start > first {
            out.push(b',');
        }
        if !write(item, out) {
            out.truncate(start);
        }
    }
    out.push(close);
}
