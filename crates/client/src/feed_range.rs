//! Parts of a container, and how the work on one is shared out.
//!
//! A part is a stretch of the space of hashed partition keys, so it stays what it is when partitions split.

use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use cosmonaut_wire::model::PartitionKeyDefinition;
use cosmonaut_wire::{EffectivePartitionKey, EpkRange, PartitionKey};
use serde::{Deserialize, Serialize};

use crate::feed_scope::key_range;
use crate::{ContainerClient, Result};

/// A part of a container. It can be written down, sent elsewhere, and stays valid when partitions split.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// use cosmonaut::FeedRange;
///
/// for range in orders.feed_ranges().await? {
///     let message = serde_json::to_string(&range).expect("a range has a JSON form");
///     let received: FeedRange = serde_json::from_str(&message).expect("and is read back");
///     assert_eq!(received, range);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "EpkRange", into = "EpkRange")]
pub struct FeedRange(EpkRange);

impl FeedRange {
    /// A range that is not empty.
    pub(crate) fn of(range: EpkRange) -> Self {
        debug_assert!(!range.is_empty(), "{range}");
        Self(range)
    }

    /// The whole of a container.
    pub fn full() -> Self {
        Self(EpkRange::FULL)
    }

    /// Whether all of the other range is in this one.
    ///
    /// ```
    /// use cosmonaut::FeedRange;
    /// let (low, high) = FeedRange::full().split().unwrap();
    /// assert!(FeedRange::full().contains(&low) && !low.contains(&high));
    /// ```
    pub fn contains(&self, other: &Self) -> bool {
        self.0.contains_range(&other.0)
    }

    /// Whether an item can be in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.overlaps(&other.0)
    }

    /// What is in both; `None` if nothing can be.
    ///
    /// ```
    /// use cosmonaut::FeedRange;
    /// let (low, high) = FeedRange::full().split().unwrap();
    /// assert_eq!(FeedRange::full().intersection(&low), Some(low.clone()));
    /// assert_eq!(low.intersection(&high), None);
    /// ```
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        self.0.intersection(&other.0).map(Self)
    }

    /// Neighbouring parts of a container that is divided into `count` equal parts, for sharing the work between as
    /// many readers; `None` if there are no such parts.
    ///
    /// The parts hold about the same number of partition keys in containers with the current hash, and
    /// [`part_of`](Self::part_of) says which of them a key is in.
    ///
    /// ```
    /// use cosmonaut::FeedRange;
    /// assert_eq!(FeedRange::equal_parts(0..8, 8), Some(FeedRange::full()));
    /// let (low, _) = FeedRange::full().split().unwrap();
    /// assert_eq!(FeedRange::equal_parts(0..4, 8), Some(low));
    /// assert_eq!(FeedRange::equal_parts(3..3, 8), None);
    /// ```
    pub fn equal_parts(parts: Range<usize>, count: usize) -> Option<Self> {
        let place = |part: usize| match part {
            0 => EpkRange::FULL.min,
            part if part == count => EpkRange::FULL.max,
            part => EffectivePartitionKey::from_bytes(&part_start(part, count).to_be_bytes()),
        };
        let exist = parts.start < parts.end && parts.end <= count;
        exist.then(|| Self(EpkRange { min: place(parts.start), max: place(parts.end) }))
    }

    /// In which of `count` equal parts of a container a partition key is, by the current hash (version 2 of the
    /// partition key definition) of a key with one value.
    ///
    /// # Panics
    /// If `count` is 0.
    ///
    /// ```
    /// use cosmonaut::FeedRange;
    /// assert!(FeedRange::part_of("contoso", 256) < 256);
    /// ```
    pub fn part_of(key: impl Into<PartitionKey>, count: usize) -> usize {
        static CURRENT: LazyLock<PartitionKeyDefinition> =
            LazyLock::new(|| PartitionKeyDefinition::from("/key"));
        assert!(count > 0, "a container cannot be divided into no parts");
        let place = key.into().effective(&CURRENT).map_or(0, |place| number(&place));
        // The first 63 of 126 bits say it, but for a key next to a border.
        let mut part = (((place >> 63) * count as u128) >> 63) as usize;
        while part + 1 < count && part_start(part + 1, count) <= place {
            part += 1;
        }
        part
    }

    /// The two halves, for sharing the work between two readers; `None` if there is nothing to share.
    ///
    /// Halves hold about the same number of partition keys in containers with the current hash (version 2 of
    /// the partition key definition, and hierarchical keys). The items of one partition key are never divided.
    pub fn split(&self) -> Option<(Self, Self)> {
        let (low, high) = (number(&self.0.min), number(&self.0.max).min(END));
        let middle = low + high.checked_sub(low)? / 2;
        let middle = EffectivePartitionKey::from_bytes(&middle.to_be_bytes());
        let half = |min: &EffectivePartitionKey, max: &EffectivePartitionKey| {
            let range = EpkRange { min: min.clone(), max: max.clone() };
            (!range.is_empty()).then_some(Self(range))
        };
        Some((half(&self.0.min, &middle)?, half(&middle, &self.0.max)?))
    }
}

