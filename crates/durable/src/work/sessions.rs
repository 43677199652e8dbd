//! Sessions: activities of one name go to one worker at a time, whatever instances they belong to.

use std::collections::HashSet;
use std::time::Duration;

use cosmonaut::{FeedScope, Patch, Query};
use duroxide::providers::{ProviderError, SessionFetchConfig};

use crate::clock;
use crate::core::Core;
use crate::model::{Document, Row, SESSION, Session, session_partition};
use crate::store::{Call, Cause};

/// Takes a session that is free, or prolongs one that the worker has; false if another worker has it.
pub(super) async fn claim(
    core: &Core,
    call: &Call,
    session: &str,
    config: &SessionFetchConfig,
) -> Result<bool, ProviderError> {
    let partition = &*core.hub().key(&session_partition(session)).into_owned();
    let owner = &*config.owner_id;
    loop {
        let now = core.store.settled_ms(call).await?;
        let until = now.saturating_add(clock::millis(config.lock_timeout));
        let patch = Patch::new()
            .set("/owner", owner)
            .set("/until", until)
            .set("/lastActivity", now)
            .condition(format!("FROM c WHERE c.until <= {now} OR c.owner = {}", literal(owner)));
        let failure = match core.store.patch(call, (partition, SESSION), patch, false).await {
            Ok(_) => {
                core.dispatch.session_owned(session, owner, until);
                return Ok(true);
            }
            Err(failure) => failure,
        };
        match failure.cause() {
            Cause::Condition => {
                if let Some(found) = core.store.read::<Session>(call, partition, SESSION).await? {
                    let Session { owner, until, .. } = found.content;
                    core.dispatch.session_owned(session, &owner, until);
                }
                return Ok(false);
            }
            Cause::NotFound => {
                let content = Session {
                    session: session.to_owned(),
                    owner: owner.to_owned(),
                    until,
                    last_activity: now,
                };
                match core.store.create(call, &Document::new(partition, SESSION, content)).await {
                    Ok(_) => {
                        core.dispatch.session_owned(session, owner, until);
                        return Ok(true);
                    }
                    // Somebody was faster, perhaps this very call.
                    Err(failure) if failure.cause() == Cause::Conflict => {}
                    Err(failure) => return Err(failure.into_error(call)),
                }
            }
            Cause::Conflict | Cause::Transient | Cause::Permanent => return Err(failure.into_error(call)),
        }
    }
}

/// Notes that a session is in use. Its work does not depend on that.
pub(super) async fn touch(core: &Core, call: &Call, session: &str) {
    let now = match core.store.settled_ms(call).await {
        Ok(now) => now,
        Err(error) => {
            tracing::debug!(session, %error, "the use of a session is not noted");
            return;
        }
    };
    let patch = Patch::new().set("/lastActivity", now).condition(format!("FROM c WHERE c.until > {now}"));
    let partition = session_partition(session);
    let place = (&*core.hub().key(&partition), SESSION);
    if let Err(failure) = core.store.patch(call, place, patch, false).await {
        tracing::debug!(session, ?failure, "the use of a session is not noted");
    }
}

/// Prolongs the sessions of some workers that are in use; gives how many.
pub(crate) async fn renew_all(
    core: &Core,
    owners: &[&str],
    extend_for: Duration,
    idle_timeout: Duration,
) -> Result<usize, ProviderError> {
    if owners.is_empty() {
        return Ok(0);
    }
    let call = core.store.call("renew_session_lock", core.settings.call_timeout);
    let now = core.store.settled_ms(&call).await?;
    let in_use = now.saturating_sub(clock::millis(idle_timeout));
    let query = Query::new(
        "SELECT * FROM c WHERE c.type = 'session' AND ARRAY_CONTAINS(@owners, c.owner) AND c.until > @now \
         AND c.lastActivity > @inUse",
    );
    let query = query.with("@owners", owners).with("@now", now).with("@inUse", in_use);
    let mut renewed = 0;
    for session in sessions(core, &call, &query).await? {
        let Session { session: name, owner, .. } = &session.content;
        let until = now.saturating_add(clock::millis(extend_for));
        let patch = Patch::new()
            .set("/until", until)
            .condition(format!("FROM c WHERE c.owner = {} AND c.until > {now}", literal(owner)));
        match core.store.patch(&call, (&session.instance_id, SESSION), patch, false).await {
            Ok(_) => {
                core.dispatch.session_owned(name, owner, until);
                renewed += 1;
            }
            // Lost meanwhile.
            Err(failure) if matches!(failure.cause(), Cause::Condition | Cause::NotFound) => {}
            Err(failure) => return Err(failure.into_error(&call)),
        }
    }
    Ok(renewed)
}

/// Removes sessions that nobody has and no work belongs to; gives how many.
pub(crate) async fn clean_up(core: &Core) -> Result<usize, ProviderError> {
    let call = core.store.call("cleanup_orphaned_sessions", core.settings.call_timeout);
    let query = Query::new("SELECT * FROM c WHERE c.type = 'session' AND c.until < @now")
        .with("@now", core.store.settled_ms(&call).await?);
    let free = sessions(core, &call, &query).await?;
    if free.is_empty() {
        return Ok(0);
    }
    let query =
        Query::new("SELECT DISTINCT VALUE c.session FROM c WHERE c.type = 'work' AND IS_STRING(c.session)");
    let in_use: HashSet<String> =
        core.store.query(&call, &query, &FeedScope::Container).await?.into_iter().collect();
    let mut removed = 0;
    for session in free.iter().filter(|session| !in_use.contains(&session.content.session)) {
        match core.store.delete(&call, &session.instance_id, SESSION, Some(&session.etag)).await {
            Ok(()) => {
                core.dispatch.session_free(&session.content.session);
                removed += 1;
            }
            // Taken or removed meanwhile.
            Err(failure) if matches!(failure.cause(), Cause::Condition | Cause::NotFound) => {}
            Err(failure) => return Err(failure.into_error(&call)),
        }
    }
    Ok(removed)
}

async fn sessions(core: &Core, call: &Call, query: &Query) -> Result<Vec<Document<Session>>, ProviderError> {
    let rows: Vec<Row> = core.store.query(call, query, &FeedScope::Container).await?;
    rows.into_iter().map(|row| row.read(call.operation())).collect()
}

/// A text as the dialect writes it: JSON strings are literals there.
fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
