//! The byte loops under [`super::RawJson`]: passing over values, reading numbers, undoing escapes.
//!
//! They trust the text to be JSON for their answers, never for their safety: every position is checked.

use std::borrow::Cow;

/// The first position at or after `at` that is not whitespace.
pub(super) fn skip_blank(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// Where the next element or member of a list starts, or `None` at its end.
pub(super) fn next_item(text: &[u8], at: usize) -> Option<usize> {
    let mut at = skip_blank(text, at);
    if text.get(at) == Some(&b',') {
        at = skip_blank(text, at + 1);
    }
    match text.get(at) {
        None | Some(b']' | b'}') => None,
        Some(_) => Some(at),
    }
}

/// One past the string that starts at `at` with its quote.
pub(super) fn skip_string(text: &[u8], at: usize) -> usize {
    read_string(text, at).0
}

/// One past the string that starts at `at` with its quote, and whether it holds an escape.
pub fn read_string(text: &[u8], at: usize) -> (usize, bool) {
    let (mut at, mut escaped) = (at + 1, false);
    while let Some(found) = quote_or_escape(text, at) {
        if text[found] == b'"' {
            return (found + 1, escaped);
        }
        (at, escaped) = (found + 2, true);
    }
    (text.len(), escaped)
}

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

/// The top bit of each byte that is less than `limit`, which is at most 128. Below the lowest of these bits there are no
/// false ones.
fn less(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(ONES * u64::from(limit)) & !word & TOPS
}

/// The same of each byte that is equal to `byte`.
fn equal(word: u64, byte: u8) -> u64 {
    less(word ^ (ONES * u64::from(byte)), 1)
}

/// The first `"` or `\` at or after `at`.
fn quote_or_escape(text: &[u8], at: usize) -> Option<usize> {
    let is_hit = |byte: u8| (byte == b'"') | (byte == b'\\');
    find(text, at, is_hit, |word| equal(word, b'"') | equal(word, b'\\'))
}

/// The first byte of a string at or after `at` that is more than itself: `"`, `\` or a control character.
pub(super) fn special(text: &[u8], at: usize) -> Option<usize> {
    let is_hit = |byte: u8| (byte == b'"') | (byte == b'\\') | (byte < 0x20);
    find(text, at, is_hit, |word| equal(word, b'"') | equal(word, b'\\') | less(word, 0x20))
}

/// The first byte at or after `at` that is a hit, looked for in long strides and then in eight bytes at a time.
fn find(text: &[u8], mut at: usize, is_hit: impl Fn(u8) -> bool, hits: impl Fn(u64) -> u64) -> Option<usize> {
    let mut rest = text.get(at..).unwrap_or_default();
    while let Some((stride, after)) = rest.split_first_chunk::<32>() {
        // Without a way out between two bytes, the compiler looks at many of them at once.
        let mut found = 0;
        for byte in stride {
            found |= u8::from(is_hit(*byte));
        }
        if found != 0 {
            break;
        }
        (at, rest) = (at + 32, after);
    }
    while let Some((eight, after)) = rest.split_first_chunk::<8>() {
        let found = hits(u64::from_le_bytes(*eight));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        (at, rest) = (at + 8, after);
    }
    rest.iter().position(|byte| is_hit(*byte)).map(|found| at + found)
}

/// One past the value that starts at `at`.
pub(super) fn skip_value(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'"') => skip_string(text, at),
        Some(b'{' | b'[') => skip_container(text, at),
        Some(_) => {
            let rest = &text[at..];
            let length = rest
                .iter()
                .position(|byte| matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t'));
            at + length.unwrap_or(rest.len())
        }
        None => at,
    }
}

fn skip_container(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at = skip_string(text, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// The number that `text` is, if it is one.
pub(super) fn parse_number(text: &[u8]) -> Option<f64> {
    // Up to fifteen digits are exact in a double, and most stored numbers are such integers.
    const EXACT_DIGITS: usize = 15;
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.len() <= EXACT_DIGITS && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
        let size = digits.iter().fold(0u64, |sum, digit| sum * 10 + u64::from(digit - b'0')) as f64;
        return Some(if digits.len() < text.len() { -size } else { size });
    }
    // Rust also reads `inf` and `nan`, which JSON does not have.
    if !digits.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The string whose text, without quotes, is `inner`.
pub(super) fn unescape(inner: &[u8]) -> Cow<'_, str> {
    // Stored text is UTF-8; the lossy form borrows it after a check that costs less than keeping two kinds of strings.
    if !inner.contains(&b'\\') {
        return plain(inner);
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        out.push_str(&String::from_utf8_lossy(&rest[..at]));
        let (unit, used) = read_escape(&rest[at..]);
        out.push(unit);
        rest = &rest[at + used..];
    }
    out.push_str(&String::from_utf8_lossy(rest));
    Cow::Owned(out)
}

/// The string whose text, without quotes and without escapes, is `inner`.
pub(super) fn plain(inner: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(inner).map_or_else(|_| String::from_utf8_lossy(inner), Cow::Borrowed)
}

/// The character of the escape that `text` starts with, and its length. Half a surrogate pair is U+FFFD.
fn read_escape(text: &[u8]) -> (char, usize) {
    match text.get(1) {
        Some(b'n') => ('\n', 2),
        Some(b't') => ('\t', 2),
        Some(b'r') => ('\r', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'u') => read_unicode(text),
        Some(other) => (char::from(*other), 2),
        None => (char::REPLACEMENT_CHARACTER, text.len()),
    }
}

fn read_unicode(text: &[u8]) -> (char, usize) {
    let Some(high) = hex_unit(text, 2) else { return (char::REPLACEMENT_CHARACTER, 2) };
    if let Some(plain) = char::from_u32(high) {
        return (plain, 6);
    }
    let low = if text.get(6..8) == Some(b"\\u") { hex_unit(text, 8) } else { None };
    match (high, low) {
        (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) => {
            let point = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            (char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

fn hex_unit(text: &[u8], at: usize) -> Option<u32> {
    let digits = text.get(at..at + 4)?;
    digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
}