/// One past the highest hash: its two highest bits are never set.
const END: u128 = 1 << 126;

/// Where a part begins when the key space is divided into `count` equal parts.
fn part_start(part: usize, count: usize) -> u128 {
    let (part, count) = (part as u128, count as u128);
    END / count * part + END % count * part / count
}

/// A place in the key space by its first 16 bytes.
fn number(place: &EffectivePartitionKey) -> u128 {
    let mut wide = [0; 16];
    let bytes = place.as_bytes();
    let known = bytes.len().min(wide.len());
    wide[..known].copy_from_slice(&bytes[..known]);
    u128::from_be_bytes(wide)
}

/// The hashes that it begins with and ends before.
impl fmt::Display for FeedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<EpkRange> for FeedRange {
    type Error = String;

    fn try_from(range: EpkRange) -> Result<Self, String> {
        if range.is_empty() { Err(format!("the feed range {range} is empty")) } else { Ok(Self(range)) }
    }
}

impl From<FeedRange> for EpkRange {
    fn from(range: FeedRange) -> Self {
        range.0
    }
}

impl ContainerClient {
    /// The container in parts, one for each physical partition, for reading it with as many readers.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// let ranges = orders.feed_ranges().await?;
    /// println!("{} readers can work side by side", ranges.len());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the container cannot be read.
    pub async fn feed_ranges(&self) -> Result<Vec<FeedRange>> {
        let handle = self.handle()?;
        let partitions = handle.driver.partitions(&handle.path, true).await?;
        Ok(partitions.into_iter().map(|partition| FeedRange(partition.range)).collect())
    }

    /// The part that holds a partition key, or all keys that begin with a hierarchical prefix.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// let range = orders.feed_range_of("contoso").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::BadRequest`](crate::ErrorKind::BadRequest) if the key does not fit the container.
    pub async fn feed_range_of(&self, key: impl Into<PartitionKey>) -> Result<FeedRange> {
        let handle = self.handle()?;
        let container = handle.driver.container(&handle.path).await?;
        key_range(&key.into(), &container.partition_key).map(FeedRange)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_the_whole_and_hold_as_many_keys() {
        let mut range = FeedRange::full();
        for depth in 0..120 {
            let (low, high) = range.split().unwrap_or_else(|| panic!("at depth {depth}"));
            assert_eq!((&low.0.min, &high.0.max), (&range.0.min, &range.0.max));
            assert_eq!(low.0.max, high.0.min);
            assert!(!low.overlaps(&high) && range.contains(&low) && range.contains(&high));
            range = if depth % 2 == 0 { high } else { low };
        }
        let definition = PartitionKeyDefinition::from("/pk");
        let (low, _) = FeedRange::full().split().unwrap();
        let in_low = (0..1000).filter(|key| {
            low.0.contains(&PartitionKey::from(format!("key {key}")).effective(&definition).unwrap())
        });
        assert!((400..600).contains(&in_low.count()));
    }

    #[test]
    fn equal_parts_are_the_whole_and_a_key_is_in_the_part_that_it_is_said_to_be_in() {
        let definition = PartitionKeyDefinition::from("/pk");
        for count in [1, 2, 3, 7, 256, 1000] {
            let parts: Vec<_> =
                (0..count).map(|part| FeedRange::equal_parts(part..part + 1, count).unwrap()).collect();
            assert_eq!(
                (&parts[0].0.min, &parts[count - 1].0.max),
                (&EpkRange::FULL.min, &EpkRange::FULL.max)
            );
            assert!(parts.windows(2).all(|pair| pair[0].0.max == pair[1].0.min), "{count}");
            for key in 0..500 {
                let key = PartitionKey::from(format!("key {key}"));
                let place = key.effective(&definition).unwrap();
                let part = FeedRange::part_of(key.clone(), count);
                assert!(parts[part].0.contains(&place), "{key} of {count}");
            }
        }
        for (parts, count) in [(0..0, 4), (0..5, 4), (4..5, 4)] {
            assert_eq!(FeedRange::equal_parts(parts, count), None);
        }
    }

    #[test]
    fn ranges_are_read_as_they_are_written_and_never_empty() {
        let (low, _) = FeedRange::full().split().unwrap();
        let text = serde_json::to_string(&low).unwrap();
        assert_eq!(serde_json::from_str::<FeedRange>(&text).unwrap(), low);
        assert!(serde_json::from_str::<FeedRange>(r#"{"min":"10","max":"10"}"#).is_err());
    }
}
