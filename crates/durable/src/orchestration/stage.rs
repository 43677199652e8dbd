//! Turns that no single transaction holds: prepared in documents that nobody sees, made true by one conditional
//! write, then spread over the documents that they are about.
//!
//! The history is written in place: it counts only up to the head's last event. All other writes are put into
//! stage documents, one for each transaction that will be needed. The write that moves the head's last event also
//! says how many there are, and from then on the turn is committed: whoever needs the instance next spreads what
//! is not spread yet. Each step of that is one transaction with the head's count of steps, so that it happens once.

use cosmonaut::Patch;
use duroxide::providers::ProviderError;

use super::commit::{Versions, head_patch, mend, resolve, versions};
use super::lock::{read_head, write_until};
use super::lost_lock;
use super::plan::Plan;
use super::send::to_text;
use super::turns::Held;
use crate::clock;
use crate::core::Core;
use crate::model::{Document, HEAD, Stage, StageMark, Write, escaped_len};
use crate::store::{Batch, Call, Cause, Guard};

/// How many bytes a stage document holds at most, as JSON writes them.
const MAX_PART: usize = 1_500_000;
/// After this many seconds the service removes what no turn has come of. The commit takes that away.
const TTL: i32 = 60 * 60;

/// Commits a turn of any size.
pub(super) async fn commit(
    core: &Core,
    call: &Call,
    instance: &str,
    token: &str,
    held: &Held,
    plan: &mut Plan,
) -> Result<Versions, ProviderError> {
    let history: Vec<_> = plan.history.iter().map(Write::upsert).collect();
    for writes in parts(history, Batch::MAX_WRITES, Write::size) {
        hold_on(core, call, instance, token, held).await?;
        let batch = Batch { partition: instance, guard: None, writes: &writes };
        core.store.batch(call, &batch).await.map_err(|failure| failure.into_error(call))?;
    }
    // One operation of each transaction is the head's.
    let parts = parts(std::mem::take(&mut plan.writes), Batch::MAX_WRITES - 1, staged_size);
    // The commit has room for so many: of a larger turn that is given up, the stage stays with its instance.
    let expires = parts.len() < Batch::MAX_WRITES;
    for (n, part) in (0..).zip(&parts) {
        hold_on(core, call, instance, token, held).await?;
        let body = to_text(call.operation(), part)?;
        let mut document = Document::new(instance, Stage::id(token, n), Stage { body });
        document.ttl = expires.then_some(TTL);
        core.store.upsert(call, &document).await.map_err(|failure| failure.into_error(call))?;
    }
    let mark = StageMark { token: token.to_owned(), count: parts.len() as u32, done: 0 };
    hold_on(core, call, instance, token, held).await?;
    let patch = match mark.count {
        0 => head_patch(plan, token),
        _ => head_patch(plan, token).set("/stage", &mark).set("/visibleAt", clock::now_ms()),
    };
    let guard = Guard { id: HEAD.to_owned(), patch, then_delete: false };
    let kept: Vec<_> =
        (0..mark.count).filter(|_| expires).map(|n| Write::keep(Stage::id(token, n))).collect();
    let committed =
        core.store.batch(call, &Batch { partition: instance, guard: Some(guard), writes: &kept }).await;
    if let Err(failure) = committed {
        return match (failure.cause(), failure.index()) {
            (Cause::Condition | Cause::NotFound, Some(0)) => {
                resolve(core, call, instance, token, &failure).await?;
                spread(core, call, instance, mark, parts).await
            }
            _ => Err(failure.into_error(call)),
        };
    }
    spread(core, call, instance, mark, parts).await
}

/// Keeps the lock: to prepare a large turn may take longer than the runtime reckons with.
pub(super) async fn hold_on(
    core: &Core,
    call: &Call,
    instance: &str,
    token: &str,
    held: &Held,
) -> Result<(), ProviderError> {
    let Some(until) = held.prolonged(clock::now_ms()) else { return Ok(()) };
    if !write_until(core, call, instance, token, until).await? {
        return Err(lost_lock(call.operation()));
    }
    held.renewed(until);
    Ok(())
}

