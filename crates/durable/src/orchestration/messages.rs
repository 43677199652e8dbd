//! What the messages of a turn say, and dropping those that nobody is there for.

use duroxide::providers::{ProviderError, WorkItem};

use crate::core::Core;
use crate::hub::{hub_of, name_of};
use crate::model::{Document, Message, Write, chunk_id, digest};
use crate::store::{Call, TextFailure};

/// What messages say.
pub(super) struct Readings<'a> {
    pub(super) items: Vec<WorkItem>,
    /// The messages that the turn is about, each with the trace that it will leave.
    pub(super) messages: Vec<(&'a Document<Message>, Option<String>)>,
    /// Why the turn cannot be run: a part of a message is lost.
    pub(super) error: Option<String>,
}

pub(super) async fn read_messages<'a>(
    core: &Core,
    call: &Call,
    ready: &[&'a Document<Message>],
) -> Result<Readings<'a>, ProviderError> {
    let mut items = Vec::with_capacity(ready.len());
    let (mut messages, mut lost) = (Vec::with_capacity(ready.len()), None);
    for message in ready {
        let Message { body, chunks, .. } = &message.content;
        let place = (&*message.instance_id, &*message.id);
        let text = match core.store.read_text(call, place, body.clone(), *chunks).await {
            Ok(text) => text,
            Err(TextFailure::Unanswered(error) | TextFailure::Sealed(error)) => return Err(error),
            Err(TextFailure::Lost(error)) => {
                let (instance, hub, id) = (name_of(place.0), hub_of(place.0), place.1);
                tracing::error!(
                    instance, hub, id, %error,
                    "a part of a message is lost; its orchestration cannot go on"
                );
                lost = Some(error.message);
                messages.push((*message, None));
                continue;
            }
        };
        match serde_json::from_str(&text) {
            Ok(item) => {
                items.push(item);
                let digest = Message::is_delivered(&message.id).then(|| core.store.seal(call, digest(&text)));
                messages.push((*message, digest.transpose()?));
            }
            // A newer process may understand it. It stays, and must not keep the others from being processed.
            Err(error) => {
                let (instance, hub, id) = (name_of(place.0), hub_of(place.0), place.1);
                tracing::error!(instance, hub, id, %error, "a message is unreadable and is left alone");
            }
        }
    }
    Ok(Readings { items, messages, error: lost })
}

/// Drops messages that nobody is there for.
pub(super) async fn drop_orphans(
    core: &Core,
    call: &Call,
    instance: &str,
    orphans: &[&Document<Message>],
) -> Result<(), ProviderError> {
    tracing::warn!(
        instance = name_of(instance),
        hub = hub_of(instance),
        count = orphans.len(),
        "queue messages to an instance that is not there are dropped"
    );
    let writes = orphans.iter().flat_map(|message| {
        let pieces = (0..message.content.chunks).map(|n| Write::delete(chunk_id(&message.id, n)));
        // The message last: as long as it is there, somebody drops what is left of it.
        pieces.chain([Write::taken(instance, &message.id, None)])
    });
    let dropped = core.store.apply_to_rest(call, instance, writes.collect()).await;
    dropped.map_err(|failure| failure.into_error(call))
}
