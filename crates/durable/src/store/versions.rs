//! The versions of the container's partitions, as session tokens show them: a failover raises the version.
//!
//! Pure bookkeeping. A version that rises says that writes may be lost, whether or not this process has seen them: those
//! from shortly before the partition was last seen in its version before.

use std::collections::BTreeMap;

/// The highest version of each partition range that was seen, and when it was last seen, in milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Versions(BTreeMap<String, Seen>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    version: i64,
    at: u64,
    /// Whether it is known here that the version has risen.
    is_raised: bool,
}

impl Seen {
    fn new(version: i64, at: u64) -> Self {
        Self { version, at, is_raised: false }
    }
}

impl Versions {
    /// Takes in a session token that an answer had at some time, such as `0:-1#123`. If a partition that was known has a
    /// higher version, gives when it was last seen before.
    pub(super) fn note(&mut self, token: &str, at: u64) -> Option<u64> {
        let noted = token.split(',').filter_map(read);
        noted.filter_map(|(range, version)| self.note_one(range, Seen::new(version, at))).min()
    }

    /// Takes in what processes have written down. If a partition has a higher version there than here, or here than there and
    /// that is news, gives when it was last seen in the lower one. `unknown` stands for a time that was not written down.
    pub(super) fn note_all(
        &mut self,
        versions: &BTreeMap<String, i64>,
        times: &BTreeMap<String, u64>,
        unknown: u64,
    ) -> Option<u64> {
        let noted = versions.iter().filter_map(|(range, version)| {
            let at = times.get(range).copied().unwrap_or(unknown);
            match self.0.get_mut(range) {
                Some(known) if known.version > *version => {
                    (!std::mem::replace(&mut known.is_raised, true)).then_some(at)
                }
                Some(_) | None => self.note_one(range, Seen::new(*version, at)),
            }
        });
        noted.min()
    }

    fn note_one(&mut self, range: &str, seen: Seen) -> Option<u64> {
        match self.0.get_mut(range) {
            Some(known) if known.version < seen.version => {
                Some(std::mem::replace(known, Seen { is_raised: true, ..seen }).at)
            }
            Some(known) if known.version == seen.version => {
                known.at = known.at.max(seen.at);
                None
            }
            Some(_) => None,
            // A partition that split has other names for its parts.
            None => {
                self.0.insert(range.to_owned(), seen);
                None
            }
        }
    }

    /// When the partition was last seen that was not seen for the longest time.
    pub(super) fn earliest(&self) -> Option<u64> {
        self.0.values().map(|seen| seen.at).min()
    }

    pub(super) fn versions(&self) -> BTreeMap<String, i64> {
        self.0.iter().map(|(range, seen)| (range.clone(), seen.version)).collect()
    }

    /// When each partition was last seen in its version.
    pub(super) fn times(&self) -> BTreeMap<String, u64> {
        self.0.iter().map(|(range, seen)| (range.clone(), seen.at)).collect()
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

    fn map<T: Copy>(all: &[(&str, T)]) -> BTreeMap<String, T> {
        all.iter().map(|(range, value)| ((*range).to_owned(), *value)).collect()
    }

    #[test]
    fn only_a_higher_version_of_a_known_partition_says_that_writes_may_be_lost() {
        let mut versions = Versions::default();
        for (at, token, lost_since) in [
            (1, "0:-1#10", None),
            (2, "0:-1#900", None),
            (3, "0:0#11", Some(2)),
            (4, "0:0#12", None),
            // An answer that was under way for long.
            (5, "0:-1#9", None),
            (6, "1:5#1#0=3#1=4", None),
            (7, "0:0#12,1:6#1", Some(6)),
            (8, "0:1#12,1:7#1", Some(7)),
            (9, "2:77", None),
            (9, "2:78", None),
            (9, "", None),
            (9, "no token", None),
            (9, "3:x#1", None),
        ] {
            assert_eq!(versions.note(token, at), lost_since, "{token:?}");
        }
        assert_eq!(versions.versions(), map(&[("0", 1), ("1", 7)]));
        assert_eq!(versions.earliest(), Some(8));
    }

    #[test]
    fn what_is_written_down_tells_of_failovers_that_came_while_nobody_looked() {
        let mut versions = Versions::default();
        assert_eq!(versions.note("0:1#1,1:5#1", 100), None);
        for (written, times, lost_since) in [
            (map(&[("0", 1), ("9", 4)]), map(&[("0", 90)]), None),
            // This process was away during that failover.
            (map(&[("0", 0), ("1", 5)]), map(&[("0", 20), ("1", 30)]), Some(20)),
            (map(&[("0", 0), ("1", 4)]), map(&[]), Some(7)),
            (map(&[("0", 0), ("1", 4)]), map(&[]), None),
            // Another one has seen that.
            (map(&[("1", 6)]), map(&[("1", 200)]), Some(100)),
            (map(&[("1", 6)]), map(&[("1", 300)]), None),
        ] {
            assert_eq!(versions.note_all(&written, &times, 7), lost_since, "{written:?}");
        }
        assert_eq!(versions.versions(), map(&[("0", 1), ("1", 6), ("9", 4)]));
        assert_eq!(versions.times(), map(&[("0", 100), ("1", 300), ("9", 7)]));
    }
}
