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
use cosmonaut_wire::{
    CosmosStatus, PartitionKey, PartitionKeyRangeId, PartitionKeyValue, ResourceType, headers,
};
use http::HeaderValue;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Wanted;
use super::plan::Lookup;
use crate::container::ContainerHandle;
use crate::metadata::json_body;
use crate::{Error, ErrorKind, Result};

/// What came of a request.
pub(super) enum Found {
    /// Items, by their places in what is wanted, and what was tried.
    Items { items: Vec<(usize, Bytes)>, diagnostics: Vec<DiagnosticsContext> },
    /// The partition is no more: these are to be looked for where its items went.
    Split { slots: Vec<usize>, error: Error },
}

pub(super) async fn look_up(
    handle: &ContainerHandle,
    wanted: &[Wanted],
    lookup: Lookup,
    definition: &PartitionKeyDefinition,
    options: &OperationOptions,
) -> Result<Found> {
    match lookup {
        Lookup::Read(slot) => read(handle, wanted, slot, options).await,
        Lookup::Query(range, slots) => {
            let query = Query { handle, wanted, slots: &slots, definition };
            match query.run(range, options).await {
                Err(error) if error.status().is_some_and(CosmosStatus::is_partition_map_stale) => {
                    Ok(Found::Split { slots, error })
                }
                result => result,
            }
        }
    }
}

async fn read(
    handle: &ContainerHandle,
    wanted: &[Wanted],
    slot: usize,
    options: &OperationOptions,
) -> Result<Found> {
    let Wanted { key, id } = &wanted[slot];
    let path = handle.path.child(ResourceType::Document, id)?;
    let operation = CosmosOperation::new(OperationType::Read, path).with_target(key.clone());
    match handle.run(&operation, options).await {
        Ok(response) => {
            let diagnostics = vec![response.diagnostics().clone()];
            Ok(Found::Items { items: vec![(slot, response.into_body())], diagnostics })
        }
        // Only the item is missing, not the container.
        Err(error) if error.status() == Some(CosmosStatus::NOT_FOUND) => Ok(Found::Items {
            items: Vec::new(),
            diagnostics: error.diagnostics().cloned().into_iter().collect(),
        }),
        Err(error) => Err(error),
    }
}

/// A query for several items of one partition.
struct Query<'a> {
    handle: &'a ContainerHandle,
    wanted: &'a [Wanted],
    slots: &'a [usize],
    definition: &'a PartitionKeyDefinition,
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

impl Query<'_> {
    async fn run(&self, range: PartitionKeyRangeId, options: &OperationOptions) -> Result<Found> {
        let text = query_text(self.wanted, self.slots, self.definition)?;
        let operation = CosmosOperation::new(OperationType::Query, Arc::clone(&self.handle.items))
            .with_target(PartitionTarget::Range(range))
            .with_header(headers::MAX_ITEM_COUNT, HeaderValue::from_static("-1"))
            .with_body(json_body(&text)?);
        let places: HashMap<(String, &str), usize> =
            self.slots.iter().map(|slot| self.place(*slot)).collect();
        let (mut items, mut diagnostics) = (Vec::new(), Vec::new());
        let mut page = operation.clone();
        loop {
            let response = self.handle.run(&page, options).await?;
            diagnostics.push(response.diagnostics().clone());
            if let Err(error) = take_rows(&response, &places, &mut items) {
                let message = format!("rows of {}: {error}", self.handle.items);
                return Err(Error::caused_by(ErrorKind::InvalidResponse, message, error).found_in(response));
            }
            match response.headers().get(headers::CONTINUATION) {
                Some(next) => page = operation.clone().with_header(headers::CONTINUATION, next.clone()),
                None => return Ok(Found::Items { items, diagnostics }),
            }
        }
    }

    fn place(&self, slot: usize) -> ((String, &str), usize) {
        let Wanted { key, id } = &self.wanted[slot];
        ((key.to_string(), id.as_str()), slot)
    }
}

/// The rows of a page that are wanted. Ids and keys are compared apart by the query, so it may give others too.
fn take_rows(
    response: &CosmosResponse,
    places: &HashMap<(String, &str), usize>,
    items: &mut Vec<(usize, Bytes)>,
) -> Result<(), JsonError> {
    let body = response.body();
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
    Ok(())
}

/// Asks for the items by id and by each component of the key: an index serves both, and however many there are,
/// the text nests no deeper.
fn query_text(wanted: &[Wanted], slots: &[usize], definition: &PartitionKeyDefinition) -> Result<QuerySpec> {
    let paths = definition
        .path_segments()
        .map_err(|error| Error::caused_by(ErrorKind::InvalidResponse, error.to_string(), error))?;
    let members: Vec<String> = paths.iter().map(|path| member(path)).collect();
    let mut text = format!(
        "SELECT VALUE {{\"id\": c.id, \"key\": [{}], \"item\": c}} FROM c WHERE c.id IN (",
        members.join(", ")
    );
    let mut parameters = Vec::new();
    let ids: BTreeSet<&str> = slots.iter().map(|slot| wanted[*slot].id.as_str()).collect();
    push_list(&mut text, &mut parameters, ids.into_iter().map(Value::from));
    for (level, member) in members.iter().enumerate() {
        // By their text, as values have no order of their own.
        let values: BTreeMap<String, Value> = slots
            .iter()
            .filter_map(|slot| wanted[*slot].key.components().get(level).map(to_json))
            .map(|value| (value.to_string(), value))
            .collect();
        // Writing to a string does not fail.
        let _ = write!(text, " AND {member} IN (");
        push_list(&mut text, &mut parameters, values.into_values());
    }
    let mut query = QuerySpec::new(text);
    for (number, value) in parameters.iter().enumerate() {
        query = query.with_parameter(format!("@p{number}"), value).expect("a JSON value has a JSON form");
    }
    Ok(query)
}

/// Appends parameters for the values and closes the list.
fn push_list(text: &mut String, parameters: &mut Vec<Value>, values: impl Iterator<Item = Value>) {
    for (nth, value) in values.enumerate() {
        let comma = if nth == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}@p{}", parameters.len());
        parameters.push(value);
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

    #[test]
    fn ids_and_each_level_of_the_key_are_asked_for_once_each() {
        let definition = PartitionKeyDefinition::from(["/tenant", "/user/\"na me\""]);
        let item = |key: PartitionKey, id: &str| Wanted { key, id: id.to_owned() };
        let wanted = [
            item(("a", 1).into(), "x"),
            item(("a", 2.5).into(), "x"),
            item(("b", PartitionKeyValue::Null).into(), "y\""),
        ];
        let query = query_text(&wanted, &[0, 1, 2], &definition).unwrap();
        assert_eq!(
            query.query,
            "SELECT VALUE {\"id\": c.id, \"key\": [c[\"tenant\"], c[\"user\"][\"na me\"]], \"item\": c} FROM c \
             WHERE c.id IN (@p0, @p1) AND c[\"tenant\"] IN (@p2, @p3) \
             AND c[\"user\"][\"na me\"] IN (@p4, @p5, @p6)"
        );
        let values: Vec<&str> = query.parameters.iter().map(|parameter| parameter.value.get()).collect();
        assert_eq!(values, ["\"x\"", "\"y\\\"\"", "\"a\"", "\"b\"", "1.0", "2.5", "null"]);
    }
}
