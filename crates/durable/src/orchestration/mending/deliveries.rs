//! What was delivered and is not at its target any more: it is delivered again, if it would have left a trace there had it
//! been taken.

use std::collections::HashSet;

use cosmonaut::Query;
use duroxide::providers::ProviderError;
use serde::Deserialize;

use super::checklist::Part;
use super::{PATIENCE, readable};
use crate::core::Core;
use crate::hub::{hub_of, name_of};
use crate::model::{Intent, Row};
use crate::orchestration::outbox::{hand_over, read_owed};
use crate::store::{Call, Kinds, Presence, Span};

/// How many deliveries are under way at once.
const AT_ONCE: usize = 16;
/// How many deliveries of the last minutes are checked, and how many of another time at once.
const MOST: u32 = 1000;
/// What the last minutes are.
const RECENT_MS: u64 = 10 * 60 * 1000;
/// A time that never comes, in seconds.
const LATEST: u64 = 1 << 40;

/// A delivery that was made, without what it was.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Delivered {
    id: String,
    instance_id: String,
    target: String,
    target_id: String,
    #[serde(default)]
    traced: bool,
}

/// Looks at the deliveries of the last minutes, of which there may be too many. What has arrived is there, waiting or as a
/// trace. What cannot be known or delivered now is added to `late`.
pub(super) async fn look_at_recent(
    core: &Core,
    call: &Call,
    part: &Part,
    late: &mut Vec<Delivered>,
) -> Result<Option<String>, ProviderError> {
    let query = delivered(&format!("TOP {MOST}"), recent(core.store.now_ms()));
    let rows: Vec<Row> = core.store.query_in_pages(call, (&query, &part.scope()), Some(MOST)).await?;
    if rows.len() >= MOST as usize {
        tracing::info!("more was delivered in the last minutes than is checked when a process starts");
    }
    late.extend(check(core, read(call, rows)).await);
    Ok(None)
}

/// Looks at one page of the deliveries of some time; gives where the next one begins.
pub(super) async fn look(
    core: &Core,
    call: &Call,
    part: &Part,
    span: Span,
    late: &mut Vec<Delivered>,
) -> Result<Option<String>, ProviderError> {
    let query = delivered("", span);
    let (scope, continuation) = (part.scope(), part.continuation.clone());
    let (rows, next) = core.store.query_page::<Row>(call, (&query, &scope), MOST, continuation).await?;
    late.extend(check(core, read(call, rows)).await);
    Ok(next)
}

/// The last minutes.
fn recent(now: u64) -> Span {
    Span { from: now.saturating_sub(RECENT_MS), to: u64::MAX }
}

fn delivered(most: &str, span: Span) -> Query {
    // What was delivered in the last second of a time may have been so after it.
    let (from, to) = (span.from / 1000, (span.to / 1000).saturating_add(1).min(LATEST));
    let query = Query::new(format!(
        "SELECT {most} c.id, c.instanceId, c.v, c.target, c.targetId, c.traced FROM c \
         WHERE c.type = '{}' AND c._ts >= @from AND c._ts <= @to",
        Intent::DELIVERED
    ));
    query.with("@from", from).with("@to", to)
}

fn read(call: &Call, rows: Vec<Row>) -> Vec<Delivered> {
    let rows = rows.into_iter().map(|row| row.parse::<Delivered>(call.operation(), Intent::DELIVERED));
    rows.filter_map(readable).collect()
}

/// Delivers again what is not at its target any more. Gives those of which that cannot be known or done yet: one target that
/// does not answer keeps no other from what it has lost.
pub(super) async fn check(core: &Core, delivered: Vec<Delivered>) -> Vec<Delivered> {
    let call = &core.store.mending_call(core.settings.call_timeout);
    let targets: Vec<_> = delivered.iter().map(|it| (&*it.target, &*it.target_id)).collect();
    let asking = core.store.mending_call(core.settings.call_timeout.min(PATIENCE));
    let Presence { missing, unknown } = match core.store.presence(&asking, Kinds::Delivered, &targets).await {
        Ok(presence) => presence,
        Err(error) => {
            tracing::warn!(%error, "where messages were delivered to cannot be read yet");
            return delivered;
        }
    };
    let (missing, untraced): (Vec<usize>, Vec<usize>) =
        missing.into_iter().partition(|place| delivered[*place].traced && !core.store.losses().is_mixed());
    for Delivered { instance_id, target, target_id, .. } in untraced.iter().map(|place| &delivered[*place]) {
        tracing::warn!(
            source = name_of(instance_id),
            target = name_of(target),
            hub = hub_of(target),
            id = target_id,
            "a message is not at its target, but a process of an earlier version may have taken it without a trace; it is not \
             delivered again"
        );
    }
    let mut late: HashSet<usize> = unknown.into_iter().collect();
    for some in missing.chunks(AT_ONCE) {
        let again = some.iter().map(|place| deliver_again(core, call, &delivered[*place]));
        for (place, result) in some.iter().zip(crate::join::all(again.collect()).await) {
            match result {
                Err(error) if error.is_retryable() => drop(late.insert(*place)),
                Err(error) => {
                    let Delivered { instance_id, target, target_id, .. } = &delivered[*place];
                    tracing::error!(
                        source = name_of(instance_id), target = name_of(target), hub = hub_of(target),
                        id = target_id, %error,
                        "a lost message cannot be delivered again"
                    );
                }
                Ok(()) => {}
            }
        }
    }
    let places = delivered.into_iter().enumerate();
    places.filter(|(place, _)| late.contains(place)).map(|(_, one)| one).collect()
}

async fn deliver_again(core: &Core, call: &Call, lost: &Delivered) -> Result<(), ProviderError> {
    let Delivered { id, instance_id: source, target, target_id, .. } = lost;
    let row = core.store.read_row(call, source, id).await?;
    // Its time may just have come.
    let Some(row) = row.filter(|row| row.kind() == Intent::DELIVERED) else { return Ok(()) };
    let owed = read_owed(core, call, row).await?;
    if hand_over(core, call, &owed).await? {
        // It was known before, so that its arrival is no news.
        core.dispatch.look_again(target, 0);
        let (source, target, hub) = (name_of(source), name_of(target), hub_of(target));
        tracing::error!(source, target, hub, id = target_id, "a lost message is delivered again");
    }
    Ok(())
}
