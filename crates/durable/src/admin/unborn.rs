//! Children that instances have started and that are not there yet: the message that starts them is owed, or waits for them.
//!
//! They are found by what their parents have sent in the last day. A start that waits for longer is not found.

use std::collections::HashSet;

use cosmonaut::Query;
use duroxide::providers::{ProviderError, WorkItem};
use serde::Deserialize;

use super::Admin;
use super::children::Child;
use crate::hub::plain_kind;
use crate::join;
use crate::model::{Intent, Kind, Message, Row};
use crate::store::{Call, TextFailure};

/// How many instances, or messages of one, are looked at at once.
const AT_ONCE: usize = 16;

/// What an instance owes to another one, or has delivered to it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    target: String,
    target_id: String,
}

impl Admin<'_> {
    /// The children of instances that are about to start, and are not among the instances.
    pub(super) async fn unborn_children(
        &self,
        call: &Call,
        parents: &HashSet<String>,
    ) -> Result<Vec<Child>, ProviderError> {
        let (mut children, all) = (Vec::new(), parents.iter().collect::<Vec<_>>());
        for some in all.chunks(AT_ONCE) {
            let found = some.iter().map(|parent| self.unborn_children_of(call, parent, parents));
            for found in join::all(found.collect()).await {
                children.extend(found?);
            }
        }
        Ok(children)
    }

    async fn unborn_children_of(
        &self,
        call: &Call,
        parent: &str,
        together: &HashSet<String>,
    ) -> Result<Vec<Child>, ProviderError> {
        let query = Query::new(
            "SELECT c.id, c.type, c.v, c.target, c.targetId FROM c \
             WHERE c.type IN ('intent', 'delivered') AND c.what = 'message'",
        );
        let rows: Vec<Row> = self.within(call, parent, query).await?;
        // What cannot be read is dealt with when it is delivered.
        let sent = rows.into_iter().filter_map(|row| row.parse::<Sent>(call.operation(), "a delivery").ok());
        let sent: Vec<Sent> = sent.filter(|sent| !together.contains(&sent.target)).collect();
        let mut children = Vec::new();
        for some in sent.chunks(AT_ONCE) {
            let starts = some.iter().map(|sent| self.is_waiting_start(call, parent, sent));
            for (sent, is_start) in some.iter().zip(join::all(starts.collect()).await) {
                // One that is there is found by its head. If another instance has started it, this start means nothing.
                if is_start? && self.head(call, &sent.target).await?.is_none() {
                    children.push(Child { child: sent.target.clone(), parent: parent.to_owned() });
                }
            }
        }
        Ok(children)
    }

    /// Whether what was sent starts a child and was not taken yet.
    async fn is_waiting_start(&self, call: &Call, parent: &str, sent: &Sent) -> Result<bool, ProviderError> {
        let store = &self.core.store;
        let (place, row) = match store.read_row(call, &sent.target, &sent.target_id).await? {
            Some(row) if row.kind() == Message::KIND => ((&*sent.target, &*sent.target_id), row),
            None if plain_kind(&sent.kind) == Intent::KIND => {
                match store.read_row(call, parent, &sent.id).await? {
                    Some(row) => ((parent, &*sent.id), row),
                    None => return Ok(false),
                }
            }
            Some(_) | None => return Ok(false),
        };
        let text = match row.kind() {
            Message::KIND => {
                row.read::<Message>(call.operation()).map(|it| (it.content.body, it.content.chunks))
            }
            _ => row.read::<Intent>(call.operation()).map(|it| (it.content.body, it.content.chunks)),
        };
        // What cannot be read starts nothing either.
        let Ok((body, chunks)) = text else { return Ok(false) };
        match store.read_text(call, place, body, chunks).await {
            Ok(text) => Ok(is_start_by(self.core.hub().name(parent), &text)),
            // Somebody else may read it, and start a child by it.
            Err(TextFailure::Unanswered(error) | TextFailure::Sealed(error)) => Err(error),
            Err(TextFailure::Lost(_)) => Ok(false),
        }
    }
}

fn is_start_by(parent: &str, text: &str) -> bool {
    match serde_json::from_str(text) {
        Ok(WorkItem::StartOrchestration { parent_instance: Some(by), .. }) => by == parent,
        Ok(_) | Err(_) => false,
    }
}
