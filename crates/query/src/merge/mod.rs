//! Putting the results of one query from many partitions together, as its plan says.
//!
//! A [`Merger`] is fed pages as they arrive and asked for rows; it says which page it is waiting for. It sends
//! no requests, and what rows hold passes through it byte for byte.

mod aggregate;
mod distinct;
mod error;
mod group;
mod ordered;
mod resume;
mod row;
mod source;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use cosmonaut_wire::model::QueryInfo;
use serde_json::value::RawValue;

pub use error::MergeError;
pub use resume::{Position, Remaining, resume_filter};

use crate::value::{write_number, write_string};
use distinct::Distinct;
use group::Groups;
use ordered::Ordered;
use source::{Pull, Source, concatenate};

/// What a merger can do next.
#[derive(Debug)]
pub enum Step {
    /// The next row of the result.
    Row(Box<RawValue>),
    /// Nothing more can be said before the next page of this source is fed.
    NeedPage(usize),
    /// The result is complete; pages that were not asked for are not needed.
    Done,
}

/// Combines the rows of a query's sources, which are numbered by the order of their partitions' ranges.
///
/// ```
/// use cosmonaut_query::merge::{Merger, Step};
/// use cosmonaut_wire::model::{AggregateKind, QueryInfo};
/// use serde_json::value::RawValue;
///
/// let row = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
/// let info = QueryInfo {
///     aggregates: vec![AggregateKind::Count],
///     has_select_value: true,
///     ..QueryInfo::default()
/// };
/// let mut merger = Merger::new(&info, 2);
/// assert!(matches!(merger.step().unwrap(), Step::NeedPage(0)));
/// merger.feed(0, vec![row(r#"[{"item":3}]"#)], true).unwrap();
/// merger.feed(1, vec![row(r#"[{"item":4}]"#)], true).unwrap();
/// assert!(matches!(merger.step().unwrap(), Step::Row(count) if count.get() == "7"));
/// assert!(matches!(merger.step().unwrap(), Step::Done));
/// ```
pub struct Merger {
    sources: Vec<Source>,
    ordered: Option<Ordered>,
    groups: Option<Groups>,
    /// What grouping or counting came to, once all rows are in.
    finished: VecDeque<Box<RawValue>>,
    distinct: Distinct,
    window: Window,
    counter: Option<Counter>,
}

/// How many rows are still passed over and still given: `OFFSET`, `LIMIT` and `TOP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How many rows are still passed over.
    pub skip: u64,
    /// How many are still given at most.
    pub take: u64,
}

/// Counts distinct rows instead of giving them.
struct Counter {
    /// The member that the count becomes; empty for the bare number.
    alias: String,
    count: u64,
}

impl Merger {
    /// A merger for so many sources of a query with this plan.
    pub fn new(info: &QueryInfo, sources: usize) -> Merger {
        let ordered = (!info.order_by.is_empty())
            .then(|| Ordered::new(&info.order_by, !info.has_non_streaming_order_by, sources));
        let take = [info.limit, info.top].into_iter().flatten().min().unwrap_or(u64::MAX);
        Merger {
            sources: (0..sources).map(|_| Source::default()).collect(),
            ordered,
            groups: Groups::new(info),
            finished: VecDeque::new(),
            distinct: Distinct::new(info.distinct_type),
            window: Window { skip: info.offset.unwrap_or(0), take },
            counter: info.d_count_info.as_ref().map(|info| Counter { alias: info.alias.clone(), count: 0 }),
        }
    }

    /// Goes on after a row that an earlier merger of the same ordered query gave, as told by its
    /// [`position`](Merger::position) and [`window`](Merger::window). Rows that were given are left out if
    /// they come again. What `DISTINCT` has seen and aggregates have added up is not carried over: such
    /// queries run to their end or start again.
    pub fn resume(&mut self, source: usize, position: Position, window: Window) {
        self.window = window;
        if let Some(ordered) = &mut self.ordered {
            ordered.resume(source, position);
        }
    }

    /// Adds the next page of a source; `last` says that no other follows.
    pub fn feed(&mut self, source: usize, rows: Vec<Box<RawValue>>, last: bool) -> Result<(), MergeError> {
        match self.sources.get_mut(source) {
            Some(known) if !known.ended => {
                known.rows.extend(rows);
                known.ended = last;
                Ok(())
            }
            _ => Err(MergeError::Source(source)),
        }
    }

    /// The next row, or what is needed for it.
    pub fn step(&mut self) -> Result<Step, MergeError> {
        while self.window.take > 0 {
            let row = match self.pull()? {
                Pull::Row(row) => row,
                Pull::NeedPage(source) => return Ok(Step::NeedPage(source)),
                Pull::Done => break,
            };
            if !self.distinct.admit(&row)? {
                continue;
            }
            if self.window.skip > 0 {
                self.window.skip -= 1;
                continue;
            }
            self.window.take -= 1;
            match &mut self.counter {
                Some(counter) => counter.count += 1,
                None => return Ok(Step::Row(row)),
            }
        }
        match self.counter.take() {
            Some(counter) => Ok(Step::Row(counter.row())),
            None => Ok(Step::Done),
        }
    }

    /// The source and position of the last row taken, for an ordered query that has given one.
    pub fn position(&self) -> Option<(usize, &Position)> {
        self.ordered.as_ref().and_then(Ordered::last)
    }

    /// How many rows are still passed over and still given.
    pub fn window(&self) -> Window {
        self.window
    }

    /// How many rows of a source have arrived and were not yet looked at.
    pub fn buffered(&self, source: usize) -> usize {
        self.sources.get(source).map_or(0, |source| source.rows.len())
    }

    /// The next row before `DISTINCT` and the window.
    fn pull(&mut self) -> Result<Pull<Box<RawValue>>, MergeError> {
        while self.groups.is_some() {
            match self.pull_raw()? {
                Pull::NeedPage(source) => return Ok(Pull::NeedPage(source)),
                Pull::Row(row) => {
                    if let Some(groups) = &mut self.groups {
                        groups.absorb(&row)?;
                    }
                }
                Pull::Done => self.finished = self.groups.take().map(Groups::finish).unwrap_or_default(),
            }
        }
        match self.finished.pop_front() {
            Some(row) => Ok(Pull::Row(row)),
            None => self.pull_raw(),
        }
    }

    fn pull_raw(&mut self) -> Result<Pull<Box<RawValue>>, MergeError> {
        match &mut self.ordered {
            Some(ordered) => ordered.pull(&mut self.sources),
            None => Ok(concatenate(&mut self.sources)),
        }
    }
}

impl Counter {
    fn row(self) -> Box<RawValue> {
        let mut json = Vec::new();
        if self.alias.is_empty() {
            write_number(self.count as f64, &mut json);
        } else {
            json.push(b'{');
            write_string(&self.alias, &mut json);
            json.push(b':');
            write_number(self.count as f64, &mut json);
            json.push(b'}');
        }
        to_raw(json)
    }
}

/// JSON that this crate wrote, as a row.
fn to_raw(json: Vec<u8>) -> Box<RawValue> {
    String::from_utf8(json)
        .ok()
        .and_then(|json| RawValue::from_string(json).ok())
        .expect("what is written from values and rows is JSON")
}
