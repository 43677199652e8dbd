//! The rows that rewritten queries yield, taken apart without copying what passes through.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::MergeError;
use crate::value::Value;

/// A row of an `ORDER BY` query.
#[derive(Deserialize)]
pub(super) struct OrderedRow<'r> {
    #[serde(rename = "_rid", borrow, default)]
    pub(super) rid: Cow<'r, str>,
    #[serde(rename = "orderByItems", borrow)]
    items: Vec<Item<'r>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) payload: Option<&'r RawValue>,
}

/// A row of a `GROUP BY` query, or of several aggregates at once.
#[derive(Deserialize)]
pub(super) struct GroupedRow<'r> {
    #[serde(rename = "groupByItems", borrow, default)]
    items: Vec<Item<'r>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) payload: Option<&'r RawValue>,
}

/// A value in its wrapping, without which `undefined` could not be told from nothing at all.
#[derive(Deserialize)]
struct Item<'r> {
    #[serde(borrow, default, deserialize_with = "present")]
    item: Option<&'r RawValue>,
    /// What replaces `item` where that lost information: the least or greatest value with how many there were.
    #[serde(borrow, default, deserialize_with = "present")]
    item2: Option<&'r RawValue>,
}

/// One partition's part of an aggregate.
pub(super) struct Partial {
    pub(super) item: Value,
    pub(super) item2: Value,
}

/// Keeps `null` apart from a member that is not there.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'r> OrderedRow<'r> {
    pub(super) fn read(row: &'r RawValue) -> Result<OrderedRow<'r>, MergeError> {
        serde_json::from_str(row.get()).map_err(|error| MergeError::row(row, error))
    }

    /// The values that the row is sorted by.
    pub(super) fn keys(&self, row: &RawValue) -> Result<Vec<Value>, MergeError> {
        self.items.iter().map(|item| value(item.item, row)).collect()
    }
}

impl<'r> GroupedRow<'r> {
    pub(super) fn read(row: &'r RawValue) -> Result<GroupedRow<'r>, MergeError> {
        serde_json::from_str(row.get()).map_err(|error| MergeError::row(row, error))
    }

    /// Bytes that are the same for all rows of a group.
    pub(super) fn key(&self, row: &RawValue) -> Result<Vec<u8>, MergeError> {
        let mut key = Vec::new();
        for item in &self.items {
            value(item.item, row)?.write_canonical(&mut key);
            key.push(b',');
        }
        Ok(key)
    }
}

impl Partial {
    /// Reads `{item, item2}`.
    pub(super) fn read(wrapped: &RawValue) -> Result<Partial, MergeError> {
        let item: Item<'_> =
            serde_json::from_str(wrapped.get()).map_err(|error| MergeError::row(wrapped, error))?;
        Ok(Partial { item: value(item.item, wrapped)?, item2: value(item.item2, wrapped)? })
    }

    /// Reads `[{item, item2}]`.
    pub(super) fn read_single(row: &RawValue) -> Result<Partial, MergeError> {
        let items: Vec<&RawValue> =
            serde_json::from_str(row.get()).map_err(|error| MergeError::row(row, error))?;
        match items.as_slice() {
            [item] => Partial::read(item),
            _ => Err(MergeError::row(row, "expected an array of one aggregate")),
        }
    }
}

/// The members of an object, in order.
pub(super) fn members<'r>(object: &'r RawValue) -> Result<Vec<(String, &'r RawValue)>, MergeError> {
    struct Members<'r>(Vec<(String, &'r RawValue)>);
    impl<'de> Deserialize<'de> for Members<'de> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Members<'de>;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(
                    self,
                    mut map: A,
                ) -> Result<Members<'de>, A::Error> {
                    let mut members = Vec::new();
                    while let Some(member) = map.next_entry()? {
                        members.push(member);
                    }
                    Ok(Members(members))
                }
            }
            deserializer.deserialize_map(Visitor)
        }
    }
    let members: Members<'r> =
        serde_json::from_str(object.get()).map_err(|error| MergeError::row(object, error))?;
    Ok(members.0)
}

fn value(json: Option<&RawValue>, row: &RawValue) -> Result<Value, MergeError> {
    match json {
        None => Ok(Value::Undefined),
        Some(json) => Value::from_json(json.get().as_bytes()).map_err(|error| MergeError::row(row, error)),
    }
}
