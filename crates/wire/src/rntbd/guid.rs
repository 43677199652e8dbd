//! GUIDs: as text, and as the sixteen bytes that Microsoft's libraries write, whose first three parts are reversed.

use std::fmt;
use std::str::FromStr;

/// A GUID, such as an activity id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Guid {
    /// In the order of the text.
    bytes: [u8; 16],
}

impl Guid {
    /// A GUID of bytes in the order in which its text shows them.
    pub const fn from_text_order(bytes: [u8; 16]) -> Self {
        Self { bytes }
    }

    /// The bytes as a frame has them.
    pub fn to_wire(self) -> [u8; 16] {
        swapped(self.bytes)
    }

    /// A GUID as a frame has it.
    pub fn from_wire(bytes: [u8; 16]) -> Self {
        Self { bytes: swapped(bytes) }
    }
}

fn swapped(mut bytes: [u8; 16]) -> [u8; 16] {
    for part in [0..4, 4..6, 6..8] {
        bytes[part].reverse();
    }
    bytes
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.bytes.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Guid {
    type Err = NotAGuid;

    fn from_str(text: &str) -> Result<Self, NotAGuid> {
        let text = text.as_bytes();
        if text.len() != 36 {
            return Err(NotAGuid);
        }
        let (mut bytes, mut found) = ([0u8; 16], 0);
        for (at, character) in text.iter().enumerate() {
            if matches!(at, 8 | 13 | 18 | 23) {
                if *character != b'-' {
                    return Err(NotAGuid);
                }
                continue;
            }
            let digit = char::from(*character).to_digit(16).ok_or(NotAGuid)? as u8;
            bytes[found / 2] |= digit << (4 * (1 - found % 2));
            found += 1;
        }
        Ok(Self { bytes })
    }
}

/// A text that is no GUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAGuid;

impl fmt::Display for NotAGuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a GUID (expected 00000000-0000-0000-0000-000000000000)")
    }
}

impl std::error::Error for NotAGuid {}
