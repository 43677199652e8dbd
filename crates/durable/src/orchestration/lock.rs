//! Prolonging the lock on an instance, and giving a turn up.

use std::time::Duration;

use cosmonaut::Patch;
use duroxide::providers::ProviderError;

use super::lost_lock;
use crate::clock::{self, End};
use crate::core::Core;
use crate::model::{AT_ONCE, Document, HEAD, Head, InstanceToken};
use crate::store::{Call, Cause};

/// The least time that a call is repeated for while the service cannot answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// Prolongs a lock, which must not have ended.
pub(crate) async fn renew(core: &Core, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
    let operation = "renew_orchestration_item_lock";
    let InstanceToken { instance, token } =
        InstanceToken::decode(token, core.hub()).ok_or_else(|| lost_lock(operation))?;
    let end = core.turns.get(&token).map(|held| held.end().clone());
    let clock = core.store.clock();
    let end = end.unwrap_or_else(|| End::after(clock, clock.reading(), extend_for));
    if end.is_over() {
        return Err(lost_lock(operation));
    }
    let call = core.store.call(operation, PATIENCE).under(&end);
    let Some(until) = prolong(core, &call, &instance, &token, extend_for).await? else {
        return Err(lost_lock(operation));
    };
    core.dispatch.instance_until(&instance, Some(until));
    Ok(())
}

/// Gives a turn up: its messages are delivered again, after a while if that is said.
pub(crate) async fn abandon(
    core: &Core,
    token: &str,
    delay: Option<Duration>,
    ignore_attempt: bool,
) -> Result<(), ProviderError> {
    let operation = "abandon_orchestration_item";
    let InstanceToken { instance, token } =
        InstanceToken::decode(token, core.hub()).ok_or_else(|| lost_lock(operation))?;
    let held = core.turns.get(&token);
    let clock = core.store.clock();
    let end = held.as_ref().map(|held| held.end().clone());
    let end = end.unwrap_or_else(|| End::after(clock, clock.reading(), Duration::ZERO));
    let call = core.store.call(operation, PATIENCE).under(&end);
    let head = match held {
        Some(held) => held.head.clone(),
        None => read_head(core, &call, &instance).await?.ok_or_else(|| lost_lock(operation))?,
    };
    let lock = head.content.lock.filter(|lock| lock.token == token).ok_or_else(|| lost_lock(operation))?;
    let not_before = match delay {
        Some(delay) => core.store.settled_ms(&call).await?.saturating_add(clock::millis(delay)),
        None => AT_ONCE,
    };
    let mut deliveries = head.content.deliveries;
    for id in &lock.messages {
        let delivery = deliveries.entry(id.clone()).or_default();
        delivery.not_before = not_before;
        delivery.attempts = delivery.attempts.saturating_sub(u32::from(ignore_attempt));
    }
    let patch = Patch::new().set("/lock", ()).set("/deliveries", deliveries).condition(holds_lock(&token));
    if !patch_head(core, &call, &instance, patch, |head| head.content.lock.is_none()).await? {
        return Err(lost_lock(operation));
    }
    core.turns.remove(&token);
    core.dispatch.instance_until(&instance, None);
    core.dispatch.look_at(&instance, not_before);
    Ok(())
}

/// Lets a lock last from now on; gives until when, or `None` if somebody else has it.
pub(super) async fn prolong(
    core: &Core,
    call: &Call,
    instance: &str,
    token: &str,
    extend_for: Duration,
) -> Result<Option<u64>, ProviderError> {
    let now = core.store.settled_ms(call).await?;
    let began = core.store.clock().reading();
    let until = now.saturating_add(clock::millis(extend_for));
    let patch = Patch::new().set("/lock/until", until).condition(holds_lock(token));
    let is_set = |head: &Document<Head>| {
        head.content.lock.as_ref().is_some_and(|lock| lock.token == token && lock.until == until)
    };
    if !patch_head(core, call, instance, patch, is_set).await? {
        return Ok(None);
    }
    core.turns.get(token).iter().for_each(|held| held.end().set(began, extend_for));
    Ok(Some(until))
}

/// The condition that a lock is still held.
///
/// It does not ask for the time: as long as nobody else has taken the lock, it is the holder's. That the time is
/// over the holder knows by its own count of time.
pub(super) fn holds_lock(token: &str) -> String {
    format!("FROM c WHERE c.lock.token = '{token}'")
}

/// Patches a head under a condition; false if that does not hold. `done` tells a head that an attempt without an
/// answer has patched.
async fn patch_head(
    core: &Core,
    call: &Call,
    instance: &str,
    patch: Patch,
    done: impl Fn(&Document<Head>) -> bool,
) -> Result<bool, ProviderError> {
    let Err(failure) = core.store.patch(call, (instance, HEAD), patch, false).await else { return Ok(true) };
    match failure.cause() {
        Cause::Condition if failure.maybe_applied() => {
            Ok(read_head(core, call, instance).await?.is_some_and(|head| done(&head)))
        }
        Cause::Condition | Cause::NotFound => Ok(false),
        Cause::Conflict | Cause::Transient | Cause::Permanent => Err(failure.into_error(call)),
    }
}

pub(super) async fn read_head(
    core: &Core,
    call: &Call,
    instance: &str,
) -> Result<Option<Document<Head>>, ProviderError> {
    core.store.read(call, instance, HEAD).await
}
