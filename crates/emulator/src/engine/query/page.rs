//! One page of one query: which way it is run, and what is kept of the run.
//!
//! Replicas are locked to find candidates only. What a query does with a candidate takes as long as it takes, and nobody
//! waits for it.

use std::sync::Arc;

use cosmonaut_query::eval::{EvalError, Program, Rows};
use cosmonaut_wire::model::PartitionKeyDefinition;
use cosmonaut_wire::{CosmosStatus, PartitionKeyRangeId, SessionToken};

use super::compiled::Compiled;
use super::feeder::{Batch, CHUNK, Candidate, Flow, Found, View};
use super::metrics::{self, Times};
use super::page_rows::Output;
use super::parts::{Part, Parts};
use super::request::{PageSize, QueryPage, QueryRequest};
use super::resume::Directions;
use super::searches::Slices;
use super::token::{Key, Position, Token};
use super::{order_choice, placed_rows, source, stream, walk, whole_result};
use crate::engine::charge::{self, QueryCost};
use crate::engine::{Document, FeedScope, PartitionRange, RegionId, ReplicaState};
use crate::index::{Filter, Used};
use crate::pace::Next;
use crate::storage::Commit;
use crate::{Failure, Timestamp};

/// A page in the making.
pub(super) struct PageRun<'q> {
    pub(super) compiled: &'q Compiled,
    pub(super) request: &'q QueryRequest,
    pub(super) token: Option<&'q Token>,
    definition: &'q PartitionKeyDefinition,
    pub(super) now: Timestamp,
    pub(super) output: Output,
    pub(super) continuation: Option<Token>,
    pub(super) tally: Tally,
    /// How many candidates are looked for at the next look.
    pub(super) room: usize,
    /// Where the page became full.
    mark: Option<Position>,
    /// The last document that is done and had rows.
    last: Option<Arc<Document>>,
    /// What of the charge was taken from the throughput.
    spent: f64,
    /// The filter with the texts that were found in a partition.
    found: Option<(PartitionKeyRangeId, Arc<Filter>)>,
    scratch: Rows,
    /// The text of the candidate at hand.
    text: Vec<u8>,
    seen: Seen,
}

/// How many candidates are looked for at first. Many pages need no more; those that do look for twice as many each time.
const FIRST_ROOM: usize = 128;

/// What a page has read.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) cost: QueryCost,
    /// How many of the documents had a row.
    pub(super) matched: u64,
    pub(super) used: Used,
    /// The composite index that gave the order, as policies write its paths.
    pub(super) composite: Option<Vec<String>>,
}

/// What is to be said about the partitions that were read.
#[derive(Default)]
struct Seen {
    session: SessionToken,
    range_id: Option<PartitionKeyRangeId>,
    lsn: i64,
    committed: i64,
    commits: Vec<Commit>,
}

