//! Why bytes are not a binary document.

use std::fmt;

/// Why bytes are not a binary document, or not one that may be turned into text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinaryError {
    pub(super) offset: usize,
    pub(super) problem: Problem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    NotBinary,
    Ends,
    UnknownMarker(u8),
    UserString,
    NotAString,
    NotText,
    NotAsciiText,
    Padding,
    Reference,
    Count,
    Depth,
    NotFinite,
    NumberArray,
    Trailing,
    TooLong(usize),
}

impl BinaryError {
    /// The byte at which the document stops being acceptable.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Whether the document may be right and only its text is longer than is allowed.
    pub fn is_too_long(&self) -> bool {
        matches!(self.problem, Problem::TooLong(_))
    }
}

impl fmt::Display for BinaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid binary JSON at byte {}: ", self.offset)?;
        match self.problem {
            Problem::NotBinary => f.write_str("expected 80 and a value"),
            Problem::Ends => f.write_str("a value or a length goes past the end of what it is in"),
            Problem::UnknownMarker(marker) => write!(f, "{marker:02X} says nothing"),
            Problem::UserString => f.write_str("a string of a dictionary that was not agreed on"),
            Problem::NotAString => f.write_str("a name that is not a string"),
            Problem::NotText => f.write_str("a string that is not UTF-8"),
            Problem::NotAsciiText => f.write_str("a packed string with characters that are not ASCII"),
            Problem::Padding => f.write_str("a compressed string whose length and padding do not agree"),
            Problem::Reference => f.write_str("a reference to something other than an earlier string"),
            Problem::Count => f.write_str("a container with another number of items than it says"),
            Problem::Depth => f.write_str("more than 256 levels of nesting"),
            Problem::NotFinite => f.write_str("a number that JSON does not have"),
            Problem::NumberArray => f.write_str("an array of numbers of a type that there is not"),
            Problem::Trailing => f.write_str("bytes after the value"),
            Problem::TooLong(most) => write!(f, "as text it has more than {most} bytes"),
        }
    }
}

impl std::error::Error for BinaryError {}
