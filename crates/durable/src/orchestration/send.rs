//! Messages from clients to instances.

use std::time::Duration;

use duroxide::providers::{ProviderError, WorkItem};

use crate::clock;
use crate::core::Core;
use crate::model::{AT_ONCE, Document, Message, Pieces, target_instance};
use crate::store::Cause;

/// Puts a message into the queue of its instance, which need not exist.
pub(crate) async fn send(core: &Core, item: &WorkItem, delay: Option<Duration>) -> Result<(), ProviderError> {
    let operation = "enqueue_for_orchestrator";
    if matches!(item, WorkItem::ActivityExecute { .. }) {
        let message = "an activity is work for a worker, and no message to an orchestration";
        return Err(ProviderError::permanent(operation, message));
    }
    let call = core.store.call(operation, core.settings.call_timeout);
    let instance = &*core.hub().key(target_instance(item));
    let sent_at = core.store.settled_ms(&call).await?;
    let visible_at = delay.map_or(AT_ONCE, |delay| sent_at.saturating_add(clock::millis(delay)));
    let text = core.store.seal(&call, to_text(operation, item)?)?;
    let (body, pieces) = Pieces::of(text).split();
    let chunks = pieces.len() as u32;
    let content = Message { visible_at, sent_at, body, chunks };
    loop {
        // Repeated requests have the same id, so that they cannot deliver twice.
        let id = Message::client_id(&clock::unique_id());
        let kept = core.store.write_chunks(&call, (instance, &id), pieces.clone()).await?;
        let message = Document::new(instance, &*id, content.clone());
        match core.store.create_with(&call, &message, &kept).await {
            Ok(_) => {}
            Err(failure) if failure.cause() == Cause::Conflict => {
                // What is there is either what an earlier attempt wrote, or another message.
                if !failure.maybe_applied() {
                    continue;
                }
            }
            Err(failure) => return Err(failure.into_error(&call)),
        }
        core.dispatch.message_at(instance, &id, visible_at);
        return Ok(());
    }
}

/// An item as JSON.
pub(crate) fn to_text(operation: &str, item: &impl serde::Serialize) -> Result<String, ProviderError> {
    serde_json::to_string(item)
        .map_err(|error| ProviderError::permanent(operation, format!("the item has no JSON form: {error}")))
}
