//! Bytes that lie in the value itself while they are few, as most terms are.

use std::cmp::Ordering;

/// How many bytes need no allocation.
const INLINE: usize = 22;

/// A few bytes, or many.
#[derive(Clone)]
pub(crate) struct ShortBytes(Place);

#[derive(Clone)]
enum Place {
    Inline { len: u8, bytes: [u8; INLINE] },
    Heap(Box<[u8]>),
}

impl ShortBytes {
    /// What `map` makes of each byte.
    pub(super) fn mapped(data: &[u8], map: impl Fn(u8) -> u8) -> Self {
        if data.len() > INLINE {
            return Self(Place::Heap(data.iter().map(|byte| map(*byte)).collect()));
        }
        let mut bytes = [0; INLINE];
        for (place, byte) in bytes.iter_mut().zip(data) {
            *place = map(*byte);
        }
        Self(Place::Inline { len: data.len() as u8, bytes })
    }
}

impl From<&[u8]> for ShortBytes {
    fn from(data: &[u8]) -> Self {
        Self::mapped(data, |byte| byte)
    }
}

impl From<Vec<u8>> for ShortBytes {
    fn from(data: Vec<u8>) -> Self {
        Self::from(&data[..])
    }
}

impl Default for ShortBytes {
    fn default() -> Self {
        Self::from(&[][..])
    }
}

impl std::ops::Deref for ShortBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Place::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Place::Heap(bytes) => bytes,
        }
    }
}

impl PartialEq for ShortBytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for ShortBytes {}

impl PartialOrd for ShortBytes {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ShortBytes {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(other)
    }
}

impl std::fmt::Debug for ShortBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        String::from_utf8_lossy(self).fmt(f)
    }
}
