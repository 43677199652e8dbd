//! Enqueueing and locking work items: one conditional request each.

use std::time::Duration;

use cosmonaut::{Etag, Patch};
use duroxide::providers::{ProviderError, SessionFetchConfig, TagFilter, WorkItem};

use super::holding::{patched_row, prolong};
use super::locks::WorkLocked;
use super::sessions;
use crate::clock::{self, End};
use crate::core::Core;
use crate::dispatch::{WorkEntry, WorkFilter};
use crate::hub::{hub_of, name_of, told};
use crate::model::{AT_ONCE, Document, Fetched, Kind, Pieces, Work, WorkToken, waited};
use crate::orchestration::to_text;
use crate::store::{Call, Cause, TextFailure};

/// The least time that a call is repeated for while the service cannot answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Puts an activity into the queue.
pub(crate) async fn enqueue(core: &Core, item: &WorkItem) -> Result<(), ProviderError> {
    let operation = "enqueue_for_worker";
    let WorkItem::ActivityExecute { instance, execution_id, id: activity, session_id, tag, .. } = item else {
        let message = format!("{item:?} is no work for a worker");
        return Err(ProviderError::permanent(operation, message));
    };
    let instance = &*core.hub().key(instance);
    let call = core.store.call(operation, core.settings.call_timeout);
    let text = core.store.seal(&call, to_text(operation, item)?)?;
    let (body, pieces) = Pieces::of(text).split();
    let chunks = pieces.len() as u32;
    let (session, tag) = (session_id.clone(), tag.clone());
    let content = Work {
        visible_at: AT_ONCE,
        sent_at: core.store.now_ms(),
        attempts: 0,
        lock: None,
        session,
        tag,
        delivered: false,
        body,
        chunks,
    };
    // The plain id is that by which an orchestration cancels; a second item of an activity has to do without.
    let mut id = Work::id(*execution_id, *activity);
    if chunks > 0 {
        id = format!("{id}.{}", clock::unique_id());
    }
    let kept = core.store.write_chunks(&call, (instance, &id), pieces).await?;
    let mut document = Document::new(instance, id, content);
    let etag = loop {
        match core.store.create_with(&call, &document, &kept).await {
            Ok(etag) => break etag,
            Err(failure) if failure.cause() == Cause::Conflict => {
                if failure.maybe_applied() && is_own(core, &call, &document).await? {
                    break None;
                }
                document.id = format!("{}.{}", Work::id(*execution_id, *activity), clock::unique_id());
            }
            Err(failure) => return Err(failure.into_error(&call)),
        }
    };
    core.dispatch.work(entry(&document, etag));
    Ok(())
}

/// Whether a document that is there is the one that was to be created.
async fn is_own(core: &Core, call: &Call, document: &Document<Work>) -> Result<bool, ProviderError> {
    let found = core.store.read_row(call, &document.instance_id, &document.id).await?;
    let Some(row) = found.filter(|row| row.kind() == Work::KIND) else { return Ok(false) };
    let found: Document<Work> = row.read(call.operation())?;
    Ok(found.content.body == document.content.body)
}

/// Waits at most `poll` for a work item that the worker takes, and locks it.
pub(crate) async fn fetch(
    core: &Core,
    lock_timeout: Duration,
    poll: Duration,
    session: Option<&SessionFetchConfig>,
    tags: &TagFilter,
) -> Result<Option<Fetched<WorkItem>>, ProviderError> {
    let operation = "fetch_work_item";
    if matches!(tags, TagFilter::None) {
        return Ok(None);
    }
    let mut look = core.dispatch.look(poll);
    let mut failed = None;
    loop {
        let claim = look.work(WorkFilter { session, tags }).await;
        let claim = claim.map_err(|error| ProviderError::retryable(operation, error.to_string()))?;
        let Some(claim) = claim else { return failed.map_or(Ok(None), Err) };
        // A write that is cut off may leave a lock that nobody has, so that it gets time.
        let call = core.store.call(operation, claim.patience(lock_timeout).max(PATIENCE));
        match take(core, &call, claim.item(), lock_timeout, session).await {
            Ok(taken) => {
                claim.answered();
                if taken.is_some() {
                    return Ok(taken);
                }
            }
            Err(error) => {
                // It comes back after a pause. Others may be healthy.
                let WorkEntry { instance, id, .. } = claim.item();
                let (instance, hub) = (name_of(instance), hub_of(instance));
                tracing::warn!(instance, hub, id, %error, "a work item cannot be fetched");
                claim.failed(error.is_retryable());
                failed = Some(error);
            }
        }
    }
}

/// Takes an item, and its session if it has one; `None` if it cannot be had, which the queue is told.
async fn take(
    core: &Core,
    call: &Call,
    item: &WorkEntry,
    lock_timeout: Duration,
    session: Option<&SessionFetchConfig>,
) -> Result<Option<Fetched<WorkItem>>, ProviderError> {
    if let (Some(name), Some(session)) = (&item.session, session)
        && !sessions::claim(core, call, name, session).await?
    {
        return Ok(None);
    }
    lock(core, call, (&item.instance, &item.id), lock_timeout).await
}

