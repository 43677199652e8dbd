//! Strings that are base64 text, as the bytes that they stand for.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use super::cursor::Cursor;
use super::error::{BinaryError, Problem};
use super::marker;

/// The shortest text without padding that is worth it, and with padding.
const SHORTEST: usize = 40;
const SHORTEST_PADDED: usize = 24;

/// Appends the text behind a marker of base64.
pub(super) fn read<'b>(marker: u8, cursor: &mut Cursor<'b>, into: &mut String) -> Result<(), BinaryError> {
    let is_long = matches!(marker, marker::BASE64_LONG | marker::BASE64_URL_LONG);
    let is_url = matches!(marker, marker::BASE64_URL | marker::BASE64_URL_LONG);
    let groups = cursor.length(if is_long { 2 } else { 1 })?;
    let padding = cursor.byte()?;
    // Above 2 the byte is the complement, and the text was written without its padding.
    let is_padded = padding <= 2;
    let missing = usize::from(if is_padded { padding } else { !padding });
    let length = (3 * groups).checked_sub(missing).filter(|_| missing <= 2);
    let bytes = cursor.take(length.ok_or_else(|| cursor.fail(Problem::Padding))?)?;
    let engine = match (is_url, is_padded) {
        (false, true) => STANDARD,
        (false, false) => STANDARD_NO_PAD,
        (true, true) => URL_SAFE,
        (true, false) => URL_SAFE_NO_PAD,
    };
    engine.encode_string(bytes, into);
    Ok(())
}

/// Appends bytes as base64 text.
pub(super) fn read_bytes(bytes: &[u8], into: &mut String) {
    STANDARD.encode_string(bytes, into);
}

/// Appends a text that comes back from its bytes exactly as it is.
pub(super) fn write(text: &[u8], into: &mut Vec<u8>) -> bool {
    let is_padded = text.ends_with(b"=");
    let is_worth_it = (text.len() >= SHORTEST && text.len() % 4 != 1)
        || (text.len() >= SHORTEST_PADDED && text.len().is_multiple_of(4) && is_padded);
    if !is_worth_it || is_padded && !text.len().is_multiple_of(4) {
        return false;
    }
    let is_url = text.iter().any(|character| matches!(character, b'-' | b'_'));
    let groups = text.len().div_ceil(4);
    let engine = match (is_url, is_padded) {
        (false, true) => STANDARD,
        (false, false) => STANDARD_NO_PAD,
        (true, true) => URL_SAFE,
        (true, false) => URL_SAFE_NO_PAD,
    };
    // The engines refuse a last character whose unused bits are not zero.
    let Ok(bytes) = engine.decode(text) else { return false };
    let missing = (3 * groups - bytes.len()) as u8;
    let (short, long) = match is_url {
        false => (marker::BASE64, marker::BASE64_LONG),
        true => (marker::BASE64_URL, marker::BASE64_URL_LONG),
    };
    if let Ok(groups) = u8::try_from(groups) {
        into.extend([short, groups]);
    } else if let Ok(groups) = u16::try_from(groups) {
        into.push(long);
        into.extend(groups.to_le_bytes());
    } else {
        return false;
    }
    into.push(if is_padded || missing == 0 { missing } else { !missing });
    into.extend(bytes);
    true
}
