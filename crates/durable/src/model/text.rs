//! Text that is too long for one document, in pieces.
//!
//! The service takes documents of 2 MB. A piece is a good deal less, so that it still fits when it is part of a
//! staged turn, where it is escaped once more.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Kind;
use crate::codec::header_length;

/// How many bytes of text a document holds at most, as JSON writes them.
pub(crate) const MAX_TEXT: usize = 700_000;

/// A piece of a long text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Chunk {
    pub(crate) text: String,
}

impl Kind for Chunk {
    const KIND: &'static str = "chunk";
}

/// The id of a piece of what belongs in document `id`.
pub(crate) fn chunk_id(id: &str, n: u32) -> String {
    format!("{id}~{n}")
}

/// What tells a text from another one, in a few characters.
pub(crate) fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// How many bytes a text has as a JSON string, without its quotes.
pub(crate) fn escaped_len(text: &str) -> usize {
    text.chars().map(escaped).sum()
}

fn escaped(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\u{0}'..='\u{1f}' => 6,
        c => c.len_utf8(),
    }
}

/// A text, whole or in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pieces {
    /// It fits in its document.
    Whole(String),
    /// It is in documents of its own, but for what says how it is stored.
    Chunks { header: String, pieces: Vec<String> },
}

impl Pieces {
    pub(crate) fn of(text: String) -> Self {
        Self::within(text, MAX_TEXT)
    }

    /// In pieces of at most `limit` bytes, as JSON writes them.
    pub(crate) fn within(text: String, limit: usize) -> Self {
        // Most texts are short, and then their bytes alone say that they fit.
        if text.len() <= limit / 6 || escaped_len(&text) <= limit {
            return Self::Whole(text);
        }
        let (header, rest) = text.split_at(header_length(&text));
        let (mut pieces, mut piece, mut size) = (Vec::new(), String::new(), 0);
        for c in rest.chars() {
            if size + escaped(c) > limit {
                pieces.push(std::mem::take(&mut piece));
                size = 0;
            }
            piece.push(c);
            size += escaped(c);
        }
        pieces.push(piece);
        Self::Chunks { header: header.to_owned(), pieces }
    }

    /// The text that goes in the document itself, and the pieces that do not. That of a text in pieces is empty unless
    /// something says how the text is stored.
    pub(crate) fn split(self) -> (String, Vec<String>) {
        match self {
            Self::Whole(text) => (text, Vec::new()),
            Self::Chunks { header, pieces } => (header, pieces),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_fit_and_make_the_text_again(text in "~?(zlib 9)?[=:]?\\PC*", limit in 6usize..40) {
            match Pieces::within(text.clone(), limit) {
                Pieces::Whole(whole) => {
                    prop_assert!(escaped_len(&whole) <= limit);
                    prop_assert_eq!(whole, text);
                }
                Pieces::Chunks { header, pieces } => {
                    prop_assert_eq!(header.is_empty(), !text.starts_with('~'));
                    prop_assert!(pieces.iter().all(|piece| escaped_len(piece) <= limit));
                    prop_assert_eq!(header + &pieces.concat(), text);
                }
            }
        }

        #[test]
        fn the_length_is_what_json_writes(text in any::<String>()) {
            prop_assert_eq!(escaped_len(&text) + 2, serde_json::to_string(&text).unwrap().len());
        }
    }
}