/// Locks an item; `None` if it cannot be had, which the queue is told.
async fn lock(
    core: &Core,
    call: &Call,
    (instance, id): (&str, &str),
    timeout: Duration,
) -> Result<Option<Fetched<WorkItem>>, ProviderError> {
    let (own_clock, now) = (core.store.clock(), core.store.settled_ms(call).await?);
    let (began, token) = (own_clock.reading(), clock::unique_id());
    let until = now.saturating_add(clock::millis(timeout));
    let patch = Patch::new()
        .set("/lock", serde_json::json!({"token": token, "until": until}))
        .increment("/attempts", 1)
        .condition(core.hub().qualified(&format!(
            "FROM c WHERE c.type = 'work' AND c.visibleAt <= {now} AND (IS_NULL(c.lock) OR c.lock.until <= {now})"
        )));
    let mut document = match core.store.patch(call, (instance, id), patch, true).await {
        Ok(patched) => patched_row(call, &patched)?.read::<Work>(call.operation())?,
        Err(failure) => match failure.cause() {
            Cause::NotFound => {
                core.dispatch.work_gone(instance, id);
                return Ok(None);
            }
            Cause::Condition => match look_again(core, call, (instance, id), &token).await? {
                Some(document) => document,
                None => return Ok(None),
            },
            Cause::Conflict | Cause::Transient | Cause::Permanent => return Err(failure.into_error(call)),
        },
    };
    let (end, version) = (End::after(own_clock, began, timeout), document.etag.clone());
    core.work_locks.insert(&token, WorkLocked { end, version });
    // The lock is to last from now on: a write that was slow must not have used it up.
    if began.passed(own_clock.reading()) > timeout / 10 {
        let Some(until) = prolong(core, call, (instance, id), &token, timeout).await? else {
            return Ok(None);
        };
        document.content.lock.iter_mut().for_each(|lock| lock.until = until);
    }
    let etag = Etag::from(document.etag.clone());
    core.dispatch.work(entry(&document, Some(etag)));
    let Work { visible_at, sent_at, attempts, session, delivered, body, chunks, .. } = document.content;
    let waited = waited(sent_at, visible_at, now);
    let (partition, id) = (instance.to_owned(), id.to_owned());
    let token = WorkToken { partition, id, token, session, chunks, delivered };
    let id = &*token.id;
    match read_item(core, call, (instance, id), body, chunks).await {
        Ok(item) => {
            // Of an instance of another process, this one may know an earlier bearer of its name.
            if core.dispatch.is_own(instance) {
                core.histories.expect_read(instance);
            }
            Ok(Some(Fetched { item, token: token.encode(), attempts, waited }))
        }
        Err(TextFailure::Unanswered(error)) => Err(error),
        // Others may have the codec, so that they get it at once.
        Err(TextFailure::Sealed(error)) => {
            super::abandon(core, &token.encode(), None, true).await?;
            Err(error)
        }
        // It never will be readable. The orchestration learns that, and need not wait for ever.
        Err(TextFailure::Lost(error)) => {
            let (instance, hub) = (name_of(instance), hub_of(instance));
            tracing::error!(instance, hub, id, %error, "a work item is unreadable, and counts as failed");
            let Some(failed) = failed(instance, id, error.clone()) else {
                return Err(error);
            };
            super::ack(core, &token.encode(), Some(failed)).await?;
            Ok(None)
        }
    }
}

async fn read_item(
    core: &Core,
    call: &Call,
    (instance, id): (&str, &str),
    body: String,
    chunks: u32,
) -> Result<WorkItem, TextFailure> {
    let text = core.store.read_text(call, (instance, id), body, chunks).await?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("work item {id:?} of instance {:?} cannot be read: {error}", told(instance));
        TextFailure::Lost(ProviderError::permanent(call.operation(), message))
    })
}

/// The completion of an activity that cannot be run, by the id of its work item.
fn failed(instance: &str, id: &str, error: ProviderError) -> Option<WorkItem> {
    let (execution_id, activity) = Work::execution_and_activity(id)?;
    let details = error.to_infrastructure_error();
    Some(WorkItem::ActivityFailed { instance: instance.to_owned(), execution_id, id: activity, details })
}

/// Tells the queue how an item is that could not be locked; gives it if an attempt without an answer has locked it.
async fn look_again(
    core: &Core,
    call: &Call,
    (instance, id): (&str, &str),
    token: &str,
) -> Result<Option<Document<Work>>, ProviderError> {
    let found = core.store.read_row(call, instance, id).await?;
    let Some(row) = found.filter(|row| row.kind() == Work::KIND) else {
        core.dispatch.work_gone(instance, id);
        return Ok(None);
    };
    let document: Document<Work> = row.read(call.operation())?;
    if document.content.lock.as_ref().is_some_and(|lock| lock.token == token) {
        return Ok(Some(document));
    }
    let etag = Etag::from(document.etag.clone());
    core.dispatch.work(entry(&document, Some(etag)));
    Ok(None)
}

/// An item as the queue in memory knows it.
pub(super) fn entry(document: &Document<Work>, etag: Option<Etag>) -> WorkEntry {
    let Document { instance_id, id, content, .. } = document;
    WorkEntry {
        instance: instance_id.clone(),
        id: id.clone(),
        etag: etag.unwrap_or_else(|| Etag::from("")),
        visible_at_ms: content.visible_at,
        locked_until_ms: content.lock.as_ref().map(|lock| lock.until),
        session: content.session.clone(),
        tag: content.tag.clone(),
    }
}
