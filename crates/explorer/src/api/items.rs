//! Items: by page, one at a time, and many to create or delete.

use std::time::Instant;

use cosmonaut::{ContainerClient, Error, Etag, FeedScope, ItemResponse, Query, RawItem, Response};
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Ask;
use super::item_text::{Members, key_in, key_of_json, listed, members, row, simple_member, text_of};
use super::queries::page_facts;
use crate::answer::Refusal;
use crate::door;

/// How many items may be deleted or created at once.
const MOST: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    text: String,
    etag: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    id: String,
    pk: Value,
    etag: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deletion {
    items: Vec<Named>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Import {
    /// One JSON document each.
    items: Vec<String>,
    /// Whether an item that is there is replaced.
    #[serde(default)]
    upsert: bool,
}

impl Ask<'_> {
    /// The paths of the partition key, which the page has learned with the first page.
    pub(super) async fn known_paths(&self, container: &ContainerClient) -> Result<Vec<String>, Refusal> {
        match self.place.get("paths") {
            None => Ok(container.read().await?.into_value().partition_key.paths),
            Some(text) => {
                serde_json::from_str(text).map_err(|_| Refusal::bad("paths: this is not a list of paths"))
            }
        }
    }

    pub(super) async fn items(
        &self,
        database: &str,
        container: &str,
        rest: &[&str],
    ) -> Result<Value, Refusal> {
        let target = Target { ask: self, database, container };
        match (self.method, rest) {
            (&Method::GET, []) => target.page().await,
            (&Method::GET, ["item"]) => target.read().await,
            (&Method::POST, ["item"]) => {
                self.may_change()?;
                target.create().await
            }
            (&Method::PUT, ["item"]) => {
                self.may_change()?;
                target.replace().await
            }
            (&Method::POST, ["delete"]) => {
                self.may_change()?;
                target.delete().await
            }
            (&Method::POST, ["import"]) => {
                self.may_change()?;
                target.import().await
            }
            _ => Err(self.nothing_there()),
        }
    }
}

/// A container, and what is asked of it.
struct Target<'a> {
    ask: &'a Ask<'a>,
    database: &'a str,
    container: &'a str,
}

