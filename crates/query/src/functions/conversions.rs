//! Values to strings and back, and the number of a document.
//!
//! Strings are read as JSON, whitespace around the value allowed; what is not the JSON of the type asked for has no
//! result.

use super::Args;
use crate::eval::Val;
use crate::value::{Kind, Value};

pub(super) fn to_array<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    parse(args, Kind::Array)
}

pub(super) fn to_boolean<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    parse(args, Kind::Bool)
}

pub(super) fn to_null<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    parse(args, Kind::Null)
}

pub(super) fn to_number<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    parse(args, Kind::Number)
}

pub(super) fn to_object<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    parse(args, Kind::Object)
}

fn parse<'a>(args: &Args<'a, '_>, kind: Kind) -> Option<Val<'a>> {
    let value = Value::from_json(args.str(0)?.as_bytes()).ok()?;
    (value.kind() == kind && is_finite(&value)).then(|| Val::from_value(&value).detach())
}

/// Whether all numbers of a value are such that JSON can hold: `1e400` is none.
fn is_finite(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_finite(),
        Value::Array(elements) => elements.iter().all(is_finite),
        Value::Object(members) => members.iter().all(|(_, value)| is_finite(value)),
        Value::Undefined | Value::Null | Value::Bool(_) | Value::Integer(_) | Value::String(_) => true,
    }
}

/// A string as it is, anything else as its JSON.
pub(super) fn to_string<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    match args.take(0) {
        Val::Str(text) => Some(Val::Str(text)),
        Val::Number(number) if number.is_nan() => Some(Val::string("NaN")),
        Val::Number(number) if number.is_infinite() => {
            Some(Val::string(if number > 0.0 { "Infinity" } else { "-Infinity" }))
        }
        // A stored array or object may hold whitespace, which is not part of its value.
        other => {
            let json = other.to_value().to_json()?;
            Some(Val::string(String::from_utf8_lossy(&json)))
        }
    }
}

/// The number that a document has within its container: the last eight bytes of its `_rid`.
pub(super) fn document_id<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let Val::Str(rid) = args.take(0).member("_rid") else { return None };
    let bytes = decode_rid(&rid)?;
    let number: [u8; 8] = bytes.get(8..16)?.try_into().ok()?;
    Some(Val::Number(u64::from_le_bytes(number) as f64))
}

/// Base64 with `-` in place of `/`, as resource ids are written.
fn decode_rid(text: &str) -> Option<Vec<u8>> {
    let (mut bits, mut held, mut out) = (0u32, 0, Vec::with_capacity(text.len() * 3 / 4));
    for symbol in text.trim_end_matches('=').bytes() {
        let digit = match symbol {
            b'A'..=b'Z' => symbol - b'A',
            b'a'..=b'z' => symbol - b'a' + 26,
            b'0'..=b'9' => symbol - b'0' + 52,
            b'+' => 62,
            b'/' | b'-' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    Some(out)
}
