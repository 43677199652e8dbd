//! The name that an operation has at both ends: a random UUID.

use std::fmt;

use http::HeaderValue;

/// The name of an operation, as text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ActivityId([u8; 36]);

impl ActivityId {
    /// A UUID of version 4 from 128 random bits.
    pub(crate) fn from_random(high: u64, low: u64) -> Self {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut bytes = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let mut text = [b'-'; 36];
        let mut place = 0;
        for (nth, byte) in bytes.into_iter().enumerate() {
            if matches!(nth, 4 | 6 | 8 | 10) {
                place += 1;
            }
            text[place] = HEX[usize::from(byte >> 4)];
            text[place + 1] = HEX[usize::from(byte & 0xf)];
            place += 2;
        }
        Self(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("hexadecimal and dashes are ASCII")
    }

    pub(crate) fn to_header(self) -> HeaderValue {
        let mut header =
            HeaderValue::from_bytes(&self.0).expect("hexadecimal and dashes are printable ASCII");
        // No secret, but never sent for another operation: this keeps HTTP/2 from remembering it at both ends.
        header.set_sensitive(true);
        header
    }
}

impl fmt::Debug for ActivityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        for (high, low, expected) in [
            (0, 0, "00000000-0000-4000-8000-000000000000"),
            (u64::MAX, u64::MAX, "ffffffff-ffff-4fff-bfff-ffffffffffff"),
            (0x0123_4567_89ab_cdef, 0x0123_4567_89ab_cdef, "01234567-89ab-4def-8123-456789abcdef"),
        ] {
            let id = ActivityId::from_random(high, low);
            assert_eq!(id.as_str(), expected);
            assert_eq!(id.to_header(), expected);
        }
    }
}
