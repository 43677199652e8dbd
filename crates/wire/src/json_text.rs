//! Numbers and strings as JSON text, written as the service writes them.
//!
//! Reading JSON text is `serde_json`'s business.

use std::io::Write;

/// Appends a number as JavaScript prints it, integers of 64 bits with all their digits; `false`, and nothing written, if it
/// is not finite. `-0` is `0`.
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
