//! Which region of the account something belongs to.
//!
//! What a region is called, and which there are, is the topology's.

/// A region, by the number that it was given when it came to the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RegionId(pub u8);

impl RegionId {
    /// The place in lists that have one entry per region, as long as no region has left.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}
