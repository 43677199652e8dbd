//! What a turn changes, as values: nothing here reads or writes the container.

mod history;
mod keys;
mod queues;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use duroxide::providers::{ExecutionMetadata, ProviderError, ScheduledActivityIdentifier, WorkItem};
use duroxide::{Event, EventKind};

use super::turns::Held;
use crate::codec::Texts;
use crate::hub::sibling;
use crate::model::{
    Chunk, Delivery, Document, Execution, FORMAT, History, Intent, POISON, Pieces, RUNNING, State, Write,
    chunk_id, format_of,
};

pub(super) use history::check;

/// How long an output is at most that is kept in the head of its instance.
const MAX_OUTPUT: usize = 300_000;

const OPERATION: &str = "ack_orchestration_item";

/// A turn as the runtime hands it over.
pub(crate) struct Turn {
    pub(crate) execution: u64,
    pub(crate) events: Vec<Event>,
    pub(crate) work: Vec<WorkItem>,
    pub(crate) messages: Vec<WorkItem>,
    pub(crate) metadata: ExecutionMetadata,
    pub(crate) cancelled: Vec<ScheduledActivityIdentifier>,
}

/// What is to be written for a turn.
pub(super) struct Plan {
    pub(super) state: State,
    /// The version of the head's format, if it has to be written.
    pub(super) format: Option<u32>,
    pub(super) deliveries: BTreeMap<String, Delivery>,
    /// Nothing is left of the instance, which never came to be.
    pub(super) is_nothing: bool,
    /// Parts of long texts: written first, and part of nothing until the rest is.
    pub(super) chunks: Vec<Document<Chunk>>,
    pub(super) history: Vec<Document<History>>,
    pub(super) writes: Vec<Write>,
    /// Messages to the instance itself, and when they are visible.
    pub(super) sent: Vec<(String, u64)>,
    pub(super) work: Vec<NewWork>,
    pub(super) owed: Vec<Owed>,
    /// Work items that are cancelled.
    pub(super) cancelled: Vec<String>,
    /// The same, of other instances.
    pub(super) cancelled_elsewhere: Vec<(String, String)>,
}

/// A work item that the turn makes.
pub(super) struct NewWork {
    pub(super) id: String,
    pub(super) session: Option<String>,
    pub(super) tag: Option<String>,
}

/// Something for another instance, and its text, which may be too long for the document.
pub(crate) struct Owed {
    pub(crate) intent: Document<Intent>,
    /// The text, or why this process cannot read it.
    pub(crate) text: Result<String, ProviderError>,
    /// The text as it is stored.
    pub(crate) stored: String,
}

impl Owed {
    pub(crate) fn text(&self) -> Result<&str, ProviderError> {
        self.text.as_deref().map_err(Clone::clone)
    }
}

/// Plans a turn of an instance that is held with `token`. `earlier` is the execution that the turn belongs to, if
/// another has followed it already.
pub(super) fn plan(
    held: &Held,
    token: &str,
    turn: Turn,
    earlier: Option<Execution>,
    setting: Setting,
) -> Result<Plan, ProviderError> {
    let mut planner = Planner { held, now: setting.now, setting, plan: Plan::of(held) };
    let Turn { execution, events, work, messages, metadata, cancelled } = turn;
    planner.begin(token, execution);
    let mut target = match earlier {
        Some(earlier) => Target::Earlier(earlier),
        None => Target::Current,
    };
    planner.append(execution, &events, &mut target)?;
    planner.describe(&metadata, &events, &mut target)?;
    planner.keys(execution, &events)?;
    planner.consume();
    planner.enqueue(messages)?;
    planner.schedule(work, &cancelled)?;
    planner.cancel(cancelled);
    if let Target::Earlier(execution) = target {
        let document = Document::new(planner.instance(), Execution::id(execution.execution), execution);
        planner.plan.writes.push(Write::upsert(&document));
    }
    let state = &planner.plan.state;
    planner.plan.is_nothing = !state.exists && state.last_event == 0;
    // A head that was read before it had marks may be stored in an earlier version than it has here.
    let is_usual = !state.is_sealed() && held.head.v == FORMAT;
    planner.plan.format = (!is_usual).then_some(format_of(state.is_sealed()));
    Ok(planner.plan)
}

/// When a turn happens, and how its texts are stored.
pub(super) struct Setting {
    pub(super) now: u64,
    /// Until when what it owes is this process's business alone.
    pub(super) owed_until: u64,
    /// What is to be added to a time of the runtime's clock to have the server's.
    pub(super) shift: i64,
    pub(super) texts: Texts,
}

/// Which execution a turn belongs to.
enum Target {
    Current,
    Earlier(Execution),
}

struct Planner<'a> {
    held: &'a Held,
    now: u64,
    setting: Setting,
    plan: Plan,
}

