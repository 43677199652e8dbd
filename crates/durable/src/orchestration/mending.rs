//! Making good what a forced failover has lost.
//!
//! Each partition goes back to an earlier moment, and is whole as of then. So an instance goes on from what is there:
//! its turn is run again with the messages that are there again. What lies in two partitions may not fit together any
//! more. A delivery whose target has lost it is made again here. And what this process has in memory may be wrong: it
//! looks at all that waits.

use std::sync::Weak;
use std::time::Duration;

use cosmonaut::{Etag, FeedScope, Query};
use duroxide::providers::ProviderError;
use serde::Deserialize;
use tokio::sync::watch;

use super::outbox::{Owed, hand_over};
use crate::clock;
use crate::core::Core;
use crate::dispatch::WorkEntry;
use crate::model::{Document, Intent, Row, WorkLock};
use crate::store::Call;

/// How long mending that fails is left alone.
const AGAIN: Duration = Duration::from_secs(5);
/// How many deliveries are under way at once.
const AT_ONCE: usize = 16;

/// Mends whatever is lost from now on.
pub(crate) async fn mend(core: Weak<Core>, mut losses: watch::Receiver<u64>) {
    while losses.changed().await.is_ok() {
        loop {
            let Some(core) = core.upgrade() else { return };
            match mend_all(&core).await {
                Ok(()) => break,
                Err(error) => tracing::warn!(%error, "what a failover has lost cannot be mended yet"),
            }
            drop(core);
            clock::sleep(AGAIN).await;
        }
    }
}

async fn mend_all(core: &Core) -> Result<(), ProviderError> {
    let call = core.store.call("mend", core.settings.call_timeout);
    deliver_again(core, &call).await?;
    look_at_all(core, &call).await
}

/// Makes all deliveries of the last minutes once more. What has arrived is there already.
async fn deliver_again(core: &Core, call: &Call) -> Result<(), ProviderError> {
    let query = Query::new(format!("SELECT * FROM c WHERE c.type = '{}'", Intent::DELIVERED));
    let rows: Vec<Row> = core.store.query(call, &query, &FeedScope::Container).await?;
    let mut delivered = Vec::with_capacity(rows.len());
    for row in rows {
        let intent: Document<Intent> = row.read(call.operation())?;
        let Intent { body, chunks, .. } = intent.content.clone();
        let place = (&*intent.instance_id, &*intent.id);
        match core.store.whole_text(call, place, body, chunks).await {
            Ok(text) => delivered.push(Owed { intent, text }),
            Err(error) if error.is_retryable() => return Err(error),
            // Its time has just come.
            Err(error) => tracing::debug!(?place, %error, "a delivery is gone"),
        }
    }
    for some in delivered.chunks(AT_ONCE) {
        let results = crate::join::all(some.iter().map(|owed| hand_over(core, call, owed)).collect()).await;
        for (owed, is_new) in some.iter().zip(results) {
            if is_new? {
                let Intent { target, target_id, .. } = &owed.intent.content;
                let source = &*owed.intent.instance_id;
                tracing::error!(source, target, id = target_id, "a lost message is delivered again");
            }
        }
    }
    Ok(())
}

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

/// Tells the dispatchers of all messages and work, whatever they believe to know.
async fn look_at_all(core: &Core, call: &Call) -> Result<(), ProviderError> {
    let query = Query::new(
        "SELECT c.type, c.instanceId, c.id, c.visibleAt, c.lock, c.session, c.tag, c._etag FROM c \
         WHERE c.type IN ('message', 'work')",
    );
    let waiting: Vec<Waiting> = core.store.query(call, &query, &FeedScope::Container).await?;
    for Waiting { kind, instance_id, id, visible_at, lock, session, tag, etag } in waiting {
        let visible_at_ms = visible_at.unwrap_or(0);
        if kind == "message" {
            core.dispatch.look_at(&instance_id, visible_at_ms);
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
    Ok(())
}
