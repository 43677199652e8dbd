//! One request of `read_many`: a read, or a query that asks one partition for several items.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_driver::{
    CosmosOperation, CosmosResponse, DiagnosticsContext, OperationOptions, OperationType, PartitionTarget,
};
use cosmonaut_wire::model::{FeedEnvelope, JsonError, PartitionKeyDefinition, QuerySpec, from_json};
use cosmonaut_wire::{CosmosStatus, PartitionKey, PartitionKeyValue, ResourceType, headers};
use http::HeaderValue;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Wanted;
use super::plan::Slots;
use crate::container::ContainerHandle;
use crate::feeds::source::check_progress;
use crate::metadata::json_body;
use crate::{Error, ErrorKind, Result};

/// What every request is made with.
pub(super) struct Asking {
    pub(super) handle: Arc<ContainerHandle>,
    pub(super) wanted: Arc<[Wanted]>,
    pub(super) definition: PartitionKeyDefinition,
    pub(super) options: OperationOptions,
}

/// What is asked of a partition: a read, or a query that may have several pages.
#[derive(Clone)]
pub(super) enum Inquiry {
    Read(usize),
    Query { slots: Arc<[usize]>, body: Bytes },
}

impl Inquiry {
    /// The items that it is about.
    pub(super) fn slots(&self) -> &[usize] {
        match self {
            Self::Read(slot) => std::slice::from_ref(slot),
            Self::Query { slots, .. } => slots,
        }
    }
}

/// What a request was answered with.
pub(super) struct Answer {
    /// Items, by their places in what is wanted.
    pub(super) items: Vec<(usize, Bytes)>,
    /// Where the next page begins.
    pub(super) continuation: Option<String>,
    pub(super) tried: Option<DiagnosticsContext>,
}

/// What the query gives for an item: where it belongs, so that it need not be looked for in the item itself.
#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    key: Vec<Value>,
    #[serde(borrow)]
    item: &'a RawValue,
}

impl Asking {
    /// What is asked for these.
    pub(super) fn inquiry(&self, slots: Slots) -> Result<Inquiry> {
        Ok(match slots {
            Slots::Read(slot) => Inquiry::Read(slot),
            Slots::Query(slots) => {
                let body = json_body(&query_text(&self.wanted, &slots, &self.definition)?)?;
                Inquiry::Query { slots: slots.into(), body }
            }
        })
    }

    /// Asks once: for an item, or for the page that begins somewhere.
    pub(super) async fn ask(
        self: Arc<Self>,
        inquiry: Inquiry,
        target: PartitionTarget,
        from: Option<String>,
    ) -> Result<Answer> {
        match inquiry {
            Inquiry::Read(slot) => self.read(slot).await,
            Inquiry::Query { slots, body } => {
                let operation = CosmosOperation::new(OperationType::Query, Arc::clone(&self.handle.items))
                    .with_target(target)
                    .with_header(headers::MAX_ITEM_COUNT, HeaderValue::from_static("-1"))
                    .with_body(body);
                self.page(operation, &slots, from.as_deref()).await
            }
        }
    }

    async fn read(&self, slot: usize) -> Result<Answer> {
        let Wanted { key, id } = &self.wanted[slot];
        let path = self.handle.path.child(ResourceType::Document, id)?;
        let operation = CosmosOperation::new(OperationType::Read, path).with_target(key.clone());
        match self.handle.run(&operation, &self.options).await {
            Ok(response) => {
                let tried = Some(response.diagnostics().clone());
                Ok(Answer { items: vec![(slot, response.into_body())], continuation: None, tried })
            }
            // Only the item is missing, not the container.
            Err(error) if error.status() == Some(CosmosStatus::NOT_FOUND) => {
                Ok(Answer { items: Vec::new(), continuation: None, tried: error.diagnostics().cloned() })
            }
            Err(error) => Err(error),
        }
    }

    async fn page(
        &self,
        mut operation: CosmosOperation,
        slots: &[usize],
        from: Option<&str>,
    ) -> Result<Answer> {
        if let Some(from) = from.and_then(|from| HeaderValue::try_from(from).ok()) {
            operation = operation.with_header(headers::CONTINUATION, from);
        }
        let response = self.handle.run(&operation, &self.options).await?;
        let places = slots.iter().map(|slot| self.place(*slot)).collect();
        let items = match rows(&response, &places) {
            Ok(items) => items,
            Err(error) => {
                let message = format!("rows of {}: {error}", self.handle.items);
                return Err(Error::caused_by(ErrorKind::InvalidResponse, message, error).found_in(response));
            }
        };
        let continuation = response.continuation().map(str::to_owned);
        if let Err(error) = check_progress(items.len(), from, continuation.as_deref()) {
            return Err(error.found_in(response));
        }
        Ok(Answer { items, continuation, tried: Some(response.diagnostics().clone()) })
    }

    fn place(&self, slot: usize) -> ((String, &str), usize) {
        let Wanted { key, id } = &self.wanted[slot];
        ((key.to_string(), id.as_str()), slot)
    }
}

