//! What the messages of a turn say, which of them it gets, and dropping those that nobody is there for.

use duroxide::providers::{ProviderError, WorkItem};

use super::fitting::{Fit, Past, fit};
use crate::core::Core;
use crate::hub::{hub_of, name_of};
use crate::model::{Document, Message, Write, chunk_id, digest};
use crate::store::{Call, TextFailure};

/// How many messages a turn gets at most; the others come with the next.
const MAX_MESSAGES: usize = 5_000;

/// A message that is to be taken from the queue, and the trace that it will leave.
pub(super) type Taken<'a> = (&'a Document<Message>, Option<String>);

/// What messages say.
#[derive(Default)]
pub(super) struct Readings<'a> {
    pub(super) items: Vec<WorkItem>,
    /// The messages that the turn is about.
    pub(super) messages: Vec<Taken<'a>>,
    /// Messages that are for no turn any more.
    pub(super) stale: Vec<Taken<'a>>,
    /// Whether there are messages that are for a later turn.
    pub(super) has_more: bool,
    /// Why the turn cannot be run: a part of a message is lost.
    pub(super) error: Option<String>,
}

/// Reads what is for the next turn. `past` is what the instance has done, if that is known.
pub(super) async fn read_messages<'a>(
    core: &Core,
    call: &Call,
    ready: &[&'a Document<Message>],
    past: Option<Past<'_>>,
) -> Result<Readings<'a>, ProviderError> {
    let mut readings = Readings::default();
    for message in ready {
        if readings.messages.len() == MAX_MESSAGES {
            readings.has_more = true;
            break;
        }
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
                readings.error = Some(error.message);
                readings.messages.push((*message, None));
                continue;
            }
        };
        match serde_json::from_str(&text) {
            Ok(item) => {
                let is_delivered = Message::is_delivered(&message.id);
                let digest = is_delivered.then(|| core.store.seal(call, digest(&text))).transpose()?;
                match past.filter(|_| is_delivered).map_or(Fit::Fits, |past| fit(&item, past)) {
                    Fit::Fits => {
                        readings.items.push(item);
                        readings.messages.push((*message, digest));
                    }
                    Fit::NotYet => readings.has_more = true,
                    Fit::NoMore => {
                        let (instance, hub, id) = (name_of(place.0), hub_of(place.0), place.1);
                        tracing::warn!(
                            instance,
                            hub,
                            id,
                            "a message about a turn that was lost, or run before, is dropped"
                        );
                        readings.stale.push((*message, digest));
                    }
                }
            }
            // A newer process may understand it. It stays, and must not keep the others from being processed.
            Err(error) => {
                let (instance, hub, id) = (name_of(place.0), hub_of(place.0), place.1);
                tracing::error!(instance, hub, id, %error, "a message is unreadable and is left alone");
            }
        }
    }
    Ok(readings)
}

/// Drops messages outside of a turn.
pub(super) async fn drop_messages(
    core: &Core,
    call: &Call,
    instance: &str,
    messages: &[Taken<'_>],
) -> Result<(), ProviderError> {
    if messages.is_empty() {
        return Ok(());
    }
    let writes = messages.iter().flat_map(|(message, digest)| {
        let pieces = (0..message.content.chunks).map(|n| Write::delete(chunk_id(&message.id, n)));
        // The message last: as long as it is there, somebody drops what is left of it.
        pieces.chain([Write::taken(instance, &message.id, digest.clone())])
    });
    let dropped = core.store.apply_to_rest(call, instance, writes.collect()).await;
    dropped.map_err(|failure| failure.into_error(call))
}
