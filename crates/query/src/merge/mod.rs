//! Putting the results of one query from many partitions together, as its plan says.
//!
//! A [`Merger`] is fed pages as they arrive and asked for rows; it says which page it is waiting for. It sends
//! no requests, and what rows hold passes through it byte for byte.

mod aggregate;
mod distinct;
mod error;
mod group;
mod hybrid;
mod mark;
mod ordered;
#[cfg(test)]
mod recorded;
mod repeats;
mod resume;
mod row;
mod source;
#[cfg(test)]
mod tests;
mod whole;

use cosmonaut_wire::model::{QueryExecutionInfo, QueryInfo};
use serde_json::value::RawValue;

pub use error::MergeError;
pub use hybrid::{Fusion, Statistics};
pub use mark::Mark;
pub use repeats::Repeats;
pub use resume::{Checkpoint, Reached, Remaining, Standing, filters_behind, resume_filter, resume_place};

use crate::value::{write_number, write_string};
use distinct::Distinct;
use ordered::Ordered;
use source::{Pull, Source, concatenate};
use whole::Whole;

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
    way: Way,
    distinct: Distinct,
    window: Window,
    /// The window before the first row.
    opening: Window,
    counter: Option<Counter>,
}

/// How the rows of the sources become those of the result.
enum Way {
    /// One source after the other.
    Concatenated,
    /// Sorted streams become one.
    Ordered(Ordered),
    /// Nothing can be said before everything is known.
    Whole(Whole),
}

/// How many rows are still passed over and still given: `OFFSET`, `LIMIT` and `TOP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How many rows are still passed over.
    pub skip: u64,
    /// How many are still given at most.
    pub take: u64,
}