impl Plan {
    fn of(held: &Held) -> Self {
        let mut deliveries = held.head.content.deliveries.clone();
        deliveries.retain(|id, _| held.messages.iter().all(|message| message.id != *id));
        Self {
            state: held.head.content.state.clone(),
            format: None,
            deliveries,
            is_nothing: false,
            chunks: Vec::new(),
            history: Vec::new(),
            writes: Vec::new(),
            sent: Vec::new(),
            work: Vec::new(),
            owed: Vec::new(),
            cancelled: Vec::new(),
            cancelled_elsewhere: Vec::new(),
        }
    }
}

impl Planner<'_> {
    fn instance(&self) -> &str {
        &self.held.head.instance_id
    }

    /// The next turn, and the next execution if it belongs to that.
    fn begin(&mut self, token: &str, execution: u64) {
        let now = self.now;
        let is_first = self.plan.state.last_event == 0 && !self.plan.state.exists;
        if !is_first && execution > self.plan.state.execution {
            let past = past_execution(&self.plan.state);
            let document = Document::new(self.instance(), Execution::id(past.execution), past);
            self.plan.writes.push(Write::upsert(&document));
        }
        let state = &mut self.plan.state;
        state.turn += 1;
        state.updated_at = now;
        state.last_ack = Some(token.to_owned());
        if is_first || execution > state.execution {
            *state = State {
                execution,
                status: RUNNING.to_owned(),
                started_at: now,
                output: None,
                output_chunks: 0,
                poisoned: false,
                completed_at: None,
                pinned: None,
                last_event: 0,
                events: 0,
                history_bytes: 0,
                carried: 0,
                ..state.clone()
            };
        }
    }

    /// What the runtime says of the execution, and what the events say of the instance.
    fn describe(
        &mut self,
        metadata: &ExecutionMetadata,
        events: &[Event],
        target: &mut Target,
    ) -> Result<(), ProviderError> {
        let was_there = self.held.head.content.state.exists;
        let output = metadata.status.as_ref().and(metadata.output.clone());
        let is_poisoned = output.as_ref().is_some_and(|output| output.starts_with(POISON));
        let output = output.map(|output| self.seal(output)).transpose()?;
        let execution = match target {
            Target::Current => self.plan.state.execution,
            Target::Earlier(earlier) => earlier.execution,
        };
        let id = State::output_id(execution);
        let (output, output_chunks) = match output.map(|output| self.pack(&id, output, MAX_OUTPUT)) {
            Some((output, chunks)) => (Some(output), chunks),
            None => (None, 0),
        };
        let state = &mut self.plan.state;
        match (&metadata.status, target) {
            (None, _) => {}
            (Some(status), Target::Current) => {
                state.status.clone_from(status);
                (state.output, state.output_chunks) = (output, output_chunks);
                state.poisoned = is_poisoned;
                state.completed_at = Some(self.now);
            }
            (Some(status), Target::Earlier(earlier)) => {
                earlier.status.clone_from(status);
                (earlier.output, earlier.output_chunks) = (output, output_chunks);
                earlier.completed_at = Some(self.now);
            }
        }
        if let (Some(name), Some(version)) = (&metadata.orchestration_name, &metadata.orchestration_version) {
            (state.name, state.version, state.exists) = (Some(name.clone()), Some(version.clone()), true);
        }
        if !was_there {
            let parent = metadata.parent_instance_id.as_deref();
            state.parent = parent.map(|parent| sibling(&self.held.head.instance_id, parent).into_owned());
        }
        if let Some(pinned) = &metadata.pinned_duroxide_version {
            state.pinned = Some(pinned.to_string());
        }
        for event in events {
            match &event.kind {
                EventKind::OrchestrationStarted { carry_forward_events, .. } if event.event_id == 1 => {
                    state.carried = carry_forward_events.as_ref().map_or(0, Vec::len) as u64;
                }
                _ => {}
            }
        }
        let custom_status = events.iter().rev().find_map(|event| match &event.kind {
            EventKind::CustomStatusUpdated { status } => Some(status.clone()),
            _ => None,
        });
        if let Some(status) = custom_status {
            self.plan.state.custom_status = status.map(|status| self.seal(status)).transpose()?;
            self.plan.state.custom_status_version += 1;
        }
        Ok(())
    }

    /// A text as it is stored.
    fn seal(&self, text: String) -> Result<String, ProviderError> {
        self.setting.texts.seal(text).map_err(|error| ProviderError::retryable(OPERATION, error))
    }

    /// Puts a stored text that is too long for document `id` into others.
    fn pack(&mut self, id: &str, stored: String, limit: usize) -> (String, u32) {
        let (body, pieces) = Pieces::within(stored, limit).split();
        let count = pieces.len() as u32;
        for (n, text) in (0..).zip(pieces) {
            let chunk = Document::new(&self.held.head.instance_id, chunk_id(id, n), Chunk { text });
            self.plan.chunks.push(chunk);
        }
        (body, count)
    }
}

fn past_execution(state: &State) -> Execution {
    Execution {
        execution: state.execution,
        status: state.status.clone(),
        output: state.output.clone(),
        output_chunks: state.output_chunks,
        started_at: state.started_at,
        completed_at: state.completed_at,
        last_event: state.last_event,
        events: state.events,
    }
}
