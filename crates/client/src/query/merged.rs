//! Queries whose result is put together from rows of all partitions: ordered, grouped, aggregated, distinct.
//!
//! All partitions are asked at once, as far as the options allow. One that splits ends the merge, and another
//! goes on where it was: the same way as a continuation token does.

use bytes::Bytes;
use cosmonaut_query::merge::{
    Checkpoint, MergeError, Merger, Reached, Remaining, Repeats, Standing, Step, Window, filters_behind,
    resume_filter, resume_place,
};
use cosmonaut_wire::mutation;
use serde_json::value::RawValue;

use super::fetch::{Fetched, PageRequest};
use super::planning::Plan;
use super::run::Context;
use super::token::{At, Progress, outdated};
use crate::feeds::parts::{Arrival, Part, Parts};
use crate::feeds::place::Place;
use crate::{Error, ErrorKind, Result};

/// A result in the making.
pub(super) struct Merged {
    merger: Merger,
    /// The partitions, by the numbers that the merger has for them.
    parts: Parts<MergedPart, Fetched>,
    /// A row that was taken to see whether there is one. It is not in what [`Merged::progress`] says.
    ahead: Option<Box<RawValue>>,
    progress: Progress,
    is_done: bool,
}

/// What is known of a partition that rows are merged of.
struct MergedPart {
    body: Bytes,
    has_ended: bool,
    /// How many rows its last answer had; `None` before the first.
    answered: Option<usize>,
    /// How many rows it is asked for; `None` for as many as fit into an answer.
    most: Option<u32>,
    /// What it is asked when it has no more rows of what it is asked now.
    then: Option<Bytes>,
}

impl Merged {
    pub(super) async fn start(context: &Context, progress: Progress, refresh: bool) -> Result<Self> {
        let found = to_ask(context, &progress.at, refresh).await?;
        let mut merger = Merger::new(&context.plan.info, found.len());
        let replays = merger.replays();
        let passes_alike = merger.is_ordered_distinct();
        let mut bodies =
            Bodies { plan: &context.plan, at: &progress.at, replays, passes_alike, made: Vec::new() };
        let bodies = found.iter().map(|(_, standing)| bodies.body(standing)).collect::<Result<Vec<_>>>()?;
        let (places, standings): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        merger.resume(checkpoint(&progress, standings, context.plan.info.order_by.len())?);
        merger.give_at_once(context.page_size.into());
        let most = first_page(&merger, &progress.window, context.page_size);
        let mut parts = Parts::new();
        for (place, body) in places.into_iter().zip(bodies) {
            let state = MergedPart { body, has_ended: false, answered: None, most, then: None };
            parts.push(place, None, state);
        }
        Ok(Self { merger, parts, ahead: None, progress, is_done: false })
    }

    /// The rows of the next page; fewer than it could have only at the end.
    pub(super) async fn next_rows(&mut self, context: &mut Context) -> Result<Vec<Box<RawValue>>> {
        // What comes in no order is known as a whole, and given so: no condition says what is left of it.
        let is_whole = context.plan.info.has_non_streaming_order_by;
        let most = if is_whole { usize::MAX } else { context.page_size as usize };
        let mut rows: Vec<_> = self.ahead.take().into_iter().collect();
        self.parts.begin_page();
        while rows.len() < most && !self.is_done {
            match self.step()? {
                Step::Row(row) => rows.push(row),
                Step::Done => self.is_done = true,
                Step::NeedPage(part) => {
                    self.ask(context, Some(part));
                    self.receive(context).await?;
                }
            }
        }
        self.progress = self.reached();
        if !self.is_done {
            match self.step()? {
                Step::Row(row) => self.ahead = Some(row),
                Step::Done => self.is_done = true,
                Step::NeedPage(_) => {}
            }
        }
        if mutation!("token-is-ahead-of-its-page") {
            self.progress = self.reached();
        }
        if !self.is_done {
            self.ask(context, None);
            self.parts.send().await;
        }
        Ok(rows)
    }

    /// What the rows that were given come to; `None` at the end.
    pub(super) fn progress(&self) -> Option<Progress> {
        (!self.is_done).then(|| self.progress.clone())
    }

    fn step(&mut self) -> Result<Step> {
        self.merger.step().map_err(unmergeable)
    }

