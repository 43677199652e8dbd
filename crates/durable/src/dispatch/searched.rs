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

/// How far a reader knows its piece, as it finds out.
#[derive(Default)]
pub(super) struct Knowledge {
    /// What the reader's successors can rely on.
    pub(super) searched: Searched,
    /// How far the piece was known to the readers that this one replaces, where it is not to be searched.
    pub(super) inherited: Option<Extent>,
    /// What has been searched by this one, if anything has.
    own: Option<Extent>,
}

impl Knowledge {
    /// A part of the piece was searched.
    pub(super) fn found(&mut self, extent: Extent) {
        self.own = Some(self.own.map_or(extent, |own| own.both(extent)));
    }

    /// All of the piece was searched.
    pub(super) fn found_all(&self, extent: Extent) {
        self.searched.set(extent);
    }

    /// How far the piece is known once all of it was searched or inherited, as of `now` if nothing was to be searched. It is
    /// not known as long as feeds of those before are not read to their ends: whoever replaces this reader reads its feed
    /// alone, and has to search.
    pub(super) fn known(&self, now: Extent, has_read_feeds: bool) -> Option<Extent> {
        if let Some(known) = self.searched.get() {
            return Some(known);
        }
        let own = self.own.unwrap_or(now);
        let known = self.inherited.map_or(own, |inherited| inherited.both(own));
        has_read_feeds.then(|| {
            self.searched.set(known);
            known
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_has_not_read_of_the_feeds_before_it_its_successor_has_to_search() {
        let extent = |until| Extent { until, search: 7 };
        let mut knowledge = Knowledge { inherited: Some(extent(400)), ..Knowledge::default() };
        knowledge.found(extent(1000));
        knowledge.found(extent(1100));
        assert_eq!(knowledge.known(extent(1200), false), None);
        assert_eq!(knowledge.searched.get(), None, "a successor searches everything");
        assert_eq!(knowledge.known(extent(1300), true), Some(extent(400)));
        assert_eq!(knowledge.searched.get(), Some(extent(400)));
        knowledge.found_all(extent(2000));
        assert_eq!(knowledge.known(extent(2100), true), Some(extent(2000)));
        let searched_late = Knowledge { own: Some(extent(1000)), ..Knowledge::default() };
        assert_eq!(searched_late.known(extent(1300), true), Some(extent(1000)), "it was searched before");
        assert_eq!(Knowledge::default().known(extent(1300), true), Some(extent(1300)));
    }

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
