//! Reading changes: every part is asked in turn, several at once, and each remembers where it goes on.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_driver::{CosmosOperation, CosmosResponse, DiagnosticsContext, OperationOptions};
use cosmonaut_wire::ResourceId;
use http::StatusCode;
use serde_json::value::RawValue;

use super::request::{ChangesRequest, Mode, ReadFrom, changes_in, next_etag};
use super::start::{ChangeFeedStart, Opening};
use super::token::{self, Progress};
use crate::container::ContainerHandle;
use crate::feed_range::ResolvedScope;
use crate::feeds::in_flight::InFlight;
use crate::feeds::place::{MOST_MOVES, Place, has_moved, places};
use crate::options::FeedOptions;
use crate::{Error, ErrorKind, FeedScope, Result};

/// A feed being read. Whatever happens between two pages, parts stay where the last accepted page left them.
pub(super) struct Reader {
    handle: Result<Arc<ContainerHandle>>,
    mode: Mode,
    scope: FeedScope,
    start: ChangeFeedStart,
    options: FeedOptions,
    state: Option<State>,
}

/// What is known once the container is.
struct State {
    container: ResourceId,
    scope: ResolvedScope,
    opening: Opening,
    parts: Vec<Part>,
    next_part: usize,
    in_flight: InFlight<'static, Answer>,
    /// Changes that are not accepted yet.
    offered: Option<ChangesPage>,
    had_changes: bool,
    /// How often a page was asked for.
    calls: u64,
    moves: u32,
    charge: f64,
    diagnostics: Vec<DiagnosticsContext>,
}

/// A part that is asked by itself.
struct Part {
    number: usize,
    place: Place,
    at: Option<String>,
    turn: Turn,
}

/// How far a part has come in this round, in which each part is asked once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Due,
    Asked,
    Over,
    /// Its partition is not there any more.
    Lost,
}

struct Answer {
    part: usize,
    /// The call that it was asked in.
    asked_in: u64,
    result: Result<CosmosResponse>,
}

/// Changes of one part, or none of any.
#[derive(Clone)]
pub(super) struct ChangesPage(Option<(usize, CosmosResponse)>);

impl ChangesPage {
    /// Hands out the changes, with the body that they are in.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&mut dyn Iterator<Item = &RawValue>, &Bytes) -> Result<T>,
    ) -> Result<T> {
        match &self.0 {
            Some((_, response)) => read(&mut changes_in(response)?.into_iter(), response.body()),
            None => read(&mut std::iter::empty(), &Bytes::new()),
        }
    }
}

impl Reader {
    pub(super) fn new(
        handle: Result<Arc<ContainerHandle>>,
        mode: Mode,
        start: ChangeFeedStart,
        scope: FeedScope,
    ) -> Self {
        Self { handle, mode, scope, start, options: FeedOptions::default(), state: None }
    }

    pub(super) fn options_mut(&mut self) -> &mut FeedOptions {
        &mut self.options
    }

    /// The next changes. They come again until they are [accepted](Self::accept).
    pub(super) async fn next_page(&mut self) -> Result<ChangesPage> {
        let handle = self.handle.clone()?;
        self.options.refuse(Some("pass `ChangeFeedStart::Token`"), None)?;
        self.options.check_page()?;
        if self.state.is_none() {
            self.state = Some(self.begin(&handle).await?);
        }
        let Self { state: Some(state), mode, options, .. } = self else {
            return Err(not_begun());
        };
        let asking = Asking { handle: &handle, mode: *mode, options, layer: options.operation_layer() };
        state.calls += 1;
        loop {
            if let Some(page) = &state.offered {
                return Ok(page.clone());
            }
            state.find_lost(&asking).await?;
            state.ask(&asking);
            match state.in_flight.next().await {
                Some(answer) => state.receive(answer)?,
                None => state.end_round(),
            }
        }
    }

    /// Moves on behind a page, and says what was spent since the last one.
    pub(super) fn accept(&mut self, page: ChangesPage) -> (f64, Vec<DiagnosticsContext>) {
        let Some(state) = &mut self.state else { return (0.0, Vec::new()) };
        state.offered = None;
        if let Some((number, response)) = page.0
            && let Some(part) = state.parts.iter_mut().find(|part| part.number == number)
        {
            part.at = response.etag().map(str::to_owned);
        }
        (std::mem::take(&mut state.charge), std::mem::take(&mut state.diagnostics))
    }

    /// The token of what was accepted.
    pub(super) fn continuation(&self) -> Result<String> {
        let state = self.state.as_ref().ok_or_else(not_begun)?;
        let part = |part: &Part| (part.place.range.clone(), part.at.clone());
        let progress = Progress { opening: state.opening, parts: state.parts.iter().map(part).collect() };
        Ok(token::write(state.container, self.mode, &state.scope, &progress))
    }

