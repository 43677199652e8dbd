//! Where an ordered query goes on if the client says so with a row's values: the `resumeFilter` of the request.
//!
//! Clients that merge partitions say it, beside the continuation or instead of it. Rows before the place are left out.

use std::cmp::Ordering;

use cosmonaut_query::value::{Kind, Value};
use cosmonaut_wire::ResourceId;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::token::{Key, Position};
use crate::Failure;

/// The place of a row: what it is sorted by and, unless all rows are meant that sort alike, its document.
#[derive(Clone, Debug, PartialEq)]
pub struct ResumeFilter {
    values: Vec<ResumeValue>,
    number: Option<u64>,
    exclude: bool,
}

/// A value of `ORDER BY`. Of arrays and objects, clients send the hash that they are sorted by.
#[derive(Clone, Debug, PartialEq)]
enum ResumeValue {
    Value(Value),
    Hash(Kind, u128),
}

#[derive(Deserialize)]
struct FilterText<'b> {
    #[serde(borrow)]
    value: Vec<&'b RawValue>,
    #[serde(default)]
    rid: Option<String>,
    #[serde(default)]
    exclude: bool,
}

#[derive(Deserialize)]
struct HashText {
    r#type: HashedKind,
    low: i64,
    high: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum HashedKind {
    Array,
    Object,
}

/// In which directions rows come: those of the keys, and that of documents that sort alike.
pub(super) struct Directions<'d> {
    pub(super) keys: &'d [bool],
    pub(super) ties_descending: bool,
}

impl ResumeFilter {
    /// Reads the filter from its JSON.
    pub fn read(json: &RawValue) -> Result<ResumeFilter, Failure> {
        let text: FilterText<'_> =
            serde_json::from_str(json.get()).map_err(|error| refused(&error.to_string()))?;
        let number = match &text.rid {
            None => None,
            Some(rid) => {
                let number = rid.parse::<ResourceId>().ok().and_then(|rid| rid.number());
                Some(number.ok_or_else(|| refused(&format!("{rid:?} is not the _rid of an item")))?)
            }
        };
        let values = text.value.iter().map(|value| ResumeValue::read(value)).collect::<Result<_, _>>()?;
        Ok(ResumeFilter { values, number, exclude: text.exclude })
    }

    /// Fails if the filter is not one of a query with so many keys.
    pub(super) fn check(&self, keys: usize) -> Result<(), Failure> {
        match self.values.len() {
            found if keys > 0 && found == keys => Ok(()),
            found => Err(refused(&format!("it has {found} values, and ORDER BY has {keys} keys"))),
        }
    }

    /// Whether a document that is sorted by `keys` comes before the place.
    pub(super) fn leaves_out(&self, keys: &[Value], number: u64, directions: &Directions<'_>) -> bool {
        let by_key = self.values.iter().zip(keys).zip(directions.keys);
        let order = by_key
            .map(|((place, value), descending)| turned(place.compare(value), *descending))
            .find(|order| order.is_ne());
        match (order, self.number) {
            (Some(order), _) => order.is_lt(),
            (None, None) => self.exclude,
            (None, Some(place)) => match turned(number.cmp(&place), directions.ties_descending) {
                Ordering::Less => true,
                Ordering::Equal => self.exclude,
                Ordering::Greater => false,
            },
        }
    }

    /// The place to start reading at, where the values are known.
    pub(super) fn position(&self, ties_descending: bool) -> Option<Position> {
        let known = |value: &ResumeValue| match value {
            ResumeValue::Value(value) => Some(value.clone()),
            ResumeValue::Hash(..) => None,
        };
        let values: Vec<Value> = self.values.iter().map(known).collect::<Option<_>>()?;
        let (first, last) = if ties_descending { (u64::MAX, 0) } else { (0, u64::MAX) };
        let number = self.number.unwrap_or(if self.exclude { last } else { first });
        let rows = if self.exclude { None } else { Some(0) };
        Some(Position { key: Key::Values(values), number, rows })
    }
}

impl ResumeValue {
    fn read(json: &RawValue) -> Result<ResumeValue, Failure> {
        let text = json.get();
        match Value::from_json(text.as_bytes()).map_err(|error| refused(&error.to_string()))? {
            Value::Array(elements) if elements.is_empty() => Ok(ResumeValue::Value(Value::Undefined)),
            Value::Array(_) => Err(refused("an array is sent as its hash")),
            Value::Object(_) => {
                let hash: HashText =
                    serde_json::from_str(text).map_err(|error| refused(&error.to_string()))?;
                let kind = match hash.r#type {
                    HashedKind::Array => Kind::Array,
                    HashedKind::Object => Kind::Object,
                };
                let half = |half: i64| u128::from(half.cast_unsigned());
                Ok(ResumeValue::Hash(kind, half(hash.high) << 64 | half(hash.low)))
            }
            scalar => Ok(ResumeValue::Value(scalar)),
        }
    }

    /// How a value compares to this one.
    fn compare(&self, value: &Value) -> Ordering {
        match self {
            ResumeValue::Value(place) => value.total_cmp(place),
            ResumeValue::Hash(kind, hash) => {
                value.kind().cmp(kind).then_with(|| value.hash128().to_le_bytes().cmp(&hash.to_le_bytes()))
            }
        }
    }
}

/// An order, or its opposite.
pub(super) fn turned(order: Ordering, descending: bool) -> Ordering {
    if descending { order.reverse() } else { order }
}

fn refused(why: &str) -> Failure {
    Failure::bad_request(format!(
        "the resumeFilter of the query: {why} (send one value for each key of ORDER BY, and the _rid of the last item)"
    ))
}
