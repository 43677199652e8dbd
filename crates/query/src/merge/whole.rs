//! Results that are complete before their first row is known: aggregates, `GROUP BY`, and `DISTINCT` without
//! `ORDER BY`.
//!
//! Such queries promise no order, so rows are given in the order of their marks. That makes a result resumable
//! however its partitions have changed: run again, it goes on behind the mark of the row given last.

use std::collections::{BTreeMap, VecDeque};

use cosmonaut_wire::model::{DistinctType, QueryInfo};
use serde_json::value::RawValue;

use super::MergeError;
use super::distinct::mark;
use super::group::Groups;
use super::mark::Mark;

/// A result in the making, then the rows of it that are still to be given.
pub(super) struct Whole {
    stage: Stage,
    distinct: bool,
    given: Option<Mark>,
    /// How many rows are collected at most.
    enough: Option<usize>,
}

enum Stage {
    Grouping(Groups),
    Collecting(BTreeMap<Mark, Box<RawValue>>),
    Giving(VecDeque<(Mark, Box<RawValue>)>),
}

impl Whole {
    /// `None` for a query whose rows can be given as they come.
    pub(super) fn new(info: &QueryInfo) -> Option<Whole> {
        let distinct = info.distinct_type != DistinctType::None;
        let collects = info.distinct_type == DistinctType::Unordered && info.order_by.is_empty();
        let stage = match Groups::new(info) {
            Some(groups) => Stage::Grouping(groups),
            None if collects => Stage::Collecting(BTreeMap::new()),
            None => return None,
        };
        Some(Whole { stage, distinct, given: None, enough: None })
    }

    /// Takes one row of a partition, in whatever order they come.
    pub(super) fn absorb(&mut self, row: Box<RawValue>) -> Result<(), MergeError> {
        match &mut self.stage {
            Stage::Grouping(groups) => groups.absorb(&row),
            Stage::Collecting(rows) => {
                rows.entry(mark(&row)?).or_insert(row);
                Ok(())
            }
            Stage::Giving(_) => Ok(()),
        }
    }

    /// Collects no more distinct rows than this. Which ones is then a matter of chance, so nobody can go on between them.
    pub(super) fn stop_at(&mut self, enough: usize) {
        if let (Stage::Collecting(_), None) = (&self.stage, &self.given) {
            self.enough = Some(enough);
        }
    }

    pub(super) fn enough(&self) -> Option<usize> {
        self.enough
    }

    /// Whether the rows that are known will do.
    pub(super) fn has_enough(&self) -> bool {
        match (&self.stage, self.enough) {
            (Stage::Collecting(rows), Some(enough)) => rows.len() >= enough,
            (Stage::Giving(_), Some(_)) => true,
            (Stage::Grouping(_), _) | (_, None) => false,
        }
    }

    /// The next row, once no partition has another or there are enough.
    pub(super) fn next(&mut self) -> Result<Option<Box<RawValue>>, MergeError> {
        let rows = loop {
            match &mut self.stage {
                Stage::Giving(rows) => break rows,
                Stage::Grouping(_) | Stage::Collecting(_) => self.finish()?,
            }
        };
        let Some((mark, row)) = rows.pop_front() else { return Ok(None) };
        self.given = Some(mark);
        Ok(Some(row))
    }

    fn finish(&mut self) -> Result<(), MergeError> {
        let rows: Vec<(Mark, Box<RawValue>)> =
            match std::mem::replace(&mut self.stage, Stage::Giving(VecDeque::new())) {
                Stage::Giving(rows) => rows.into(),
                Stage::Collecting(rows) => rows.into_iter().collect(),
                Stage::Grouping(groups) if self.distinct => {
                    let marked = groups.finish().into_iter().map(|(_, row)| Ok((mark(&row)?, row)));
                    marked.collect::<Result<BTreeMap<_, _>, MergeError>>()?.into_iter().collect()
                }
                Stage::Grouping(groups) => {
                    let mut rows = groups.finish();
                    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
                    rows
                }
            };
        let given = rows.partition_point(|(mark, _)| self.given.as_ref().is_some_and(|given| mark <= given));
        self.stage = Stage::Giving(rows.into_iter().skip(given).collect());
        Ok(())
    }

    /// The row given last.
    pub(super) fn given(&self) -> Option<&Mark> {
        self.given.as_ref()
    }

    /// Goes on behind a row that was given.
    pub(super) fn resume(&mut self, given: Mark) {
        self.given = Some(given);
    }
}
