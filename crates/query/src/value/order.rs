//! Equality and the one total order of values: the order of `ORDER BY`, `MIN` and `MAX`.

use std::cmp::Ordering;

use super::{Value, sorted_members};

impl Value {
    /// The order of `ORDER BY`, `MIN` and `MAX`: by kind first, then by content.
    ///
    /// Numbers compare exactly, strings by UTF-16 code unit, arrays and objects by their [hash](Value::hash128), as the
    /// service does. A NaN, which no JSON document can hold, sorts before all other numbers.
    pub fn total_cmp(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Number(a), Value::Number(b)) => compare_numbers(*a, *b),
            (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
            (Value::Integer(a), Value::Number(b)) => compare_integer(*a, *b),
            (Value::Number(a), Value::Integer(b)) => compare_integer(*b, *a).reverse(),
            (Value::String(a), Value::String(b)) => compare_strings(a, b),
            (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) if self == other => {
                Ordering::Equal
            }
            (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => {
                self.hash128().to_le_bytes().cmp(&other.hash128().to_le_bytes())
            }
            _ => self.kind().cmp(&other.kind()),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Array(a), Value::Array(b)) => a == b,
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len() && sorted_members(a).into_iter().eq(sorted_members(b))
            }
            (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => false,
            (Value::String(a), Value::String(b)) => a == b,
            _ => self.total_cmp(other).is_eq(),
        }
    }
}

impl Eq for Value {}

/// Orders numbers with `-0 = 0` and NaN first.
pub(crate) fn compare_numbers(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

/// Orders an integer and a double exactly; NaN comes first.
pub(crate) fn compare_integer(a: i64, b: f64) -> Ordering {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if b.is_nan() || b < -LIMIT {
        return Ordering::Greater;
    }
    if b >= LIMIT {
        return Ordering::Less;
    }
    // The whole part of a double within these bounds is an integer of 64 bits.
    a.cmp(&(b.trunc() as i64)).then_with(|| compare_numbers(0.0, b.fract()))
}

/// Orders strings by their UTF-16 code units.
pub fn compare_strings(a: &str, b: &str) -> Ordering {
    let differing = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    match differing {
        Some((a, b)) => string_rank(a).cmp(&string_rank(b)),
        None => a.len().cmp(&b.len()),
    }
}

/// Where a byte of UTF-8 stands in the order of UTF-16 code units.
///
/// The orders differ in one thing: characters beyond U+FFFF, whose first byte is `F0` to `F4`, come before those from
/// U+E000 on, whose first byte is `EE` or `EF`. No byte is given the rank `FF`.
pub fn string_rank(byte: u8) -> u8 {
    match byte {
        0xEE | 0xEF => byte + 7,
        _ => byte,
    }
}
