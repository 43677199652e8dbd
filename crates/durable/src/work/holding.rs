//! Prolonging the lock on a work item, and giving an item up.

use std::time::Duration;

use cosmonaut::{Etag, ItemResponse, Patch, mutation};
use duroxide::providers::ProviderError;

use super::queue::{PATIENCE, entry};
use super::sessions;
use crate::clock::{self, End};
use crate::core::Core;
use crate::hub::{hub_of, name_of};
use crate::model::{AT_ONCE, Document, Kind, Row, Work, WorkToken};
use crate::orchestration::lost_lock;
use crate::store::{Call, Cause};

/// How long a renewal that cannot be made waits before it is tried again.
const BETWEEN_TRIES: Duration = Duration::from_millis(500);

/// Prolongs a lock, which must not have ended. That it has is how a worker learns of a cancellation.
///
/// While the service cannot answer it is tried again until the lock's end: only a lock that is certainly lost, or
/// over, is an error.
pub(crate) async fn renew(core: &Core, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
    if mutation!("lock-is-not-renewed") {
        return Ok(());
    }
    let operation = "renew_work_item_lock";
    let token = WorkToken::decode(token, core.hub()).ok_or_else(|| lost_lock(operation))?;
    let locked = core.work_locks.get(&token.token);
    let clock = core.store.clock();
    let end = locked.map(|locked| locked.end);
    let end = end.unwrap_or_else(|| End::after(clock, clock.reading(), extend_for));
    let place = (&*token.partition, &*token.id);
    while !end.is_over() {
        let call = core.store.call(operation, BETWEEN_TRIES).under(&end);
        match prolong(core, &call, place, &token.token, extend_for).await {
            Ok(Some(_)) => {
                if let Some(session) = &token.session {
                    sessions::touch(core, &core.store.call(operation, BETWEEN_TRIES), session).await;
                }
                return Ok(());
            }
            Ok(None) => {
                core.work_locks.remove(&token.token);
                core.dispatch.work_gone(place.0, place.1);
                return Err(lost_lock(operation));
            }
            // The runtime takes any error for a cancellation, and drops what the activity has done.
            Err(error) => {
                let (instance, hub, id) = (name_of(place.0), hub_of(place.0), place.1);
                tracing::warn!(instance, hub, id, %error, "a lock cannot be renewed; it is tried again");
                clock::until(end.get(), clock::sleep(BETWEEN_TRIES)).await;
            }
        }
    }
    Err(lost_lock(operation))
}

/// Lets a lock last from now on; gives until when, or `None` if somebody else has it or the item is gone.
pub(super) async fn prolong(
    core: &Core,
    call: &Call,
    place: (&str, &str),
    token: &str,
    extend_for: Duration,
) -> Result<Option<u64>, ProviderError> {
    let now = core.store.settled_ms(call).await?;
    let began = core.store.clock().reading();
    let until = now.saturating_add(clock::millis(extend_for));
    let patch = Patch::new().set("/lock/until", until).condition(holds_lock(core, token));
    let is_set =
        |work: &Work| work.lock.as_ref().is_some_and(|lock| lock.token == token && lock.until == until);
    let Some(version) = change(core, call, place, patch, is_set).await? else { return Ok(None) };
    core.work_locks.renewed(token, (began, extend_for), &version);
    Ok(Some(until))
}

/// Gives an item up: another worker gets it, after a while if that is said.
pub(crate) async fn abandon(
    core: &Core,
    token: &str,
    delay: Option<Duration>,
    ignore_attempt: bool,
) -> Result<(), ProviderError> {
    let operation = "abandon_work_item";
    let token = WorkToken::decode(token, core.hub()).ok_or_else(|| lost_lock(operation))?;
    let call = core.store.call(operation, PATIENCE);
    let visible_at = match delay {
        Some(delay) => core.store.settled_ms(&call).await?.saturating_add(clock::millis(delay)),
        None => AT_ONCE,
    };
    let mut patch = Patch::new().set("/lock", ()).set("/visibleAt", visible_at);
    if ignore_attempt {
        // It was locked, so there was one.
        patch = patch.increment("/attempts", -1);
    }
    let patch = patch.condition(holds_lock(core, &token.token));
    let is_given_up = |work: &Work| work.lock.is_none() && work.visible_at == visible_at;
    match change(core, &call, (&token.partition, &token.id), patch, is_given_up).await? {
        Some(_) => Ok(()),
        None => Err(lost_lock(operation)),
    }
}

/// The condition that a lock is still held. That its time is over the holder knows by its own count of time.
pub(super) fn holds_lock(core: &Core, token: &str) -> String {
    core.hub().qualified(&format!("FROM c WHERE c.type = 'work' AND c.lock.token = '{token}'")).into_owned()
}

/// Changes an item under a condition and tells the queue; gives its version, or `None` if the condition does not
/// hold. `done` tells an item that an attempt without an answer has changed.
async fn change(
    core: &Core,
    call: &Call,
    (instance, id): (&str, &str),
    patch: Patch,
    done: impl Fn(&Work) -> bool,
) -> Result<Option<String>, ProviderError> {
    let row = match core.store.patch(call, (instance, id), patch, true).await {
        Ok(patched) => patched_row(call, &patched)?,
        Err(failure) => match failure.cause() {
            Cause::Condition if failure.maybe_applied() => {
                match core.store.read_row(call, instance, id).await? {
                    Some(row) if row.kind() == Work::KIND => row,
                    Some(_) | None => return Ok(None),
                }
            }
            Cause::Condition | Cause::NotFound => return Ok(None),
            Cause::Conflict | Cause::Transient | Cause::Permanent => return Err(failure.into_error(call)),
        },
    };
    let document: Document<Work> = row.read(call.operation())?;
    let etag = Etag::from(document.etag.clone());
    core.dispatch.work(entry(&document, Some(etag)));
    Ok(done(&document.content).then_some(document.etag))
}

pub(super) fn patched_row(call: &Call, patched: &ItemResponse) -> Result<Row, ProviderError> {
    patched.json().map_err(|error| ProviderError::permanent(call.operation(), error.to_string()))
}
