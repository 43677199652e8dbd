//! Which region of the account something belongs to.
//!
//! An account has one region today; everything that will differ between regions names its region already.

/// A region, by its place in the account's list of regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RegionId(pub u8);

impl RegionId {
    /// The place in lists that have one entry per region.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}
