//! Items as binary JSON on the wire, and as text everywhere else.
//!
//! Which operations ask for it is decided in policy.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_policy::{
    CosmosEndpoint, CosmosOperation, RequestSentStatus, TransportOutcome, sends_binary_item,
};
use cosmonaut_wire::binary::{BinaryError, Features, from_text, is_binary, to_text};

use crate::driver::DriverCore;
use crate::options::OperationOptions;
use crate::transport::{MAX_RESPONSE, TransportError, TransportErrorKind};

impl DriverCore {
    /// The operation with its body as binary JSON; `None` if it goes as it is. That is also so for a body that is not
    /// JSON: it is the service's to say what is wrong with it.
    pub(crate) fn in_binary(
        &self,
        operation: &CosmosOperation,
        options: &OperationOptions,
    ) -> Option<Box<CosmosOperation>> {
        // The service takes such integers from every client.
        const FEATURES: Features =
            Features { unsigned_integers: true, base64_strings: false, number_arrays: false };
        if !sends_binary_item(operation, &self.options.request(options)) || is_binary(operation.body()) {
            return None;
        }
        let body = from_text(operation.body(), FEATURES).ok()?;
        Some(Box::new(operation.clone().with_body(body)))
    }
}

/// What came of a try, with a body that is text if there is one.
pub(super) fn as_text(outcome: TransportOutcome, endpoint: &CosmosEndpoint) -> TransportOutcome {
    match outcome {
        TransportOutcome::Success { status, headers, body } if is_binary(&body) => {
            match to_text(&body, MAX_RESPONSE) {
                Ok(text) => TransportOutcome::Success { status, headers, body: text.into() },
                Err(error) => unreadable(error, endpoint),
            }
        }
        TransportOutcome::HttpError { status, headers, body } if is_binary(&body) => {
            // What an answer says besides counts, whether its message can be read or not.
            let body = to_text(&body, MAX_RESPONSE).map_or(body, Bytes::from);
            TransportOutcome::HttpError { status, headers, body }
        }
        outcome => outcome,
    }
}

/// An answer that no repeat would make readable.
fn unreadable(error: BinaryError, endpoint: &CosmosEndpoint) -> TransportOutcome {
    let kind = if error.is_too_long() { TransportErrorKind::TooLarge } else { TransportErrorKind::Protocol };
    let request_sent = RequestSentStatus::Sent;
    let error = TransportError::new(kind, request_sent, endpoint.to_string()).caused_by(error);
    TransportOutcome::LocalFailure { error: Arc::new(error), request_sent }
}
