//! Children that instances have started and that are not there yet: the message that starts them is owed, or waits for them.
//!
//! They are found by what their parents have sent in the last day, page by page. Queries say what of a page still waits for
//! somebody who is not there, and only that is read. A start that waits for longer than a day is not found.
//!
//! They are erased after their parents. A failover may have freed a parent whose deletion was decided: then it goes on, and
//! its children start.

use std::collections::HashSet;

use cosmonaut::{FeedScope, Query};
use duroxide::providers::{DeleteInstanceResult, ProviderError, WorkItem};
use serde::Deserialize;

use super::Admin;
use super::children::NAMES;
use super::deletion::OPERATION;
use super::deletion_record::Record;
use super::instances::EXISTING;
use crate::hub::{hub_of, name_of, plain_kind};
use crate::join;
use crate::model::{HEAD, Head, Intent, Kind, Message, Row};
use crate::store::{Call, Kinds, TextFailure};

/// How many messages of an instance are looked at at once.
const PAGE: usize = 1000;
/// How many messages are read at once.
const AT_ONCE: usize = 16;

/// An instance whose messages are looked at.
pub(super) struct Sender {
    instance: String,
    /// Where the next page begins.
    continuation: Option<String>,
}

impl Sender {
    pub(super) fn new(instance: &str) -> Self {
        Self { instance: instance.to_owned(), continuation: None }
    }
}

/// An instance that is not there, and that another one has sent something to.
pub(super) struct Unborn {
    pub(super) child: String,
    pub(super) parent: String,
    /// Why it is not known whether the child is about to start; it is, if there is nothing here.
    pub(super) unread: Option<ProviderError>,
}

/// What an instance owes to another one, or has delivered to it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    id: String,
    #[serde(rename = "instanceId")]
    parent: String,
    #[serde(rename = "type")]
    kind: String,
    target: String,
    target_id: String,
}

/// Whether a message starts a child.
enum Start {
    Yes,
    No,
    /// Somebody else may read it, and start a child by it.
    Unread(ProviderError),
}

