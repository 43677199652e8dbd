//! Texts that take less room: compressed on their way to the container, and bounded on their way back.

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// The fastest level, at about 250 MB/s. JSON of some kilobytes takes a fifth to a third of its room then; the slowest
/// level saves a quarter of that once more and takes ten to forty times as long.
const LEVEL: u8 = 1;

/// How many bytes a text has at most that is stored compressed. A document that promises more is damaged, so that no
/// document makes a process take more memory than this.
pub(super) const LONGEST: usize = 256 << 20;

/// Whether long texts are stored compressed: inputs, outputs, events, messages, values of keys and custom statuses.
///
/// ```
/// use duroxide_cosmonaut::{Compression, CosmosProviderConfig};
///
/// let config = CosmosProviderConfig { compression: Compression::Off, ..CosmosProviderConfig::default() };
/// ```
///
/// Whatever this says, compressed texts are read. Processes of versions that do not know them refuse the documents that
/// hold one: leave it [`Off`](Self::Off) until all processes that share the container know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Texts are stored as they are.
    Off,
    /// A text that takes more than so many bytes in its document is compressed, if that makes it shorter.
    Above(usize),
}

impl Default for Compression {
    /// From one kilobyte on: the service charges by the kilobyte, so that below less than a request unit is to be saved.
    fn default() -> Self {
        Self::Above(1024)
    }
}

/// Compresses a text.
pub(super) fn compress(text: &str) -> Vec<u8> {
    compress_to_vec_zlib(text.as_bytes(), LEVEL)
}

/// The text of so many bytes that was compressed.
///
/// # Errors
/// Why there is no such text.
pub(super) fn decompress(data: &[u8], length: usize) -> Result<String, String> {
    if length > LONGEST {
        return Err(format!("it promises {length} bytes, and a text has {LONGEST} at most"));
    }
    let bytes = decompress_to_vec_zlib_with_limit(data, length)
        .map_err(|error| format!("it cannot be decompressed to {length} bytes: {error}"))?;
    if bytes.len() != length {
        return Err(format!("it has {} bytes and not the {length} that it promises", bytes.len()));
    }
    String::from_utf8(bytes).map_err(|error| format!("it is no text: {error}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_comes_back(text in any::<String>()) {
            prop_assert_eq!(decompress(&compress(&text), text.len()), Ok(text));
        }

        #[test]
        fn what_is_damaged_is_an_error_or_no_longer_than_promised(
            data in prop::collection::vec(any::<u8>(), 0..200),
            length in 0_usize..100,
        ) {
            prop_assert!(decompress(&data, length).map_or(true, |text| text.len() == length));
        }
    }

    #[test]
    fn no_more_is_unpacked_than_was_promised_and_no_more_is_promised_than_is_allowed() {
        let bomb = compress(&"x".repeat(4 << 20));
        assert!(bomb.len() < 20_000);
        for (length, expected) in [(100, "100 bytes"), (5 << 20, "not the"), (usize::MAX, "at most")] {
            let error = decompress(&bomb, length).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
