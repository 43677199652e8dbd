//! Completing work items: the item goes and its completion comes, both or neither.

use cosmonaut::Patch;
use duroxide::providers::{ProviderError, WorkItem};

use super::holding::holds_lock;
use super::sessions;
use crate::clock::{self, End};
use crate::core::Core;
use crate::hub::{hub_of, name_of};
use crate::model::{
    AT_ONCE, Document, Intent, IntentTarget, Message, Pieces, Tombstone, WorkToken, Write, WriteKind,
    chunk_id, target_instance,
};
use crate::orchestration::outbox::{self, Owed};
use crate::orchestration::{lost_lock, to_text};
use crate::store::{Batch, Call, Cause, Guard};

/// How many operations of the transaction the end of the work item takes.
const GUARD_WRITES: usize = 2;

/// Removes a work item and hands over its completion, both or neither.
pub(crate) async fn ack(core: &Core, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
    let operation = "ack_work_item";
    let token = WorkToken::decode(token, core.hub()).ok_or_else(|| lost_lock(operation))?;
    let locked = core.work_locks.get(&token.token);
    if locked.as_ref().is_some_and(|locked| locked.end.is_over()) {
        return Err(lost_lock(operation));
    }
    let call = core.store.call(operation, core.settings.call_timeout);
    let call = locked.iter().fold(call, |call, locked| call.under(&locked.end));
    let partition = &*token.partition;
    let (completion, mut writes) = match completion {
        Some(completion) => prepare(core, &call, &token, &completion).await?,
        None => (Completion::None, Vec::new()),
    };
    match &completion {
        Completion::None => {}
        Completion::Own(message) => writes.push(Write::create(message)),
        Completion::Owed(owed) => writes.push(Write::create(&owed.intent)),
    }
    if token.delivered {
        writes.push(Write::upsert(&Tombstone::seen(partition, &token.id, None)));
    }
    let mut pieces = (0..token.chunks).map(|n| Write::delete(chunk_id(&token.id, n)));
    writes.extend(pieces.by_ref().take(Batch::MAX_WRITES - GUARD_WRITES - writes.len()));
    let further_pieces: Vec<Write> = pieces.collect();
    remove_item(core, &call, &token, writes).await?;
    core.work_locks.remove(&token.token);
    core.dispatch.work_gone(partition, &token.id);
    if let Err(failure) = core.store.apply_to_rest(&call, partition, further_pieces).await {
        let (instance, hub, id) = (name_of(partition), hub_of(partition), &*token.id);
        tracing::warn!(instance, hub, id, ?failure, "parts of a long input that was processed stay");
    }
    match completion {
        Completion::None => {}
        Completion::Own(message) => core.dispatch.message_at(partition, &message.id, AT_ONCE),
        // What is not delivered is put off, and no matter of the activity.
        Completion::Owed(owed) => drop(outbox::deliver(core, &call, partition, vec![*owed]).await),
    }
    if let Some(session) = &token.session {
        sessions::touch(core, &call, session).await;
    }
    Ok(())
}

/// Removes the work item as long as its lock is held, together with other writes to its partition.
async fn remove_item(
    core: &Core,
    call: &Call,
    token: &WorkToken,
    mut writes: Vec<Write>,
) -> Result<(), ProviderError> {
    // The lock is known unless another process has locked the item.
    let (version, end) = core.work_locks.get(&token.token).map(|locked| (locked.version, locked.end)).unzip();
    let mut is_by_version = version.is_some();
    writes.splice(..0, version.map(|version| Write::delete_version(&*token.id, version)));
    loop {
        let patch = Patch::new().set("/lock/until", 0).condition(holds_lock(core, &token.token));
        let guard = Guard { id: token.id.clone(), patch, then_delete: true };
        let guard = (!is_by_version).then_some(guard);
        let batch = Batch { partition: &token.partition, guard, writes: &writes };
        let Err(failure) = core.store.batch(call, &batch).await else { return Ok(()) };
        let offset = batch.offset();
        match (failure.cause(), failure.index()) {
            // Under the lock only this call removes the item, and it may have done so. Once the lock has ended, another
            // worker may have done so too, with another result.
            (Cause::NotFound, Some(0)) if failure.maybe_applied() && holds(end.as_ref()) => return Ok(()),
            // It was touched without losing its lock, as by a renewal whose answer was lost: the token decides.
            (Cause::Condition, Some(0)) if is_by_version => {
                is_by_version = false;
                writes.remove(0);
            }
            (Cause::NotFound | Cause::Condition, Some(0)) => return Err(lost_lock(call.operation())),
            // A piece that is to go is gone.
            (Cause::NotFound, Some(n)) if is_removal(&writes, n, offset) => drop(writes.remove(n - offset)),
            _ => return Err(failure.into_error(call)),
        }
    }
}

/// Whether a lock certainly holds.
fn holds(end: Option<&End>) -> bool {
    end.is_some_and(|end| !end.is_over())
}

/// Whether an operation of the transaction removes a document.
fn is_removal(writes: &[Write], operation: usize, offset: usize) -> bool {
    let write = operation.checked_sub(offset).and_then(|n| writes.get(n));
    write.is_some_and(|write| write.kind == WriteKind::Delete)
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
) -> Result<(Completion, Vec<Write>), ProviderError> {
    if !matches!(item, WorkItem::ActivityCompleted { .. } | WorkItem::ActivityFailed { .. }) {
        let message = format!("{item:?} is no completion of an activity");
        return Err(ProviderError::permanent(call.operation(), message));
    }
    let (text, target) = (to_text(call.operation(), item)?, core.hub().key(target_instance(item)));
    let target = &*target;
    if target != token.partition {
        let (owed, kept) = owe(core, call, token, target, text).await?;
        return Ok((Completion::Owed(Box::new(owed)), kept));
    }
    let (body, pieces) = Pieces::of(core.store.seal(call, text)?).split();
    let id = own_id(Message::completion_id(&token.token), &pieces);
    let chunks = pieces.len() as u32;
    let kept = core.store.write_chunks(call, (target, &id), pieces).await?;
    let message = Message { visible_at: AT_ONCE, sent_at: core.store.now_ms(), body, chunks };
    Ok((Completion::Own(Document::new(target, id, message)), kept))
}

/// What is owed to an instance in whose partition the work item is not.
async fn owe(
    core: &Core,
    call: &Call,
    token: &WorkToken,
    target: &str,
    text: String,
) -> Result<(Owed, Vec<Write>), ProviderError> {
    let stored = core.store.seal(call, text.clone())?;
    let (body, pieces) = Pieces::of(stored.clone()).split();
    let id = own_id(Intent::completion_id(&token.token), &pieces);
    let chunks = pieces.len() as u32;
    let kept = core.store.write_chunks(call, (&token.partition, &id), pieces).await?;
    let content = Intent {
        target: target.to_owned(),
        target_id: Message::delivered_id(&token.token, 0, 0),
        what: IntentTarget::Message,
        target_visible_at: AT_ONCE,
        visible_at: Some(core.owed_until()),
        body,
        chunks,
    };
    Ok((Owed { intent: Document::new(&token.partition, id, content), text: Ok(text), stored }, kept))
}

/// The id of a document whose text is in pieces is another one each time. A call that is repeated may store the same text
/// in another way, and must find no pieces of the call before.
fn own_id(id: String, pieces: &[String]) -> String {
    if pieces.is_empty() { id } else { format!("{id}.{}", clock::unique_id()) }
}
