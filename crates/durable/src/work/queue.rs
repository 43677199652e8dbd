//! Enqueueing, locking, completing and giving up work items: one conditional request each.

use std::time::Duration;

use cosmonaut::{Etag, ItemResponse, Patch};
use duroxide::providers::{ProviderError, SessionFetchConfig, TagFilter, WorkItem};

use super::sessions;
use crate::clock;
use crate::core::Core;
use crate::dispatch::{WorkEntry, WorkFilter};
use crate::model::{
    Document, Intent, IntentTarget, Kind, Message, Pieces, Row, Work, WorkToken, Write, chunk_id,
    target_instance,
};
use crate::orchestration::outbox::{self, Owed};
use crate::orchestration::{lost_lock, to_text};
use crate::store::{Batch, Call, Cause, Guard};

/// The least time that a call is repeated for while the service cannot answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A work item, its token, and how often it was tried.
type Fetched = (WorkItem, String, u32);

/// Puts an activity into the queue.
pub(crate) async fn enqueue(core: &Core, item: &WorkItem) -> Result<(), ProviderError> {
    let operation = "enqueue_for_worker";
    let WorkItem::ActivityExecute { instance, execution_id, id: activity, session_id, tag, .. } = item else {
        let message = format!("{item:?} is no work for a worker");
        return Err(ProviderError::permanent(operation, message));
    };
    let call = core.store.call(operation, core.settings.call_timeout);
    let now = clock::now_ms();
    let text = to_text(operation, item)?;
    let (body, pieces) = Pieces::of(text).split();
    let chunks = pieces.len() as u32;
    let (session, tag) = (session_id.clone(), tag.clone());
    let content = Work { visible_at: now, attempts: 0, lock: None, session, tag, body, chunks };
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
    Ok(found.content.body == document.content.body && found.content.visible_at == document.content.visible_at)
}

