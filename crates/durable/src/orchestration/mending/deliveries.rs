//! What was delivered in the last minutes and is not at its target any more: it is delivered again.

use cosmonaut::Query;
use duroxide::providers::ProviderError;
use serde::Deserialize;

use super::checklist::Part;
use super::{PAGE, readable};
use crate::core::Core;
use crate::model::{Document, Intent, Row};
use crate::orchestration::outbox::{Owed, hand_over};
use crate::store::Call;

/// How many deliveries are under way at once.
const AT_ONCE: usize = 16;

/// A delivery that was made, without what it was.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delivered {
    id: String,
    instance_id: String,
    target: String,
    target_id: String,
}

/// Looks at one page of deliveries; gives where the next one begins. What has arrived is there, waiting or as a trace.
pub(super) async fn look(core: &Core, call: &Call, part: &Part) -> Result<Option<String>, ProviderError> {
    let query = Query::new(format!(
        "SELECT c.id, c.instanceId, c.v, c.target, c.targetId FROM c WHERE c.type = '{}'",
        Intent::DELIVERED
    ));
    let (scope, continuation) = (part.scope(), part.continuation.clone());
    let (rows, next) = core.store.query_page::<Row>(call, (&query, &scope), PAGE, continuation).await?;
    let rows = rows.into_iter().map(|row| row.parse::<Delivered>(call.operation(), Intent::DELIVERED));
    let delivered: Vec<Delivered> = rows.filter_map(readable).collect();
    let targets: Vec<_> = delivered.iter().map(|it| (&*it.target, &*it.target_id)).collect();
    let missing = core.store.missing(call, &targets).await?;
    for some in missing.chunks(AT_ONCE) {
        let again = some.iter().map(|place| deliver_again(core, call, &delivered[*place]));
        for (place, result) in some.iter().zip(crate::join::all(again.collect()).await) {
            match result {
                Err(error) if error.is_retryable() => return Err(error),
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
    Ok(next)
}

async fn deliver_again(core: &Core, call: &Call, lost: &Delivered) -> Result<(), ProviderError> {
    let Delivered { id, instance_id: source, target, target_id } = lost;
    let row = core.store.read_row(call, source, id).await?;
    // Its time may just have come.
    let Some(row) = row.filter(|row| row.kind() == Intent::DELIVERED) else { return Ok(()) };
    let intent: Document<Intent> = row.read(call.operation())?;
    let Intent { body, chunks, .. } = intent.content.clone();
    let text = core.store.whole_text(call, (source, id), body, chunks).await?;
    if hand_over(core, call, &Owed { intent, text }).await? {
        tracing::error!(source, target, id = target_id, "a lost message is delivered again");
        // It was known before, so that its arrival is no news.
        core.dispatch.look_again(target, 0);
    }
    Ok(())
}
