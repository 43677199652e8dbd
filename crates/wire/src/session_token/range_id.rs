//! The id of a physical partition.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The id of a physical partition, such as `0`.
///
/// Ids are a few digits, and fit without an allocation.
#[derive(Clone)]
pub struct PartitionKeyRangeId(Text);

/// Any id that servers give, with no more room than a box and its tag would take.
const INLINE: usize = 22;

#[derive(Clone)]
enum Text {
    Inline { len: u8, bytes: [u8; INLINE] },
    Heap(Box<str>),
}

impl PartitionKeyRangeId {
    /// The id as it travels.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Inline { .. } => std::str::from_utf8(self.as_bytes()).expect("the bytes of a text"),
            Text::Heap(text) => text,
        }
    }

    /// The bytes of the id.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Text::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Text::Heap(text) => text.as_bytes(),
        }
    }
}

impl From<&str> for PartitionKeyRangeId {
    fn from(id: &str) -> Self {
        if id.len() > INLINE {
            return Self(Text::Heap(id.into()));
        }
        let mut bytes = [0; INLINE];
        bytes[..id.len()].copy_from_slice(id.as_bytes());
        Self(Text::Inline { len: id.len() as u8, bytes })
    }
}

impl From<String> for PartitionKeyRangeId {
    fn from(id: String) -> Self {
        Self::from(id.as_str())
    }
}

impl PartialEq for PartitionKeyRangeId {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for PartitionKeyRangeId {}

impl Hash for PartitionKeyRangeId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl PartialOrd for PartitionKeyRangeId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PartitionKeyRangeId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl fmt::Display for PartitionKeyRangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for PartitionKeyRangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PartitionKeyRangeId").field(&self.as_str()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_length_are_texts_in_order() {
        let long = "é".repeat(40);
        let mut texts = ["", "0", "10", "9", "é", "0123456789012345678901", "01234567890123456789012", &long];
        let mut ids = texts.map(PartitionKeyRangeId::from);
        ids.sort();
        texts.sort_unstable();
        for (id, text) in ids.iter().zip(texts) {
            assert_eq!(id.as_str(), text);
            assert_eq!(*id, PartitionKeyRangeId::from(text.to_owned()));
            assert_eq!(id.to_string(), text);
        }
        assert_eq!(format!("{:?}", PartitionKeyRangeId::from("0")), r#"PartitionKeyRangeId("0")"#);
    }

    #[test]
    fn an_id_takes_no_more_room_than_a_box_and_its_tag() {
        assert_eq!(size_of::<PartitionKeyRangeId>(), 24);
    }
}
