//! What instances owe each other: written down with the turn, delivered at once, and again by anybody until it
//! has certainly arrived.
//!
//! What is delivered has the same id however often that happens, and the target keeps a trace of what it has
//! processed. So it arrives exactly once. Two windows bound what is kept:
//!
//! - An intent stays for a day after its delivery (`DELIVERED_TTL`), while all processes are of this version or later. If a forced failover takes the delivery from the
//!   target, it is made again; see `mending`. An outage may last for many hours before the failover. So whatever is taken
//!   from a queue leaves a trace, if it may be delivered again.
//! - The trace of a processed message stays for two days (`seen`). Nothing is delivered again later than that: a
//!   delivery that was noted is gone after a day, and one that was not noted, because its process died in
//!   between, is found and repeated within seconds by any process that runs. Only if no process runs for two days
//!   after such a death does a message arrive twice. The runtime ignores a second completion or
//!   cancellation, and it never gets a second start (see `fitting`); a second event or queue message counts twice.
//!
//! Processes of earlier versions leave fewer traces, for an hour. What is delivered while there are such processes stays for ten
//! minutes (`DELIVERED_UNTRACED_TTL`), and is not delivered again.

use cosmonaut::{Etag, Query, mutation};
use duroxide::providers::{ProviderError, WorkItem};

pub(crate) use super::plan::Owed;
use super::stage;
use crate::core::Core;
use crate::dispatch::WorkEntry;
use crate::hub::{hub_of, name_of};
use crate::model::{
    AT_ONCE, Document, Head, Intent, IntentTarget, Kind, Message, Pieces, Row, Tombstone, Work, Write,
    chunk_id, digest,
};
use crate::store::{Call, Cause, TextFailure};

/// How many deliveries are under way at once.
const DELIVERIES: usize = 16;

/// Delivers what an instance owes. What cannot be delivered now is tried again in the background; gives the first error.
pub(crate) async fn deliver(
    core: &Core,
    call: &Call,
    source: &str,
    owed: Vec<Owed>,
) -> Result<(), ProviderError> {
    if owed.is_empty() {
        return Ok(());
    }
    if mutation!("intent-is-struck-out-early") {
        let intents = owed.iter().map(|owed| Write::delete(&*owed.intent.id)).collect();
        drop(core.store.apply_to_rest(call, source, intents).await);
    }
    let (mut done, mut first_error) = (Vec::new(), None);
    for some in owed.chunks(DELIVERIES) {
        let results = crate::join::all(some.iter().map(|owed| hand_over(core, call, owed)).collect()).await;
        for (owed, result) in some.iter().zip(results) {
            match result {
                Ok(_) => done.push(&owed.intent),
                Err(error) => {
                    let target = &*owed.intent.content.target;
                    tracing::warn!(
                        source = name_of(source), target = name_of(target), hub = hub_of(target), %error,
                        "a delivery is put off"
                    );
                    core.dispatch.unfinished(source, core.store.now_ms());
                    first_error.get_or_insert(error);
                }
            }
        }
    }
    settle(core, call, source, &done).await;
    first_error.map_or(Ok(()), Err)
}

/// Finishes what an instance has left half done: a turn that is not spread, and what it owes. What cannot be delivered
/// now is put off, and tried again after a pause.
pub(crate) async fn recover(core: &Core, instance: &str) -> Result<(), ProviderError> {
    if mutation!("what-is-owed-is-not-delivered-later") {
        return Ok(());
    }
    let call = core.store.call("recover", core.settings.call_timeout);
    let (owed, unreadable) = finish(core, &call, instance).await?;
    drop(deliver(core, &call, instance, owed).await);
    unreadable.map_or(Ok(()), Err)
}

