//! Committing a turn: all of it or nothing, once, as long as the lock holds.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut::{Etag, Patch, mutation};
use duroxide::Event;
use duroxide::providers::ProviderError;
use serde_json::Value;
use serde_json::value::to_raw_value;

use super::ahead::Ahead;
use super::load::load;
use super::lock::{PATIENCE, holds_lock, read_head};
use super::plan::{Plan, Setting, Turn, plan};
use super::turns::{Held, HeldMessage, Outline};
use super::{lost_lock, outbox, stage};
use crate::clock::{self, End};
use crate::core::Core;
use crate::dispatch::WorkEntry;
use crate::hub::{hub_of, name_of};
use crate::model::{
    AT_ONCE, Execution, HEAD, InstanceToken, PREPARED_TTL, RUNNING, Tombstone, TombstoneKind, Work, Write,
    WriteKind,
};
use crate::store::{Batch, Call, Cause, Failure, Guard};

const OPERATION: &str = "ack_orchestration_item";
/// How long what follows a commit may take: others finish it otherwise.
pub(super) const AFTERWARDS: Duration = Duration::from_secs(60);

/// The versions of documents after a commit, by their ids.
pub(super) type Versions = HashMap<String, Etag>;

/// Commits a turn and releases its lock.
pub(crate) async fn ack(core: &Core, token: &str, turn: Turn) -> Result<(), ProviderError> {
    let InstanceToken { instance, token } =
        InstanceToken::decode(token, core.hub()).ok_or_else(|| lost_lock(OPERATION))?;
    let held = match core.turns.get(&token) {
        Some(held) => held,
        None => hold_again(core, &instance, &token).await?,
    };
    let outline = Outline::of(&turn);
    if held.is_about_another(&outline) {
        let message = "another turn may have been committed under this lock token before";
        return Err(ProviderError::permanent(OPERATION, message));
    }
    if held.end().is_over() {
        return if held.was_tried(&outline) {
            find_out(core, &instance, &token).await
        } else {
            Err(lost_lock(OPERATION))
        };
    }
    let (execution, events) = (turn.execution, turn.events.clone());
    let (plan, versions) = match commit(core, &held, &token, turn).await {
        Ok(done) => done,
        Err(error) => {
            let is_uncertain = error.is_retryable();
            held.set_tried(outline, is_uncertain);
            let is_over = is_uncertain && held.end().is_over();
            return if is_over { find_out(core, &instance, &token).await } else { Err(error) };
        }
    };
    core.turns.remove(&token);
    remember_history(core, &instance, &held, &plan, (execution, events), &versions);
    announce(core, &instance, &plan, &versions);
    let call = core.store.call(OPERATION, AFTERWARDS);
    for (instance, id) in &plan.cancelled_elsewhere {
        let tombstone = Tombstone::document(instance, id, TombstoneKind::CancelledElsewhere);
        if let Err(failure) = core.store.upsert(&call, &tombstone).await {
            let (instance, hub) = (name_of(instance), hub_of(instance));
            tracing::warn!(instance, hub, id, ?failure, "an activity of another instance is not cancelled");
        }
    }
    // What is not delivered is put off, and no matter of the turn.
    drop(outbox::deliver(core, &call, &instance, plan.owed).await);
    Ok(())
}

/// Commits a turn as long as its lock holds, which others may prolong meanwhile.
async fn commit(
    core: &Core,
    held: &Held,
    token: &str,
    turn: Turn,
) -> Result<(Plan, Versions), ProviderError> {
    let call = core.store.call(OPERATION, PATIENCE).under(held.end());
    let was_tried = held.was_tried(&Outline::of(&turn));
    let earlier = earlier_execution(core, &call, held, turn.execution).await?;
    let setting = Setting {
        now: core.store.settled_ms(&call).await?,
        owed_until: core.owed_until(),
        shift: core.store.clock().shift_ms(),
        texts: core.store.texts().clone(),
    };
    let mut plan = plan(held, token, turn, earlier, setting)?;
    let committed = if fits(&plan) {
        commit_whole(core, &call, held, token, &mut plan).await
    } else {
        stage::commit(core, &call, held, token, &mut plan).await
    };
    let versions = match committed {
        // The lock is gone because an earlier call has committed the turn, and did not learn of it.
        Err(error) if was_tried && !error.is_retryable() => {
            let instance = &*held.head.instance_id;
            tracing::debug!(instance = name_of(instance), hub = hub_of(instance), %error, "the commit is repeated in vain");
            find_out(core, instance, token).await.map(|()| Versions::new())?
        }
        committed => committed?,
    };
    Ok((plan, versions))
}

