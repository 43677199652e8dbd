//! The bytes that say what follows them.

/// The first byte of every document.
pub(super) const DOCUMENT: u8 = 0x80;

/// The integers 0 to 31 are their own markers.
pub(super) const LAST_SMALL_INTEGER: u8 = 0x1F;
/// The first of 32 system strings.
pub(super) const SYSTEM_STRING: u8 = 0x20;
/// The first marker of a string in a dictionary that client and service have agreed on.
pub(super) const USER_STRING: u8 = 0x40;
/// The last of them.
pub(super) const LAST_USER_STRING: u8 = 0x67;

/// Base64 text with up to 255 groups of four characters, then with more.
pub(super) const BASE64: u8 = 0x71;
pub(super) const BASE64_LONG: u8 = 0x72;
/// The same with `-` and `_`.
pub(super) const BASE64_URL: u8 = 0x73;
pub(super) const BASE64_URL_LONG: u8 = 0x74;

pub(super) const GUID_LOWER: u8 = 0x75;
pub(super) const GUID_UPPER: u8 = 0x76;
/// A GUID between double quotes, as in an etag.
pub(super) const GUID_QUOTED: u8 = 0x77;

pub(super) const HEX_LOWER: u8 = 0x78;
pub(super) const HEX_UPPER: u8 = 0x79;
pub(super) const DATE_TIME: u8 = 0x7A;

pub(super) const PACKED_4: u8 = 0x7B;
pub(super) const PACKED_5: u8 = 0x7C;
pub(super) const PACKED_6: u8 = 0x7D;
pub(super) const PACKED_7: u8 = 0x7E;
pub(super) const PACKED_7_LONG: u8 = 0x7F;

/// A string of 0 bytes; the next 63 markers are for one byte more each.
pub(super) const STRING: u8 = 0x80;
pub(super) const LAST_SHORT_STRING: u8 = 0xBF;
/// A string with a length of 1, 2 or 4 bytes.
pub(super) const STRING_1: u8 = 0xC0;
pub(super) const STRING_2: u8 = 0xC1;
pub(super) const STRING_4: u8 = 0xC2;
/// A reference with an offset of 1 byte; the next three have 2, 3 and 4.
pub(super) const REFERENCE: u8 = 0xC3;
pub(super) const LAST_REFERENCE: u8 = 0xC6;

pub(super) const UINT64: u8 = 0xC7;
pub(super) const UINT8: u8 = 0xC8;
pub(super) const INT16: u8 = 0xC9;
pub(super) const INT32: u8 = 0xCA;
pub(super) const INT64: u8 = 0xCB;
pub(super) const DOUBLE: u8 = 0xCC;

pub(super) const NULL: u8 = 0xD0;
pub(super) const FALSE: u8 = 0xD1;
pub(super) const TRUE: u8 = 0xD2;

/// The extended types: what a uniform array holds, and what plain JSON does not.
pub(super) mod extended {
    pub(in crate::binary) const FLOAT32: u8 = 0xCD;
    pub(in crate::binary) const FLOAT64: u8 = 0xCE;
    pub(in crate::binary) const GUID: u8 = 0xD3;
    pub(in crate::binary) const UINT8: u8 = 0xD7;
    pub(in crate::binary) const INT8: u8 = 0xD8;
    pub(in crate::binary) const INT16: u8 = 0xD9;
    pub(in crate::binary) const INT32: u8 = 0xDA;
    pub(in crate::binary) const INT64: u8 = 0xDB;
    pub(in crate::binary) const UINT32: u8 = 0xDC;
    /// Bytes with a length of 1, 2 or 4 bytes.
    pub(in crate::binary) const BYTES_1: u8 = 0xDD;
    pub(in crate::binary) const BYTES_2: u8 = 0xDE;
    pub(in crate::binary) const BYTES_4: u8 = 0xDF;
}

/// The empty array. One element, a length of 1, 2 or 4 bytes, and a length and a count of 1, 2 or 4 bytes follow.
pub(super) const ARRAY: u8 = 0xE0;
/// The empty object, and the same seven forms.
pub(super) const OBJECT: u8 = 0xE8;
pub(super) const LAST_OBJECT: u8 = 0xEF;

/// An array of numbers of one type, with a count of 1 or 2 bytes.
pub(super) const NUMBERS_1: u8 = 0xF0;
pub(super) const NUMBERS_2: u8 = 0xF1;
/// An array of such arrays, all of one type and count.
pub(super) const NUMBER_ARRAYS_1: u8 = 0xF2;
pub(super) const NUMBER_ARRAYS_2: u8 = 0xF3;
