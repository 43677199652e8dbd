//! Values to and from JSON text, and the canonical form that stands for a value in a hash table.
//!
//! Numbers print as JavaScript prints them, but integers of 64 bits with all their digits. Reading goes through [`crate::raw`], which checks the text first.

use std::io::Write;

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

/// Appends a number as JavaScript prints it, integers of 64 bits with all their digits; `false`, and nothing written, if it is not finite.
pub fn write_number(number: f64, out: &mut Vec<u8>) -> bool {
    const INTEGERS: f64 = 9_223_372_036_854_775_808.0;
    if !number.is_finite() {
        return false;
    }
    let size = number.abs();
    // Writing to a `Vec` cannot fail, so the results are of no interest.
    if number == 0.0 {
        out.push(b'0');
    } else if number.trunc() == number && size < INTEGERS {
        let _ = write!(out, "{}", number as i64);
    } else if (1e-6..1e21).contains(&size) {
        let _ = write!(out, "{number}");
    } else {
        let start = out.len();
        let _ = write!(out, "{number:e}");
        // Rust prints `1e21` where JavaScript and JSON writers print `1e+21`.
        if let Some(e) = out[start..].iter().position(|byte| *byte == b'e')
            && out[start + e + 1] != b'-'
        {
            out.insert(start + e + 1, b'+');
        }
    }
    true
}

/// Appends a string with its quotes, escaping only what JSON requires.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            control => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
