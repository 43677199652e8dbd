//! A short name for a row or group, by which it is known again: the same for equal ones, and in an order of its own.
//!
//! It cannot be turned back into what it names.

use sha2::{Digest, Sha256};

use crate::value::Value;

/// How much of a long name is kept as it is, before a hash of the whole takes over.
const KEPT: usize = 96;
const HASH: usize = 32;

/// What a row or group is known by: the canonical bytes of its value, cut to a bounded length.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(Vec<u8>);

impl Mark {
    pub(super) fn of_row(row: &Value) -> Mark {
        Mark::of(row.canonical())
    }

    /// Equal bytes have equal marks, and different ones different marks.
    pub(super) fn of(mut canonical: Vec<u8>) -> Mark {
        if canonical.len() > KEPT + HASH {
            let hash = Sha256::digest(&canonical);
            canonical.truncate(KEPT);
            canonical.extend_from_slice(&hash);
        }
        canonical.shrink_to_fit();
        Mark(canonical)
    }

    /// A mark from the bytes of an earlier one.
    pub fn from_bytes(bytes: Vec<u8>) -> Mark {
        Mark(bytes)
    }

    /// The bytes, at most 128 of them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_short_and_tell_long_rows_apart() {
        let row = |last: char| Value::from(format!("{}{last}", "x".repeat(10_000)).as_str());
        let (a, b) = (Mark::of_row(&row('a')), Mark::of_row(&row('b')));
        assert_ne!(a, b);
        assert_eq!((a.as_bytes().len(), a.clone()), (KEPT + HASH, Mark::of_row(&row('a'))));
        assert_eq!(Mark::of_row(&Value::from(1.5)).as_bytes(), b"1.5");
        assert_eq!(Mark::from_bytes(b.as_bytes().to_vec()), b);
    }
}