    fn reached(&self) -> Progress {
        let Checkpoint { window, reached } = self.merger.checkpoint();
        let at = match reached {
            Reached::Start => At::Start,
            Reached::Marked(mark) => At::Marked(mark),
            Reached::Ordered { order, standings, row } => {
                let ranges = self.parts.iter().map(|part| part.place.range.clone());
                At::Ordered { order, parts: ranges.zip(standings).collect(), row }
            }
        };
        Progress { window, at }
    }

    /// Asks the part that is waited for, and as many others as may be under way at once.
    fn ask(&mut self, context: &Context, needed: Option<usize>) {
        let whole = self.merger.is_whole();
        for at in needed.into_iter().chain(0..self.parts.len()) {
            let buffered = self.merger.buffered(at);
            let part = &self.parts[at];
            let state = &part.state;
            // Rows of a whole result are not kept; else the next answer is asked for when half of the last is used.
            let has_room = whole || state.answered.is_none_or(|answered| buffered <= answered / 2);
            let is_due = has_room && !part.is_asked && !state.has_ended;
            let may = self.parts.under_way() < context.concurrency || needed == Some(at);
            if !is_due || !may {
                continue;
            }
            let request = PageRequest {
                target: part.place.target.clone(),
                body: state.body.clone(),
                continuation: part.at.clone(),
                most: state.most,
            };
            self.parts.ask(at, context.fetcher.fetch(request));
        }
    }

    /// Waits for an answer.
    async fn receive(&mut self, context: &mut Context) -> Result<()> {
        match self.parts.next().await {
            Some(Arrival::Answered(at, (page, response))) => {
                context.tally.add(response.diagnostics());
                let part = &mut self.parts[at];
                part.state.answered = Some(page.rows.len());
                let goes_on = page.continuation.is_some();
                go_on(part, page.continuation);
                self.merger.reads(at, page.execution_info);
                self.merger.feed(at, page.rows, part.state.has_ended).map_err(unmergeable)?;
                if goes_on { self.pass_repeats(context, at) } else { Ok(()) }
            }
            Some(Arrival::Moved(_, error)) => {
                context.tally.add_failed(&error);
                self.follow(context).await
            }
            Some(Arrival::Failed(_, error)) => Err(context.explained(error)),
            Some(Arrival::Late) | None => Ok(()),
        }
    }

    /// Lets a part of distinct rows go on behind those that only repeat its last one.
    ///
    /// Pages get smaller while they hold nothing but repetitions, and larger again when they do not.
    fn pass_repeats(&mut self, context: &Context, at: usize) -> Result<()> {
        if !self.merger.is_ordered_distinct() {
            return Ok(());
        }
        let (plan, part) = (&context.plan, &mut self.parts[at]);
        let repeats = self.merger.take_repeats(at);
        let fill_page = repeats.as_ref().is_some_and(|repeats| repeats.fill_page);
        part.state.most = part.state.most.map(|most| match fill_page {
            true => (most / 2).max(LEAST_PAGE).min(context.page_size),
            false => most.saturating_mul(2).min(context.page_size),
        });
        if let Some(repeats) = repeats {
            let filters = pass_filters(plan, &repeats);
            let mut bodies = filters.iter().map(|filter| plan.body(filter));
            if let Some(body) = bodies.next().transpose()? {
                (part.state.body, part.at) = (body, None);
                part.state.then = bodies.next().transpose()?;
            }
        }
        Ok(())
    }

    /// Begins another merge with the partitions that there are now, behind the rows that were taken.
    async fn follow(&mut self, context: &Context) -> Result<()> {
        let start = Self::start(context, self.reached(), true);
        let mut next = self.parts.during(start).await?;
        next.parts.count_moves_of(&self.parts);
        *self = next;
        Ok(())
    }
}

/// Goes on behind a page of a part, if there is anything.
fn go_on(part: &mut Part<MergedPart>, continuation: Option<String>) {
    part.at = continuation;
    if part.at.is_none() {
        match part.state.then.take() {
            Some(body) => part.state.body = body,
            None => part.state.has_ended = true,
        }
    }
}

