//! What instances owe each other: written down with the turn, delivered at once, and again by anybody until it
//! has certainly arrived.
//!
//! What is delivered has the same id however often that happens, and the target keeps a trace of what it has
//! processed. So it arrives exactly once.

use cosmonaut::{Etag, Query};
use duroxide::providers::{ProviderError, WorkItem};

use super::lock::read_head;
pub(crate) use super::plan::Owed;
use super::stage;
use crate::clock;
use crate::core::Core;
use crate::dispatch::WorkEntry;
use crate::model::{Document, Intent, IntentTarget, Message, Pieces, Row, Work, Write, chunk_id};
use crate::store::{Batch, Call, Cause};

/// How many deliveries are under way at once.
const AT_ONCE: usize = 16;

/// Delivers what an instance owes. What cannot be delivered now is tried again in the background.
pub(crate) async fn deliver(core: &Core, call: &Call, source: &str, owed: Vec<Owed>) {
    if owed.is_empty() {
        return;
    }
    let mut done = Vec::new();
    for some in owed.chunks(AT_ONCE) {
        let results = crate::join::all(some.iter().map(|owed| hand_over(core, call, owed)).collect()).await;
        for (owed, result) in some.iter().zip(results) {
            match result {
                Ok(()) => done.push(&owed.intent),
                Err(error) => {
                    tracing::warn!(source, target = owed.intent.content.target, %error, "a delivery is put off");
                    core.dispatch.unfinished(source, clock::now_ms());
                }
            }
        }
    }
    settle(core, call, source, &done).await;
}

/// Finishes what an instance has left half done: a turn that is not spread, and what it owes.
pub(crate) async fn recover(core: &Core, instance: &str) -> Result<(), ProviderError> {
    let call = core.store.call("recover", core.settings.call_timeout);
    if let Some(head) = read_head(core, &call, instance).await?
        && let Some(mark) = head.content.stage
    {
        stage::expand(core, &call, instance, mark, None).await?;
        core.dispatch.look_at(instance, 0);
    }
    let query = Query::new("SELECT * FROM c WHERE c.type = 'intent'");
    let rows: Vec<Row> = core.store.query(&call, &query, &instance.into()).await?;
    let mut owed = Vec::new();
    for row in rows {
        let intent: Document<Intent> = row.read(call.operation())?;
        let Intent { body, chunks, .. } = intent.content.clone();
        let text = core.store.whole_text(&call, (instance, &intent.id), body, chunks).await?;
        owed.push(Owed { intent, text });
    }
    deliver(core, &call, instance, owed).await;
    Ok(())
}

/// Puts one thing into the target's queue, unless it is or was there.
async fn hand_over(core: &Core, call: &Call, owed: &Owed) -> Result<(), ProviderError> {
    let Intent { target, target_id: id, what, target_visible_at: visible_at, .. } = &owed.intent.content;
    let (body, pieces) = Pieces::of(owed.text.clone()).split();
    let chunks = pieces.len() as u32;
    let kept = core.store.write_chunks(call, (target, id), pieces).await?;
    let (visible_at, etag) = match what {
        IntentTarget::Message => {
            let message = Document::new(target, &**id, Message { visible_at: *visible_at, body, chunks });
            (*visible_at, core.store.create_with(call, &message, &kept).await)
        }
        IntentTarget::Work => {
            let (session, tag) = session_and_tag(&owed.text);
            let visible_at = clock::now_ms();
            let work = Work { visible_at, attempts: 0, lock: None, session, tag, body, chunks };
            (visible_at, core.store.create_with(call, &Document::new(target, &**id, work), &kept).await)
        }
    };
    let etag = match etag {
        Ok(etag) => etag,
        Err(failure) if failure.cause() == Cause::Conflict => return Ok(()),
        Err(failure) => return Err(failure.into_error(call)),
    };
    match what {
        IntentTarget::Message => core.dispatch.message_at(target, id, visible_at),
        IntentTarget::Work => {
            let (session, tag) = session_and_tag(&owed.text);
            core.dispatch.work(WorkEntry {
                instance: target.clone(),
                id: id.clone(),
                etag: etag.unwrap_or_else(|| Etag::from("")),
                visible_at_ms: visible_at,
                locked_until_ms: None,
                session,
                tag,
            });
        }
    }
    Ok(())
}

fn session_and_tag(text: &str) -> (Option<String>, Option<String>) {
    match serde_json::from_str(text) {
        Ok(WorkItem::ActivityExecute { session_id, tag, .. }) => (session_id, tag),
        Ok(_) | Err(_) => (None, None),
    }
}

/// Strikes out what was delivered.
async fn settle(core: &Core, call: &Call, source: &str, done: &[&Document<Intent>]) {
    let ids = done.iter().flat_map(|intent| {
        let chunks = (0..intent.content.chunks).map(|n| chunk_id(&intent.id, n));
        std::iter::once(intent.id.clone()).chain(chunks)
    });
    let writes: Vec<_> = ids.map(Write::delete).collect();
    for writes in writes.chunks(Batch::MAX_WRITES) {
        let batch = Batch { partition: source, guard: None, writes };
        let Err(failure) = core.store.batch(call, &batch).await else { continue };
        if failure.cause() != Cause::NotFound {
            tracing::warn!(source, ?failure, "deliveries are not struck out, and will be repeated in vain");
            core.dispatch.unfinished(source, clock::now_ms());
            continue;
        }
        // Another process has struck out some of them.
        for write in writes {
            match core.store.delete(call, source, &write.id, None).await {
                Ok(()) => {}
                Err(failure) if failure.cause() == Cause::NotFound => {}
                Err(failure) => {
                    tracing::warn!(source, id = write.id, ?failure, "a delivery is not struck out")
                }
            }
        }
    }
}
