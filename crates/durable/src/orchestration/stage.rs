//! Turns that no single transaction holds: prepared in documents that nobody sees, made true by one conditional
//! write, then spread over the documents that they are about.
//!
//! The history is written in place: it counts only up to the head's last event. All other writes are put into
//! stage documents, one for each transaction that will be needed. The write that moves the head's last event also
//! says how many there are, and from then on the turn is committed: whoever needs the instance next spreads what
//! is not spread yet. Each step of that is one transaction with the head's count of steps and the end of the stage
//! document, so that it happens once and leaves nothing.

use cosmonaut::Patch;
use duroxide::providers::ProviderError;

use super::ahead::{Ahead, parts};
use super::commit::{AFTERWARDS, Versions, head_patch, mend, resolve, versions};
use super::lock::read_head;
use super::plan::Plan;
use super::send::to_text;
use super::turns::Held;
use crate::core::Core;
use crate::hub::{hub_of, name_of, told};
use crate::model::{Document, HEAD, PREPARED_LARGE_TTL, PREPARED_TTL, Stage, StageMark, Write, escaped_len};
use crate::store::{Batch, Call, Cause, Guard};

/// How many operations of the transaction that spreads a part are not the part's own: the change of the head, its
/// end if nothing is left of the instance, and the end of the part's document.
const OWN_WRITES: usize = 3;
/// How many bytes a stage document holds at most, as JSON writes them.
const MAX_PART: usize = 1_500_000;

/// Commits a turn of any size.
pub(super) async fn commit(
    core: &Core,
    call: &Call,
    held: &Held,
    token: &str,
    plan: &mut Plan,
) -> Result<Versions, ProviderError> {
    let instance = &*held.head.instance_id;
    let most = (Batch::MAX_WRITES - OWN_WRITES, MAX_PART);
    let mut staged = parts(std::mem::take(&mut plan.writes), most, staged_size);
    let (chunks, history) = (std::mem::take(&mut plan.chunks), std::mem::take(&mut plan.history));
    // The commit has room to keep so many. Of a larger turn, they are kept when it is spread.
    let is_large = chunks.len() + history.len() + staged.len() >= Batch::MAX_WRITES;
    let ttl = Some(if is_large { PREPARED_LARGE_TTL } else { PREPARED_TTL });
    let mut kept = Ahead::new(chunks, ttl).write(core, call, held, token).await?;
    kept.extend(Ahead::new(history, ttl).write(core, call, held, token).await?);
    if is_large {
        let keeping = parts(std::mem::take(&mut kept), most, staged_size);
        staged.splice(..0, keeping);
    }
    let ttl = (staged.len() < Batch::MAX_WRITES).then_some(PREPARED_TTL);
    for (n, part) in (0..).zip(&staged) {
        // One at a time: all of them can be more than is good to have in memory twice.
        let stage = Stage { body: to_text(call.operation(), part)? };
        let document = Document::new(instance, Stage::id(token, n), stage);
        kept.extend(Ahead::new(vec![document], ttl).write(core, call, held, token).await?);
    }
    let count = staged.len() as u32;
    let mark = StageMark { token: token.to_owned(), count, done: 0, is_last: plan.is_nothing };
    let patch = match mark.count {
        0 => head_patch(plan, token),
        _ => {
            let now = core.store.settled_ms(call).await?;
            head_patch(plan, token).set("/stage", &mark).set("/visibleAt", now)
        }
    };
    let guard = Guard { id: HEAD.to_owned(), patch, then_delete: false };
    let batch = Batch { partition: instance, guard: Some(guard), writes: &kept };
    if let Err(failure) = core.store.batch(call, &batch).await {
        match (failure.cause(), failure.index()) {
            (Cause::Condition | Cause::NotFound, Some(0)) => {
                resolve(core, call, instance, token, &failure).await?;
            }
            _ => return Err(failure.into_error(call)),
        }
    }
    spread(core, instance, mark, staged).await
}

/// Spreads a turn that this process has just committed. It is committed whatever becomes of that.
async fn spread(
    core: &Core,
    instance: &str,
    mark: StageMark,
    parts: Vec<Vec<Write>>,
) -> Result<Versions, ProviderError> {
    // The lock went with the commit, so it says nothing about how long this may take.
    let call = core.store.call("ack_orchestration_item", AFTERWARDS);
    match expand(core, &call, instance, mark, Some(parts)).await {
        Ok(versions) => Ok(versions),
        Err(error) => {
            core.dispatch.unfinished(instance, core.store.now_ms());
            let (instance, hub) = (name_of(instance), hub_of(instance));
            tracing::warn!(instance, hub, %error, "a committed turn cannot be spread yet");
            Ok(Versions::new())
        }
    }
}

