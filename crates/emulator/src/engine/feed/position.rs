//! How far a reader of the change feed has come, and its text form.
//!
//! In one partition that is an LSN, or one for each region where several write; over several partitions it is one for
//! each. A partition that came out of a split goes on where its parent was.

use std::fmt;
use std::str::FromStr;

use cosmonaut_wire::PartitionKeyRangeId;

use crate::Failure;
use crate::engine::{Layout, PartitionRange, Progress};

/// How far a reader of the change feed has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedPosition {
    /// Up to this point, in every partition that is read.
    At(Progress),
    /// Up to these points, partition by partition.
    PerRange(Vec<(PartitionKeyRangeId, Progress)>),
}

impl FeedPosition {
    /// A partition that the reader has come to and no partition of a container is, or ever was: the position is one of
    /// another container.
    pub(super) fn stranger(&self, layout: &Layout) -> Option<&PartitionKeyRangeId> {
        let Self::PerRange(known) = self else { return None };
        let is_one = |id: &PartitionKeyRangeId| {
            layout.ranges().iter().any(|range| range.id == *id || range.parents.contains(id))
        };
        known.iter().map(|(id, _)| id).find(|id| !is_one(id))
    }

    /// How far the reader has come in a partition; `None` if it has seen nothing of it.
    pub(super) fn of(&self, range: &PartitionRange) -> Option<&Progress> {
        match self {
            Self::At(point) => Some(point),
            Self::PerRange(known) => {
                let find = |id: &PartitionKeyRangeId| {
                    known.iter().find(|(known, _)| known == id).map(|(_, point)| point)
                };
                find(&range.id).or_else(|| range.parents.iter().rev().find_map(find))
            }
        }
    }
}

/// A point, or `id:point` joined by commas; in quotes, as an entity tag is.
impl fmt::Display for FeedPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(point) => write!(f, "\"{point}\""),
            Self::PerRange(ranges) => {
                f.write_str("\"")?;
                for (nth, (id, point)) in ranges.iter().enumerate() {
                    let comma = if nth == 0 { "" } else { "," };
                    write!(f, "{comma}{id}:{point}")?;
                }
                f.write_str("\"")
            }
        }
    }
}

impl FromStr for FeedPosition {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let bare = text.trim().trim_matches('"');
        let part = |part: &str| {
            let (id, point) = part.split_once(':')?;
            Some((PartitionKeyRangeId::from(id), point.parse().ok()?))
        };
        let parsed = match bare.parse() {
            Ok(point) => Some(Self::At(point)),
            Err(_) => bare.split(',').map(part).collect::<Option<_>>().map(Self::PerRange),
        };
        parsed.ok_or_else(|| {
            let shown: String = text.chars().take(200).collect();
            Failure::bad_request(format!(
                "{shown:?} is not a continuation of the change feed (send the etag of the last page in If-None-Match)"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::SystemWorld;
    use crate::engine::replication::Group;

    #[test]
    fn positions_survive_their_text() {
        for text in ["\"0\"", "\"17\"", "\"0:12,1:40\"", "\"0=5;1=7\"", "\"0:0=5;1=7,1:3\""] {
            assert_eq!(text.parse::<FeedPosition>().unwrap().to_string(), text);
        }
        assert_eq!("17".parse::<FeedPosition>().unwrap(), FeedPosition::At(Progress::from(17)));
        for text in ["", "x", "\"0:x\"", "1:2,", "1=", "0:1=2;", "99999999999999999999"] {
            assert!(text.parse::<FeedPosition>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_child_goes_on_where_its_nearest_parent_was() {
        let position: FeedPosition = "\"0:5,2:9\"".parse().unwrap();
        let range = |number: u32, parents: &[&str]| {
            let parents = parents.iter().map(|id| PartitionKeyRangeId::from(*id)).collect();
            let group = Group::alone(Arc::new(SystemWorld::new()));
            PartitionRange::new(number, cosmonaut_wire::EpkRange::FULL, parents, Vec::new(), group)
        };
        for (range, expected) in [
            (range(0, &[]), Some(5)),
            (range(2, &["0"]), Some(9)),
            (range(3, &["0"]), Some(5)),
            (range(4, &["0", "2"]), Some(9)),
            (range(5, &["1"]), None),
        ] {
            assert_eq!(position.of(&range).map(Progress::total), expected, "{}", range.id);
        }
    }
}
