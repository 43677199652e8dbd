//! How a text is stored that is not stored as it is.
//!
//! Such a text begins with a mark, and says what it is:
//!
//! | stored | what it is |
//! | --- | --- |
//! | `~=TEXT` | the text itself, which begins with the mark |
//! | `~zlib LENGTH:BASE64` | a text of so many bytes, compressed |
//! | `~by CODEC:BASE64` | a packing, encoded by a codec of the application |
//!
//! A packing is `=` and a text, or `zlib LENGTH:` and a compressed text. So what is inside is the codec's to hide and to
//! guard.
//!
//! A document with such a text has the format [`SEALED_FORMAT`](crate::model::SEALED_FORMAT). In any other document, a text
//! that begins with the mark is nothing but that text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// What a text begins with that is not stored as it is.
const MARK: char = '~';
/// What a compressed text is called.
const ZLIB: &str = "zlib ";
/// What comes before the name of a codec.
const BY: &str = "by ";

/// What a stored text is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form<'a> {
    /// The text itself.
    Plain(&'a str),
    /// A compressed text.
    Compressed { length: usize, data: Vec<u8> },
    /// Something that a codec has encoded.
    Encoded { codec: &'a str, data: Vec<u8> },
}

/// Whether a stored text begins with the mark.
pub(crate) fn is_marked(stored: &str) -> bool {
    stored.starts_with(MARK)
}

/// Whether a codec may be called so.
pub(super) fn is_codec_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
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
    format!("{MARK}{ZLIB}{length}:{}", STANDARD_NO_PAD.encode(data))
}

/// What a codec has encoded.
pub(super) fn encoded(codec: &str, data: &[u8]) -> String {
    format!("{MARK}{BY}{codec}:{}", STANDARD_NO_PAD.encode(data))
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
        let length = header.strip_prefix(ZLIB).and_then(|length| length.parse().ok());
        let codec = header.strip_prefix(BY).filter(|name| is_codec_name(name));
        match (length, codec) {
            (Some(length), _) => Ok(Self::Compressed { length, data: decoded(data)? }),
            (None, Some(codec)) => Ok(Self::Encoded { codec, data: decoded(data)? }),
            (None, None) => Err("it is stored in a way that this version does not know".to_owned()),
        }
    }
}

fn decoded(text: &str) -> Result<Vec<u8>, String> {
    STANDARD_NO_PAD.decode(text).map_err(|error| format!("it is no base64: {error}"))
}

/// A text as a codec gets it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packing<'a> {
    Plain(&'a [u8]),
    Compressed { length: usize, data: &'a [u8] },
}

impl<'a> Packing<'a> {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Plain(text) => [b"=", *text].concat(),
            Self::Compressed { length, data } => [format!("{ZLIB}{length}:").as_bytes(), data].concat(),
        }
    }

    /// # Errors
    /// Why it is none.
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, String> {
        if let Some(text) = bytes.strip_prefix(b"=") {
            return Ok(Self::Plain(text));
        }
        let compressed = || {
            let at = bytes.iter().position(|byte| *byte == b':')?;
            let header = std::str::from_utf8(&bytes[..at]).ok()?;
            let length = header.strip_prefix(ZLIB)?.parse().ok()?;
            Some(Self::Compressed { length, data: &bytes[at + 1..] })
        };
        compressed().ok_or_else(|| "it does not say what it is".to_owned())
    }
}
