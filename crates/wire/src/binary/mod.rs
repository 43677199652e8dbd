//! Cosmos DB's binary JSON: documents as bytes that are shorter than their text, turned into text and back.
//!
//! A body in this form begins with a byte that no text begins with, so both ends can tell the forms apart without a
//! header. Which form an answer has is agreed by the headers in [`formats`](Formats). HybridRow, a third form, is not
//! read or written here.
//!
//! ```
//! use cosmonaut_wire::binary::{Features, from_text, is_binary, to_text};
//!
//! let binary = from_text(br#"{"id": "a"}"#, Features::default())?;
//! assert_eq!(binary, [0x80, 0xE9, 0x2C, 0x81, b'a']);
//! assert!(is_binary(&binary));
//! assert_eq!(to_text(&binary, 1024)?, br#"{"id":"a"}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod base64_text;
mod cursor;
mod decode;
mod encode;
mod error;
mod formats;
mod guid;
mod layout;
mod marker;
mod number_arrays;
mod packed;
mod string_form;
mod strings;
mod system_strings;
#[cfg(test)]
mod tests;

pub use decode::to_text;
pub use encode::from_text;
pub use error::BinaryError;
pub use formats::{Features, Formats, FormatsError};

/// Whether a body is binary JSON. It is JSON text, or something else, if not.
pub fn is_binary(body: &[u8]) -> bool {
    body.first() == Some(&marker::DOCUMENT)
}