/// Finds out whether a turn was committed whose commit was tried and got no answer before the lock's end. What
/// follows a commit is then left to others, who look for such things.
async fn find_out(core: &Core, instance: &str, token: &str) -> Result<(), ProviderError> {
    let call = core.store.call(OPERATION, PATIENCE);
    let head = read_head(core, &call, instance).await?;
    match head.and_then(|head| head.content.state.last_ack) {
        Some(last) if last == token => Ok(()),
        Some(_) | None => Err(lost_lock(OPERATION)),
    }
}

/// What another provider object has locked, or this one before it forgot.
async fn hold_again(core: &Core, instance: &str, token: &str) -> Result<Arc<Held>, ProviderError> {
    let call = core.store.call(OPERATION, core.settings.call_timeout);
    let snapshot = load(core, &call, instance, core.store.settled_ms(&call).await?).await?;
    let head = snapshot.head.ok_or_else(|| lost_lock(OPERATION))?;
    let lock =
        head.content.lock.clone().filter(|lock| lock.token == token).ok_or_else(|| lost_lock(OPERATION))?;
    let clock = core.store.clock();
    let left = Duration::from_millis(lock.until.saturating_sub(clock.now_ms()));
    let end = End::after(clock, clock.reading(), left);
    let messages = snapshot.messages.iter().filter(|message| lock.messages.contains(&message.id));
    let messages = messages
        .map(|it| HeldMessage { id: it.id.clone(), chunks: it.content.chunks, digest: None })
        .collect();
    Ok(core.turns.insert(token, Held::new(head, messages, snapshot.keys, None, end)))
}

async fn earlier_execution(
    core: &Core,
    call: &Call,
    held: &Held,
    execution: u64,
) -> Result<Option<Execution>, ProviderError> {
    let state = &held.head.content.state;
    let is_first = !state.exists && state.last_event == 0;
    if is_first || execution >= state.execution {
        return Ok(None);
    }
    let id = Execution::id(execution);
    let found = core.store.read::<Execution>(call, &held.head.instance_id, &id).await?;
    Ok(Some(found.map_or_else(
        || Execution {
            execution,
            status: RUNNING.to_owned(),
            output: None,
            output_chunks: 0,
            started_at: core.store.now_ms(),
            completed_at: None,
            last_event: 0,
            events: 0,
        },
        |found| found.content,
    )))
}

/// Whether one transaction holds the turn.
fn fits(plan: &Plan) -> bool {
    /// The condition, the state, and a deletion.
    const GUARD_WRITES: usize = 2;
    let history = plan.history.iter().map(Write::upsert);
    let history_bytes: usize = history.map(|write| write.size()).sum();
    let bytes: usize = plan.writes.iter().map(Write::size).sum();
    plan.history.len() + plan.writes.len() + plan.chunks.len() + GUARD_WRITES <= Batch::MAX_WRITES
        && history_bytes + bytes + state_bytes(plan) <= Batch::MAX_BYTES
}

fn state_bytes(plan: &Plan) -> usize {
    let parts = (&plan.state, &plan.deliveries);
    to_raw_value(&parts).map_or(0, |text| text.get().len())
}

/// The change of the head by which a turn becomes true, if its lock still holds.
pub(super) fn head_patch(plan: &Plan, token: &str) -> Patch {
    let patch = Patch::new().set("/state", &plan.state).set("/lock", ()).set("/deliveries", &plan.deliveries);
    let patch = plan.format.iter().fold(patch, |patch, format| patch.set("/v", format));
    if mutation!("turn-is-committed-without-its-lock") { patch } else { patch.condition(holds_lock(token)) }
}

async fn commit_whole(
    core: &Core,
    call: &Call,
    held: &Held,
    token: &str,
    plan: &mut Plan,
) -> Result<Versions, ProviderError> {
    let instance = &*held.head.instance_id;
    let chunks = Ahead::new(std::mem::take(&mut plan.chunks), Some(PREPARED_TTL));
    let kept = chunks.write(core, call, held, token).await?;
    let history = plan.history.iter().map(Write::upsert);
    let mut writes: Vec<Write> = history.chain(std::mem::take(&mut plan.writes)).chain(kept).collect();
    loop {
        let guard =
            Guard { id: HEAD.to_owned(), patch: head_patch(plan, token), then_delete: plan.is_nothing };
        let batch = Batch { partition: instance, guard: Some(guard), writes: &writes };
        let failure = match core.store.batch(call, &batch).await {
            Ok(etags) => return Ok(versions(&batch, etags)),
            Err(failure) => failure,
        };
        let offset = batch.offset();
        match (failure.cause(), failure.index()) {
            (Cause::Condition | Cause::NotFound, Some(0)) => {
                return resolve(core, call, instance, token, &failure).await;
            }
            (_, Some(index)) if index >= offset => {
                let mended = mend(&mut writes, index - offset, failure.cause());
                let Some((old, new)) = mended else { return Err(failure.into_error(call)) };
                plan.work.iter_mut().filter(|work| work.id == old).for_each(|work| work.id.clone_from(&new));
            }
            _ => return Err(failure.into_error(call)),
        }
    }
}

