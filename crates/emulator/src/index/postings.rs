//! The documents that hold one value: a set of document numbers, small while it has few of them.
//!
//! Most values of most containers occur once, some occur everywhere; the three forms are for these and what is between.

use super::number_set::NumberSet;

/// Above this many numbers, a list takes more room than a set.
const LIST_LIMIT: usize = 128;

/// A set of document numbers. Never empty while it is in the index.
#[derive(Debug)]
pub(crate) enum Postings {
    /// One number.
    One(u64),
    /// A sorted list. Boxed, as the next, to keep the usual case small.
    #[expect(clippy::box_collection, reason = "most postings are one number, and there are millions of them")]
    List(Box<Vec<u64>>),
    /// Too many for a list.
    Set(Box<NumberSet>),
}

impl Postings {
    /// Adds a number; false if it was there.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        match self {
            Postings::One(only) if *only == number => false,
            Postings::One(only) => {
                let list = vec![(*only).min(number), (*only).max(number)];
                *self = Postings::List(Box::new(list));
                true
            }
            Postings::List(list) => {
                let Err(place) = list.binary_search(&number) else { return false };
                if list.len() == list.capacity() {
                    list.reserve_exact((list.len() / 8).max(2));
                }
                list.insert(place, number);
                if list.len() > LIST_LIMIT {
                    *self = Postings::Set(Box::new(list.iter().copied().collect()));
                }
                true
            }
            Postings::Set(set) => set.insert(number),
        }
    }

    /// Takes out a number; `None` if it was not there, else whether the set is empty now.
    pub(super) fn remove(&mut self, number: u64) -> Option<bool> {
        match self {
            Postings::One(only) => (*only == number).then_some(true),
            Postings::List(list) => {
                let place = list.binary_search(&number).ok()?;
                list.remove(place);
                if let [only] = list[..] {
                    *self = Postings::One(only);
                }
                Some(false)
            }
            Postings::Set(set) => {
                set.remove(number).then_some(())?;
                // Well below the limit, so that a set that hovers around it does not change form on every write.
                if set.len() < LIST_LIMIT / 2 {
                    *self = Postings::List(Box::new(set.iter().collect()));
                }
                Some(false)
            }
        }
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Postings::One(_) => 1,
            Postings::List(list) => list.len(),
            Postings::Set(set) => set.len(),
        }
    }

    /// The least number that is not less than `number`.
    pub(crate) fn at_or_after(&self, number: u64) -> Option<u64> {
        match self {
            Postings::One(only) => (*only >= number).then_some(*only),
            Postings::List(list) => list.get(list.partition_point(|known| *known < number)).copied(),
            Postings::Set(set) => set.at_or_after(number),
        }
    }

    /// The greatest number that is not greater than `number`.
    pub(crate) fn at_or_before(&self, number: u64) -> Option<u64> {
        match self {
            Postings::One(only) => (*only <= number).then_some(*only),
            Postings::List(list) => {
                let place = list.partition_point(|known| *known <= number);
                place.checked_sub(1).map(|place| list[place])
            }
            Postings::Set(set) => set.at_or_before(number),
        }
    }

    /// All numbers, the least first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let (list, set) = match self {
            Postings::One(only) => (std::slice::from_ref(only), None),
            Postings::List(list) => (&list[..], None),
            Postings::Set(set) => (&[][..], Some(set)),
        };
        list.iter().copied().chain(set.into_iter().flat_map(|set| set.iter()))
    }
}

/// The documents of a term, to be read.
#[derive(Clone, Copy)]
pub(crate) enum PostingsRef<'p> {
    /// One number.
    One(u64),
    /// Several of them.
    Several(&'p Postings),
}

impl<'p> From<&'p Postings> for PostingsRef<'p> {
    fn from(postings: &'p Postings) -> Self {
        PostingsRef::Several(postings)
    }
}

impl<'p> PostingsRef<'p> {
    /// How many numbers there are.
    pub(crate) fn len(self) -> usize {
        match self {
            PostingsRef::One(_) => 1,
            PostingsRef::Several(postings) => postings.len(),
        }
    }

    /// The least number that is not less than `number`.
    pub(crate) fn at_or_after(self, number: u64) -> Option<u64> {
        match self {
            PostingsRef::One(only) => (only >= number).then_some(only),
            PostingsRef::Several(postings) => postings.at_or_after(number),
        }
    }

    /// The greatest number that is not greater than `number`.
    pub(crate) fn at_or_before(self, number: u64) -> Option<u64> {
        match self {
            PostingsRef::One(only) => (only <= number).then_some(only),
            PostingsRef::Several(postings) => postings.at_or_before(number),
        }
    }

    /// All numbers, the least first.
    pub(crate) fn iter(self) -> impl Iterator<Item = u64> + 'p {
        let (only, several) = match self {
            PostingsRef::One(only) => (Some(only), None),
            PostingsRef::Several(postings) => (None, Some(postings)),
        };
        only.into_iter().chain(several.into_iter().flat_map(Postings::iter))
    }
}

impl PartialEq for Postings {
    fn eq(&self, other: &Postings) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Numbers from a small space and many steps, so that all forms are reached and left again.
        #[test]
        fn postings_are_a_sorted_set(
            steps in prop::collection::vec((any::<bool>(), 0u64..3000), 0..6000), probe in 0u64..3000,
        ) {
            let mut postings = Postings::One(0);
            let mut model = BTreeSet::from([0]);
            for (add, number) in steps {
                if add {
                    prop_assert_eq!(postings.insert(number), model.insert(number));
                } else if model.len() > 1 {
                    prop_assert_eq!(postings.remove(number), model.remove(&number).then_some(false));
                }
            }
            prop_assert!(postings.iter().eq(model.iter().copied()));
            prop_assert_eq!(postings.at_or_after(probe), model.range(probe..).next().copied());
            prop_assert_eq!(postings.at_or_before(probe), model.range(..=probe).next_back().copied());
        }
    }

    #[test]
    fn a_set_that_shrinks_goes_back_to_its_smaller_forms() {
        let mut postings = Postings::One(0);
        (1..2000).for_each(|number| assert!(postings.insert(number)));
        assert!(matches!(postings, Postings::Set(_)));
        (1..1999).for_each(|number| assert_eq!(postings.remove(number), Some(false)));
        assert!(matches!(postings, Postings::List(_)));
        assert_eq!(postings.remove(0), Some(false));
        assert_eq!(postings.remove(1999), Some(true));
        assert_eq!(postings.remove(5), None);
    }
}
