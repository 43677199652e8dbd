//! What happens in a container: its change feed, page by page, and the conflicts that were kept.

use cosmonaut::{ChangeFeedStart, Conflict, FeedScope, RawItem};
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Ask;
use super::item_text::{key_in, key_of_json, listed, members};
use super::queries::page_facts;
use crate::answer::Refusal;
use crate::door;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gone {
    id: String,
    pk: Value,
}

impl Ask<'_> {
    /// The next changes. `next` of the answer is always there: what comes later follows it.
    pub(super) async fn changes(&self, database: &str, container: &str) -> Result<Value, Refusal> {
        let place = self.place;
        let began = door::now();
        let container = self.container_client(database, container);
        let start = match place.get("start") {
            None | Some("beginning") => ChangeFeedStart::Beginning,
            Some("now") => ChangeFeedStart::Now,
            Some(other) => {
                let message =
                    format!("start: {other:?} is no start of a change feed (try \"now\" or \"beginning\")");
                return Err(Refusal::bad(message));
            }
        };
        let scope = match place.get("pk") {
            Some(key) => FeedScope::from(key_of_json(key)?),
            None => FeedScope::Container,
        };
        let paths = self.known_paths(&container).await?;
        let most = place.number("max", 100_u32)?.clamp(1, 1000);
        let mut changes = container.change_feed::<RawItem>(start, scope).max_item_count(most);
        if let Some(next) = place.get("next") {
            changes = changes.continue_from(next);
        }
        let Some(page) = changes.into_pages().next().await.transpose()? else {
            return Ok(json!({ "items": [], "next": place.get("next"), "paths": paths }));
        };
        let mut answer = page_facts(&page, began);
        answer["items"] = page.items.iter().map(|item| listed(item, &paths, false)).collect();
        answer["paths"] = json!(paths);
        Ok(answer)
    }

    pub(super) async fn conflicts(
        &self,
        database: &str,
        container: &str,
        rest: &[&str],
    ) -> Result<Value, Refusal> {
        let container = self.container_client(database, container);
        match (self.method, rest) {
            (&Method::GET, []) => {
                let paths = container.read().await?.into_value().partition_key.paths;
                let found = container.list_conflicts().collect().await?;
                let rows: Vec<_> = found.iter().map(|conflict| row(conflict, &paths)).collect();
                Ok(json!({ "conflicts": rows, "paths": paths }))
            }
            (&Method::POST, ["delete"]) => {
                self.may_change()?;
                let Gone { id, pk } = self.body()?;
                let gone = container.delete_conflict(key_of_json(&pk.to_string())?, &id).await?;
                Ok(json!({ "charge": gone.request_charge() }))
            }
            _ => Err(self.nothing_there()),
        }
    }
}

fn row(conflict: &Conflict, paths: &[String]) -> Value {
    let item = conflict.item::<RawItem>().ok().flatten();
    let text = item.as_ref().map(|item| String::from_utf8_lossy(item.as_bytes()));
    let found = text.as_deref().and_then(|text| members(text).ok());
    json!({
        "id": conflict.id(),
        "operation": conflict.operation(),
        "at": conflict.timestamp() * 1000,
        "text": text,
        // A deletion says nothing of the item: the service looks for the conflict in every partition then.
        "pk": found.map(|found| key_in(&found, paths)),
    })
}
