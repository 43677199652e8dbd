//! What was delivered in the last minutes and is not at its target any more: it is delivered again.

use std::collections::HashSet;

use cosmonaut::Query;
use duroxide::providers::ProviderError;
use serde::Deserialize;

use super::checklist::Part;
use super::{PAGE, PATIENCE, readable};
use crate::core::Core;
use crate::model::{Intent, Row};
use crate::orchestration::outbox::{hand_over, read_owed};
use crate::store::{Call, Presence};

/// How many deliveries are under way at once.
const AT_ONCE: usize = 16;

/// A delivery that was made, without what it was.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Delivered {
    id: String,
    instance_id: String,
    target: String,
    target_id: String,
}

/// Looks at one page of deliveries; gives where the next one begins. What has arrived is there, waiting or as a trace. What
/// cannot be known or delivered now is added to `late`.
pub(super) async fn look(
    core: &Core,
    call: &Call,
    part: &Part,
    late: &mut Vec<Delivered>,
) -> Result<Option<String>, ProviderError> {
    let query = Query::new(format!(
        "SELECT c.id, c.instanceId, c.v, c.target, c.targetId FROM c WHERE c.type = '{}'",
        Intent::DELIVERED
    ));
    let (scope, continuation) = (part.scope(), part.continuation.clone());
    let (rows, next) = core.store.query_page::<Row>(call, (&query, &scope), PAGE, continuation).await?;
    let rows = rows.into_iter().map(|row| row.parse::<Delivered>(call.operation(), Intent::DELIVERED));
    late.extend(check(core, rows.filter_map(readable).collect()).await);
    Ok(next)
}

/// Delivers again what is not at its target any more. Gives those of which that cannot be known or done yet: one target that
/// does not answer keeps no other from what it has lost.
pub(super) async fn check(core: &Core, delivered: Vec<Delivered>) -> Vec<Delivered> {
    let call = &core.store.mending_call(core.settings.call_timeout);
    let targets: Vec<_> = delivered.iter().map(|it| (&*it.target, &*it.target_id)).collect();
    let asking = core.store.mending_call(core.settings.call_timeout.min(PATIENCE));
    let Presence { missing, unknown } = match core.store.presence(&asking, &targets).await {
        Ok(presence) => presence,
        Err(error) => {
            tracing::warn!(%error, "where messages were delivered to cannot be read yet");
            return delivered;
        }
    };
    let mut late: HashSet<usize> = unknown.into_iter().collect();
    for some in missing.chunks(AT_ONCE) {
        let again = some.iter().map(|place| deliver_again(core, call, &delivered[*place]));
        for (place, result) in some.iter().zip(crate::join::all(again.collect()).await) {
            match result {
                Err(error) if error.is_retryable() => drop(late.insert(*place)),
                Err(error) => {
                    let Delivered { instance_id, target, target_id, .. } = &delivered[*place];
                    tracing::error!(
                        source = instance_id, target, id = target_id, %error,
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
    let Delivered { id, instance_id: source, target, target_id } = lost;
    let row = core.store.read_row(call, source, id).await?;
    // Its time may just have come.
    let Some(row) = row.filter(|row| row.kind() == Intent::DELIVERED) else { return Ok(()) };
    let owed = read_owed(core, call, row).await?;
    if hand_over(core, call, &owed).await? {
        tracing::error!(source, target, id = target_id, "a lost message is delivered again");
        // It was known before, so that its arrival is no news.
        core.dispatch.look_again(target, 0);
    }
    Ok(())
}