/// As [`recover`], for an instance that is about to go: all that it owes is delivered, or there is an error.
pub(crate) async fn deliver_all(core: &Core, instance: &str) -> Result<(), ProviderError> {
    let call = core.store.call("recover", core.settings.call_timeout);
    let (owed, unreadable) = finish(core, &call, instance).await?;
    deliver(core, &call, instance, owed).await?;
    unreadable.map_or(Ok(()), Err)
}

/// Spreads a turn that is not spread. Gives what the instance owes, and why some of it cannot be read.
async fn finish(
    core: &Core,
    call: &Call,
    instance: &str,
) -> Result<(Vec<Owed>, Option<ProviderError>), ProviderError> {
    let query = Query::new("SELECT * FROM c WHERE c.type IN ('instance', 'intent')");
    let mut rows: Vec<Row> = core.store.query(call, &query, &instance.into()).await?;
    if let Some(head) = rows.iter().find(|row| row.kind() == Head::KIND)
        && let Some(mark) = head.clone().read::<Head>(call.operation())?.content.stage
    {
        stage::expand(core, call, instance, mark, None).await?;
        core.dispatch.look_at(instance, 0);
        rows = core.store.query(call, &query, &instance.into()).await?;
    }
    let (mut owed, mut unreadable) = (Vec::new(), None);
    for row in rows.into_iter().filter(|row| row.kind() == Intent::KIND) {
        match read_owed(core, call, row).await {
            Ok(one) => owed.push(one),
            Err(error) if error.is_retryable() => return Err(error),
            // It must not keep the others from being delivered.
            Err(error) => {
                unreadable.get_or_insert(error);
            }
        }
    }
    Ok((owed, unreadable))
}

pub(super) async fn read_owed(core: &Core, call: &Call, row: Row) -> Result<Owed, ProviderError> {
    let intent: Document<Intent> = row.read(call.operation())?;
    let Intent { body, chunks, .. } = intent.content.clone();
    let place = (&*intent.instance_id, &*intent.id);
    let stored = core.store.whole_text(call, place, body.clone(), chunks).await?;
    let text = match core.store.read_whole(call, place, &body, stored.clone()) {
        Ok(text) => Ok(text),
        // A message can be delivered by who cannot read it.
        Err(TextFailure::Sealed(error)) => Err(error),
        Err(failure) => return Err(failure.into()),
    };
    Ok(Owed { intent, text, stored })
}

/// Puts one thing into the target's queue, unless it is or was there; says whether it was not.
pub(super) async fn hand_over(core: &Core, call: &Call, owed: &Owed) -> Result<bool, ProviderError> {
    let Intent { target, target_id, .. } = &owed.intent.content;
    if put(core, call, owed, target_id).await? {
        return Ok(true);
    }
    if is_same(core, call, owed).await? {
        return Ok(false);
    }
    // The source has lost the turn that sent what is there, and has run another one in its place.
    let id = format!("{target_id}.{}", digest(&owed.stored));
    let source = &*owed.intent.instance_id;
    tracing::error!(
        source = name_of(source),
        target = name_of(target),
        hub = hub_of(target),
        id = target_id,
        "an instance has lost a turn whose message had arrived; the message of the turn in its place comes as well"
    );
    put(core, call, owed, &id).await
}

/// Whether what has the id of a delivery is the same delivery, waiting or processed.
async fn is_same(core: &Core, call: &Call, owed: &Owed) -> Result<bool, ProviderError> {
    let Intent { target, target_id: id, .. } = &owed.intent.content;
    let Some(row) = core.store.read_row(call, target, id).await? else { return Ok(true) };
    match row.kind() {
        Message::KIND => {
            let Message { body, chunks, .. } = row.read::<Message>(call.operation())?.content;
            match core.store.read_text(call, (target, id), body, chunks).await {
                Ok(text) => Ok(text == owed.text()?),
                Err(TextFailure::Unanswered(error) | TextFailure::Sealed(error)) => Err(error),
                // Its pieces are gone. That is so if it was processed just now, and then a trace says what it was.
                Err(TextFailure::Lost(_)) => {
                    let now = core.store.read_row(call, target, id).await?;
                    match now.filter(|row| row.kind() == "seen") {
                        Some(row) => is_trace_of(core, call, owed, row),
                        None => Ok(false),
                    }
                }
            }
        }
        "seen" => is_trace_of(core, call, owed, row),
        // Work has an id of its own activity.
        _ => Ok(true),
    }
}