    async fn begin(&mut self, handle: &Arc<ContainerHandle>) -> Result<State> {
        let container = handle.driver.container(&handle.path).await?;
        let scope = ResolvedScope::new(&self.scope, &container.partition_key)?;
        let from = |opening| Progress { opening, parts: vec![(scope.range.clone(), None)] };
        let progress = match &self.start {
            ChangeFeedStart::Beginning => from(Opening::Beginning),
            ChangeFeedStart::Now => from(Opening::Now),
            ChangeFeedStart::Time(time) => from(Opening::at(*time)),
            ChangeFeedStart::Token(text) => token::read(text, container.rid, self.mode, &scope)?,
        };
        let mut state = State {
            container: container.rid,
            opening: progress.opening,
            scope,
            parts: Vec::new(),
            next_part: 0,
            in_flight: InFlight::new(),
            offered: None,
            had_changes: false,
            calls: 0,
            moves: 0,
            charge: 0.0,
            diagnostics: Vec::new(),
        };
        for (range, at) in progress.parts {
            let found = places(handle, &state.scope, &range, false).await?;
            state.add(found, at);
        }
        Ok(state)
    }
}

/// Never seen: a page comes before it can be accepted.
fn not_begun() -> Error {
    Error::new(ErrorKind::Configuration, "the change feed has not been asked for a page yet")
}

/// What requests are made with.
struct Asking<'a> {
    handle: &'a Arc<ContainerHandle>,
    mode: Mode,
    options: &'a FeedOptions,
    layer: OperationOptions,
}

impl Asking<'_> {
    fn request(
        &self,
        part: &Part,
        opening: Opening,
        asked_in: u64,
    ) -> impl Future<Output = Answer> + Send + 'static {
        let operation = self.operation(part, opening);
        let (handle, layer, part) = (Arc::clone(self.handle), self.layer.clone(), part.number);
        async move {
            let result = match operation {
                Ok(operation) => handle.run(&operation, &layer).await,
                Err(error) => Err(error),
            };
            Answer { part, asked_in, result }
        }
    }

    fn operation(&self, part: &Part, opening: Opening) -> Result<CosmosOperation> {
        let from = part.at.clone().map_or(ReadFrom::Opening(opening), ReadFrom::Etag);
        let max_item_count = self.options.max_item_count;
        let request =
            ChangesRequest { mode: self.mode, target: part.place.target.clone(), from, max_item_count };
        request.operation(self.handle)
    }
}

impl State {
    fn add(&mut self, places: Vec<Place>, at: Option<String>) {
        for place in places {
            self.next_part += 1;
            self.parts.push(Part { number: self.next_part, place, at: at.clone(), turn: Turn::Due });
        }
        self.parts.sort_by(|a, b| a.place.range.min.cmp(&b.place.range.min));
    }

    /// Asks parts whose turn it is, as many as may be under way at once.
    fn ask(&mut self, asking: &Asking<'_>) {
        for part in self.parts.iter_mut().filter(|part| part.turn == Turn::Due) {
            if self.in_flight.len() >= asking.options.concurrency() {
                return;
            }
            part.turn = Turn::Asked;
            self.in_flight.push(asking.request(part, self.opening, self.calls));
        }
    }

    fn receive(&mut self, answer: Answer) -> Result<()> {
        let Some(part) = self.parts.iter_mut().find(|part| part.number == answer.part) else { return Ok(()) };
        match answer.result {
            Ok(response) => {
                self.moves = 0;
                self.charge += response.request_charge();
                self.diagnostics.push(response.diagnostics().clone());
                let is_unchanged = response.status().code() == StatusCode::NOT_MODIFIED;
                // It would be asked for the same for ever.
                part.turn = Turn::Due;
                let at = match next_etag(&response, part.at.as_deref()) {
                    Ok(at) => at,
                    Err(error) => return Err(error.found_in(response)),
                };
                part.turn = Turn::Over;
                if is_unchanged {
                    part.at = Some(at);
                } else {
                    self.had_changes = true;
                    self.offered = Some(ChangesPage(Some((answer.part, response))));
                }
                Ok(())
            }
            Err(error) if has_moved(&error) && self.moves < MOST_MOVES => {
                self.moves += 1;
                part.turn = Turn::Lost;
                Ok(())
            }
            Err(error) => {
                part.turn = Turn::Due;
                // What was asked in an earlier call may not have been polled for longer than it had time.
                if answer.asked_in < self.calls { Ok(()) } else { Err(error) }
            }
        }
    }

    /// Replaces parts whose partitions are gone by those that hold them now, which go on where they were.
    async fn find_lost(&mut self, asking: &Asking<'_>) -> Result<()> {
        while let Some(lost) = self.parts.iter().position(|part| part.turn == Turn::Lost) {
            let range = self.parts[lost].place.range.clone();
            // A request under way may hold what the look-up waits for.
            let found = self.in_flight.during(places(asking.handle, &self.scope, &range, true)).await?;
            let parent = self.parts.remove(lost);
            self.add(found, parent.at);
        }
        Ok(())
    }

    /// Begins the next round; if this one had nothing, that is what there is to say.
    fn end_round(&mut self) {
        for part in &mut self.parts {
            part.turn = Turn::Due;
        }
        if !std::mem::replace(&mut self.had_changes, false) {
            self.offered = Some(ChangesPage(None));
        }
    }
}
