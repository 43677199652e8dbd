//! The versions of the container's partitions, as session tokens show them: a failover raises the version.
//!
//! Pure bookkeeping. A version that rises says that writes may be lost, whether or not this process has seen them.

use std::collections::BTreeMap;

/// The highest version of each partition range that was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Versions(BTreeMap<String, i64>);

impl Versions {
    /// Takes in a session token, such as `0:-1#123`; true if a partition that was known has a higher version.
    pub(super) fn note(&mut self, token: &str) -> bool {
        let mut is_raised = false;
        for (range, version) in token.split(',').filter_map(read) {
            is_raised |= self.note_one(range, version);
        }
        is_raised
    }

    /// Takes in what another process has seen; true if a partition that was known has a higher version.
    pub(super) fn note_all(&mut self, others: &BTreeMap<String, i64>) -> bool {
        let mut is_raised = false;
        for (range, version) in others {
            is_raised |= self.note_one(range, *version);
        }
        is_raised
    }

    fn note_one(&mut self, range: &str, version: i64) -> bool {
        match self.0.get_mut(range) {
            Some(known) if *known < version => {
                *known = version;
                true
            }
            Some(_) => false,
            // A partition that split has other names for its parts.
            None => {
                self.0.insert(range.to_owned(), version);
                false
            }
        }
    }

    pub(super) fn all(&self) -> BTreeMap<String, i64> {
        self.0.clone()
    }
}

/// The range and the version of a token of one partition; `None` if it has no version.
fn read(token: &str) -> Option<(&str, i64)> {
    let (range, seen) = token.split_once(':')?;
    Some((range, seen.split_once('#')?.0.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_higher_version_of_a_known_partition_says_that_writes_may_be_lost() {
        let mut versions = Versions::default();
        for (token, is_raised) in [
            ("0:-1#10", false),
            ("0:-1#900", false),
            ("0:0#11", true),
            ("0:0#12", false),
            // An answer that was under way for long.
            ("0:-1#9", false),
            ("1:5#1#0=3#1=4", false),
            ("0:0#12,1:6#1", true),
            ("2:77", false),
            ("2:78", false),
            ("", false),
            ("no token", false),
            ("3:x#1", false),
        ] {
            assert_eq!(versions.note(token), is_raised, "{token:?}");
        }
        assert_eq!(versions.all(), BTreeMap::from([("0".to_owned(), 0), ("1".to_owned(), 6)]));
        assert!(!versions.note_all(&BTreeMap::from([("0".to_owned(), -1), ("9".to_owned(), 4)])));
        assert!(versions.note_all(&BTreeMap::from([("0".to_owned(), 1)])));
    }
}
