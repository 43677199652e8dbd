//! A frame as the request that says the same.

use cosmonaut_wire::binary::is_binary;
use cosmonaut_wire::rntbd::{Guid, Operation, REQUEST_HEADERS, RequestFrame, Token, Value, request};
use cosmonaut_wire::{
    CosmosStatus, EffectivePartitionKey, EpkRange, PathError, ResourcePath, ResourceType, headers,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, header};

use super::super::Origin;
use super::eligible::{Place, Shape, shape};
use crate::Failure;
use crate::request_log::CameFramed;

/// The request; 400 if tokens are missing or make no sense, 405 if it is none for here.
pub(super) fn translated(frame: &RequestFrame<'_>, origin: Origin<'_>) -> Result<Parts, Failure> {
    let shape = shape(frame.resource, frame.operation)?;
    refuse_hybrid_row(frame)?;
    refuse_versions_feed(frame)?;
    needed(frame, &request::ACCOUNT_NAME)?;
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.uri = path(frame, shape.place)?;
    parts.headers = carried(frame)?;
    add_flags(&mut parts.headers, &shape);
    parts.method = shape.method;
    name_container(&mut parts.headers, frame)?;
    add_conditions(&mut parts.headers, frame)?;
    if frame.operation == Operation::ReadFeed && parts.headers.contains_key(header::IF_NONE_MATCH) {
        // A list goes on by a continuation. What goes on by this wants changes, and not all clients say so.
        let incremental = HeaderValue::from_static("Incremental Feed");
        parts.headers.entry(headers::A_IM).or_insert(incremental);
    }
    add_formats(&mut parts.headers, frame)?;
    if shape.place == Place::Items && !names_key(frame) {
        add_range(&mut parts.headers, frame)?;
    }
    name_activity(&mut parts.headers, frame.activity);
    parts.extensions.insert(CameFramed);
    if let Some(host) = origin.authority.and_then(|host| HeaderValue::from_str(host).ok()) {
        parts.headers.insert(header::HOST, host);
    }
    Ok(parts)
}

/// So that the answer has it.
pub(super) fn name_activity(headers: &mut HeaderMap, activity: Guid) {
    if let Ok(id) = HeaderValue::try_from(activity.to_string()) {
        headers.insert(headers::ACTIVITY_ID, id);
    }
}

/// All that one token says for one header.
fn carried(frame: &RequestFrame<'_>) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::with_capacity(24);
    for (token, value) in frame.tokens() {
        let Some(carried) = REQUEST_HEADERS.iter().find(|carried| carried.token.id == token.id) else {
            continue;
        };
        let mut value = carried.header_value(value).ok_or_else(|| senseless(token))?;
        value.set_sensitive(carried.header == header::AUTHORIZATION);
        headers.insert(&carried.header, value);
    }
    Ok(headers)
}

/// Which container of the name is meant, so that a client hears of one that was made anew.
fn name_container(headers: &mut HeaderMap, frame: &RequestFrame<'_>) -> Result<(), Failure> {
    match frame.tokens().find(&request::COLLECTION_RID).and_then(Value::text) {
        Some(rid) if !headers.contains_key(headers::INTENDED_COLLECTION_RID) => {
            insert_text(headers, headers::INTENDED_COLLECTION_RID, &request::COLLECTION_RID, rid)
        }
        Some(_) | None => Ok(()),
    }
}

fn add_flags(headers: &mut HeaderMap, shape: &Shape) {
    for flag in shape.flags {
        headers.insert(flag, HeaderValue::from_static("True"));
    }
}

fn path(frame: &RequestFrame<'_>, place: Place) -> Result<Uri, Failure> {
    let invalid = |error: PathError| Failure::bad_request(format!("Request url is invalid. {error}"));
    let (database, name) = (text(frame, &request::DATABASE_NAME)?, text(frame, &request::COLLECTION_NAME)?);
    let container = ResourcePath::database(database)
        .and_then(|database| database.child(ResourceType::Container, name))
        .map_err(invalid)?;
    let path = match place {
        Place::Items => container.feed(ResourceType::Document),
        Place::Item => container.child(ResourceType::Document, text(frame, &request::DOCUMENT_NAME)?),
        Place::Procedure => {
            let name = text(frame, &request::STORED_PROCEDURE_NAME)?;
            container.child(ResourceType::StoredProcedure, name)
        }
    };
    let path = path.map_err(invalid)?;
    path.as_str().parse().map_err(|error| Failure::bad_request(format!("Request url is invalid. {error}")))
}

/// What must hold of the resource: one token, of which the operation says what it means.
fn add_conditions(headers: &mut HeaderMap, frame: &RequestFrame<'_>) -> Result<(), Failure> {
    if let Some(found) = frame.tokens().find(&request::MATCH) {
        let name = match frame.operation {
            Operation::Read | Operation::ReadFeed => header::IF_NONE_MATCH,
            _ => header::IF_MATCH,
        };
        insert_text(headers, name, &request::MATCH, found.text().unwrap_or_default())?;
    }
    if frame.tokens().find(&request::RETURN_PREFERENCE) == Some(Value::Unsigned(1)) {
        const PREFER: HeaderName = HeaderName::from_static("prefer");
        headers.insert(PREFER, HeaderValue::from_static("return=minimal"));
    }
    Ok(())
}

