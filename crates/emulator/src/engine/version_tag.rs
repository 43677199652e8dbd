//! The tag of a document's version, in the sixteen bytes that its text shows.
//!
//! What the bytes mean is decided where a version is stamped; see `document`.

use std::fmt;
use std::str::FromStr;

use cosmonaut_wire::Etag;

/// An entity tag of a document: unlike any other of its container.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct VersionTag(pub(crate) [u8; 16]);

/// Where the two digits of each byte are in the text without its quotes; hyphens are in between.
const PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// The two digits of each byte.
const DIGITS: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < pairs.len() {
        pairs[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    pairs
};

impl VersionTag {
    /// How many characters the text has without its quotes.
    pub(crate) const BARE_LEN: usize = 36;

    /// The text without its quotes.
    pub(crate) fn bare(self) -> [u8; Self::BARE_LEN] {
        let mut text = [b'-'; Self::BARE_LEN];
        for (place, byte) in PLACES.into_iter().zip(self.0) {
            text[place..place + 2].copy_from_slice(&DIGITS[usize::from(byte)]);
        }
        text
    }

    /// The tag as it travels, quotes included.
    pub fn to_etag(self) -> Etag {
        let mut text = String::with_capacity(Self::BARE_LEN + 2);
        text.push('"');
        text.push_str(std::str::from_utf8(&self.bare()).unwrap_or_default());
        text.push('"');
        Etag::from(text)
    }
}

impl fmt::Display for VersionTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = self.bare();
        write!(f, "\"{}\"", std::str::from_utf8(&bare).unwrap_or_default())
    }
}

impl fmt::Debug for VersionTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for VersionTag {
    type Err = NoVersionTag;

    /// Reads exactly what [`VersionTag`] prints.
    fn from_str(text: &str) -> Result<Self, NoVersionTag> {
        let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).ok_or(NoVersionTag)?;
        let bare: &[u8; Self::BARE_LEN] = bare.as_bytes().try_into().map_err(|_| NoVersionTag)?;
        // Whatever is no digit shows in the comparison.
        let digit = |byte: u8| if byte.is_ascii_digit() { byte - b'0' } else { byte.wrapping_sub(b'a' - 10) };
        let tag = Self(PLACES.map(|place| digit(bare[place]) << 4 | digit(bare[place + 1]) & 15));
        if tag.bare() == *bare { Ok(tag) } else { Err(NoVersionTag) }
    }
}

/// A text that is no tag of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoVersionTag;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn printing_and_reading_are_inverse(bytes: [u8; 16]) {
            prop_assert_eq!(VersionTag(bytes).to_string().parse(), Ok(VersionTag(bytes)));
        }
    }

    #[test]
    fn only_the_printed_form_is_read() {
        let tag = "\"00000003-0002-0100-0005-6553f1000000\"";
        assert_eq!(tag.parse::<VersionTag>().map(|tag| tag.to_string()), Ok(tag.to_owned()));
        for text in [
            "",
            "\"\"",
            "00000003-0002-0100-0005-6553f1000000",
            "\"00000003-0002-0100-0005-6553F1000000\"",
            "\"00000003-0002-0100-0005-6553f100000\"",
            "\"00000003-0002-0100-0005-6553f1000000-\"",
            "\"000000030002-0100-0005-6553f1000000-\"",
            "\"00000003-0002-0100-0005-6553f100000g\"",
        ] {
            assert_eq!(text.parse::<VersionTag>(), Err(NoVersionTag), "{text}");
        }
    }
}