/// Waits at most `poll` for a work item that the worker takes, and locks it.
pub(crate) async fn fetch(
    core: &Core,
    lock_timeout: Duration,
    poll: Duration,
    session: Option<&SessionFetchConfig>,
    tags: &TagFilter,
) -> Result<Option<Fetched>, ProviderError> {
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
                tracing::warn!(instance, id, %error, "a work item cannot be fetched");
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
) -> Result<Option<Fetched>, ProviderError> {
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
) -> Result<Option<Fetched>, ProviderError> {
    let (began, token) = (clock::now_ms(), clock::unique_id());
    let until = began.saturating_add(clock::millis(timeout));
    let patch = Patch::new()
        .set("/lock", serde_json::json!({"token": token, "until": until}))
        .increment("/attempts", 1)
        .condition(format!(
            "FROM c WHERE c.type = 'work' AND c.visibleAt <= {began} AND (IS_NULL(c.lock) OR c.lock.until <= {began})"
        ));
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
    // The lock is to last from now on: a write that was slow must not have used it up.
    let now = clock::now_ms();
    if now.saturating_sub(began) > clock::millis(timeout) / 10 {
        let until = now.saturating_add(clock::millis(timeout));
        if !write_until(core, call, (instance, id), &token, until).await? {
            return Ok(None);
        }
        document.content.lock.iter_mut().for_each(|lock| lock.until = until);
    }
    let etag = Etag::from(document.etag.clone());
    core.dispatch.work(entry(&document, Some(etag)));
    let Work { attempts, session, body, chunks, .. } = document.content;
    let text = core.store.whole_text(call, (instance, id), body, chunks).await?;
    let item = serde_json::from_str(&text).map_err(|error| {
        let message = format!("work item {id:?} of instance {instance:?} cannot be read: {error}");
        ProviderError::permanent(call.operation(), message)
    })?;
    let token = WorkToken { partition: instance.to_owned(), id: id.to_owned(), token, session, chunks };
    Ok(Some((item, token.encode(), attempts)))
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

/// Removes a work item and hands over its completion, both or neither.
pub(crate) async fn ack(core: &Core, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
    let operation = "ack_work_item";
    let token = WorkToken::decode(token).ok_or_else(|| lost_lock(operation))?;
    let call = core.store.call(operation, core.settings.call_timeout);
    let now = clock::now_ms();
    let partition = &*token.partition;
    let mut writes: Vec<Write> = (0..token.chunks).map(|n| Write::delete(chunk_id(&token.id, n))).collect();
    let (completion, kept) = match completion {
        Some(completion) => prepare(core, &call, &token, &completion, now).await?,
        None => (Completion::None, Vec::new()),
    };
    writes.extend(kept);
    match &completion {
        Completion::None => {}
        Completion::Own(message) => writes.push(Write::create(message)),
        Completion::Owed(owed) => writes.push(Write::create(&owed.intent)),
    }
    let patch = Patch::new().set("/lock/until", 0).condition(holds_lock(&token.token, now));
    let guard = Guard { id: token.id.clone(), patch, then_delete: true };
    let batch = Batch { partition, guard: Some(guard), writes: &writes };
    if let Err(failure) = core.store.batch(&call, &batch).await {
        match (failure.cause(), failure.index()) {
            // Under the lock only this call removes the item, and it may have done so.
            (Cause::NotFound, Some(0)) if failure.maybe_applied() => {}
            (Cause::NotFound | Cause::Condition, Some(0)) => return Err(lost_lock(operation)),
            _ => return Err(failure.into_error(&call)),
        }
    }
    core.dispatch.work_gone(partition, &token.id);
    match completion {
        Completion::None => {}
        Completion::Own(message) => core.dispatch.message_at(partition, &message.id, now),
        Completion::Owed(owed) => outbox::deliver(core, &call, partition, vec![*owed]).await,
    }
    if let Some(session) = &token.session {
        sessions::touch(core, &call, session).await;
    }
    Ok(())
}

/// What a completion becomes.
enum Completion {
    None,
    /// A message in the partition of the work item, as usual.
    Own(Document<Message>),
    /// Something for an instance in another partition.
    Owed(Box<Owed>),
}

/// What a completion becomes, and what is to be done with it to keep the pieces of its text.
async fn prepare(
    core: &Core,
    call: &Call,
    token: &WorkToken,
    item: &WorkItem,
    now: u64,
) -> Result<(Completion, Vec<Write>), ProviderError> {
    if !matches!(item, WorkItem::ActivityCompleted { .. } | WorkItem::ActivityFailed { .. }) {
        let message = format!("{item:?} is no completion of an activity");
        return Err(ProviderError::permanent(call.operation(), message));
    }
    let (text, target) = (to_text(call.operation(), item)?, target_instance(item));
    if target != token.partition {
        let (owed, kept) = owe(core, call, token, target, text, now).await?;
        return Ok((Completion::Owed(Box::new(owed)), kept));
    }
    let id = Message::completion_id(&token.token);
    let (body, pieces) = Pieces::of(text).split();
    let chunks = pieces.len() as u32;
    let kept = core.store.write_chunks(call, (target, &id), pieces).await?;
    Ok((Completion::Own(Document::new(target, id, Message { visible_at: now, body, chunks })), kept))
}

/// What is owed to an instance in whose partition the work item is not.
async fn owe(
    core: &Core,
    call: &Call,
    token: &WorkToken,
    target: &str,
    text: String,
    now: u64,
) -> Result<(Owed, Vec<Write>), ProviderError> {
    let id = Intent::completion_id(&token.token);
    let (body, pieces) = Pieces::of(text.clone()).split();
    let chunks = pieces.len() as u32;
    let kept = core.store.write_chunks(call, (&token.partition, &id), pieces).await?;
    let content = Intent {
        target: target.to_owned(),
        target_id: Message::delivered_id(&token.token, 0, 0),
        what: IntentTarget::Message,
        target_visible_at: now,
        visible_at: core.owed_until(),
        body,
        chunks,
    };
    Ok((Owed { intent: Document::new(&token.partition, id, content), text }, kept))
}

/// Prolongs a lock, which must not have ended. That it has is how a worker learns of a cancellation.
pub(crate) async fn renew(core: &Core, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
    let operation = "renew_work_item_lock";
    let token = WorkToken::decode(token).ok_or_else(|| lost_lock(operation))?;
    let call = core.store.call(operation, PATIENCE);
    let until = clock::now_ms().saturating_add(clock::millis(extend_for));
    if !write_until(core, &call, (&token.partition, &token.id), &token.token, until).await? {
        core.dispatch.work_gone(&token.partition, &token.id);
        return Err(lost_lock(operation));
    }
    if let Some(session) = &token.session {
        sessions::touch(core, &call, session).await;
    }
    Ok(())
}

async fn write_until(
    core: &Core,
    call: &Call,
    place: (&str, &str),
    token: &str,
    until: u64,
) -> Result<bool, ProviderError> {
    let patch = Patch::new().set("/lock/until", until).condition(holds_lock(token, clock::now_ms()));
    let is_set =
        |work: &Work| work.lock.as_ref().is_some_and(|lock| lock.token == token && lock.until == until);
    change(core, call, place, patch, is_set).await
}

/// Gives an item up: another worker gets it, after a while if that is said.
pub(crate) async fn abandon(
    core: &Core,
    token: &str,
    delay: Option<Duration>,
    ignore_attempt: bool,
) -> Result<(), ProviderError> {
    let operation = "abandon_work_item";
    let token = WorkToken::decode(token).ok_or_else(|| lost_lock(operation))?;
    let call = core.store.call(operation, PATIENCE);
    let visible_at = clock::now_ms().saturating_add(delay.map_or(0, clock::millis));
    let mut patch = Patch::new().set("/lock", ()).set("/visibleAt", visible_at);
    if ignore_attempt {
        // It was locked, so there was one.
        patch = patch.increment("/attempts", -1);
    }
    let patch = patch.condition(format!("FROM c WHERE c.type = 'work' AND c.lock.token = '{}'", token.token));
    let is_given_up = |work: &Work| work.lock.is_none() && work.visible_at == visible_at;
    if !change(core, &call, (&token.partition, &token.id), patch, is_given_up).await? {
        return Err(lost_lock(operation));
    }
    Ok(())
}

fn holds_lock(token: &str, now: u64) -> String {
    format!("FROM c WHERE c.type = 'work' AND c.lock.token = '{token}' AND c.lock.until > {now}")
}

/// Changes an item under a condition and tells the queue; false if the condition does not hold. `done` tells an
/// item that an attempt without an answer has changed.
async fn change(
    core: &Core,
    call: &Call,
    (instance, id): (&str, &str),
    patch: Patch,
    done: impl Fn(&Work) -> bool,
) -> Result<bool, ProviderError> {
    let row = match core.store.patch(call, (instance, id), patch, true).await {
        Ok(patched) => patched_row(call, &patched)?,
        Err(failure) => match failure.cause() {
            Cause::Condition if failure.maybe_applied() => {
                match core.store.read_row(call, instance, id).await? {
                    Some(row) if row.kind() == Work::KIND => row,
                    Some(_) | None => return Ok(false),
                }
            }
            Cause::Condition | Cause::NotFound => return Ok(false),
            Cause::Conflict | Cause::Transient | Cause::Permanent => return Err(failure.into_error(call)),
        },
    };
    let document: Document<Work> = row.read(call.operation())?;
    let etag = Etag::from(document.etag.clone());
    core.dispatch.work(entry(&document, Some(etag)));
    Ok(done(&document.content))
}

fn patched_row(call: &Call, patched: &ItemResponse) -> Result<Row, ProviderError> {
    patched.json().map_err(|error| ProviderError::permanent(call.operation(), error.to_string()))
}

/// An item as the queue in memory knows it.
fn entry(document: &Document<Work>, etag: Option<Etag>) -> WorkEntry {
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
