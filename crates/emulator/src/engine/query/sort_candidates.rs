//! `ORDER BY` over candidates that are few, or over expressions that no index holds: they are sorted for each page.
//!
//! No more rows are held than the page can have, where it has a size.

use std::cmp::Ordering;

use cosmonaut_query::eval::KeyedRow;
use cosmonaut_query::value::Value;

use super::feeder::{Flow, mismatched};
use super::page::{PageRun, eval_error};
use super::parts::{Part, Parts};
use super::resume::{Directions, ResumeFilter, turned};
use super::token::{Key, Position, Token};
use crate::Failure;
use crate::engine::RegionId;

/// The most bytes of rows and of what they are sorted by that are held. Few in tests.
const HELD_LIMIT: usize = if cfg!(test) { 32 << 20 } else { 256 << 20 };

/// A row with what decides its place.
struct Placed {
    keyed: KeyedRow,
    number: u64,
    nth: u64,
}

impl Placed {
    fn held_bytes(&self) -> usize {
        self.keyed.held_bytes() + size_of::<(u64, u64)>()
    }
}

/// The rows that come first after a position.
pub(super) struct Sorter {
    descending: Vec<bool>,
    ties_descending: bool,
    after: Option<Position>,
    resume: Option<ResumeFilter>,
    wanted: usize,
    rows: Vec<Placed>,
    held: usize,
}

/// Fills the page from the one partition that the query concerns.
pub(super) fn run(page: &mut PageRun<'_>, parts: &Parts, region: RegionId) -> Result<(), Failure> {
    let Some(part) = parts.left.front() else { return Ok(()) };
    let mut sorter = Sorter::new(page, part.position.clone())?;
    gather(page, part, region, &mut sorter, &|_| false)?;
    give(page, parts, sorter);
    Ok(())
}

/// Adds the rows of all candidates but those that are known.
pub(super) fn gather(
    page: &mut PageRun<'_>,
    part: &Part,
    region: RegionId,
    sorter: &mut Sorter,
    is_known: &dyn Fn(u64) -> bool,
) -> Result<(), Failure> {
    let program = &page.compiled.program;
    let mut text = Vec::new();
    page.each_candidate(part, region, &mut |tally, document| {
        if is_known(document.number) {
            return Ok(Flow::Next);
        }
        tally.load(document);
        document.write_text(&mut text);
        let mut rows = Vec::new();
        program.keyed_rows(&text, &mut rows).map_err(eval_error)?;
        if program.is_distinct() {
            KeyedRow::make_distinct(&mut rows);
        }
        tally.matched += u64::from(!rows.is_empty());
        sorter.add(document.number, rows)?;
        Ok(Flow::Next)
    })
}

/// Moves the rows that come first into the page.
pub(super) fn give(page: &mut PageRun<'_>, parts: &Parts, sorter: Sorter) {
    let mut reached = None;
    for placed in sorter.finish() {
        let taken = page.output.take(&placed.keyed.row);
        reached = Some(Position {
            key: Key::Values(placed.keyed.keys),
            number: placed.number,
            rows: Some(placed.nth + u64::from(taken)),
        });
        if !taken {
            break;
        }
    }
    if page.output.is_full() && !page.output.is_done() {
        let segments = parts.segments(reached);
        page.continuation = Some(Token { segments, progress: page.output.progress, ..Token::default() });
    }
}

impl Sorter {
    pub(super) fn new(page: &PageRun<'_>, after: Option<Position>) -> Result<Sorter, Failure> {
        let descending = page.compiled.directions();
        if let Some(position) = &after {
            match &position.key {
                Key::Values(values) if values.len() == descending.len() => {}
                Key::Values(_) | Key::Number | Key::Term(_) | Key::Composite(_) | Key::Digest(_) => {
                    return Err(mismatched());
                }
            }
        }
        let wanted = page.output.last_wanted().unwrap_or_else(|| page.output.wanted());
        let ties_descending = page.ties_descending();
        let resume = page.request.resume.clone();
        Ok(Sorter { descending, ties_descending, after, resume, wanted, rows: Vec::new(), held: 0 })
    }

    pub(super) fn add(&mut self, number: u64, rows: Vec<KeyedRow>) -> Result<(), Failure> {
        for (nth, keyed) in (0..).zip(rows) {
            let placed = Placed { keyed, number, nth };
            if self.is_given(&placed) || self.is_before_resume(&placed) {
                continue;
            }
            self.held += placed.held_bytes();
            self.rows.push(placed);
        }
        let is_too_much = self.held > HELD_LIMIT;
        if is_too_much || self.rows.len() >= self.wanted.saturating_mul(2).max(1024) {
            self.prune();
        }
        // Rows that leave little room would have to be sorted again and again.
        if is_too_much && self.held > HELD_LIMIT / 2 {
            return Err(Failure::bad_request(format!(
                "sorting holds more than {HELD_LIMIT} bytes: filter more, select fewer members, or ask for a page size"
            )));
        }
        Ok(())
    }

    /// Whether the row comes before the place where the client wants to go on.
    fn is_before_resume(&self, placed: &Placed) -> bool {
        let directions = Directions { keys: &self.descending, ties_descending: self.ties_descending };
        self.resume
            .as_ref()
            .is_some_and(|resume| resume.leaves_out(&placed.keyed.keys, placed.number, &directions))
    }

    /// Whether the row was on an earlier page.
    fn is_given(&self, placed: &Placed) -> bool {
        let Some(after) = &self.after else { return false };
        let Key::Values(values) = &after.key else { return false };
        match self.compare((&placed.keyed.keys, placed.number), (values, after.number)) {
            Ordering::Less => true,
            Ordering::Equal => after.rows.is_none_or(|given| placed.nth < given),
            Ordering::Greater => false,
        }
    }

    /// Keys first, each in its direction; then the documents' numbers in theirs.
    fn compare(&self, a: (&[Value], u64), b: (&[Value], u64)) -> Ordering {
        let keys = a.0.iter().zip(b.0).zip(&self.descending);
        let by_keys =
            keys.map(|((x, y), descending)| turned(x.total_cmp(y), *descending)).find(|order| order.is_ne());
        by_keys.unwrap_or_else(|| turned(a.1.cmp(&b.1), self.ties_descending))
    }

    fn sort(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_by(|a, b| {
            let order = self.compare((&a.keyed.keys, a.number), (&b.keyed.keys, b.number));
            order.then(a.nth.cmp(&b.nth))
        });
        self.rows = rows;
    }

    fn prune(&mut self) {
        self.sort();
        self.rows.truncate(self.wanted);
        self.held = self.rows.iter().map(Placed::held_bytes).sum();
    }

    fn finish(mut self) -> Vec<Placed> {
        self.sort();
        self.rows
    }
}
