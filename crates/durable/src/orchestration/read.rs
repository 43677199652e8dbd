//! What clients can see of an instance: its history, its status, its keys, its size.

use std::collections::HashMap;
use std::sync::Arc;

use cosmonaut::Query;
use duroxide::providers::ProviderError;
use duroxide::{Event, SystemStats};

use super::load::{current_history, load_keys, read_history};
use super::lock::read_head;
use super::plan::check;
use super::send::to_text;
use crate::clock;
use crate::core::Core;
use crate::hub::told;
use crate::model::{Chunk, Document, Execution, HEAD, Head, History, Kv, Pieces, Row, chunk_id, key_id};
use crate::store::{Call, Cause};

/// The history of the current execution.
pub(crate) async fn latest_history(core: &Core, instance: &str) -> Result<Vec<Event>, ProviderError> {
    if let Some(known) = core.histories.expected(instance) {
        return Ok(known.as_ref().clone());
    }
    let call = core.store.call("read", core.settings.call_timeout);
    let Some(head) = read_head(core, &call, instance).await? else { return Ok(Vec::new()) };
    // The runtime asks this for every activity: what this process has in memory need not be read again.
    let history = current_history(core, &call, &head).await?;
    understood(&call, instance, history.map(Arc::unwrap_or_clone))
}

/// The history of one execution; empty if there is none.
pub(crate) async fn history(
    core: &Core,
    instance: &str,
    execution: u64,
) -> Result<Vec<Event>, ProviderError> {
    let call = core.store.call("read_with_execution", core.settings.call_timeout);
    let Some(head) = read_head(core, &call, instance).await? else { return Ok(Vec::new()) };
    let state = head.content.state;
    let last_event = if execution == state.execution {
        state.last_event
    } else {
        let past = core.store.read::<Execution>(&call, instance, &Execution::id(execution)).await?;
        past.map_or(0, |past| past.content.last_event)
    };
    understood(&call, instance, read_history(core, &call, instance, (execution, last_event)).await?)
}

fn understood(
    call: &Call,
    instance: &str,
    history: Result<Vec<Event>, String>,
) -> Result<Vec<Event>, ProviderError> {
    history.map_err(|error| {
        let message = format!("the history of instance {:?}: {error}", told(instance));
        ProviderError::permanent(call.operation(), message)
    })
}

/// Adds events to the current execution, or to a new one, outside of any turn: for tests and repairs.
pub(crate) async fn append(
    core: &Core,
    instance: &str,
    execution: u64,
    events: Vec<Event>,
) -> Result<(), ProviderError> {
    let call = core.store.call("append_with_execution", core.settings.call_timeout);
    let mut events: Vec<&Event> = events.iter().collect();
    events.sort_by_key(|event| event.event_id);
    let Some(last) = events.last().map(|event| event.event_id) else { return Ok(()) };
    loop {
        let found = read_head(core, &call, instance).await?;
        let is_new = found.is_none();
        let mut head =
            found.unwrap_or_else(|| Head::unborn(instance, clock::unique_id(), core.store.now_ms()));
        let state = &mut head.content.state;
        if state.last_event == 0 {
            state.execution = execution;
        }
        if state.execution != execution {
            let message =
                format!("execution {execution} of instance {:?} is not the current one", told(instance));
            return Err(ProviderError::permanent(call.operation(), message));
        }
        check(state.last_event, &events)?;
        let after = state.last_event;
        let (text, id) = (to_text(call.operation(), &events)?, History::id(execution, after));
        state.last_event = last;
        state.events += events.len() as u64;
        state.history_bytes += text.len() as u64;
        let (body, pieces) = Pieces::of(core.store.seal(&call, text)?).split();
        let chunks = pieces.len() as u32;
        for (n, text) in (0..).zip(pieces) {
            let chunk = Document::new(instance, chunk_id(&id, n), Chunk { text });
            core.store.upsert(&call, &chunk).await.map_err(|failure| failure.into_error(&call))?;
        }
        let document = Document::new(instance, id, History { execution, after, last, body, chunks });
        // Nobody sees it before the head says that it counts.
        core.store.upsert(&call, &document).await.map_err(|failure| failure.into_error(&call))?;
        let written = match is_new {
            true => core.store.create(&call, &head).await,
            false => core.store.replace(&call, &head).await,
        };
        match written {
            Ok(_) => return Ok(()),
            Err(failure) if matches!(failure.cause(), Cause::Conflict | Cause::Condition) => {}
            Err(failure) => return Err(failure.into_error(&call)),
        }
    }
}

