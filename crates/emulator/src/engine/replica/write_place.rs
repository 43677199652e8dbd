//! Where a document was written, and which one it is, in as few bytes as there can be millions of.

use crate::engine::{Document, RegionId};

/// Sorts by sequence, by commit, by place in the commit, and by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WritePlace {
    /// The sequence in the highest byte, the commit below it.
    commit: u64,
    /// The place in the commit in the two highest bytes, the document's number below them.
    change: u64,
}

const LSN_BITS: u32 = 56;
/// More documents than can be numbered in a human life.
const NUMBER_BITS: u32 = 48;

impl WritePlace {
    pub(super) fn of(document: &Document) -> Self {
        // Places beyond the last one are told apart by the numbers, which follow each other as they do.
        let nth = u64::from(document.nth.min(u32::from(u16::MAX)));
        Self {
            commit: commit(document.origin, document.lsn),
            change: nth << NUMBER_BITS | document.number & ((1 << NUMBER_BITS) - 1),
        }
    }

    /// After all documents of a commit.
    pub(super) fn after(origin: RegionId, lsn: i64) -> Self {
        Self { commit: commit(origin, lsn), change: u64::MAX }
    }

    /// The document's number.
    pub(super) fn number(self) -> u64 {
        self.change & ((1 << NUMBER_BITS) - 1)
    }
}

fn commit(origin: RegionId, lsn: i64) -> u64 {
    u64::from(origin.0) << LSN_BITS | lsn.clamp(0, (1 << LSN_BITS) - 1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_may_have_seen_is_before_what_comes() {
        let ascending = [
            WritePlace::after(RegionId(0), -1),
            WritePlace::after(RegionId(0), 5),
            WritePlace::after(RegionId(0), 6),
            WritePlace::after(RegionId(0), i64::MAX),
            WritePlace::after(RegionId(1), 0),
            WritePlace::after(RegionId(255), i64::MAX),
        ];
        assert!(ascending.is_sorted());
    }
}
