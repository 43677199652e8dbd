//! What applications put between their texts and the container, as to encrypt them.

use std::fmt;
use std::sync::Arc;

use super::form::is_codec_name;

/// What a codec says if it cannot do its work. It must not hold what is secret: it becomes part of errors and logs.
pub type CodecError = Box<dyn std::error::Error + Send + Sync>;

/// Changes the texts of users on their way to the container and back: encrypts them, for example.
///
/// It gets inputs, outputs, errors, events, messages, values of keys and custom statuses, compressed if they are long. It
/// does not get names of instances, orchestrations, keys, sessions and tags, statuses and times: queries need them.
///
/// ```
/// use duroxide_cosmonaut::{CodecError, CosmosProviderConfig, PayloadCodec, PayloadCodecs};
///
/// # mod cipher {
/// #     pub fn seal(_: &[u8; 32], plain: &[u8]) -> Vec<u8> { plain.iter().rev().copied().collect() }
/// #     pub fn open(_: &[u8; 32], sealed: &[u8]) -> Result<Vec<u8>, std::fmt::Error> {
/// #         Ok(sealed.iter().rev().copied().collect())
/// #     }
/// # }
/// /// A cipher with its key, under the name of the key.
/// struct Cipher {
///     id: &'static str,
///     key: [u8; 32],
/// }
///
/// impl PayloadCodec for Cipher {
///     fn id(&self) -> &str {
///         self.id
///     }
///
///     fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, CodecError> {
///         Ok(cipher::seal(&self.key, plain))
///     }
///
///     fn decode(&self, encoded: &[u8]) -> Result<Vec<u8>, CodecError> {
///         Ok(cipher::open(&self.key, encoded)?)
///     }
/// }
///
/// // Texts are written with the new key. Those of the old one can still be read.
/// let (new, old) = (Cipher { id: "key-2027", key: [2; 32] }, Cipher { id: "key-2026", key: [1; 32] });
/// let config = CosmosProviderConfig {
///     codecs: PayloadCodecs::writing_with(new).reading_with(old),
///     ..CosmosProviderConfig::default()
/// };
/// assert_eq!(format!("{:?}", config.codecs), r#"PayloadCodecs { writes: Some("key-2027"), reads: ["key-2027", "key-2026"] }"#);
/// ```
///
/// It is called on the threads of the runtime, and must not block: fetch keys beforehand.
pub trait PayloadCodec: Send + Sync + 'static {
    /// Its name, which is stored with each text that it has encoded: up to 64 letters, digits, `-`, `_` and `.`. As long as
    /// such a text is stored, a codec of this name must decode it. So a key has a name of its own.
    fn id(&self) -> &str;

    /// What is stored. It may be another one each time.
    ///
    /// # Errors
    /// If it cannot be made now. What was to be written is tried again.
    fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, CodecError>;

    /// What was encoded.
    ///
    /// # Errors
    /// If it cannot be read. The instance is left alone for a while, and tried again; nothing of it is lost.
    fn decode(&self, encoded: &[u8]) -> Result<Vec<u8>, CodecError>;
}

/// The codecs of a provider: one that writes, and any number that read.
///
/// A codec is brought in in two steps: first all processes get it as one that reads, then they write with it. See
/// [`PayloadCodec`] for an example.
#[derive(Clone, Default)]
pub struct PayloadCodecs {
    writes: bool,
    /// The one that writes is the first.
    known: Vec<Arc<dyn PayloadCodec>>,
}

impl PayloadCodecs {
    /// Texts are written with this codec, and read.
    pub fn writing_with(codec: impl PayloadCodec) -> Self {
        Self { writes: true, known: vec![Arc::new(codec)] }
    }

    /// Texts of this codec are read, too.
    #[must_use]
    pub fn reading_with(mut self, codec: impl PayloadCodec) -> Self {
        self.known.push(Arc::new(codec));
        self
    }

    /// The codec that writes.
    pub(super) fn writer(&self) -> Option<&dyn PayloadCodec> {
        self.known.first().filter(|_| self.writes).map(AsRef::as_ref)
    }

    pub(super) fn named(&self, id: &str) -> Option<&dyn PayloadCodec> {
        self.known.iter().find(|codec| codec.id() == id).map(AsRef::as_ref)
    }

    /// Whether their names can be stored, and tell them apart.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (place, codec) in self.known.iter().enumerate() {
            let id = codec.id();
            if !is_codec_name(id) {
                return Err(format!(
                    "{id:?} cannot be the name of a codec (use up to 64 letters, digits, '-', '_' and '.')"
                ));
            }
            if self.known[..place].iter().any(|other| other.id() == id) {
                return Err(format!("there are two codecs {id:?} (give each key a name of its own)"));
            }
        }
        Ok(())
    }
}

/// Names only: codecs hold keys.
impl fmt::Debug for PayloadCodecs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reads: Vec<&str> = self.known.iter().map(|codec| codec.id()).collect();
        let writes = self.writer().map(PayloadCodec::id);
        f.debug_struct("PayloadCodecs").field("writes", &writes).field("reads", &reads).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(&'static str);

    impl PayloadCodec for Named {
        fn id(&self) -> &str {
            self.0
        }

        fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, CodecError> {
            Ok(plain.to_vec())
        }

        fn decode(&self, encoded: &[u8]) -> Result<Vec<u8>, CodecError> {
            Ok(encoded.to_vec())
        }
    }

    #[test]
    fn names_are_checked() {
        let long: &'static str = "x".repeat(65).leak();
        for (codecs, expected) in [
            (PayloadCodecs::default(), None),
            (PayloadCodecs::writing_with(Named("a")).reading_with(Named("a.b-C_9")), None),
            (PayloadCodecs::writing_with(Named("")), Some("\"\" cannot be")),
            (PayloadCodecs::default().reading_with(Named("a:b")), Some("\"a:b\" cannot be")),
            (PayloadCodecs::default().reading_with(Named("é")), Some("cannot be")),
            (PayloadCodecs::writing_with(Named(long)), Some("up to 64")),
            (PayloadCodecs::writing_with(Named("a")).reading_with(Named("a")), Some("two codecs \"a\"")),
        ] {
            let error = codecs.check().err();
            assert_eq!(error.is_some(), expected.is_some(), "{codecs:?}");
            assert!(error.unwrap_or_default().contains(expected.unwrap_or_default()), "{codecs:?}");
        }
        assert!(PayloadCodecs::default().reading_with(Named("a")).writer().is_none());
    }
}
