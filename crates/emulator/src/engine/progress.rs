//! How far a log is: one number for each sequence of commits that it is made of.
//!
//! An account with one write region has one sequence, whoever writes it, and then a progress is just an LSN. With
//! several write regions each has a sequence of its own. What to do with a progress is for others to say.

use std::fmt;
use std::str::FromStr;

use super::RegionId;

/// The last commit of each sequence.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Progress {
    /// The only sequence of most accounts, kept apart so that it costs no allocation.
    first: i64,
    /// The other sequences, by region; none at 0.
    others: Vec<(RegionId, i64)>,
}

impl From<i64> for Progress {
    fn from(lsn: i64) -> Self {
        Self { first: lsn, others: Vec::new() }
    }
}

impl Progress {
    const FIRST: RegionId = RegionId(0);

    /// The last commit of a region's sequence; 0 if there is none.
    pub fn get(&self, origin: RegionId) -> i64 {
        if origin == Self::FIRST {
            return self.first;
        }
        self.others.iter().find(|(known, _)| *known == origin).map_or(0, |(_, lsn)| *lsn)
    }

    pub(crate) fn set(&mut self, origin: RegionId, lsn: i64) {
        if origin == Self::FIRST {
            self.first = lsn;
            return;
        }
        match self.others.binary_search_by_key(&origin, |(known, _)| *known) {
            Ok(nth) if lsn == 0 => {
                self.others.remove(nth);
            }
            Ok(nth) => self.others[nth].1 = lsn,
            Err(_) if lsn == 0 => {}
            Err(nth) => self.others.insert(nth, (origin, lsn)),
        }
    }

    /// How many commits that is in all: the number of the latest in the order of whoever has applied them.
    pub fn total(&self) -> i64 {
        self.others.iter().fold(self.first, |total, (_, lsn)| total.saturating_add(*lsn))
    }

    /// How many commits of other sequences than the first there are.
    pub(crate) fn beside_first(&self) -> i64 {
        self.total().saturating_sub(self.first)
    }

    /// The sequences, by region.
    pub fn sequences(&self) -> impl Iterator<Item = (RegionId, i64)> + '_ {
        std::iter::once((Self::FIRST, self.first)).chain(self.others.iter().copied())
    }

    /// Whether everything that `other` has is here too.
    pub fn covers(&self, other: &Self) -> bool {
        other.sequences().all(|(origin, lsn)| self.get(origin) >= lsn)
    }

    /// Goes as far as the further of the two, sequence by sequence.
    pub(crate) fn join(&mut self, other: &Self) {
        for (origin, lsn) in other.sequences() {
            self.set(origin, lsn.max(self.get(origin)));
        }
    }

    /// Goes back to the less far of the two, sequence by sequence.
    pub(crate) fn meet(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
        self.others.retain_mut(|(origin, lsn)| {
            *lsn = other.get(*origin).min(*lsn);
            *lsn != 0
        });
    }
}

/// An LSN or, with several sequences, `region=lsn` joined by semicolons.
impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.others.is_empty() {
            return write!(f, "{}", self.first);
        }
        for (nth, (origin, lsn)) in self.sequences().enumerate() {
            let separator = if nth == 0 { "" } else { ";" };
            write!(f, "{separator}{}={lsn}", origin.0)?;
        }
        Ok(())
    }
}

/// A text that is no progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoProgress;

impl FromStr for Progress {
    type Err = NoProgress;

    fn from_str(text: &str) -> Result<Self, NoProgress> {
        if let Ok(lsn) = text.parse::<i64>() {
            return Ok(Self::from(lsn));
        }
        let mut read = Self::default();
        for part in text.split(';') {
            let (origin, lsn) = part.split_once('=').ok_or(NoProgress)?;
            let origin = RegionId(origin.parse().map_err(|_| NoProgress)?);
            read.set(origin, lsn.parse().map_err(|_| NoProgress)?);
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn progress() -> impl Strategy<Value = Progress> {
        prop::collection::vec((0u8..4, 0i64..5), 0..4).prop_map(|parts| {
            let mut progress = Progress::default();
            parts.into_iter().for_each(|(origin, lsn)| progress.set(RegionId(origin), lsn));
            progress
        })
    }

    proptest! {
        #[test]
        fn both_bounds_are_bounds(a in progress(), b in progress()) {
            let (mut least, mut most) = (a.clone(), a.clone());
            least.meet(&b);
            most.join(&b);
            for one in [&a, &b] {
                prop_assert!(most.covers(one) && one.covers(&least), "{a} {b}");
            }
            prop_assert_eq!(least.total() + most.total(), a.total() + b.total());
        }

        #[test]
        fn its_text_is_read_back(a in progress()) {
            prop_assert_eq!(a.to_string().parse(), Ok(a.clone()));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = text.parse::<Progress>();
        }
    }

    #[test]
    fn one_sequence_is_an_lsn() {
        for (text, expected) in [("17", Some("17")), ("0=5;1=7", Some("0=5;1=7")), ("2=1", Some("0=0;2=1"))] {
            assert_eq!(text.parse::<Progress>().ok().map(|read| read.to_string()).as_deref(), expected);
        }
        for text in ["", "x", "1=", "=1", "300=1", "1=2;", "99999999999999999999"] {
            assert_eq!(text.parse::<Progress>(), Err(NoProgress), "{text}");
        }
    }
}