/// The rows of a page, each at the place of the item that it is.
fn rows(
    response: &CosmosResponse,
    places: &HashMap<(String, &str), usize>,
) -> Result<Vec<(usize, Bytes)>, JsonError> {
    let (body, mut items) = (response.body(), Vec::new());
    for row in FeedEnvelope::parse(ResourceType::Document, body)?.items {
        let row: Row<'_> = from_json("row", row.get().as_bytes())?;
        let components: Option<Vec<_>> =
            row.key.iter().map(|value| PartitionKeyValue::from_json(value).ok()).collect();
        let Some(components) = components else { continue };
        let key = PartitionKey::from(components).to_string();
        if let Some(slot) = places.get(&(key, &*row.id)) {
            items.push((*slot, body.slice_ref(row.item.get().as_bytes())));
        }
    }
    Ok(items)
}

/// Asks for exactly the items that are wanted: for each key the ids under it. An index serves both.
fn query_text(wanted: &[Wanted], slots: &[usize], definition: &PartitionKeyDefinition) -> Result<QuerySpec> {
    let paths = definition
        .path_segments()
        .map_err(|error| Error::caused_by(ErrorKind::InvalidResponse, error.to_string(), error))?;
    let members: Vec<String> = paths.iter().map(|path| member(path)).collect();
    let mut text = format!(
        "SELECT VALUE {{\"id\": c.id, \"key\": [{}], \"item\": c}} FROM c WHERE ",
        members.join(", ")
    );
    let mut by_key: BTreeMap<String, (&PartitionKey, BTreeSet<&str>)> = BTreeMap::new();
    for Wanted { key, id } in slots.iter().map(|slot| &wanted[*slot]) {
        by_key.entry(key.to_string()).or_insert_with(|| (key, BTreeSet::new())).1.insert(id);
    }
    let mut parameters = Vec::new();
    // The key is the id: asking for the ids is enough.
    if matches!(&*paths, [path] if path == &["id"]) {
        push_ids(&mut text, &mut parameters, by_key.into_values().flat_map(|(_, ids)| ids));
    } else {
        for (nth, (key, ids)) in by_key.into_values().enumerate() {
            text.push_str(if nth == 0 { "(" } else { " OR (" });
            push_ids(&mut text, &mut parameters, ids);
            for (member, value) in members.iter().zip(key.components()) {
                // Writing to a string does not fail.
                let _ = write!(text, " AND {member} = @p{}", parameters.len());
                parameters.push(to_json(value));
            }
            text.push(')');
        }
    }
    let mut query = QuerySpec::new(text);
    for (number, value) in parameters.iter().enumerate() {
        query = query.with_parameter(format!("@p{number}"), value).expect("a JSON value has a JSON form");
    }
    Ok(query)
}

/// Appends the condition that the id is one of these.
fn push_ids<'a>(text: &mut String, parameters: &mut Vec<Value>, ids: impl IntoIterator<Item = &'a str>) {
    text.push_str("c.id IN (");
    for (nth, id) in ids.into_iter().enumerate() {
        let comma = if nth == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}@p{}", parameters.len());
        parameters.push(Value::from(id));
    }
    text.push(')');
}

/// `c["a"]["b"]` for the path `/a/b`.
fn member(path: &[String]) -> String {
    path.iter().fold("c".to_owned(), |text, name| format!("{text}[{}]", Value::from(name.as_str())))
}

fn to_json(value: &PartitionKeyValue) -> Value {
    match value {
        PartitionKeyValue::Undefined | PartitionKeyValue::Null => Value::Null,
        PartitionKeyValue::Bool(value) => Value::from(*value),
        PartitionKeyValue::Number(value) => Value::from(*value),
        PartitionKeyValue::String(value) => Value::from(&**value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(key: PartitionKey, id: &str) -> Wanted {
        Wanted { key, id: id.to_owned() }
    }

    fn values(query: &QuerySpec) -> Vec<&str> {
        query.parameters.iter().map(|parameter| parameter.value.get()).collect()
    }

    #[test]
    fn each_key_is_asked_for_with_the_ids_that_are_wanted_of_it() {
        let definition = PartitionKeyDefinition::from(["/tenant", "/user/\"na me\""]);
        let wanted = [
            item(("a", 1).into(), "x"),
            item(("b", PartitionKeyValue::Null).into(), "y\""),
            item(("a", 1).into(), "w"),
        ];
        let query = query_text(&wanted, &[0, 1, 2], &definition).unwrap();
        assert_eq!(
            query.query,
            "SELECT VALUE {\"id\": c.id, \"key\": [c[\"tenant\"], c[\"user\"][\"na me\"]], \"item\": c} FROM c \
             WHERE (c.id IN (@p0, @p1) AND c[\"tenant\"] = @p2 AND c[\"user\"][\"na me\"] = @p3) \
             OR (c.id IN (@p4) AND c[\"tenant\"] = @p5 AND c[\"user\"][\"na me\"] = @p6)"
        );
        assert_eq!(values(&query), ["\"w\"", "\"x\"", "\"a\"", "1.0", "\"y\\\"\"", "\"b\"", "null"]);
    }

    #[test]
    fn ids_that_are_keys_are_asked_for_once() {
        let wanted = [item("b".into(), "b"), item("a".into(), "a")];
        let query = query_text(&wanted, &[0, 1], &PartitionKeyDefinition::from("/id")).unwrap();
        assert!(query.query.ends_with(" WHERE c.id IN (@p0, @p1)"), "{}", query.query);
        assert_eq!(values(&query), ["\"a\"", "\"b\""]);
    }
}
