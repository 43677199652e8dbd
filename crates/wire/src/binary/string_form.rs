//! In which form a string is written, and which strings later ones may refer to.

use std::borrow::Cow;
use std::collections::HashMap;

use super::formats::Features;
use super::{base64_text, guid, marker, packed, system_strings};

/// The longest value that is written as a reference.
const LONGEST_REFERRED_VALUE: usize = 88;

/// What a string is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The name of a member. It is never compressed.
    Name,
    /// A value.
    Value,
}

/// A string that later ones may refer to.
#[derive(Clone, Copy)]
pub(super) struct Target {
    /// Where it is among the bytes written so far.
    pub(super) at: usize,
    /// How many bytes any offset to it needs at most.
    pub(super) width: usize,
}

/// The strings that were written in full.
pub(super) struct Strings<'t>(HashMap<Cow<'t, str>, Target>);

impl<'t> Strings<'t> {
    /// With room for the strings of a text of so many bytes.
    pub(super) fn of_text(length: usize) -> Self {
        const USUAL_BYTES: usize = 24;
        const MOST: usize = 4096;
        Self(HashMap::with_capacity((length / USUAL_BYTES).min(MOST)))
    }

    /// The earlier string that this one can be a reference to.
    pub(super) fn earlier(&self, text: &str, role: Role) -> Option<Target> {
        let longest = if role == Role::Name { usize::MAX } else { LONGEST_REFERRED_VALUE };
        if (2..=longest).contains(&text.len()) { self.0.get(text).copied() } else { None }
    }

    /// Remembers a string that stands at `at`, and in the end at `most` or before, if a reference to it is shorter than
    /// it is.
    pub(super) fn remember(&mut self, text: Cow<'t, str>, at: usize, most: usize) {
        let width = offset_width(most);
        if text.len() > width {
            self.0.entry(text).or_insert(Target { at, width });
        }
    }
}

fn offset_width(offset: usize) -> usize {
    match offset {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFF_FFFF => 3,
        _ => 4,
    }
}

/// Appends a system string, if the text is one.
pub(super) fn write_system(text: &str, into: &mut Vec<u8>) -> bool {
    let number = system_strings::number(text);
    into.extend(number.map(|number| marker::SYSTEM_STRING + number));
    number.is_some()
}

/// Appends a value in the first compressed form that fits it.
pub(super) fn write_compressed(text: &str, features: Features, into: &mut Vec<u8>) -> bool {
    let text = text.as_bytes();
    if let Some((marker, bytes)) = guid::compressed(text) {
        into.push(marker);
        into.extend(bytes);
        return true;
    }
    packed::write(text, into)
        || features.base64_strings && base64_text::write(text, into)
        || packed::write_7_bits(text, into)
}

/// Appends a string in full.
pub(super) fn write_plain(text: &str, into: &mut Vec<u8>) {
    const LONGEST_SHORT: usize = (marker::LAST_SHORT_STRING - marker::STRING) as usize;
    // The highest length of one and of two bytes is left to the next form, as the service's own writers do.
    match text.len() {
        length @ ..=LONGEST_SHORT => into.push(marker::STRING + length as u8),
        length @ ..0xFF => into.extend([marker::STRING_1, length as u8]),
        length @ ..0xFFFF => {
            into.push(marker::STRING_2);
            into.extend((length as u16).to_le_bytes());
        }
        length => {
            into.push(marker::STRING_4);
            into.extend((length as u32).to_le_bytes());
        }
    }
    into.extend_from_slice(text.as_bytes());
}
