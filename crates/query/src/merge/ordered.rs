//! `ORDER BY`: sorted streams become one.
//!
//! Rows that sort alike come by the order of their sources, and within a source as it gave them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use cosmonaut_wire::model::SortOrder;
use serde_json::value::RawValue;

use super::MergeError;
use super::resume::{Resume, Standing};
use super::row::OrderedRow;
use super::source::{Fed, Pull, Source};
use crate::value::Value;

/// The heads of all sources, the next one to give on top.
pub(super) struct Ordered {
    directions: Arc<[SortOrder]>,
    /// Whether each source is sorted; otherwise all rows are needed before the first can be given.
    streaming: bool,
    heap: BinaryHeap<Head>,
    /// The sources that have to be looked at before the top is known, the next one last.
    unfilled: Vec<usize>,
    sources: usize,
    arrived: usize,
    last: Option<Position>,
    resume: Option<Resume>,
    /// Whether rows that were given before are passed on as such.
    replays: bool,
}

/// The row given last.
struct Position {
    source: usize,
    order: Vec<Value>,
    rid: String,
    /// How many rows of its document were given, this one included.
    given: usize,
    falling: Option<bool>,
}

/// A row whose turn can come.
struct Head {
    keys: Vec<Value>,
    rid: String,
    payload: Option<Box<RawValue>>,
    was_given: bool,
    falling: Option<bool>,
    source: usize,
    arrived: usize,
    directions: Arc<[SortOrder]>,
    /// Whether it is sorted by a score and has none.
    lacks_score: bool,
}

impl Ordered {
    pub(super) fn new(directions: &[SortOrder], streaming: bool, sources: usize) -> Ordered {
        Ordered {
            directions: directions.into(),
            streaming,
            heap: BinaryHeap::new(),
            unfilled: (0..sources).rev().collect(),
            sources,
            arrived: 0,
            last: None,
            resume: None,
            replays: false,
        }
    }

    /// Whether each source is sorted.
    pub(super) fn is_streaming(&self) -> bool {
        self.streaming
    }

    pub(super) fn first_key_descends(&self) -> bool {
        self.directions.first() == Some(&SortOrder::Descending)
    }

    /// Leaves out what was given before, or with `replays` passes it on as such.
    pub(super) fn resume(&mut self, order: Vec<Value>, standings: Vec<Standing>, replays: bool) {
        self.resume = Some(Resume::new(order, standings, Arc::clone(&self.directions)));
        self.replays = replays;
    }

    /// The values that the row given last is sorted by, and which rows that sort alike each source has given.
    pub(super) fn reached(&self) -> Option<(Vec<Value>, Vec<Standing>)> {
        let Some(last) = &self.last else {
            return self.resume.as_ref().map(|resume| (resume.order.clone(), resume.standings.clone()));
        };
        let before = self.resume.as_ref().filter(|resume| resume.order == last.order);
        // Of rows that sort alike, those of earlier sources come first.
        let standing = |source: usize| match source.cmp(&last.source) {
            Ordering::Less => Standing::All,
            Ordering::Equal => {
                Standing::UpTo { rid: last.rid.clone(), given: last.given, falling: last.falling }
            }
            Ordering::Greater => {
                before.and_then(|before| before.standings.get(source).cloned()).unwrap_or(Standing::None)
            }
        };
        Some((last.order.clone(), (0..self.sources).map(standing).collect()))
    }

    /// The payload of the next row. A row without one, whose selected value is undefined, is passed over.
    pub(super) fn pull(&mut self, sources: &mut [Source]) -> Result<Pull<Box<RawValue>>, MergeError> {
        loop {
            while let Some(at) = self.unfilled.last().copied() {
                if !self.fill(at, &mut sources[at])? {
                    return Ok(Pull::NeedPage(at));
                }
                self.unfilled.pop();
            }
            let Some(head) = self.heap.pop() else { return Ok(Pull::Done) };
            self.unfilled.push(head.source);
            match (head.was_given, head.payload) {
                (true, Some(payload)) => return Ok(Pull::Again(payload)),
                (true, None) => {}
                (false, payload) => {
                    self.advance(head.source, head.keys, head.rid, head.falling);
                    if let Some(payload) = payload {
                        return Ok(Pull::Row(payload));
                    }
                }
            }
        }
    }

    /// Brings a source's rows into the heap as far as needed; `false` if that takes another page.
    fn fill(&mut self, at: usize, source: &mut Source) -> Result<bool, MergeError> {
        while let Some(fed) = source.pop() {
            let mut head = self.head(at, &fed)?;
            if let Some(resume) = &mut self.resume {
                head.was_given = resume.was_given(at, &head.keys, &head.rid);
            }
            if head.was_given && !self.replays {
                continue;
            }
            self.heap.push(head);
            if self.streaming {
                return Ok(true);
            }
        }
        Ok(source.ended)
    }

    fn head(&mut self, source: usize, fed: &Fed) -> Result<Head, MergeError> {
        let row = &*fed.row;
        let parsed = OrderedRow::read(row)?;
        let keys = parsed.keys(row)?;
        if keys.len() != self.directions.len() {
            return Err(MergeError::row(row, "it has another number of orderByItems than the plan"));
        }
        self.arrived += 1;
        Ok(Head {
            // Sources that are not sorted are those of scores.
            lacks_score: !self.streaming && keys.first().is_some_and(Value::is_undefined),
            keys,
            rid: parsed.rid.into_owned(),
            payload: parsed.payload.map(RawValue::to_owned),
            was_given: false,
            falling: fed.falling,
            source,
            arrived: self.arrived,
            directions: Arc::clone(&self.directions),
        })
    }

    fn advance(&mut self, source: usize, order: Vec<Value>, rid: String, falling: Option<bool>) {
        let same = |last: &&Position| last.source == source && last.rid == rid && last.order == order;
        let earlier = match self.last.as_ref().filter(same) {
            Some(last) => last.given,
            None => self.resume.as_ref().map_or(0, |resume| resume.given_of(source, &order, &rid)),
        };
        self.last = Some(Position { source, order, rid, given: earlier + 1, falling });
    }
}

/// Compares the values that rows are sorted by.
pub(super) fn compare(a: &[Value], b: &[Value], directions: &[SortOrder]) -> Ordering {
    let keys = a.iter().zip(b).zip(directions).map(|((a, b), direction)| match direction {
        SortOrder::Ascending => a.total_cmp(b),
        SortOrder::Descending => b.total_cmp(a),
    });
    keys.fold(Ordering::Equal, Ordering::then)
}

impl Ord for Head {
    /// Reversed, because the greatest is on top of the heap and the first row has to be.
    fn cmp(&self, other: &Head) -> Ordering {
        let scored = other.lacks_score.cmp(&self.lacks_score);
        scored
            .then_with(|| compare(&other.keys, &self.keys, &self.directions))
            .then_with(|| other.source.cmp(&self.source))
            .then_with(|| other.arrived.cmp(&self.arrived))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}