/// Spreads a turn that this process has just committed. It is committed whatever becomes of that.
async fn spread(
    core: &Core,
    call: &Call,
    instance: &str,
    mark: StageMark,
    parts: Vec<Vec<Write>>,
) -> Result<Versions, ProviderError> {
    match expand(core, call, instance, mark, Some(parts)).await {
        Ok(versions) => Ok(versions),
        Err(error) => {
            tracing::warn!(instance, %error, "a committed turn cannot be spread yet");
            core.dispatch.unfinished(instance, clock::now_ms());
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
    sweep(core, call, instance, &mark).await;
    Ok(all)
}

/// Applies one part; `None` if it was applied already.
async fn apply(
    core: &Core,
    call: &Call,
    instance: &str,
    mark: &StageMark,
    writes: &mut Vec<Write>,
) -> Result<Option<Versions>, ProviderError> {
    let StageMark { token, count, done } = mark;
    let patch = if done + 1 == *count {
        Patch::new().set("/stage", ()).set("/visibleAt", ())
    } else {
        Patch::new().set("/stage/done", done + 1).set("/visibleAt", clock::now_ms())
    };
    let patch = patch.condition(format!("FROM c WHERE c.stage.token = '{token}' AND c.stage.done = {done}"));
    loop {
        let guard = Guard { id: HEAD.to_owned(), patch: patch.clone(), then_delete: false };
        let batch = Batch { partition: instance, guard: Some(guard), writes };
        let failure = match core.store.batch(call, &batch).await {
            Ok(etags) => return Ok(Some(versions(&batch, etags))),
            Err(failure) => failure,
        };
        let offset = batch.offset();
        match (failure.cause(), failure.index()) {
            (Cause::Condition | Cause::NotFound, Some(0)) => return Ok(None),
            (cause, Some(index)) if index >= offset && mend(writes, index - offset, cause).is_some() => {}
            _ => return Err(failure.into_error(call)),
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
        let message = format!("document {id:?} of instance {instance:?} holds no writes: {error}");
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
    let message = format!("document {id:?} of instance {instance:?} is missing: a turn cannot be completed");
    ProviderError::permanent(call.operation(), message)
}

/// Removes the stage. What stays is removed by the service.
async fn sweep(core: &Core, call: &Call, instance: &str, mark: &StageMark) {
    let writes: Vec<_> = (0..mark.count).map(|n| Write::delete(Stage::id(&mark.token, n))).collect();
    for writes in writes.chunks(Batch::MAX_WRITES) {
        let batch = Batch { partition: instance, guard: None, writes };
        if let Err(failure) = core.store.batch(call, &batch).await {
            tracing::debug!(instance, ?failure, "a stage is left to its time to live");
        }
    }
}

fn staged_size(write: &Write) -> usize {
    let document = write.document.as_ref().map_or(0, |document| escaped_len(document.get()));
    write.size().max(document + write.id.len() + 64)
}

/// Groups writes, in order, so that each group fits in a transaction and in a stage document.
fn parts(writes: Vec<Write>, most: usize, size_of: impl Fn(&Write) -> usize) -> Vec<Vec<Write>> {
    let (mut parts, mut part, mut size) = (Vec::new(), Vec::new(), 0);
    for write in writes {
        let bytes = size_of(&write);
        if !part.is_empty() && (part.len() == most || size + bytes > MAX_PART) {
            parts.push(std::mem::take(&mut part));
            size = 0;
        }
        size += bytes;
        part.push(write);
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_the_order_and_the_limits() {
        let writes: Vec<_> = (0..250).map(|n| Write::delete(n.to_string())).collect();
        let ids: Vec<_> = writes.iter().map(|write| write.id.clone()).collect();
        let grouped = parts(writes.clone(), 99, Write::size);
        assert_eq!(grouped.iter().map(Vec::len).collect::<Vec<_>>(), [99, 99, 52]);
        assert_eq!(grouped.concat().iter().map(|write| write.id.clone()).collect::<Vec<_>>(), ids);
        let grouped = parts(writes, 99, |_| MAX_PART / 2);
        assert!(grouped.iter().all(|part| part.len() == 2));
        assert!(parts(Vec::new(), 99, Write::size).is_empty());
    }
}
