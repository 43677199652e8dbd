//! How far a piece of the container is known: what becomes due until when, and after which search. Pure, but for the cell
//! that a reader leaves to its successors.

use std::sync::{Arc, Mutex, PoisonError};

/// What is known of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Until when all that becomes due is known.
    pub(super) until: u64,
    /// The number of the last search for what was forgotten.
    pub(super) search: u64,
}

/// What has to be searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Nothing,
    /// What becomes due after that.
    After(u64),
    Everything,
}

impl Extent {
    /// What is known of two pieces together.
    pub(super) fn both(self, other: Self) -> Self {
        Self { until: self.until.min(other.until), search: self.search.min(other.search) }
    }

    /// What has to be searched for, if this is the number of the last search and all has to be known until then.
    pub(super) fn missing(self, search: u64, until: u64) -> Missing {
        match (self.search == search, until < self.until) {
            (true, true) => Missing::Nothing,
            (true, false) => Missing::After(self.until),
            (false, _) => Missing::Everything,
        }
    }
}

/// How far a reader knows its piece; nothing before all of it was searched. Clones are one.
#[derive(Clone, Default)]
pub(super) struct Searched(Arc<Mutex<Option<Extent>>>);

impl Searched {
    pub(super) fn get(&self) -> Option<Extent> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, extent: Extent) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(extent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_successor_knows_no_more_than_those_before_it() {
        let extent = |until, search| Extent { until, search };
        // It has searched its own part until 1000. Another part was known until 400, a third one to another search.
        let own = extent(1000, 7);
        for (inherited, expected) in [
            (None, Missing::Nothing),
            (Some(extent(400, 7)), Missing::After(400)),
            (Some(extent(400, 7).both(extent(900, 7))), Missing::After(400)),
            (Some(extent(900, 7).both(extent(800, 6))), Missing::Everything),
            (Some(extent(900, 7)), Missing::Nothing),
        ] {
            let known = inherited.map_or(own, |inherited: Extent| inherited.both(own));
            assert_eq!(known.missing(7, 500), expected, "{inherited:?}");
        }
    }
}