pub(super) fn versions(batch: &Batch<'_>, etags: Vec<Option<Etag>>) -> Versions {
    let guard = batch.guard.iter().map(|guard| guard.id.clone());
    let mut etags = etags.into_iter();
    let head = guard.zip(etags.by_ref().take(batch.offset()).collect::<Vec<_>>());
    let others = batch.writes.iter().map(|write| write.id.clone()).zip(etags.by_ref().collect::<Vec<_>>());
    head.chain(others).filter_map(|(id, etag)| Some((id, etag?))).collect()
}

/// The lock is not held. That may be because an attempt that got no answer has committed the turn.
pub(super) async fn resolve(
    core: &Core,
    call: &Call,
    instance: &str,
    token: &str,
    failure: &Failure,
) -> Result<Versions, ProviderError> {
    if failure.maybe_applied()
        && let Some(head) = read_head(core, call, instance).await?
        && head.content.state.last_ack.as_deref() == Some(token)
    {
        return Ok(Versions::from([(HEAD.to_owned(), Etag::from(head.etag))]));
    }
    Err(lost_lock(OPERATION))
}

/// Changes a write that cannot be applied as it is, if that is known not to matter: gives its id and its new one.
pub(super) fn mend(writes: &mut Vec<Write>, index: usize, cause: Cause) -> Option<(String, String)> {
    let write = writes.get_mut(index)?;
    let old = write.id.clone();
    match (cause, write.kind) {
        // An item of that activity is there: somebody has enqueued one explicitly, which the contract allows.
        (Cause::Conflict, WriteKind::Create) if old.starts_with(&Work::id(0, 0)[..2]) => {
            let new = format!("{old}.{}", clock::unique_id());
            let mut document: Value = serde_json::from_str(write.document.as_ref()?.get()).ok()?;
            *document.get_mut("id")? = Value::String(new.clone());
            write.document = Some(to_raw_value(&document).ok()?);
            write.id.clone_from(&new);
            Some((old, new))
        }
        // It is gone, which is what was wanted.
        (Cause::NotFound, WriteKind::Delete) => {
            writes.remove(index);
            Some((old.clone(), old))
        }
        (Cause::Conflict | Cause::Condition | Cause::NotFound | Cause::Transient | Cause::Permanent, _) => {
            None
        }
    }
}

/// Keeps the history: for the next turn, or for those who have waited for the last one.
fn remember_history(
    core: &Core,
    instance: &str,
    held: &Held,
    plan: &Plan,
    (execution, events): (u64, Vec<Event>),
    versions: &Versions,
) {
    let (before, after) = (&held.head.content.state, &plan.state);
    let is_current = execution == after.execution;
    let (Some(etag), Some(history), true) = (versions.get(HEAD), &held.history, is_current) else {
        core.histories.forget(instance);
        return;
    };
    let mut all = if before.execution == execution { history.as_ref().clone() } else { Vec::new() };
    all.extend(events);
    all.sort_by_key(|event| event.event_id);
    core.histories.put(instance, etag.to_string(), Arc::new(all), after.history_bytes);
}

/// Tells the dispatchers of this process what there is to do now.
fn announce(core: &Core, instance: &str, plan: &Plan, versions: &Versions) {
    core.dispatch.instance_until(instance, None);
    for (id, visible_at) in &plan.sent {
        core.dispatch.message_at(instance, id, *visible_at);
    }
    for id in &plan.cancelled {
        core.dispatch.work_gone(instance, id);
    }
    for work in &plan.work {
        core.dispatch.work(WorkEntry {
            instance: instance.to_owned(),
            id: work.id.clone(),
            etag: versions.get(&work.id).cloned().unwrap_or_else(|| Etag::from("")),
            visible_at_ms: AT_ONCE,
            locked_until_ms: None,
            session: work.session.clone(),
            tag: work.tag.clone(),
        });
    }
}
