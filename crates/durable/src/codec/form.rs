//! How a text is stored that is not stored as it is.
//!
//! Such a text begins with a mark, and says what it is:
//!
//! | stored | what it is |
//! | --- | --- |
//! | `~=TEXT` | the text itself, which begins with the mark |
//! | `~zlib LENGTH:BASE64` | a text of so many bytes, compressed |
//!
//! A document with such a text has the format [`SEALED`](crate::model::SEALED_FORMAT). In any other document, a text that
//! begins with the mark is nothing but that text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// What a text begins with that is not stored as it is.
pub(crate) const MARK: char = '~';

/// What a stored text is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form<'a> {
    /// The text itself.
    Plain(&'a str),
    /// A compressed text.
    Compressed { length: usize, data: Vec<u8> },
}

/// Whether a stored text begins with the mark.
pub(crate) fn is_marked(stored: &str) -> bool {
    stored.starts_with(MARK)
}

/// How many bytes of a stored text say what it is. They stay in the document, wherever the rest is.
pub(crate) fn header_length(stored: &str) -> usize {
    let Some(rest) = stored.strip_prefix(MARK) else { return 0 };
    match rest.starts_with('=') {
        true => 2,
        false => rest.find(':').map_or(stored.len(), |at| MARK.len_utf8() + at + 1),
    }
}

/// A text that is stored as it is, as far as that can be.
pub(crate) fn plain(text: String) -> String {
    if is_marked(&text) { format!("{MARK}={text}") } else { text }
}

/// A text of so many bytes that was compressed.
pub(super) fn compressed(length: usize, data: &[u8]) -> String {
    format!("{MARK}zlib {length}:{}", STANDARD_NO_PAD.encode(data))
}

impl<'a> Form<'a> {
    /// # Errors
    /// Why the text cannot be understood.
    pub(super) fn of(stored: &'a str) -> Result<Self, String> {
        let Some(rest) = stored.strip_prefix(MARK) else { return Ok(Self::Plain(stored)) };
        if let Some(text) = rest.strip_prefix('=') {
            return Ok(Self::Plain(text));
        }
        let (header, data) = rest.split_once(':').ok_or("it does not say what it is")?;
        let length = header
            .strip_prefix("zlib ")
            .and_then(|length| length.parse().ok())
            .ok_or("it is stored in a way that this version does not know")?;
        Ok(Self::Compressed { length, data: decoded(data)? })
    }
}

fn decoded(text: &str) -> Result<Vec<u8>, String> {
    STANDARD_NO_PAD.decode(text).map_err(|error| format!("it is no base64: {error}"))
}
