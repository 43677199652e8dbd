//! Ranges of effective partition keys: what a physical partition, a feed range or a query covers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::EffectivePartitionKey;

/// A half-open range of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EpkRange {
    /// The first key.
    pub min: EffectivePartitionKey,
    /// One past the last key.
    pub max: EffectivePartitionKey,
}

impl EpkRange {
    /// The whole ring.
    pub const FULL: Self = Self { min: EffectivePartitionKey::MIN, max: EffectivePartitionKey::MAX };

    /// The range of one key and, for a prefix of a hierarchical key, of all that begin with it.
    pub fn of_prefix(key: &EffectivePartitionKey) -> Self {
        let mut end = key.as_bytes().to_vec();
        end.push(0xFF);
        Self { min: key.clone(), max: EffectivePartitionKey::from_bytes(&end) }
    }

    /// Whether no key is in it.
    pub fn is_empty(&self) -> bool {
        self.min >= self.max
    }

    /// Whether a key is in it.
    pub fn contains(&self, key: &EffectivePartitionKey) -> bool {
        self.min <= *key && *key < self.max
    }

    /// Whether all of the other range is in it. An empty range is in every range.
    pub fn contains_range(&self, other: &Self) -> bool {
        other.is_empty() || self.min <= other.min && other.max <= self.max
    }

    /// Whether some key is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.intersection(other).is_some()
    }

    /// What is in both.
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let range = Self {
            min: self.min.clone().max(other.min.clone()),
            max: self.max.clone().min(other.max.clone()),
        };
        (!range.is_empty()).then_some(range)
    }
}

impl fmt::Display for EpkRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.min, self.max)
    }
}