impl Window {
    /// How many rows it takes to fill the window.
    pub fn rows(self) -> u64 {
        self.skip.saturating_add(self.take)
    }
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
        let streaming = !info.has_non_streaming_order_by;
        let way = match Whole::new(info) {
            Some(whole) => Way::Whole(whole),
            None if info.order_by.is_empty() => Way::Concatenated,
            None => Way::Ordered(Ordered::new(&info.order_by, streaming, sources)),
        };
        let take = [info.limit, info.top].into_iter().flatten().min().unwrap_or(u64::MAX);
        let opening = Window { skip: info.offset.unwrap_or(0), take };
        // What collects all rows tells them apart by itself.
        let distinct = match &way {
            Way::Whole(_) => Distinct::Off,
            Way::Concatenated | Way::Ordered(_) => Distinct::new(info.distinct_type),
        };
        Merger {
            sources: (0..sources).map(|_| Source::default()).collect(),
            way,
            distinct,
            window: opening,
            opening,
            counter: info.d_count_info.as_ref().map(|info| Counter { alias: info.alias.clone(), count: 0 }),
        }
    }

    /// Goes on where a merger of the same query stopped, as told by its [`checkpoint`](Merger::checkpoint).
    ///
    /// Sources may be others than they were, as long as each document that was in a source is now in one with
    /// the same [`Standing`]. Rows that were given are left out when they come again: they have to for a result
    /// without order, and for `DISTINCT` with another `ORDER BY` than what is selected; see
    /// [`replays`](Merger::replays).
    pub fn resume(&mut self, checkpoint: Checkpoint) {
        self.window = checkpoint.window;
        let replays = self.replays();
        match (checkpoint.reached, &mut self.way) {
            (Reached::Ordered { order, standings, row }, Way::Ordered(ordered)) => {
                ordered.resume(order, standings, replays);
                self.distinct.resume(row);
            }
            (Reached::Marked(mark), Way::Whole(whole)) => whole.resume(mark),
            (Reached::Start | Reached::Ordered { .. } | Reached::Marked(_), _) => {}
        }
    }

    /// What has been given so far. Also between pages of the sources, and after rows that were asked for in vain.
    ///
    /// Sources that are not ordered are not told apart: where each goes on is for the caller to remember.
    pub fn checkpoint(&self) -> Checkpoint {
        if self.counter.is_some() {
            // A count is given as a whole or not at all.
            return Checkpoint { window: self.opening, reached: Reached::Start };
        }
        let reached = match &self.way {
            Way::Concatenated => None,
            Way::Ordered(ordered) => ordered.reached().map(|(order, standings)| Reached::Ordered {
                order,
                standings,
                row: self.distinct.last().cloned(),
            }),
            Way::Whole(whole) => whole.given().cloned().map(Reached::Marked),
        };
        Checkpoint { window: self.window, reached: reached.unwrap_or(Reached::Start) }
    }

    /// Whether sources have to start from their beginning to resume, because everything that was given has to
    /// be known again.
    pub fn replays(&self) -> bool {
        match self.way {
            Way::Concatenated => false,
            Way::Ordered(_) => self.distinct.needs_all(),
            Way::Whole(_) => true,
        }
    }

    /// Whether all rows are needed before the first one is given; a caller may then fetch all it can.
    pub fn is_whole(&self) -> bool {
        matches!(self.way, Way::Whole(_)) || self.counter.is_some()
    }

    /// Whether equal rows of a source follow one another and are given once.
    pub fn is_ordered_distinct(&self) -> bool {
        match (&self.way, &self.distinct) {
            (Way::Ordered(ordered), Distinct::Ordered(_)) => ordered.is_streaming(),
            (Way::Concatenated | Way::Ordered(_) | Way::Whole(_), _) => false,
        }
    }

    /// Says that nobody goes on between rows if there are no more than `most`: then any rows will do for `TOP` or
    /// `LIMIT` of a result without order, and no more of them are collected than it takes.
    pub fn give_at_once(&mut self, most: u64) {
        let enough = self.window.rows();
        if let (Way::Whole(whole), None) = (&mut self.way, &self.counter)
            && enough <= most
        {
            whole.stop_at(usize::try_from(enough).unwrap_or(usize::MAX));
        }
    }

    /// How many rows of a result without order are collected at most, where that is known; see
    /// [`give_at_once`](Merger::give_at_once).
    pub fn enough(&self) -> Option<usize> {
        match &self.way {
            Way::Whole(whole) => whole.enough(),
            Way::Concatenated | Way::Ordered(_) => None,
        }
    }

    /// Takes note of how a source has read a page, before the page is fed: it decides in which order documents come that sort alike.
    pub fn reads(&mut self, source: usize, info: QueryExecutionInfo) {
        let first_key_descends = match &self.way {
            Way::Ordered(ordered) => ordered.first_key_descends(),
            Way::Concatenated | Way::Whole(_) => false,
        };
        if let Some(known) = self.sources.get_mut(source) {
            known.falling = Some(info.ties_descend(first_key_descends));
        }
    }

    /// Adds the next page of a source; `last` says that no other follows.
    pub fn feed(&mut self, source: usize, rows: Vec<Box<RawValue>>, last: bool) -> Result<(), MergeError> {
        let is_ordered_distinct = self.is_ordered_distinct();
        let Some(known) = self.sources.get_mut(source).filter(|known| !known.ended) else {
            return Err(MergeError::Source(source));
        };
        known.ended = last;
        if is_ordered_distinct {
            known.repeats.look(&rows)?;
        }
        match &mut self.way {
            Way::Whole(whole) => rows.into_iter().try_for_each(|row| whole.absorb(row)),
            Way::Concatenated | Way::Ordered(_) => {
                known.push(rows);
                Ok(())
            }
        }
    }

    /// What a source that was fed can pass over, because its last rows repeat one another and `DISTINCT` wants one of
    /// them: instead of going on by its continuation, it may give what sorts behind these values. It is told once.
    pub fn take_repeats(&mut self, source: usize) -> Option<Repeats> {
        self.sources.get_mut(source)?.repeats.take()
    }

    /// The next row, or what is needed for it.
    pub fn step(&mut self) -> Result<Step, MergeError> {
        while self.window.take > 0 {
            let row = match self.pull()? {
                Pull::Row(row) => row,
                Pull::Again(row) => {
                    self.distinct.admit(&row)?;
                    continue;
                }
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

    /// How many rows of a source have arrived and were not yet looked at.
    pub fn buffered(&self, source: usize) -> usize {
        self.sources.get(source).map_or(0, Source::waiting)
    }

    /// The next row before `DISTINCT` and the window.
    fn pull(&mut self) -> Result<Pull<Box<RawValue>>, MergeError> {
        match &mut self.way {
            Way::Concatenated => Ok(concatenate(&mut self.sources)),
            Way::Ordered(ordered) => ordered.pull(&mut self.sources),
            Way::Whole(whole) => match self.sources.iter().position(|source| !source.ended) {
                Some(source) if !whole.has_enough() => Ok(Pull::NeedPage(source)),
                Some(_) | None => Ok(whole.next()?.map_or(Pull::Done, Pull::Row)),
            },
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