/// Whether a delivery has left this trace when it was processed.
fn is_trace_of(core: &Core, call: &Call, owed: &Owed, trace: Row) -> Result<bool, ProviderError> {
    let Intent { target, target_id: id, .. } = &owed.intent.content;
    let there = trace.read::<Tombstone>(call.operation())?.content.digest;
    let Some(there) = there else { return Ok(true) };
    Ok(core.store.open(call, (target, id), there)? == digest(owed.text()?))
}

/// Creates what is delivered; false if there is something with its id.
async fn put(core: &Core, call: &Call, owed: &Owed, id: &str) -> Result<bool, ProviderError> {
    let Intent { target, what, target_visible_at: visible_at, .. } = &owed.intent.content;
    // Stored as the sender has stored it: whoever delivers it once more stores the same pieces.
    let (body, pieces) = Pieces::of(owed.stored.clone()).split();
    let chunks = pieces.len() as u32;
    let kept = core.store.write_chunks(call, (target, id), pieces).await?;
    let (session, tag) = match what {
        IntentTarget::Message => (None, None),
        IntentTarget::Work => session_and_tag(owed.text()?),
    };
    let sent_at = core.store.now_ms();
    let created = match what {
        IntentTarget::Message => {
            let message = Message { visible_at: *visible_at, sent_at, body, chunks };
            core.store.create_with(call, &Document::new(target, id, message), &kept).await
        }
        IntentTarget::Work => {
            let (session, tag) = (session.clone(), tag.clone());
            let work = Work {
                visible_at: AT_ONCE,
                sent_at,
                attempts: 0,
                lock: None,
                session,
                tag,
                delivered: true,
                body,
                chunks,
            };
            core.store.create_with(call, &Document::new(target, id, work), &kept).await
        }
    };
    let etag = match created {
        Ok(etag) => etag,
        Err(failure) if failure.cause() == Cause::Conflict => return Ok(false),
        Err(failure) => return Err(failure.into_error(call)),
    };
    match what {
        IntentTarget::Message => core.dispatch.message_at(target, id, *visible_at),
        IntentTarget::Work => core.dispatch.work(WorkEntry {
            instance: target.clone(),
            id: id.to_owned(),
            etag: etag.unwrap_or_else(|| Etag::from("")),
            visible_at_ms: AT_ONCE,
            locked_until_ms: None,
            session,
            tag,
        }),
    }
    Ok(true)
}

fn session_and_tag(text: &str) -> (Option<String>, Option<String>) {
    match serde_json::from_str(text) {
        Ok(WorkItem::ActivityExecute { session_id, tag, .. }) => (session_id, tag),
        Ok(_) | Err(_) => (None, None),
    }
}

/// Says of what was delivered that it is, and lets it go after a while.
async fn settle(core: &Core, call: &Call, source: &str, done: &[&Document<Intent>]) {
    let is_traced = !core.store.losses().is_mixed();
    let writes = done.iter().flat_map(|intent| {
        let pieces = (0..intent.content.chunks).map(|n| Write::expire(chunk_id(&intent.id, n)));
        pieces.chain([Write::deliver(&*intent.id, is_traced)])
    });
    if let Err(failure) = core.store.apply_to_rest(call, source, writes.collect()).await {
        core.dispatch.unfinished(source, core.store.now_ms());
        let (source, hub) = (name_of(source), hub_of(source));
        tracing::warn!(source, hub, ?failure, "deliveries are not noted, and will be repeated in vain");
    }
}