/// The conditions for what sorts behind rows that repeat one another, one after the other; none if it does not pay to
/// pass them over.
fn pass_filters(plan: &Plan, repeats: &Repeats) -> Vec<String> {
    let (keys, directions) = (&plan.info.order_by_expressions, &plan.info.order_by);
    match (&keys[..], &directions[..], &repeats.order[..]) {
        ([key], [direction], [value]) => filters_behind(key, *direction, value),
        // No index of several keys has what is behind one of them in one stretch.
        _ if repeats.fill_page => vec![resume_filter(keys, directions, &repeats.order, Remaining::After)],
        _ => Vec::new(),
    }
}

/// How many rows a part of distinct rows is asked for at least, if a page may have as many: fewer would save less than
/// another request costs.
const LEAST_PAGE: u32 = 32;

/// How many rows each part is asked for at first: of distinct ones, about as many as the result has.
fn first_page(merger: &Merger, window: &Window, page_size: u32) -> Option<u32> {
    let rows = |count: u64| u32::try_from(count).unwrap_or(u32::MAX).max(1);
    match (merger.enough(), merger.is_whole()) {
        (Some(enough), _) => Some(rows(enough as u64)),
        (None, true) => None,
        (None, false) if merger.is_ordered_distinct() => {
            Some(rows(window.rows()).max(LEAST_PAGE).min(page_size))
        }
        (None, false) => Some(page_size),
    }
}

/// The partitions to ask, each with what was given of it.
async fn to_ask(context: &Context, at: &At, refresh: bool) -> Result<Vec<(Place, Standing)>> {
    let whole = [(context.scope.range.clone(), Standing::None)];
    let parts = match at {
        At::Ordered { parts, .. } => &parts[..],
        At::Start | At::Marked(_) | At::Pieces(_) => &whole,
    };
    let mut found = Vec::new();
    for (nth, (range, standing)) in parts.iter().enumerate() {
        let places = context.places(range, refresh && nth == 0).await?;
        found.extend(places.into_iter().map(|place| (place, standing.clone())));
    }
    let somewhere = found.first().cloned();
    found.retain(|(place, _)| context.plan.concerns(&place.range));
    if found.is_empty() {
        // Nothing can be found, but that still is for a partition to say: a count of nothing is 0.
        found.extend(somewhere);
    }
    Ok(found)
}

fn checkpoint(progress: &Progress, standings: Vec<Standing>, keys: usize) -> Result<Checkpoint> {
    let reached = match &progress.at {
        At::Start => Reached::Start,
        At::Marked(mark) => Reached::Marked(mark.clone()),
        At::Ordered { order, row, .. } if order.len() == keys => {
            Reached::Ordered { order: order.clone(), standings, row: row.clone() }
        }
        At::Ordered { .. } | At::Pieces(_) => return Err(outdated()),
    };
    Ok(Checkpoint { window: progress.window, reached })
}

/// The requests to partitions, which differ in which rows are still to come.
struct Bodies<'a> {
    plan: &'a Plan,
    at: &'a At,
    replays: bool,
    /// Whether rows that sort as the last given row does are not wanted of any part, because they repeat it.
    passes_alike: bool,
    made: Vec<(Option<Remaining>, Bytes)>,
}

impl Bodies<'_> {
    fn body(&mut self, standing: &Standing) -> Result<Bytes> {
        let filtered = match self.at {
            At::Ordered { order, .. } if self.passes_alike => Some((order, Remaining::After)),
            At::Ordered { order, .. } if !self.replays => Some((order, standing.remaining())),
            At::Ordered { .. } | At::Start | At::Pieces(_) | At::Marked(_) => None,
        };
        let remaining = filtered.map(|(_, remaining)| remaining);
        if let Some((_, body)) = self.made.iter().find(|(made, _)| *made == remaining) {
            return Ok(body.clone());
        }
        let info = &self.plan.info;
        let place = filtered.and_then(|(order, remaining)| resume_place(order, remaining));
        let body = match (place, filtered) {
            (Some(place), _) => self.plan.body_behind(place)?,
            (None, Some((order, remaining))) => {
                let keys = &info.order_by_expressions;
                self.plan.body(&resume_filter(keys, &info.order_by, order, remaining))?
            }
            (None, None) => self.plan.body("true")?,
        };
        self.made.push((remaining, body.clone()));
        Ok(body)
    }
}

fn unmergeable(error: MergeError) -> Error {
    Error::caused_by(ErrorKind::InvalidResponse, error.to_string(), error)
}

/// The beginning of a result.
pub(super) fn beginning(window: Window) -> Progress {
    Progress { window, at: At::Start }
}
