//! Session tokens: what a session has seen of each physical partition.
//!
//! A token is a comma-separated list of `<range id>:<progress>`; progress is a [`PartitionToken`]. Which token a
//! request sends, and when a reader must wait, is decided elsewhere.

mod partition;
mod range_id;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use partition::{Lsn, PartitionToken, RegionMismatch};
pub use range_id::PartitionKeyRangeId;

/// What a session has seen, partition by partition. Kept in the order of the text.
///
/// ```
/// use cosmonaut_wire::SessionToken;
/// let mut seen: SessionToken = "0:-1#12,1:-1#15".parse().unwrap();
/// seen.merge(&"0:-1#14".parse().unwrap()).unwrap();
/// assert_eq!(seen.to_string(), "0:-1#14,1:-1#15");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SessionToken {
    parts: Vec<(PartitionKeyRangeId, PartitionToken)>,
}

impl SessionToken {
    /// The token of a session that has seen one partition.
    pub fn of(range: PartitionKeyRangeId, progress: PartitionToken) -> Self {
        Self { parts: vec![(range, progress)] }
    }

    /// The token of a session that has seen these partitions.
    pub fn of_ranges(seen: BTreeMap<PartitionKeyRangeId, PartitionToken>) -> Self {
        Self { parts: seen.into_iter().collect() }
    }

    /// Whether nothing has been seen.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The partitions and what was seen of each.
    pub fn iter(&self) -> impl Iterator<Item = (&PartitionKeyRangeId, &PartitionToken)> {
        self.parts.iter().map(|(range, progress)| (range, progress))
    }

    /// What was seen of one partition.
    pub fn get(&self, range: &PartitionKeyRangeId) -> Option<&PartitionToken> {
        self.parts.iter().find(|(id, _)| id == range).map(|(_, progress)| progress)
    }

    /// What a session must see of a partition that came out of splits: its own progress and its ancestors'.
    ///
    /// A split hands the parent's log on to its children, so having seen the parent up to some point binds
    /// reads from each child.
    pub fn for_range<'a>(
        &self,
        range: &PartitionKeyRangeId,
        parents: impl IntoIterator<Item = &'a PartitionKeyRangeId>,
    ) -> Result<Option<PartitionToken>, RegionMismatch> {
        let mut seen = self.get(range).cloned();
        for progress in parents.into_iter().filter_map(|parent| self.get(parent)) {
            seen = Some(match seen {
                Some(seen) => seen.merge(progress)?,
                None => progress.clone(),
            });
        }
        Ok(seen)
    }

    /// Adds what another session token has seen. On an error nothing has changed.
    pub fn merge(&mut self, other: &SessionToken) -> Result<(), RegionMismatch> {
        let mut merged = self.parts.clone();
        for (range, progress) in &other.parts {
            match merged.iter_mut().find(|(id, _)| id == range) {
                Some((_, seen)) => *seen = seen.merge(progress)?,
                None => merged.push((range.clone(), progress.clone())),
            }
        }
        self.parts = merged;
        Ok(())
    }

    /// Forgets what was seen of each partition of which `keep` says no.
    pub fn retain(&mut self, mut keep: impl FnMut(&PartitionKeyRangeId, &PartitionToken) -> bool) {
        self.parts.retain(|(range, progress)| keep(range, progress));
    }

    /// Whether everything that `other` has seen has been seen here too.
    pub fn is_at_least(&self, other: &SessionToken) -> bool {
        other.iter().all(|(range, progress)| self.get(range).is_some_and(|seen| seen.is_at_least(progress)))
    }
}

impl fmt::Display for SessionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (range, progress)) in self.parts.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{range}:{progress}")?;
        }
        Ok(())
    }
}

impl FromStr for SessionToken {
    type Err = SessionTokenError;

    fn from_str(text: &str) -> Result<Self, SessionTokenError> {
        let mut parts: Vec<(PartitionKeyRangeId, PartitionToken)> = Vec::new();
        if text.trim().is_empty() {
            return Ok(Self { parts });
        }
        for part in text.split(',') {
            let invalid = |problem| SessionTokenError::new(text, part, problem);
            let (range, progress) = part.trim().split_once(':').ok_or_else(|| invalid(Problem::NoRange))?;
            if range.is_empty() {
                return Err(invalid(Problem::NoRange));
            }
            let progress = PartitionToken::read(progress).map_err(invalid)?;
            let range = PartitionKeyRangeId::from(range);
            if parts.iter().any(|(id, _)| *id == range) {
                return Err(invalid(Problem::RangeTwice));
            }
            parts.push((range, progress));
        }
        Ok(Self { parts })
    }
}

/// A session token that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionTokenError {
    token: String,
    part: String,
    problem: Problem,
}

impl SessionTokenError {
    fn new(token: &str, part: &str, problem: Problem) -> Self {
        Self { token: token.to_owned(), part: part.to_owned(), problem }
    }
}

/// What is wrong with a part of a session token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    NoRange,
    RangeTwice,
    BadNumber,
    BadRegion,
    RegionTwice,
}

impl fmt::Display for SessionTokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = match self.problem {
            Problem::NoRange => "has no partition range id before a colon",
            Problem::RangeTwice => "names a partition range a second time",
            Problem::BadNumber => "has a version or sequence number that is not a whole number",
            Problem::BadRegion => "has a region that is not written as <region id>=<sequence number>",
            Problem::RegionTwice => "names a region a second time",
        };
        write!(
            f,
            "session token {:?}: {:?} {problem} (expected <range>:<version>#<lsn>[#<region>=<lsn>…], for example \
             \"0:-1#12\"; pass on a token just as a response gave it)",
            self.token, self.part
        )
    }
}

impl std::error::Error for SessionTokenError {}
