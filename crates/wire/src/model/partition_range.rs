//! A physical partition as the service describes it: its id and the part of the key space it holds.
//!
//! The map of a whole container, and looking up a key in it, belong to its users.

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::json::null_as_default;
use crate::{EffectivePartitionKey, EpkRange, PartitionKeyRangeId};

open_enum! {
    /// Whether a physical partition takes requests.
    PartitionKeyRangeStatus {
        Online = "online",
        Splitting = "splitting",
        Offline = "offline",
        Split = "split",
    }
}

/// A physical partition of a container.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionKeyRange {
    /// Its id, unique in the container and never used again.
    pub id: PartitionKeyRangeId,
    /// The lowest effective partition key that it holds.
    pub min_inclusive: EffectivePartitionKey,
    /// The effective partition key up to which it reaches.
    pub max_exclusive: EffectivePartitionKey,
    /// The partitions from which it was split, oldest first.
    #[serde(default, deserialize_with = "null_as_default")]
    pub parents: Vec<PartitionKeyRangeId>,
    /// Whether it takes requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<PartitionKeyRangeStatus>,
    /// What the resource ids of its documents have in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rid_prefix: Option<i64>,
    /// Its share of the container's throughput.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput_fraction: Option<f64>,
    /// The last write that it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lsn: Option<i64>,
    /// The resource id.
    #[serde(rename = "_rid", skip_serializing_if = "Option::is_none")]
    pub rid: Option<String>,
    /// The link by resource id.
    #[serde(rename = "_self", skip_serializing_if = "Option::is_none")]
    pub self_link: Option<String>,
    /// The entity tag of this version, quotes included.
    #[serde(rename = "_etag", skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// When it last changed, in seconds since 1970.
    #[serde(rename = "_ts", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<u64>,
}

impl PartitionKeyRange {
    /// An online partition without parents that holds `range`.
    pub fn new(id: impl Into<PartitionKeyRangeId>, range: EpkRange) -> Self {
        Self {
            id: id.into(),
            min_inclusive: range.min,
            max_exclusive: range.max,
            parents: Vec::new(),
            status: Some(PartitionKeyRangeStatus::Online),
            rid_prefix: None,
            throughput_fraction: None,
            lsn: None,
            rid: None,
            self_link: None,
            etag: None,
            timestamp: None,
        }
    }

    /// The part of the key space that it holds.
    pub fn range(&self) -> EpkRange {
        EpkRange { min: self.min_inclusive.clone(), max: self.max_exclusive.clone() }
    }
}

impl Serialize for PartitionKeyRangeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The service writes a string; other servers also write a number.
impl<'de> Deserialize<'de> for PartitionKeyRangeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Id;

        impl Visitor<'_> for Id {
            type Value = PartitionKeyRangeId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a whole number")
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(text.into())
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(number.to_string().into())
            }
        }

        deserializer.deserialize_any(Id)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_may_be_a_number() {
        for (id, expected) in
            [(json!("7"), Some("7")), (json!(0), Some("0")), (json!(-1), None), (json!([]), None)]
        {
            let range = json!({"id": id, "minInclusive": "", "maxExclusive": "FF"});
            let read = serde_json::from_value::<PartitionKeyRange>(range).ok();
            assert_eq!(read.as_ref().map(|range| range.id.as_str()), expected);
        }
    }

    #[test]
    fn a_range_survives_a_round_trip() {
        let document = json!({
            "_rid": "1FAbAPmd4RwDAAAAAAAAUA==", "id": "2", "_etag": "\"0\"", "minInclusive": "",
            "maxExclusive": "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "ridPrefix": 2, "_self": "dbs/…/pkranges/…/",
            "throughputFraction": 0.5, "status": "online", "parents": ["0"], "_ts": 1_700_000_000, "lsn": 31,
        });
        let range: PartitionKeyRange = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(range.parents, [PartitionKeyRangeId::from("0")]);
        assert_eq!(serde_json::to_value(&range).unwrap(), document);
    }

    #[test]
    fn a_range_without_parents_says_so() {
        let whole = PartitionKeyRange::new("0", EpkRange::FULL);
        let expected =
            json!({"id": "0", "minInclusive": "", "maxExclusive": "FF", "parents": [], "status": "online"});
        assert_eq!(serde_json::to_value(&whole).unwrap(), expected);
        for parents in ["", r#","parents":null"#] {
            let text =
                format!(r#"{{"id":"0","minInclusive":"","maxExclusive":"FF","status":"online"{parents}}}"#);
            assert_eq!(serde_json::from_str::<PartitionKeyRange>(&text).unwrap(), whole);
        }
    }
}