/// The custom status and its version, if that is newer than what the caller has seen.
pub(crate) async fn custom_status(
    core: &Core,
    instance: &str,
    seen: u64,
) -> Result<Option<(Option<String>, u64)>, ProviderError> {
    let call = core.store.call("get_custom_status", core.settings.call_timeout);
    let head = read_head(core, &call, instance).await?;
    let state = head.map(|head| head.content.state).filter(|state| state.exists);
    let Some(state) = state.filter(|state| state.custom_status_version > seen) else { return Ok(None) };
    let status = state.custom_status.map(|status| core.store.show(&call, (instance, HEAD), status));
    Ok(Some((status.transpose()?, state.custom_status_version)))
}

/// The latest value of a key.
pub(crate) async fn kv_value(
    core: &Core,
    instance: &str,
    key: &str,
) -> Result<Option<String>, ProviderError> {
    let call = core.store.call("get_kv_value", core.settings.call_timeout);
    // With the head, which says whether a turn is still to be spread over the keys.
    let query = Query::new("SELECT * FROM c WHERE c.id IN (@head, @key)")
        .with("@head", HEAD)
        .with("@key", key_id(key));
    let rows: Vec<Row> = core.store.query(&call, &query, &instance.into()).await?;
    let mut found = None;
    for row in rows {
        if row.kind() == <Head as crate::model::Kind>::KIND {
            let head: Document<Head> = row.read(call.operation())?;
            if head.content.stage.is_some() {
                return Ok(values(core, &call, instance).await?.remove(key));
            }
        } else {
            let kv: Document<Kv> = row.read(call.operation())?;
            found = value(core, &call, instance, &kv.content)?;
        }
    }
    Ok(found)
}

/// The latest values of all keys.
pub(crate) async fn kv_values(core: &Core, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
    let call = core.store.call("get_kv_all_values", core.settings.call_timeout);
    values(core, &call, instance).await
}

async fn values(core: &Core, call: &Call, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
    let keys = load_keys(core, call, instance).await?.keys;
    let mut values = HashMap::new();
    for kv in keys {
        if let Some(value) = value(core, call, instance, &kv)? {
            values.insert(kv.key, value);
        }
    }
    Ok(values)
}

/// The latest value of a key.
fn value(core: &Core, call: &Call, instance: &str, kv: &Kv) -> Result<Option<String>, ProviderError> {
    let Some(latest) = kv.latest() else { return Ok(None) };
    Ok(Some(core.store.show(call, (instance, &key_id(&kv.key)), latest.value.clone())?))
}

/// How large an instance has become.
pub(crate) async fn instance_stats(
    core: &Core,
    instance: &str,
) -> Result<Option<SystemStats>, ProviderError> {
    let call = core.store.call("get_instance_stats", core.settings.call_timeout);
    let snapshot = load_keys(core, &call, instance).await?;
    let state = snapshot.head.map(|head| head.content.state).filter(|state| state.exists);
    let Some(state) = state else { return Ok(None) };
    let mut lengths = Vec::new();
    for kv in &snapshot.keys {
        lengths.extend(value(core, &call, instance, kv)?.map(|value| value.len() as u64));
    }
    Ok(Some(SystemStats {
        history_event_count: state.events,
        history_size_bytes: state.history_bytes,
        queue_pending_count: state.carried,
        kv_user_key_count: lengths.len() as u64,
        kv_total_value_bytes: lengths.iter().sum(),
    }))
}
