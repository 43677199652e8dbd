//! How texts of users are stored: as they are, or compressed.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `compression` | how does a text take less room, and none too much on its way back? |
//! | `form` | what does a stored text look like? |
//!
//! Names, statuses and times are no such texts: queries need them as they are.

mod compression;
mod form;

use crate::model::escaped_len;

pub use compression::Compression;
pub(crate) use form::{header_length, is_marked, plain};

use form::Form;

/// How texts are written, and which can be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    compression: Compression,
}

impl Texts {
    pub(crate) fn new(compression: Compression) -> Self {
        Self { compression }
    }

    /// A text as it is stored.
    ///
    /// # Errors
    /// Why it cannot be stored.
    pub(crate) fn seal(&self, text: String) -> Result<String, String> {
        Ok(self.compressed(&text).unwrap_or_else(|| form::plain(text)))
    }

    /// The text as it is stored compressed, if it should be.
    fn compressed(&self, text: &str) -> Option<String> {
        let Compression::Above(above) = self.compression else { return None };
        if text.len() > compression::LONGEST || (text.len() <= above && escaped_len(text) <= above) {
            return None;
        }
        let stored = form::compressed(text.len(), &compression::compress(text));
        (stored.len() < escaped_len(text)).then_some(stored)
    }

    /// The text that is stored so.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn open(&self, stored: String) -> Result<String, String> {
        if !is_marked(&stored) {
            return Ok(stored);
        }
        match Form::of(&stored)? {
            Form::Plain(text) => Ok(text.to_owned()),
            Form::Compressed { length, data } => compression::decompress(&data, length),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all() -> [Texts; 3] {
        [Compression::Off, Compression::Above(0), Compression::default()].map(Texts::new)
    }

    /// Texts that look like stored ones, or nearly so.
    fn hostile() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>(),
            "~.*",
            "~=.*",
            "~zlib [0-9]{1,20}:[A-Za-z0-9+/=]{0,60}",
            "[a-z]{1,4}".prop_map(|word| word.repeat(2000)),
            "~[a-z]{1,4}".prop_map(|word| word.repeat(2000)),
        ]
    }

    proptest! {
        #[test]
        fn any_text_comes_back_whoever_reads_it(text in hostile()) {
            for writer in all() {
                let stored = writer.seal(text.clone()).unwrap();
                for reader in all() {
                    prop_assert_eq!(reader.open(stored.clone()), Ok(text.clone()));
                }
                // What is stored may itself be a text of a user.
                let again = writer.seal(stored.clone()).unwrap();
                prop_assert_eq!(writer.open(again), Ok(stored));
            }
        }

        #[test]
        fn what_is_stored_never_ends_in_a_panic(stored in hostile()) {
            drop(Texts::default().open(stored));
        }
    }

    #[test]
    fn only_what_is_long_and_becomes_shorter_is_compressed() {
        let texts = Texts::default();
        let noise: String = (0..3000_u64).map(|n| char::from(33 + (n * n * 7919 % 91) as u8)).collect();
        for (case, text, is_compressed) in [
            ("short", "x".repeat(1024), false),
            ("long", "x".repeat(1025), true),
            ("long as JSON writes it", "\"".repeat(600), true),
            ("empty", String::new(), false),
        ] {
            assert_eq!(is_marked(&texts.seal(text).unwrap()), is_compressed, "{case}");
        }
        let stored = texts.seal(noise.clone()).unwrap();
        assert!(stored.len() <= escaped_len(&noise), "{} of {}", stored.len(), noise.len());
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for (stored, expected) in [
            ("~", "does not say"),
            ("~zlib 5", "does not say"),
            ("~zlib 5:?", "base64"),
            ("~zlib x:AAAA", "does not know"),
            ("~brotli 5:AAAA", "does not know"),
            ("~zlib 5:AAAA", "cannot be decompressed"),
            ("~zlib 99999999999:AAAA", "at most"),
        ] {
            let error = Texts::default().open(stored.to_owned()).unwrap_err();
            assert!(error.contains(expected), "{stored}: {error}");
        }
    }
}
