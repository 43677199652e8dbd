//! What waits in the slots of this process, told to the dispatchers whatever they believe to know.

use cosmonaut::{Etag, Query};
use duroxide::providers::ProviderError;
use serde::Deserialize;

use super::checklist::Part;
use super::{PAGE, readable};
use crate::core::Core;
use crate::dispatch::WorkEntry;
use crate::hub::plain_kind;
use crate::model::{Kind, Message, Row, WorkLock};
use crate::store::Call;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Waiting {
    #[serde(rename = "type")]
    kind: String,
    instance_id: String,
    id: String,
    visible_at: Option<u64>,
    lock: Option<WorkLock>,
    session: Option<String>,
    tag: Option<String>,
    #[serde(rename = "_etag")]
    etag: String,
}

/// Looks at one page of messages and work; gives where the next one begins.
pub(super) async fn look(core: &Core, call: &Call, part: &Part) -> Result<Option<String>, ProviderError> {
    let query = Query::new(
        "SELECT c.type, c.instanceId, c.id, c.v, c.visibleAt, c.lock, c.session, c.tag, c._etag FROM c \
         WHERE c.type IN ('message', 'work')",
    );
    let (scope, continuation) = (part.scope(), part.continuation.clone());
    let (rows, next) = core.store.query_page::<Row>(call, (&query, &scope), PAGE, continuation).await?;
    let rows = rows.into_iter().map(|row| row.parse::<Waiting>(call.operation(), "something that waits"));
    for Waiting { kind, instance_id, id, visible_at, lock, session, tag, etag } in rows.filter_map(readable) {
        let visible_at_ms = visible_at.unwrap_or(0);
        if plain_kind(&kind) == Message::KIND {
            core.dispatch.look_again(&instance_id, visible_at_ms);
            continue;
        }
        core.dispatch.work(WorkEntry {
            instance: instance_id,
            id,
            etag: Etag::from(etag),
            visible_at_ms,
            locked_until_ms: lock.map(|lock| lock.until),
            session,
            tag,
        });
    }
    Ok(next)
}