impl Admin<'_> {
    /// The children of some instances that are about to start, by one page of what each has sent. Those that are `known` are
    /// left out. Gives also those who have sent more.
    pub(super) async fn unborn_children(
        &self,
        senders: &[Sender],
        known: &HashSet<String>,
    ) -> Result<(Vec<Unborn>, Vec<Sender>), ProviderError> {
        let (mut sent, mut further) = (Vec::new(), Vec::new());
        let pages = senders.iter().map(|sender| self.sent_page(sender));
        for (sender, page) in senders.iter().zip(join::all(pages.collect()).await) {
            let (some, next) = page?;
            sent.extend(some.into_iter().filter(|sent| !known.contains(&sent.target)));
            let instance = sender.instance.clone();
            further.extend(next.map(|next| Sender { instance, continuation: Some(next) }));
        }
        let mut unborn = Vec::new();
        for some in sent.chunks(PAGE) {
            unborn.extend(self.unborn_among(some).await?);
        }
        Ok((unborn, further))
    }

    /// Erases an instance that a deletion has locked before it came to be. If the one that has started it was to go too, and
    /// is there all the same, it is freed instead. All others are erased by now.
    pub(super) async fn erase_unborn(
        &self,
        child: &str,
        record: &Record,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let Some(parent) = self.parent_that_stays(child, record).await? else {
            return self.erase(OPERATION, child, &record.token).await;
        };
        tracing::error!(
            instance = name_of(&parent),
            child = name_of(child),
            hub = hub_of(&parent),
            "a failover has freed an instance whose deletion was decided; it stays, and so does the start of its child"
        );
        self.unlock(child, &record.token).await?;
        Ok(DeleteInstanceResult::default())
    }

    /// An instance that a deletion was to erase and has not, and that waits for this child.
    async fn parent_that_stays(&self, child: &str, record: &Record) -> Result<Option<String>, ProviderError> {
        let call = &self.call(OPERATION);
        let query = Query::new("SELECT * FROM c WHERE c.type = 'message'");
        for row in self.within::<Row>(call, child, query).await? {
            // What cannot be read, or is damaged, is not known to be a start.
            let Ok(message) = row.read::<Message>(call.operation()) else { continue };
            let Message { body, chunks, .. } = message.content;
            let text = match self.core.store.read_text(call, (child, &message.id), body, chunks).await {
                Ok(text) => text,
                Err(TextFailure::Lost(_) | TextFailure::Sealed(_)) => continue,
                Err(TextFailure::Unanswered(error)) => return Err(error),
            };
            let Some(parent) = parent_by(&text).map(|parent| self.core.hub().key(&parent).into_owned())
            else {
                continue;
            };
            if record.instances.contains(&parent)
                && self.core.store.read::<Head>(call, &parent, HEAD).await?.is_some()
            {
                return Ok(Some(parent));
            }
        }
        Ok(None)
    }

    /// A page of what an instance has sent, and where the next one begins.
    async fn sent_page(&self, sender: &Sender) -> Result<(Vec<Sent>, Option<String>), ProviderError> {
        let call = self.call(OPERATION);
        // Whatever the version of such a document, the message that it is about says whether it is a start.
        let query = Query::new(
            "SELECT c.id, c.instanceId, c.type, c.target, c.targetId FROM c \
             WHERE c.type IN ('intent', 'delivered') AND c.what = 'message'",
        );
        let (scope, continuation) = (FeedScope::from(&*sender.instance), sender.continuation.clone());
        let page = self.core.store.query_page::<Row>(&call, (&query, &scope), PAGE as u32, continuation);
        let (rows, next) = page.await?;
        // What says of no target reaches none.
        let sent = rows.into_iter().filter_map(|row| row.parse::<Sent>(call.operation(), "a delivery").ok());
        Ok((sent.collect(), next))
    }

    /// Those who are not there and are about to start, or may be, by what was sent to them.
    async fn unborn_among(&self, sent: &[Sent]) -> Result<Vec<Unborn>, ProviderError> {
        let call = &self.call(OPERATION);
        let waiting = self.untaken(call, sent).await?;
        // One that is there is found by its head. If another instance has started it, this start means nothing.
        let there = self.existing(call, &waiting).await?;
        let unborn: Vec<&Sent> = waiting.into_iter().filter(|sent| !there.contains(&sent.target)).collect();
        let mut found = Vec::new();
        for some in unborn.chunks(AT_ONCE) {
            let starts = some.iter().map(|sent| self.is_waiting_start(call, sent));
            for (Sent { target, parent, .. }, start) in some.iter().zip(join::all(starts.collect()).await) {
                let unread = match start? {
                    Start::Yes => None,
                    Start::No => continue,
                    Start::Unread(error) => Some(error),
                };
                found.push(Unborn { child: target.clone(), parent: parent.clone(), unread });
            }
        }
        Ok(found)
    }

    /// What is owed, or waits at its target.
    async fn untaken<'a>(&self, call: &Call, sent: &'a [Sent]) -> Result<Vec<&'a Sent>, ProviderError> {
        let (owed, delivered): (Vec<_>, Vec<_>) =
            sent.iter().partition(|sent| plain_kind(&sent.kind) == Intent::KIND);
        let wanted: Vec<_> = delivered.iter().map(|sent| (&*sent.target, &*sent.target_id)).collect();
        let presence = self.core.store.presence(call, Kinds::Messages, &wanted).await?;
        if !presence.unknown.is_empty() {
            let message = "a part of the container does not say what waits there (try again)";
            return Err(ProviderError::retryable(OPERATION, message));
        }
        let gone: HashSet<usize> = presence.missing.into_iter().collect();
        let delivered = delivered.into_iter().enumerate().filter(|(place, _)| !gone.contains(place));
        Ok(owed.into_iter().chain(delivered.map(|(_, sent)| sent)).collect())
    }

    /// Those of the targets that are there.
    async fn existing(&self, call: &Call, sent: &[&Sent]) -> Result<HashSet<String>, ProviderError> {
        let targets: HashSet<&str> = sent.iter().map(|sent| &*sent.target).collect();
        let mut existing = HashSet::new();
        for some in targets.into_iter().collect::<Vec<_>>().chunks(NAMES) {
            let query = Query::new(format!(
                "SELECT VALUE c.instanceId FROM c WHERE {EXISTING} AND ARRAY_CONTAINS(@names, c.instanceId)"
            ))
            .with("@names", some);
            existing.extend(self.everywhere::<String>(call, query).await?);
        }
        Ok(existing)
    }

    /// Whether what was sent starts a child and was not taken yet.
    async fn is_waiting_start(&self, call: &Call, sent: &Sent) -> Result<Start, ProviderError> {
        let (store, parent) = (&self.core.store, &*sent.parent);
        let (place, row) = match store.read_row(call, &sent.target, &sent.target_id).await? {
            Some(row) if row.kind() == Message::KIND => ((&*sent.target, &*sent.target_id), row),
            None if plain_kind(&sent.kind) == Intent::KIND => {
                match store.read_row(call, parent, &sent.id).await? {
                    Some(row) => ((parent, &*sent.id), row),
                    None => return Ok(Start::No),
                }
            }
            Some(_) | None => return Ok(Start::No),
        };
        let is_newer = row.is_newer();
        let text = match row.kind() {
            Message::KIND => {
                row.read::<Message>(call.operation()).map(|it| (it.content.body, it.content.chunks))
            }
            _ => row.read::<Intent>(call.operation()).map(|it| (it.content.body, it.content.chunks)),
        };
        let (body, chunks) = match text {
            Ok(text) => text,
            Err(error) if is_newer => return Ok(Start::Unread(error)),
            // What is damaged starts nothing.
            Err(_) => return Ok(Start::No),
        };
        match store.read_text(call, place, body, chunks).await {
            Ok(text) if is_start_by(self.core.hub().name(parent), &text) => Ok(Start::Yes),
            Ok(_) | Err(TextFailure::Lost(_)) => Ok(Start::No),
            Err(TextFailure::Sealed(error)) => Ok(Start::Unread(error)),
            Err(TextFailure::Unanswered(error)) => Err(error),
        }
    }
}

fn is_start_by(parent: &str, text: &str) -> bool {
    parent_by(text).is_some_and(|by| by == parent)
}

/// Whose child a message starts, if it starts one.
fn parent_by(text: &str) -> Option<String> {
    match serde_json::from_str(text) {
        Ok(WorkItem::StartOrchestration { parent_instance, .. }) => parent_instance,
        Ok(_) | Err(_) => None,
    }
}
