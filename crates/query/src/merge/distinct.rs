//! `DISTINCT`: rows equal to one already given are left out.

use std::collections::HashSet;

use cosmonaut_wire::model::DistinctType;
use serde_json::value::RawValue;

use super::MergeError;
use crate::value::Value;

/// What was already given.
pub(super) enum Distinct {
    /// Everything is new.
    Off,
    /// Equal rows follow one another, so the last one is enough.
    Ordered(Option<Vec<u8>>),
    /// Equal rows come anywhere.
    Unordered(HashSet<Vec<u8>>),
}

impl Distinct {
    pub(super) fn new(kind: DistinctType) -> Distinct {
        match kind {
            DistinctType::None => Distinct::Off,
            DistinctType::Ordered => Distinct::Ordered(None),
            DistinctType::Unordered => Distinct::Unordered(HashSet::new()),
        }
    }

    /// Whether a row is new; from then on it is not.
    pub(super) fn admit(&mut self, row: &RawValue) -> Result<bool, MergeError> {
        let canonical = || -> Result<Vec<u8>, MergeError> {
            let value =
                Value::from_json(row.get().as_bytes()).map_err(|error| MergeError::row(row, error))?;
            Ok(value.canonical())
        };
        Ok(match self {
            Distinct::Off => true,
            Distinct::Ordered(last) => {
                let current = Some(canonical()?);
                let new = *last != current;
                *last = current;
                new
            }
            Distinct::Unordered(seen) => seen.insert(canonical()?),
        })
    }
}
