//! What is there of an instance: its head, its messages, its keys, its history.

use std::sync::Arc;

use cosmonaut::Query;
use duroxide::Event;
use duroxide::providers::ProviderError;

use super::stage;
use crate::core::Core;
use crate::model::{Document, Head, History, Kind, Kv, Message, Row, chain, committed_order};
use crate::store::Call;

/// An instance at a moment, without its history.
pub(super) struct Snapshot {
    pub(super) head: Option<Document<Head>>,
    /// In the order in which they were committed.
    pub(super) messages: Vec<Document<Message>>,
    pub(super) keys: Vec<Kv>,
}

/// Reads an instance in one request. A turn that is committed and not yet spread is spread first.
pub(super) async fn load(core: &Core, call: &Call, instance: &str) -> Result<Snapshot, ProviderError> {
    let query = Query::new("SELECT * FROM c WHERE c.type IN ('instance', 'message', 'kv')");
    loop {
        let rows: Vec<Row> = core.store.query(call, &query, &instance.into()).await?;
        let snapshot = Snapshot::of(rows, call.operation())?;
        match &snapshot.head {
            Some(Document { content: Head { stage: Some(stage), .. }, .. }) => {
                stage::expand(core, call, instance, stage.clone(), None).await?;
            }
            Some(_) | None => return Ok(snapshot),
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
        .with("@execution", execution)
        .map_err(|error| ProviderError::permanent(call.operation(), error.to_string()))?;
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
        let text = match core.store.whole_text(call, (instance, &id), body, chunks).await {
            Ok(text) => text,
            Err(error) if error.is_retryable() => return Err(error),
            Err(error) => return Ok(Err(error.message)),
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
