//! `DISTINCT`: rows equal to one already given are left out.

use std::collections::HashSet;

use cosmonaut_wire::model::DistinctType;
use serde_json::value::RawValue;

use super::MergeError;
use super::mark::Mark;
use crate::value::Value;

/// What was already given.
pub(super) enum Distinct {
    /// Everything is new.
    Off,
    /// Equal rows follow one another, so the last one is enough.
    Ordered(Option<Mark>),
    /// Equal rows come anywhere.
    Unordered(HashSet<Mark>),
}

impl Distinct {
    pub(super) fn new(kind: DistinctType) -> Distinct {
        match kind {
            DistinctType::None => Distinct::Off,
            DistinctType::Ordered => Distinct::Ordered(None),
            DistinctType::Unordered => Distinct::Unordered(HashSet::new()),
        }
    }

    /// Whether rows anywhere before are to be remembered.
    pub(super) fn needs_all(&self) -> bool {
        match self {
            Distinct::Unordered(_) => true,
            Distinct::Off | Distinct::Ordered(_) => false,
        }
    }

    /// The row admitted last, where that is all there is to remember.
    pub(super) fn last(&self) -> Option<&Mark> {
        match self {
            Distinct::Ordered(last) => last.as_ref(),
            Distinct::Off | Distinct::Unordered(_) => None,
        }
    }

    /// Goes on after this row.
    pub(super) fn resume(&mut self, row: Option<Mark>) {
        if let Distinct::Ordered(last) = self {
            *last = row;
        }
    }

    /// Whether a row is new; from then on it is not.
    pub(super) fn admit(&mut self, row: &RawValue) -> Result<bool, MergeError> {
        Ok(match self {
            Distinct::Off => true,
            Distinct::Ordered(last) => {
                let current = Some(mark(row)?);
                let new = *last != current;
                *last = current;
                new
            }
            Distinct::Unordered(seen) => seen.insert(mark(row)?),
        })
    }
}

/// What a row is known by.
pub(super) fn mark(row: &RawValue) -> Result<Mark, MergeError> {
    let value = Value::from_json(row.get().as_bytes()).map_err(|error| MergeError::row(row, error))?;
    Ok(Mark::of_row(&value))
}
