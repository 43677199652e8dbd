//! What a token is: its id, the type of its value, and what follows if it is missing or has another type.

use super::Guid;

macro_rules! types {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)+) => {
        /// The type of a token's value, by the name that the service has for it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TokenType {
            $($(#[$doc])* $name,)+
        }

        impl TokenType {
            /// The byte in a frame.
            pub const fn code(self) -> u8 {
                match self {
                    $(Self::$name => $code,)+
                }
            }

            /// What a byte in a frame stands for. What no byte stands for has no length either.
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)+
                    _ => None,
                }
            }
        }
    };
}

types! {
    /// One byte; for a boolean 0 or 1.
    Byte = 0x00,
    /// Two bytes without a sign.
    UShort = 0x01,
    /// Four bytes without a sign.
    ULong = 0x02,
    /// Four bytes with a sign.
    Long = 0x03,
    /// Eight bytes without a sign.
    ULongLong = 0x04,
    /// Eight bytes with a sign.
    LongLong = 0x05,
    /// A GUID.
    Guid = 0x06,
    /// Text whose length has one byte.
    SmallString = 0x07,
    /// Text whose length has two bytes.
    String = 0x08,
    /// Text whose length has four bytes.
    ULongString = 0x09,
    /// Bytes whose length has one byte.
    SmallBytes = 0x0A,
    /// Bytes whose length has two bytes.
    Bytes = 0x0B,
    /// Bytes whose length has four bytes.
    ULongBytes = 0x0C,
    /// A number of four bytes.
    Float = 0x0D,
    /// A number of eight bytes.
    Double = 0x0E,
}

/// How many bytes a value has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// This many.
    Fixed(usize),
    /// As many as a number says that has this many bytes.
    Prefixed(usize),
}

impl TokenType {
    pub(super) const fn size(self) -> Size {
        match self {
            Self::Byte => Size::Fixed(1),
            Self::UShort => Size::Fixed(2),
            Self::ULong | Self::Long | Self::Float => Size::Fixed(4),
            Self::ULongLong | Self::LongLong | Self::Double => Size::Fixed(8),
            Self::Guid => Size::Fixed(16),
            Self::SmallString | Self::SmallBytes => Size::Prefixed(1),
            Self::String | Self::Bytes => Size::Prefixed(2),
            Self::ULongString | Self::ULongBytes => Size::Prefixed(4),
        }
    }
}

/// What is demanded of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It is there, once, and has its type.
    Required,
    /// If it is there, it has its type.
    Exact,
    /// One of another type is as good as none.
    Loose,
}

/// A token that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its number.
    pub id: u16,
    /// The type of its value.
    pub kind: TokenType,
    /// The service's name for it.
    pub name: &'static str,
    /// What is demanded of it.
    pub rule: Rule,
}

/// The value of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A number without a sign.
    Unsigned(u64),
    /// A number with a sign.
    Signed(i64),
    /// A number with a fraction.
    Float(f64),
    /// A GUID.
    Guid(Guid),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// Reads as many bytes as the type has, or as its length said; none if that is no text where it should be.
    pub(super) fn read(kind: TokenType, bytes: &'a [u8]) -> Option<Self> {
        Some(match kind {
            TokenType::Byte | TokenType::UShort | TokenType::ULong | TokenType::ULongLong => {
                let mut wide = [0; 8];
                wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
                Self::Unsigned(u64::from_le_bytes(wide))
            }
            TokenType::Long => Self::Signed(i32::from_le_bytes(bytes.try_into().ok()?).into()),
            TokenType::LongLong => Self::Signed(i64::from_le_bytes(bytes.try_into().ok()?)),
            TokenType::Guid => Self::Guid(Guid::from_wire(bytes.try_into().ok()?)),
            TokenType::Float => Self::Float(f32::from_le_bytes(bytes.try_into().ok()?).into()),
            TokenType::Double => Self::Float(f64::from_le_bytes(bytes.try_into().ok()?)),
            TokenType::SmallString | TokenType::String | TokenType::ULongString => {
                Self::Text(std::str::from_utf8(bytes).ok()?)
            }
            TokenType::SmallBytes | TokenType::Bytes | TokenType::ULongBytes => Self::Bytes(bytes),
        })
    }

    /// The text, if it is one.
    pub fn text(self) -> Option<&'a str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The bytes, if it is some.
    pub fn bytes(self) -> Option<&'a [u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// The number, if it is one without a sign.
    pub fn unsigned(self) -> Option<u64> {
        if let Self::Unsigned(number) = self { Some(number) } else { None }
    }
}
