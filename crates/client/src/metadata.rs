//! What calls on databases and containers have in common: bodies in, descriptions out.
//!
//! Items are in `items`; their bodies are the user's.

use bytes::Bytes;
use cosmonaut_driver::{CosmosOperation, CosmosResponse, OperationType, Precondition};
use cosmonaut_wire::model::{ThroughputProperties, from_json};
use cosmonaut_wire::{Etag, ResourcePath, headers};
use http::HeaderValue;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, ErrorKind, Response, Result};

/// A description as it is sent.
pub(crate) fn json_body<T: Serialize>(value: &T) -> Result<Bytes> {
    let failed = |error: serde_json::Error| {
        Error::caused_by(ErrorKind::Serialization, format!("a description has no JSON form: {error}"), error)
    };
    serde_json::to_vec(value).map(Bytes::from).map_err(failed)
}

/// Makes a resource in a feed.
pub(crate) fn create(feed: ResourcePath, body: Bytes) -> CosmosOperation {
    CosmosOperation::new(OperationType::Create, feed).with_body(body)
}

/// The operation with the throughput of what it makes.
pub(crate) fn with_throughput(
    operation: CosmosOperation,
    throughput: Option<ThroughputProperties>,
) -> CosmosOperation {
    let Some(throughput) = throughput else { return operation };
    let header = |text: String| HeaderValue::try_from(text).expect("numbers in JSON are printable ASCII");
    match (throughput.offer_throughput_header(), throughput.autopilot_settings_header()) {
        (Some(manual), _) => operation.with_header(headers::OFFER_THROUGHPUT, header(manual)),
        (None, Some(autoscale)) => {
            operation.with_header(headers::OFFER_AUTOPILOT_SETTINGS, header(autoscale))
        }
        (None, None) => operation,
    }
}

/// The operation for one version only.
pub(crate) fn if_match(operation: CosmosOperation, etag: Option<&Etag>) -> Result<CosmosOperation> {
    Ok(match etag {
        Some(etag) => operation.with_precondition(Precondition::IfMatch(etag_header(etag)?)),
        None => operation,
    })
}

/// An ETag as it travels.
pub(crate) fn etag_header(etag: &Etag) -> Result<HeaderValue> {
    HeaderValue::try_from(etag.as_str()).map_err(|_| {
        let message =
            format!("ETag {:?} does not fit in a header (pass one that a response gave)", etag.as_str());
        Error::new(ErrorKind::Configuration, message)
    })
}

/// The description that an answer holds.
pub(crate) fn resource<T: DeserializeOwned>(
    what: &'static str,
    response: CosmosResponse,
) -> Result<Response<T>> {
    match from_json(what, response.body()) {
        Ok(value) => Ok(Response::new(value, response)),
        Err(error) => {
            let error = Error::caused_by(ErrorKind::InvalidResponse, error.to_string(), error);
            Err(error.found_in(response))
        }
    }
}
