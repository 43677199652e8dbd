//! What is there of an instance: its head, its messages, its keys, its history.

use std::sync::Arc;

use cosmonaut::Query;
use duroxide::Event;
use duroxide::providers::ProviderError;

use super::stage;
use crate::core::Core;
use crate::model::{
    Document, Head, History, Kind, Kv, Message, NextTimer, Row, Timers, chain, committed_order,
};
use crate::store::{Call, TextFailure};

/// An instance at a moment, without its history.
pub(super) struct Snapshot {
    pub(super) head: Option<Document<Head>>,
    /// In the order in which they were committed.
    pub(super) messages: Vec<Document<Message>>,
    pub(super) keys: Vec<Kv>,
}

/// Reads an instance in one request, without timers that are not due by `now`. A turn that is committed and not yet
/// spread is spread first.
pub(super) async fn load(
    core: &Core,
    call: &Call,
    instance: &str,
    now: u64,
) -> Result<Snapshot, ProviderError> {
    // Ids that begin with `m:t` are those of the instance's messages to itself.
    let due = "SELECT * FROM c WHERE c.type IN ('instance', 'kv') OR (c.type = 'message' \
               AND (c.visibleAt <= @now OR c.id < 'm:t' OR c.id >= 'm:u'))";
    let all = "SELECT * FROM c WHERE c.type IN ('instance', 'message', 'kv')";
    let mut snapshot = read(core, call, instance, &Query::new(due).with("@now", now)).await?;
    // A head of before timers were noted: all messages are read, once, and noted.
    if snapshot.head.as_ref().is_some_and(|head| head.content.state.timers.is_none()) {
        snapshot = read(core, call, instance, &Query::new(all)).await?;
        snapshot.note_timers(now);
    }
    Ok(snapshot)
}

/// The head and the keys of an instance, without its messages.
pub(super) async fn load_keys(core: &Core, call: &Call, instance: &str) -> Result<Snapshot, ProviderError> {
    read(core, call, instance, &Query::new("SELECT * FROM c WHERE c.type IN ('instance', 'kv')")).await
}

async fn read(core: &Core, call: &Call, instance: &str, query: &Query) -> Result<Snapshot, ProviderError> {
    loop {
        let rows: Vec<Row> = core.store.query(call, query, &instance.into()).await?;
        let snapshot = Snapshot::of(rows, call.operation())?;
        match &snapshot.head {
            Some(Document { content: Head { stage: Some(stage), .. }, .. }) => {
                stage::expand(core, call, instance, stage.clone(), None).await?;
            }
            Some(_) | None => return Ok(snapshot),
        }
    }
}

/// When the next of the timers is due that were not loaded.
pub(super) async fn next_timer(
    core: &Core,
    call: &Call,
    head: &Document<Head>,
    now: u64,
) -> Result<Option<u64>, ProviderError> {
    let next = head.content.state.timers.as_ref().map_or(NextTimer::None, |timers| timers.next_after(now));
    match next {
        NextTimer::None => Ok(None),
        NextTimer::At(at) => Ok(Some(at)),
        NextTimer::Ask => {
            let first = "SELECT TOP 1 VALUE c.visibleAt FROM c WHERE c.type = 'message' AND c.visibleAt > @now \
                         ORDER BY c.visibleAt";
            let query = Query::new(first).with("@now", now);
            let found: Vec<u64> = core.store.query(call, &query, &(&*head.instance_id).into()).await?;
            Ok(found.first().copied())
        }
    }
}

impl Snapshot {
    fn of(rows: Vec<Row>, operation: &str) -> Result<Self, ProviderError> {
        let mut snapshot = Self { head: None, messages: Vec::new(), keys: Vec::new() };
        for row in rows {
            match row.kind() {
                Head::KIND => snapshot.head = Some(row.read(operation)?),
                Message::KIND => snapshot.messages.push(row.read(operation)?),
                Kv::KIND => snapshot.keys.push(row.read(operation)?.content),
                _ => {}
            }
        }
        snapshot.messages.sort_by_key(committed_order);
        Ok(snapshot)
    }

    fn note_timers(&mut self, now: u64) {
        let own = self.messages.iter().filter(|message| Message::is_own(&message.id));
        let mut timers = Timers::default();
        own.filter(|it| it.content.visible_at > now).for_each(|it| timers.add(&it.id, it.content.visible_at));
        if let Some(head) = &mut self.head {
            head.content.state.timers = Some(timers);
        }
    }
}

/// The history of an execution up to an event, or why it cannot be understood.
pub(super) async fn read_history(
    core: &Core,
    call: &Call,
    instance: &str,
    (execution, last_event): (u64, u64),
) -> Result<Result<Vec<Event>, String>, ProviderError> {
    if last_event == 0 {
        return Ok(Ok(Vec::new()));
    }
    let query = Query::new("SELECT * FROM c WHERE c.type = 'history' AND c.execution = @execution")
        .with("@execution", execution);
    let rows: Vec<Row> = core.store.query(call, &query, &instance.into()).await?;
    let documents = rows.into_iter().map(|row| row.read(call.operation())).collect::<Result<Vec<_>, _>>();
    let documents = match documents.map(|documents| chain(documents, last_event)) {
        Ok(Ok(documents)) => documents,
        Ok(Err(at)) => {
            return Ok(Err(format!(
                "execution {execution} has no history behind event {at} of {last_event}"
            )));
        }
        Err(error) => return Ok(Err(error.message)),
    };
    let mut events = Vec::new();
    for document in documents {
        let Document { id, content: History { body, chunks, .. }, .. } = document;
        let text = match core.store.read_text(call, (instance, &id), body, chunks).await {
            Ok(text) => text,
            Err(TextFailure::Unanswered(error) | TextFailure::Sealed(error)) => return Err(error),
            Err(TextFailure::Lost(error)) => return Ok(Err(error.message)),
        };
        match serde_json::from_str::<Vec<Event>>(&text) {
            Ok(part) => events.extend(part),
            Err(error) => return Ok(Err(format!("document {id:?} holds what is no history: {error}"))),
        }
    }
    Ok(Ok(events))
}

/// The history of an instance's current execution, from memory if it is there.
pub(super) async fn current_history(
    core: &Core,
    call: &Call,
    head: &Document<Head>,
) -> Result<Result<Arc<Vec<Event>>, String>, ProviderError> {
    if let Some(history) = core.histories.get(&head.instance_id, &head.etag) {
        return Ok(Ok(history));
    }
    let state = &head.content.state;
    let history = read_history(core, call, &head.instance_id, (state.execution, state.last_event)).await?;
    Ok(history.map(Arc::new))
}

/// Whether no document of the history of an instance's current execution is missing. What is in them does not matter: one
/// that cannot be read here is there all the same.
pub(crate) async fn is_whole(core: &Core, call: &Call, head: &Document<Head>) -> Result<bool, ProviderError> {
    let state = &head.content.state;
    if state.last_event == 0 {
        return Ok(true);
    }
    let query = Query::new("SELECT * FROM c WHERE c.type = 'history' AND c.execution = @execution")
        .with("@execution", state.execution);
    let rows: Vec<Row> = core.store.query(call, &query, &(&*head.instance_id).into()).await?;
    let documents = rows.into_iter().map(|row| row.read(call.operation())).collect::<Result<Vec<_>, _>>();
    Ok(documents.is_err() || documents.is_ok_and(|documents| chain(documents, state.last_event).is_ok()))
}