impl Target<'_> {
    fn client(&self) -> ContainerClient {
        self.ask.container_client(self.database, self.container)
    }

    async fn paths(&self) -> Result<Vec<String>, Refusal> {
        Ok(self.client().read().await?.into_value().partition_key.paths)
    }

    async fn page(&self) -> Result<Value, Refusal> {
        let place = self.ask.place;
        let began = door::now();
        let paths = self.ask.known_paths(&self.client()).await?;
        let scope = match place.get("pk") {
            Some(key) => FeedScope::from(key_of_json(key)?),
            None => FeedScope::Container,
        };
        let most = place.number("max", 100_u32)?.clamp(1, 1000);
        let mut items = self.client().query_items::<RawItem>(self.selection(), scope).max_item_count(most);
        if let Some(next) = place.get("next") {
            items = items.continue_from(next);
        }
        let Some(page) = items.into_pages().next().await.transpose()? else {
            return Ok(json!({ "items": [], "next": null, "paths": paths }));
        };
        let mut answer = page_facts(&page, began);
        let whole = place.get("whole").is_some();
        answer["items"] = page.items.iter().map(|item| listed(item, &paths, whole)).collect();
        answer["paths"] = json!(paths);
        Ok(answer)
    }

    fn selection(&self) -> Query {
        let id = self.ask.place.get("id");
        let filter = self.ask.place.get("filter");
        let mut conditions = Vec::new();
        if id.is_some() {
            conditions.push("c.id = @id".to_owned());
        }
        conditions.extend(filter.map(|filter| format!("({filter}\n)")));
        let condition = if conditions.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", conditions.join(" AND "))
        };
        let query = Query::new(format!("SELECT * FROM c{condition}"));
        id.into_iter().fold(query, |query, id| query.with("@id", id))
    }

    async fn read(&self) -> Result<Value, Refusal> {
        let began = door::now();
        let place = self.ask.place;
        let key = key_of_json(place.need("pk")?)?;
        let read = self.client().read_item::<RawItem>(key, place.need("id")?).await?;
        Ok(item(&read, text_of(read.value())?, began))
    }

    async fn create(&self) -> Result<Value, Refusal> {
        let began = door::now();
        let Written { text, .. } = self.ask.body()?;
        let paths = self.paths().await?;
        let found = document(&text)?;
        let (id, key) = (simple_member(&found, "id"), key_in(&found, &paths));
        let item = RawItem::from(text);
        let made =
            self.client().create_item(key_of_json(&key.to_string())?, &item).content_response(true).await?;
        Ok(named(written(&made, began)?, id, key))
    }

    /// Replaces the item of the address. A condition that does not hold is answered with the item as it is now.
    async fn replace(&self) -> Result<Value, Refusal> {
        let began = door::now();
        let place = self.ask.place;
        let Written { text, etag } = self.ask.body()?;
        let new_id = simple_member(&document(&text)?, "id");
        let (key, id) = (key_of_json(place.need("pk")?)?, place.need("id")?);
        let item = RawItem::from(text);
        let replace = self.client().replace_item(key.clone(), id, &item).content_response(true);
        let replaced = match etag {
            Some(etag) => replace.if_match(Etag::from(&*etag)).await,
            None => replace.await,
        };
        match replaced {
            Ok(replaced) => {
                let key = serde_json::from_str(place.need("pk")?).unwrap_or_default();
                Ok(named(written(&replaced, began)?, new_id, key))
            }
            Err(error) if error.is_precondition_failed() => Err(self.as_it_is(error, key, id).await),
            Err(error) => Err(error.into()),
        }
    }

    async fn as_it_is(&self, error: Error, key: cosmonaut::PartitionKey, id: &str) -> Refusal {
        let refusal = Refusal::from(error);
        match self.client().read_item::<RawItem>(key, id).await {
            Ok(read) => {
                let text = text_of(read.value()).ok().map(str::to_owned);
                refusal
                    .with("current", json!(text))
                    .with("etag", json!(read.etag().map(|etag| etag.as_str().to_owned())))
            }
            Err(_) => refusal,
        }
    }

    /// Deletes the named items one by one, and says of each how it went.
    async fn delete(&self) -> Result<Value, Refusal> {
        let Deletion { items } = self.ask.body()?;
        at_most(items.len())?;
        let (mut failed, mut charge, mut deleted) = (Vec::new(), 0.0, 0);
        for Named { id, pk, etag } in items {
            let delete = self.client().delete_item(key_of_json(&pk.to_string())?, &id);
            let done = match etag {
                Some(etag) => delete.if_match(Etag::from(&*etag)).await,
                None => delete.await,
            };
            match done {
                Ok(done) => {
                    deleted += 1;
                    charge += done.request_charge();
                }
                Err(error) => {
                    charge += error.request_charge();
                    failed.push(json!({ "id": id, "pk": pk, "message": error.to_string() }));
                }
            }
        }
        Ok(json!({ "deleted": deleted, "failed": failed, "charge": charge }))
    }

    /// Writes items one by one, and says of each that was not written why.
    async fn import(&self) -> Result<Value, Refusal> {
        let Import { items, upsert } = self.ask.body()?;
        at_most(items.len())?;
        let (paths, mut failed, mut charge, mut written) = (self.paths().await?, Vec::new(), 0.0, 0);
        for (nth, text) in items.into_iter().enumerate() {
            match self.import_one(text, &paths, upsert).await {
                Ok(cost) => {
                    written += 1;
                    charge += cost;
                }
                Err(refusal) => failed.push(json!({ "nth": nth, "message": refusal.message() })),
            }
        }
        Ok(json!({ "written": written, "failed": failed, "charge": charge }))
    }

    async fn import_one(&self, text: String, paths: &[String], upsert: bool) -> Result<f64, Refusal> {
        let key = key_of_json(&key_in(&document(&text)?, paths).to_string())?;
        let item = RawItem::from(text);
        let written = match upsert {
            true => self.client().upsert_item(key, &item).await?,
            false => self.client().create_item(key, &item).await?,
        };
        Ok(written.request_charge())
    }
}

fn at_most(count: usize) -> Result<(), Refusal> {
    if count <= MOST {
        return Ok(());
    }
    Err(Refusal::bad(format!("{count} items at once are too many (send at most {MOST})")))
}

/// The text as a document, for looking at it only.
fn document(text: &str) -> Result<Members<'_>, Refusal> {
    members(text).map_err(|problem| {
        Refusal::bad(format!("the item cannot be sent: {problem} (it is an object with an \"id\")"))
    })
}

fn written(response: &ItemResponse, began: Instant) -> Result<Value, Refusal> {
    Ok(item(response, text_of(response.value())?, began))
}

/// The answer with the name of what was written.
fn named(mut answer: Value, id: Value, key: Value) -> Value {
    answer["id"] = id;
    answer["pk"] = key;
    answer
}

fn item<T>(response: &Response<T>, text: &str, began: Instant) -> Value {
    let mut answer = row(text);
    // One item alone is given as it is, however long.
    answer["text"] = json!(text);
    answer["etag"] = json!(response.etag().map(|etag| etag.as_str().to_owned()));
    answer["charge"] = json!(response.request_charge());
    answer["region"] = json!(response.region().map(|region| region.as_str().to_owned()));
    answer["ms"] = json!(began.elapsed().as_secs_f64() * 1000.0);
    answer
}
