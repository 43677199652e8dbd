//! JSON text that is well formed and still means different things to different readers: halves of surrogate pairs, and
//! numbers beyond what a double can hold.
//!
//! Whether the text is JSON at all was checked before.

use cosmonaut_query::raw::read_string;

use crate::Failure;

/// 400 if the text of an item has any of them.
pub(super) fn check_text(text: &[u8]) -> Result<(), Failure> {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at = match byte {
            b'"' => string_end(text, at + 1)?,
            b'-' | b'0'..=b'9' => number_end(text, at)?,
            _ => at + 1,
        };
    }
    Ok(())
}

/// The place after the closing quote of a string that begins here.
fn string_end(text: &[u8], start: usize) -> Result<usize, Failure> {
    let (end, has_escape) = read_string(text, start - 1);
    if !has_escape {
        return Ok(end);
    }
    let mut at = start;
    loop {
        match (text.get(at), text.get(at + 1)) {
            (None, _) => return Ok(at),
            (Some(b'"'), _) => return Ok(at + 1),
            (Some(b'\\'), Some(b'u')) => at = surrogates_end(text, at)?,
            (Some(b'\\'), _) => at += 2,
            (Some(_), _) => at += 1,
        }
    }
}

/// The place after the escape that begins here, and after its other half if it is one of a pair.
fn surrogates_end(text: &[u8], start: usize) -> Result<usize, Failure> {
    const LENGTH: usize = 6;
    let Some(unit) = escaped(text, start) else { return Ok(start + 2) };
    let next = start + LENGTH;
    match unit {
        0xD800..=0xDBFF if matches!(escaped(text, next), Some(0xDC00..=0xDFFF)) => Ok(next + LENGTH),
        0xD800..=0xDFFF => Err(Failure::bad_request(format!(
            "the item has half of a surrogate pair, \\u{unit:04x}, at byte {start}, which stands for no character: write \
             both halves or the character itself"
        ))),
        _ => Ok(next),
    }
}

/// The code unit of the escape `\uXXXX` that begins here.
fn escaped(text: &[u8], start: usize) -> Option<u16> {
    let digits = text.get(start..start + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The place after the number that begins here.
fn number_end(text: &[u8], start: usize) -> Result<usize, Failure> {
    /// So many digits without an exponent are always within a double.
    const SAFE: usize = 300;
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    let length = text[start..].iter().take_while(|byte| is_part(byte)).count();
    let number = &text[start..start + length];
    if length > SAFE || number.iter().any(|byte| matches!(byte, b'e' | b'E')) {
        let read = std::str::from_utf8(number).ok().and_then(|number| number.parse::<f64>().ok());
        if read.is_none_or(f64::is_infinite) {
            let shown = String::from_utf8_lossy(&number[..length.min(40)]).into_owned();
            return Err(Failure::bad_request(format!(
                "the item has a number that is out of range, {shown}, at byte {start}: write it as a string"
            )));
        }
    }
    Ok(start + length)
}
