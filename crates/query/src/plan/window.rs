//! `TOP`, `OFFSET` and `LIMIT` as numbers.

use super::PlanError;
use crate::ast::{Count, LARGEST_COUNT, Query};
use crate::parameters::Parameters;
use crate::value::Value;

/// The window of a query, its parameters resolved.
#[derive(Clone, Copy, Default)]
pub(super) struct Window {
    pub(super) top: Option<u64>,
    pub(super) offset: Option<u64>,
    pub(super) limit: Option<u64>,
}

impl Window {
    pub(super) fn new(query: &Query, parameters: &Parameters) -> Result<Window, PlanError> {
        let resolve = |count: &Count| resolve(count, parameters);
        let page = query.offset_limit.as_ref();
        Ok(Window {
            top: query.select.top.as_ref().map(resolve).transpose()?,
            offset: page.map(|page| resolve(&page.offset)).transpose()?,
            limit: page.map(|page| resolve(&page.limit)).transpose()?,
        })
    }

    /// How many of a partition's first rows can be in the result, if `OFFSET` and `LIMIT` bound them.
    pub(super) fn rows_per_partition(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_add(self.offset.unwrap_or(0)).min(LARGEST_COUNT))
    }
}

fn resolve(count: &Count, parameters: &Parameters) -> Result<u64, PlanError> {
    match count {
        Count::Literal(count) => Ok(*count),
        Count::Parameter(name, _) => match parameters.get(name) {
            None => Err(PlanError::MissingParameter(name.clone())),
            Some(Value::Number(n)) if n.fract() == 0.0 && (0.0..=LARGEST_COUNT as f64).contains(n) => {
                Ok(*n as u64)
            }
            Some(_) => Err(PlanError::NotACount(name.clone())),
        },
    }
}