/// The forms of JSON that the client takes: one token for the forms, and one for what they may have in them.
fn add_formats(headers: &mut HeaderMap, frame: &RequestFrame<'_>) -> Result<(), Failure> {
    let bits = |token| frame.tokens().find(token).and_then(Value::unsigned);
    let Some(formats) = bits(&request::SUPPORTED_FORMATS) else { return Ok(()) };
    let features = bits(&request::SUPPORTED_FORMAT_FEATURES).unwrap_or_default();
    let mut binary = "CosmosBinary".to_owned();
    for (bit, feature) in [(1, "+Base64Strings"), (2, "+NumberArrays"), (4, "+UInt64")] {
        if features & bit != 0 {
            binary.push_str(feature);
        }
    }
    let named = [(1, "JsonText"), (2, binary.as_str()), (4, "HybridRow")];
    let list: Vec<_> = named.iter().filter(|(bit, _)| formats & bit != 0).map(|(_, name)| *name).collect();
    let name = headers::SUPPORTED_SERIALIZATION_FORMATS;
    insert_text(headers, name, &request::SUPPORTED_FORMATS, &list.join(","))
}

fn names_key(frame: &RequestFrame<'_>) -> bool {
    frame.tokens().find(&request::PARTITION_KEY).is_some()
}

/// Which part of a container is meant: by what filters items if there is that, else by what routes. If a partition is
/// named too, only what it has of that part is.
fn add_range(headers: &mut HeaderMap, frame: &RequestFrame<'_>) -> Result<(), Failure> {
    let bytes = |token| frame.tokens().find(token).and_then(Value::bytes);
    let filter = [bytes(&request::START_EPK), bytes(&request::END_EPK)];
    let route = [bytes(&request::START_EPK_HASH), bytes(&request::END_EPK_HASH)];
    let (min, max) = if filter.iter().any(Option::is_some) {
        // Written as text. A bound that is left out is that of the ring.
        let text = |bytes: Option<&[u8]>, ring: &str| match bytes {
            Some(bytes) => String::from_utf8(bytes.to_vec()).map_err(|_| senseless(&request::START_EPK)),
            None => Ok(ring.to_owned()),
        };
        (text(filter[0], "")?, text(filter[1], "FF")?)
    } else if route.iter().any(Option::is_some) {
        let key = |bytes: Option<&[u8]>, ring| bytes.map_or(ring, EffectivePartitionKey::from_bytes);
        let min = key(route[0], EffectivePartitionKey::MIN);
        let max = key(route[1].filter(|end| !end.is_empty()), EffectivePartitionKey::MAX);
        (min.to_string(), max.to_string())
    } else if let Some(prefix) = bytes(&request::EFFECTIVE_PARTITION_KEY) {
        let range = EpkRange::of_prefix(&EffectivePartitionKey::from_bytes(prefix));
        (range.min.to_string(), range.max.to_string())
    } else {
        return Ok(());
    };
    insert_text(headers, headers::START_EPK, &request::START_EPK, &min)?;
    insert_text(headers, headers::END_EPK, &request::END_EPK, &max)
}

/// Batches of .NET are HybridRow, which nothing here reads.
fn refuse_hybrid_row(frame: &RequestFrame<'_>) -> Result<(), Failure> {
    match frame.payload {
        Some(payload @ [0x81, ..]) if !is_binary(payload) => Err(Failure::bad_request(
            "the payload is HybridRow, which is not read here (send JSON, or switch Gateway 2.0 off in the client)",
        )),
        _ => Ok(()),
    }
}

/// No client asks Gateway 2.0 for all versions and deletes.
fn refuse_versions_feed(frame: &RequestFrame<'_>) -> Result<(), Failure> {
    match frame.tokens().find(&request::A_IM).and_then(Value::text) {
        Some(kind) if !kind.trim().eq_ignore_ascii_case("Incremental Feed") => Err(Failure::new(
            CosmosStatus::METHOD_NOT_ALLOWED,
            format!("{kind:?} is not done by Gateway 2.0: send it to the region's other endpoint"),
        )),
        _ => Ok(()),
    }
}

fn insert_text(headers: &mut HeaderMap, name: HeaderName, token: &Token, text: &str) -> Result<(), Failure> {
    headers.insert(name, HeaderValue::from_str(text).map_err(|_| senseless(token))?);
    Ok(())
}

fn text<'f>(frame: &RequestFrame<'f>, token: &Token) -> Result<&'f str, Failure> {
    needed(frame, token).map(|value| value.text().unwrap_or_default())
}

fn needed<'f>(frame: &RequestFrame<'f>, token: &Token) -> Result<Value<'f>, Failure> {
    frame.tokens().find(token).ok_or_else(|| {
        let message = format!("The required token {} is not in the request.", token.name);
        Failure::new(CosmosStatus::REQUIRED_TOKEN_MISSING, message)
    })
}

fn senseless(token: &Token) -> Failure {
    let message = format!("The value of the token {} is not valid.", token.name);
    Failure::new(CosmosStatus::INVALID_TOKEN, message)
}
