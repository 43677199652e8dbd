//! GUIDs: as text in half its digits, and as the value of sixteen bytes that Microsoft's libraries write.

use super::marker;

const LOWER: &[u8; 16] = b"0123456789abcdef";
const UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// The text of a GUID has this many characters.
const LENGTH: usize = 36;

/// Appends the text of a GUID string: two digits a byte, the first of them in the lower half.
pub(super) fn read_text(marker: u8, bytes: [u8; 16], into: &mut String) {
    let digits = if marker == marker::GUID_UPPER { UPPER } else { LOWER };
    let quote = if marker == marker::GUID_QUOTED { "\"" } else { "" };
    into.push_str(quote);
    push_digits(bytes.map(|byte| byte.rotate_right(4)), digits, into);
    into.push_str(quote);
}

/// Appends the text of a GUID value, whose first three parts have their last byte first.
pub(super) fn read_value(mut bytes: [u8; 16], into: &mut String) {
    for part in [0..4, 4..6, 6..8] {
        bytes[part].reverse();
    }
    push_digits(bytes, LOWER, into);
}

fn push_digits(bytes: [u8; 16], digits: &[u8; 16], into: &mut String) {
    for (at, byte) in bytes.into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            into.push('-');
        }
        for digit in [byte >> 4, byte & 0xF] {
            into.push(char::from(digits[usize::from(digit)]));
        }
    }
}

/// The marker and the bytes of a text that is a GUID in one case, or a lowercase one between quotes.
pub(super) fn compressed(text: &[u8]) -> Option<(u8, [u8; 16])> {
    match text.len() {
        LENGTH => {
            let lower = compressed_in(text, LOWER).map(|bytes| (marker::GUID_LOWER, bytes));
            lower.or_else(|| compressed_in(text, UPPER).map(|bytes| (marker::GUID_UPPER, bytes)))
        }
        38 => {
            let inner = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
            compressed_in(inner, LOWER).map(|bytes| (marker::GUID_QUOTED, bytes))
        }
        _ => None,
    }
}

fn compressed_in(text: &[u8], digits: &[u8; 16]) -> Option<[u8; 16]> {
    let (mut bytes, mut found) = ([0; 16], 0);
    for (at, character) in text.iter().enumerate() {
        if matches!(at, 8 | 13 | 18 | 23) {
            if *character != b'-' {
                return None;
            }
            continue;
        }
        let digit =
            digits.iter().zip(0u8..).find_map(|(known, digit)| (known == character).then_some(digit))?;
        *bytes.get_mut(found / 2)? |= digit << (found % 2 * 4);
        found += 1;
    }
    Some(bytes)
}