/// Does what is left of a staged turn. `parts` are its writes, if they are at hand.
pub(super) async fn expand(
    core: &Core,
    call: &Call,
    instance: &str,
    mut mark: StageMark,
    mut parts: Option<Vec<Vec<Write>>>,
) -> Result<Versions, ProviderError> {
    let mut all = Versions::new();
    while mark.done < mark.count {
        let mut writes = match parts.as_mut().and_then(|parts| parts.get_mut(mark.done as usize)) {
            Some(part) => std::mem::take(part),
            None => match read_part(core, call, instance, &mark).await? {
                Some(part) => part,
                // Another process is done with it, and has removed it.
                None => match current_mark(core, call, instance, &mark).await? {
                    Some(next) if next.done > mark.done => {
                        mark = next;
                        continue;
                    }
                    Some(next) => return Err(lost_part(call, instance, &next)),
                    None => return Ok(all),
                },
            },
        };
        match apply(core, call, instance, &mark, &mut writes).await? {
            Some(versions) => {
                all.extend(versions);
                mark.done += 1;
            }
            None => match current_mark(core, call, instance, &mark).await? {
                Some(next) => mark = next,
                None => return Ok(all),
            },
        }
    }
    Ok(all)
}

/// Applies one part, whose document goes with it; `None` if it was applied already.
async fn apply(
    core: &Core,
    call: &Call,
    instance: &str,
    mark: &StageMark,
    writes: &mut Vec<Write>,
) -> Result<Option<Versions>, ProviderError> {
    let StageMark { token, count, done, is_last } = mark;
    let is_done = done + 1 == *count;
    let patch = if is_done {
        Patch::new().set("/stage", ()).set("/visibleAt", ())
    } else {
        Patch::new().set("/stage/done", done + 1).set("/visibleAt", core.store.settled_ms(call).await?)
    };
    let patch = patch.condition(format!("FROM c WHERE c.stage.token = '{token}' AND c.stage.done = {done}"));
    writes.push(Write::delete(Stage::id(token, *done)));
    loop {
        let guard = Guard { id: HEAD.to_owned(), patch: patch.clone(), then_delete: is_done && *is_last };
        let batch = Batch { partition: instance, guard: Some(guard), writes };
        let failure = match core.store.batch(call, &batch).await {
            Ok(etags) => return Ok(Some(versions(&batch, etags))),
            Err(failure) => failure,
        };
        let offset = batch.offset();
        match (failure.cause(), failure.index()) {
            (Cause::Condition | Cause::NotFound, Some(0)) => return Ok(None),
            (cause, Some(index)) if index >= offset && mend(writes, index - offset, cause).is_some() => {}
            _ => {
                let error = failure.into_error(call);
                let (instance, why) = (told(instance), &error.message);
                let message = format!("a committed turn of instance {instance:?}: {why}");
                return Err(ProviderError { message, ..error });
            }
        }
    }
}

async fn read_part(
    core: &Core,
    call: &Call,
    instance: &str,
    mark: &StageMark,
) -> Result<Option<Vec<Write>>, ProviderError> {
    let id = Stage::id(&mark.token, mark.done);
    let Some(stage) = core.store.read::<Stage>(call, instance, &id).await? else { return Ok(None) };
    serde_json::from_str(&stage.content.body).map(Some).map_err(|error| {
        let message = format!("document {id:?} of instance {:?} holds no writes: {error}", told(instance));
        ProviderError::permanent(call.operation(), message)
    })
}

/// How far the turn is spread, if it is not done.
async fn current_mark(
    core: &Core,
    call: &Call,
    instance: &str,
    mark: &StageMark,
) -> Result<Option<StageMark>, ProviderError> {
    let head = read_head(core, call, instance).await?;
    Ok(head.and_then(|head| head.content.stage).filter(|stage| stage.token == mark.token))
}

fn lost_part(call: &Call, instance: &str, mark: &StageMark) -> ProviderError {
    let id = Stage::id(&mark.token, mark.done);
    let instance = told(instance);
    let message = format!("document {id:?} of instance {instance:?} is missing: a turn cannot be completed");
    ProviderError::permanent(call.operation(), message)
}

fn staged_size(write: &Write) -> usize {
    let document = write.document.as_ref().map_or(0, |document| escaped_len(document.get()));
    write.size().max(document + write.id.len() + 64)
}
