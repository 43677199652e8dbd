//! `ORDER BY` a score of which an index knows bounds: the documents with the best bounds are looked at first, until no
//! other can be among the first rows.
//!
//! What a document's score is, the query decides; the index only decides in which order documents are looked at. So
//! the rows and their order are those of sorting all documents.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

use cosmonaut_query::eval::{EvalError, KeyedRow};

use super::feeder::Feeder;
use super::page::{PageRun, eval_error};
use super::parts::{Part, Parts};
use super::sort_candidates::{self, Sorter, give};
use super::source;
use crate::Failure;
use crate::engine::{Document, RegionId};
use crate::index::{Bounded, Numbers, Score};
use crate::pace::Next;

/// The fewest documents that are looked at together.
const FEWEST: usize = 32;

/// How many candidates of a filter are always sorted rather than searched for by their bounds.
///
/// One in tests, so that their small containers see both ways.
const FEW: usize = if cfg!(test) { 1 } else { 1000 };

/// A score with the number of its document, in the order in which rows come.
#[derive(Clone, Copy)]
struct Standing {
    score: f64,
    number: u64,
    ties_descending: bool,
}

impl Ord for Standing {
    fn cmp(&self, other: &Standing) -> Ordering {
        let by_number = self.number.cmp(&other.number);
        let ties = if self.ties_descending { by_number } else { by_number.reverse() };
        self.score.total_cmp(&other.score).then(ties)
    }
}

impl PartialOrd for Standing {
    fn partial_cmp(&self, other: &Standing) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Standing {
    fn eq(&self, other: &Standing) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Standing {}

/// Fills the page from the one partition that the query concerns; `false`, and nothing done, if bounds are of no use.
pub(super) fn run(
    page: &mut PageRun<'_>,
    parts: &Parts,
    region: RegionId,
    score: &Score,
) -> Result<bool, Failure> {
    let Some(part) = parts.left.front() else { return Ok(false) };
    let Some(wanted) = page.output.last_wanted().filter(|_| can_begin(page, part)) else { return Ok(false) };
    let pays = page.look(part, region, |page, view| {
        let found = source::candidates(view, &mut page.tally.used);
        let few = found.as_ref().is_some_and(|found| Numbers::estimate(found) <= wanted.max(FEW));
        Ok(view.state.index().holds(score) && !few)
    })?;
    if !pays {
        return Ok(false);
    }
    let Some(bounds) = page.slices(part, region).bounds(score)? else { return Ok(false) };
    page.tally.used.lookups += 1;
    if !page.tally.used.paths.contains(score.path()) {
        page.tally.used.paths.push(score.path().clone());
    }
    let mut search = Search::new(page, bounds, wanted);
    let mut sorter = Sorter::new(page, None)?;
    while let Some(numbers) = search.next_numbers() {
        let documents = page.look(part, region, |_, view| {
            let feeder = Feeder::new(view, numbers.len());
            Ok(numbers.iter().filter_map(|number| feeder.document(*number).cloned()).collect::<Vec<_>>())
        })?;
        for document in documents {
            search.take(page, &document, &mut sorter)?;
        }
        page.spend(part, region);
    }
    if !search.is_full() {
        // What has no score comes last, and the index does not know it.
        let known = &search.known;
        sort_candidates::gather(page, part, region, &mut sorter, &|number| known.contains(&number))?;
    }
    give(page, parts, sorter);
    Ok(true)
}

/// Whether the page is the first, and a client goes on nowhere else.
fn can_begin(page: &PageRun<'_>, part: &Part) -> bool {
    part.position.is_none() && page.request.resume.is_none()
}

/// Documents by their bounds, and the best scores that were found.
struct Search {
    ahead: BinaryHeap<Standing>,
    /// The worst on top.
    best: BinaryHeap<Reverse<Standing>>,
    wanted: usize,
    ties_descending: bool,
    text: Vec<u8>,
    /// The documents that were looked at.
    known: HashSet<u64>,
}

impl Search {
    fn new(page: &PageRun<'_>, bounds: Vec<Bounded>, wanted: usize) -> Search {
        let ties_descending = page.ties_descending();
        let standing = |Bounded { bound, number }| Standing { score: bound, number, ties_descending };
        let ahead = bounds.into_iter().map(standing).collect::<Vec<_>>().into();
        Search {
            ahead,
            best: BinaryHeap::new(),
            wanted,
            ties_descending,
            text: Vec::new(),
            known: HashSet::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.best.len() >= self.wanted
    }

    /// The next documents to look at; none if no other can be among the first rows.
    fn next_numbers(&mut self) -> Option<Vec<u64>> {
        let mut numbers = Vec::new();
        let room = FEWEST.max(self.wanted.saturating_sub(self.best.len()));
        while numbers.len() < room
            && let Some(next) = self.ahead.peek()
        {
            let worst = self.best.peek().filter(|_| self.is_full());
            if worst.is_some_and(|Reverse(worst)| worst > next) || self.wanted == 0 {
                break;
            }
            numbers.extend(self.ahead.pop().map(|next| next.number));
        }
        (!numbers.is_empty()).then_some(numbers)
    }

    fn take(
        &mut self,
        page: &mut PageRun<'_>,
        document: &Arc<Document>,
        sorter: &mut Sorter,
    ) -> Result<(), Failure> {
        if page.request.pace.next() == Next::Stop {
            return Err(eval_error(EvalError::Interrupted));
        }
        self.known.insert(document.number);
        page.tally.load(document);
        document.write_text(&mut self.text);
        let program = &page.compiled.program;
        let mut rows = Vec::new();
        program.keyed_rows(&self.text, &mut rows).map_err(eval_error)?;
        if program.is_distinct() {
            KeyedRow::make_distinct(&mut rows);
        }
        page.tally.matched += u64::from(!rows.is_empty());
        for row in &rows {
            let Some(score) = row.keys.first().and_then(|key| key.as_f64()) else { continue };
            self.best.push(Reverse(Standing {
                score,
                number: document.number,
                ties_descending: self.ties_descending,
            }));
            if self.best.len() > self.wanted {
                self.best.pop();
            }
        }
        sorter.add(document.number, rows)
    }
}