impl<'q> PageRun<'q> {
    pub(super) fn new(
        compiled: &'q Compiled,
        request: &'q QueryRequest,
        token: Option<&'q Token>,
        definition: &'q PartitionKeyDefinition,
        now: Timestamp,
    ) -> PageRun<'q> {
        let progress = token.map(|token| token.progress).unwrap_or_default();
        let page_size = match request.page_size {
            PageSize::Unasked if compiled.is_scored() => PageSize::Any,
            size @ (PageSize::Rows(_) | PageSize::Any | PageSize::All | PageSize::Unasked) => size,
        };
        PageRun {
            compiled,
            request,
            token,
            definition,
            now,
            output: Output::new(&compiled.program, page_size, progress),
            continuation: None,
            tally: Tally::default(),
            room: FIRST_ROOM.min(CHUNK),
            mark: None,
            last: None,
            spent: 0.0,
            found: None,
            scratch: Rows::new(),
            text: Vec::new(),
            seen: Seen::default(),
        }
    }

    /// Fills the page.
    pub(super) fn run(&mut self, parts: Parts, region: RegionId) -> Result<(), Failure> {
        if self.compiled.has_one_row() {
            return whole_result::run(self, &parts, region);
        }
        if self.compiled.gives_by_place() {
            return placed_rows::run(self, &parts, region);
        }
        if self.compiled.program.is_ordered() {
            return order_choice::run(self, parts, region);
        }
        stream::run(self, parts, region)
    }

    /// Looks at a replica, if the session may and, before the first look, throughput is left.
    pub(super) fn look<T>(
        &mut self,
        part: &Part,
        region: RegionId,
        look: impl FnOnce(&mut Self, View<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let replica = part.range.replica(region);
        if self.seen.range_id.is_none() {
            replica.admit(self.now)?;
        }
        let texts = self.find_texts(part, region)?;
        let filter = texts.as_deref().or(self.compiled.filter.as_ref());
        let found = replica.read(|state| {
            part.range.check_session(self.request.session.as_ref(), state)?;
            self.seen.note(&part.range, state);
            let key = match &self.request.scope {
                FeedScope::Key(key) => Some((key, self.definition)),
                FeedScope::Container
                | FeedScope::Range(_)
                | FeedScope::Epk(_)
                | FeedScope::RangePart { .. } => None,
            };
            look(self, View { state, part, key, now: self.now, filter })
        });
        self.spend(part, region);
        found
    }

    /// What is asked of the index in slices before a look.
    pub(super) fn slices<'p>(&self, part: &'p Part, region: RegionId) -> Slices<'p>
    where
        'q: 'p,
    {
        Slices { replica: part.range.replica(region), pace: &self.request.pace }
    }

    /// The filter with what a partition has of its texts; none if it has no conditions on texts. They are looked for once
    /// in a page.
    fn find_texts(&mut self, part: &Part, region: RegionId) -> Result<Option<Arc<Filter>>, Failure> {
        let Some(filter) = self.compiled.filter.as_ref().filter(|filter| filter.asks_for_texts()) else {
            return Ok(None);
        };
        if let Some((range, found)) = &self.found
            && *range == part.range.id
        {
            return Ok(Some(Arc::clone(found)));
        }
        let found = Arc::new(self.slices(part, region).find_texts(filter)?);
        self.found = Some((part.range.id.clone(), Arc::clone(&found)));
        Ok(Some(found))
    }

    /// Whether documents that sort alike come in the order of falling numbers.
    pub(super) fn ties_descending(&self) -> bool {
        self.request.ties.is_descending(self.compiled.first_key_descends())
    }

    /// Takes from a partition's throughput what the page has cost since the last time.
    pub(super) fn spend(&mut self, part: &Part, region: RegionId) {
        let charge = self.charge();
        part.range.replica(region).spend(charge - self.spent);
        self.spent = charge;
    }

    /// Looks for the next candidates of a part. Looking on costs nothing more than having begun.
    pub(super) fn next_batch(
        &mut self,
        part: &Part,
        region: RegionId,
        from: Option<&Position>,
        read: impl FnOnce(&mut Self, View<'_>, Option<&Position>) -> Result<Batch, Failure>,
    ) -> Result<Batch, Failure> {
        let lookups = self.tally.used.lookups;
        let goes_on = from.is_some() && from != part.position.as_ref();
        let batch = self.look(part, region, |page, view| read(page, view, from))?;
        if goes_on {
            self.tally.used.lookups = lookups;
        }
        self.room = (self.room * 2).min(CHUNK);
        Ok(batch)
    }

    /// Adds the rows of what was found to the page.
    fn take_found(&mut self, found: Found) -> Result<Flow, Failure> {
        match found {
            Found::One(candidate) => self.take(candidate),
            Found::Group(documents, from) => {
                let compiled = self.compiled;
                let descending = compiled.order.as_ref().is_some_and(|order| order[0].descending);
                let keys = |document: &Document| order_key(&compiled.program, document);
                let ties_descending = self.ties_descending();
                for candidate in
                    walk::in_order(documents, from.as_ref(), (descending, ties_descending), &keys)?
                {
                    match self.take(candidate)? {
                        Flow::Next => {}
                        end @ (Flow::Full | Flow::Done) => return Ok(end),
                    }
                }
                Ok(Flow::Next)
            }
        }
    }

    /// Adds the rows of a candidate to the page.
    fn take(&mut self, candidate: Candidate) -> Result<Flow, Failure> {
        if self.output.is_done() {
            return Ok(Flow::Done);
        }
        if self.output.is_full() || self.is_over(&candidate)? {
            return Ok(Flow::Full);
        }
        if walk::is_elsewhere(self.compiled, &candidate) {
            return Ok(Flow::Next);
        }
        self.tally.load(&candidate.document);
        if self.is_before_resume(&candidate.document)? {
            return Ok(Flow::Next);
        }
        let mut rows = std::mem::take(&mut self.scratch);
        rows.clear();
        candidate.document.write_text(&mut self.text);
        self.compiled.program.project(&self.text, &mut rows).map_err(eval_error)?;
        if self.compiled.program.is_distinct() {
            rows.make_distinct();
        }
        let flow = self.take_rows(&rows, candidate);
        self.scratch = rows;
        flow
    }

    /// Whether a document comes before the place where the client wants to go on.
    fn is_before_resume(&self, document: &Document) -> Result<bool, Failure> {
        let Some(resume) = &self.request.resume else { return Ok(false) };
        let Key::Values(keys) = order_key(&self.compiled.program, document)? else { return Ok(false) };
        let descending = self.compiled.directions();
        let directions = Directions { keys: &descending, ties_descending: self.ties_descending() };
        Ok(resume.leaves_out(&keys, document.number, &directions))
    }

    /// Whether the page has taken its time, so that the next one begins with this candidate. A page gets on by one
    /// document at least.
    fn is_over(&mut self, candidate: &Candidate) -> Result<bool, Failure> {
        match self.request.pace.next() {
            Next::GoOn => return Ok(false),
            Next::Stop => return Err(eval_error(EvalError::Interrupted)),
            Next::EndPage => {}
        }
        self.mark = match &self.last {
            // An order is gone on with from the values of a row, and this candidate may have none.
            Some(last) => Some(self.position(last, Key::Number, None)?),
            None if self.compiled.program.is_ordered() || self.tally.cost.documents == 0 => return Ok(false),
            None => {
                let Candidate { document, rows, key } = candidate;
                Some(Position { key: key.clone(), number: document.number, rows: Some(*rows) })
            }
        };
        Ok(true)
    }

    fn take_rows(&mut self, rows: &Rows, candidate: Candidate) -> Result<Flow, Failure> {
        let Candidate { document, rows: given, key } = candidate;
        self.tally.matched += u64::from(!rows.is_empty());
        for (nth, row) in (0u64..).zip(rows.iter()).skip(usize::try_from(given).unwrap_or(usize::MAX)) {
            if !self.output.take(row) {
                self.mark = Some(self.position(&document, key, Some(nth))?);
                return Ok(Flow::Full);
            }
        }
        if self.output.is_full() && self.mark.is_none() {
            self.mark = Some(self.position(&document, key, None)?);
        }
        if self.compiled.program.is_ordered() && !rows.is_empty() {
            self.last = Some(document);
        }
        Ok(Flow::Next)
    }

    fn position(&self, document: &Document, key: Key, rows: Option<u64>) -> Result<Position, Failure> {
        let program = &self.compiled.program;
        let key = if program.is_ordered() { order_key(program, document)? } else { key };
        Ok(Position { key, number: document.number, rows })
    }

    /// Hands every candidate of a part to `visit`, in no particular order, until it has enough.
    pub(super) fn each_candidate(
        &mut self,
        part: &Part,
        region: RegionId,
        visit: &mut dyn FnMut(&mut Tally, &Document) -> Result<Flow, Failure>,
    ) -> Result<(), Failure> {
        let mut position = None;
        loop {
            let batch = self.next_batch(part, region, position.as_ref(), |page, view, from| {
                source::read(view, page.compiled, from, &mut page.tally.used, page.room)
            })?;
            for found in batch.found {
                let Found::One(candidate) = found else { continue };
                if self.request.pace.next() == Next::Stop {
                    return Err(eval_error(EvalError::Interrupted));
                }
                match visit(&mut self.tally, &candidate.document)? {
                    Flow::Next => {}
                    Flow::Full | Flow::Done => return Ok(()),
                }
            }
            self.spend(part, region);
            match batch.next {
                Some(at) => position = Some(at),
                None => return Ok(()),
            }
        }
    }

    /// Reads the parts one after the other until the page is full.
    pub(super) fn each_part(
        &mut self,
        mut parts: Parts,
        region: RegionId,
        mut read: impl FnMut(&mut Self, View<'_>, Option<&Position>) -> Result<Batch, Failure>,
    ) -> Result<(), Failure> {
        while let Some(part) = parts.left.front() {
            (self.mark, self.last) = (None, None);
            let full = self.read_part(part, region, &mut read)?;
            // A page that is full may be the last one; the page after it then says so by being empty.
            let is_last = parts.left.len() == 1;
            let full = full || (is_last && self.output.is_full() && !self.output.is_done());
            if full {
                let position = self.mark.take().or(part.position.clone());
                let segments = parts.segments(position);
                self.continuation =
                    Some(Token { segments, progress: self.output.progress, ..Token::default() });
                return Ok(());
            }
            if self.output.is_done() {
                return Ok(());
            }
            let ended = part.range.id.clone();
            parts.left.pop_front();
            // A page is of one partition, as it is at the service: the next partition has a page of its own.
            if let Some(next) = parts.left.front().filter(|next| next.range.id != ended) {
                let segments = parts.segments(next.position.clone());
                self.continuation =
                    Some(Token { segments, progress: self.output.progress, ..Token::default() });
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads one part; true if the page is full and there may be more.
    fn read_part(
        &mut self,
        part: &Part,
        region: RegionId,
        read: &mut impl FnMut(&mut Self, View<'_>, Option<&Position>) -> Result<Batch, Failure>,
    ) -> Result<bool, Failure> {
        let mut position = part.position.clone();
        loop {
            let batch = self.next_batch(part, region, position.as_ref(), &mut *read)?;
            let mut flow = Flow::Next;
            for found in batch.found {
                flow = self.take_found(found)?;
                if flow != Flow::Next {
                    break;
                }
            }
            self.spend(part, region);
            match (flow, batch.next) {
                (Flow::Full, _) => return Ok(true),
                (Flow::Done, _) | (Flow::Next, None) => return Ok(false),
                (Flow::Next, Some(at)) => position = Some(at),
            }
        }
    }

    fn charge(&self) -> f64 {
        charge::query(&self.cost())
    }

    fn cost(&self) -> QueryCost {
        QueryCost {
            lookups: self.tally.used.lookups as u64,
            sent_bytes: self.output.rows.byte_len() as u64,
            ..self.tally.cost
        }
    }

    /// The page, with what is to be said about it.
    pub(super) fn finish(self, started: Timestamp, ended: Timestamp) -> (QueryPage, Work) {
        let times = Times { compile: self.now.micros_since(started), total: ended.micros_since(started) };
        let charge = self.charge();
        let work = Work { tally: self.tally, times };
        let metrics = work.metrics(self.request, &self.output.rows);
        let index_utilization = work.index_utilization(self.request);
        let page = QueryPage {
            execution_info: self.request.ties.execution_info(self.compiled.first_key_descends()),
            charge,
            metrics,
            index_utilization,
            continuation: self.continuation.as_ref().map(Token::write),
            rows: self.output.rows,
            session: self.seen.session,
            range_id: self.seen.range_id,
            lsn: self.seen.lsn,
            committed: self.seen.committed,
            commits: self.seen.commits,
        };
        (page, work)
    }
}

/// What was done for a page, and how long it took.
#[derive(Default)]
pub(super) struct Work {
    tally: Tally,
    times: Times,
}

impl Work {
    /// The query metrics of a page with these rows, if they are asked for.
    pub(super) fn metrics(&self, request: &QueryRequest, rows: &Rows) -> Option<String> {
        request.populate_metrics.then(|| metrics::header(&self.tally, rows, self.times))
    }

    /// Which indexes were used, if that is asked for.
    pub(super) fn index_utilization(&self, request: &QueryRequest) -> Option<String> {
        request.index_metrics.map(|shape| metrics::index_utilization(&self.tally, shape))
    }

    /// Adds what was done for another page.
    pub(super) fn add(&mut self, other: Work) {
        let Work { tally, times } = other;
        self.times.compile += times.compile;
        self.times.total += times.total;
        self.tally.cost.documents += tally.cost.documents;
        self.tally.cost.loaded_bytes += tally.cost.loaded_bytes;
        self.tally.matched += tally.matched;
        self.tally.composite = self.tally.composite.take().or(tally.composite);
        self.tally.used.add(tally.used);
    }
}

impl Tally {
    /// Counts a document that was loaded.
    pub(super) fn load(&mut self, document: &Document) {
        self.cost.documents += 1;
        self.cost.loaded_bytes += document.text_len() as u64;
    }
}

impl Seen {
    fn note(&mut self, range: &PartitionRange, state: &ReplicaState) {
        if self.range_id.as_ref() == Some(&range.id) {
            // Looked at again: the later promise includes the earlier.
            self.commits.pop();
        }
        self.commits.push(state.commit());
        self.range_id = Some(range.id.clone());
        self.lsn = state.lsn();
        self.committed = range.committed().min(state.lsn());
        // Tokens of partitions of one account name the same regions.
        let _ = self.session.merge(&range.session(state));
    }
}

/// The values that a document is sorted by.
pub(super) fn order_key(program: &Program, document: &Document) -> Result<Key, Failure> {
    Ok(Key::Values(program.order_keys(&document.text()).map_err(eval_error)?.unwrap_or_default()))
}

pub(super) fn eval_error(error: EvalError) -> Failure {
    match error {
        EvalError::Interrupted => Failure::new(
            CosmosStatus::REQUEST_TIMEOUT,
            "Request timed out. The query needs to see everything before its first row, or looks at one document, for \
             longer than clients wait (filter more, or narrow its JOINs)",
        ),
        error => Failure::bad_request(error.to_string()),
    }
}
