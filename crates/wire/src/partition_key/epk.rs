//! The effective partition key: the place of a partition key on the ring that partitions divide among themselves.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A place on the ring: bytes, written as upper-case hexadecimal, ordered as that text is.
///
/// Keys of one component fit without an allocation.
#[derive(Clone)]
pub struct EffectivePartitionKey(Bytes);

/// One component, of which there can be millions in memory, with no more room than a box would take.
const INLINE: usize = 22;

#[derive(Clone)]
enum Bytes {
    Inline { len: u8, bytes: [u8; INLINE] },
    Heap(Box<[u8]>),
}

impl EffectivePartitionKey {
    /// The start of the ring: the empty key.
    pub const MIN: Self = Self(Bytes::Inline { len: 0, bytes: [0; INLINE] });

    /// The end of the ring, `FF`, which no key reaches.
    pub const MAX: Self = {
        let mut bytes = [0; INLINE];
        bytes[0] = 0xFF;
        Self(Bytes::Inline { len: 1, bytes })
    };

    /// A place on the ring from its bytes.
    pub fn from_bytes(data: &[u8]) -> Self {
        if data.len() > INLINE {
            return Self(Bytes::Heap(data.into()));
        }
        let mut bytes = [0; INLINE];
        bytes[..data.len()].copy_from_slice(data);
        Self(Bytes::Inline { len: data.len() as u8, bytes })
    }

    /// The bytes that the text shows in hexadecimal.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Bytes::Heap(bytes) => bytes,
        }
    }
}

impl Default for EffectivePartitionKey {
    fn default() -> Self {
        Self::MIN
    }
}

impl PartialEq for EffectivePartitionKey {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for EffectivePartitionKey {}

impl Hash for EffectivePartitionKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl PartialOrd for EffectivePartitionKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for EffectivePartitionKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl fmt::Display for EffectivePartitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02X}"))
    }
}

impl fmt::Debug for EffectivePartitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl FromStr for EffectivePartitionKey {
    type Err = EpkError;

    fn from_str(text: &str) -> Result<Self, EpkError> {
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let bytes = pairs
            .iter()
            .map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?))
            .collect::<Option<Vec<u8>>>();
        match bytes {
            Some(bytes) if rest.is_empty() => Ok(Self::from_bytes(&bytes)),
            _ => Err(EpkError(text.to_owned())),
        }
    }
}

impl Serialize for EffectivePartitionKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EffectivePartitionKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A text that is no effective partition key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpkError(String);

impl fmt::Display for EpkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not an effective partition key (expected an even number of hexadecimal digits)",
            self.0
        )
    }
}

impl std::error::Error for EpkError {}
