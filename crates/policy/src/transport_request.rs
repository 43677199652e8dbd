//! What is sent for one attempt: method, address and headers.
//!
//! It borrows everything and copies nothing: headers are written straight into the map that is sent. Date,
//! signature, version and user agent are not here; the driver adds them to each try.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use cosmonaut_options::RequestOptionsView;
use cosmonaut_wire::{PriorityLevel, ResourcePath, SignedParts, headers, mutation};
use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, IF_MATCH, IF_NONE_MATCH, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

use crate::item_format::format_header;
use crate::{
    CosmosEndpoint, CosmosOperation, Deadline, OperationType, PartitionTarget, Precondition, RoutingDecision,
    SessionState,
};

const TRUE: HeaderValue = HeaderValue::from_static("True");
const FALSE: HeaderValue = HeaderValue::from_static("False");
/// What says how the connection is used. HTTP/2 forbids most of it (RFC 9113, section 8.2.2), and the rest is the
/// driver's to say.
const OF_CONNECTIONS: [HeaderName; 8] = [
    CONNECTION,
    CONTENT_LENGTH,
    HOST,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Why an attempt is made, for diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecutionContext {
    /// It is the first.
    Initial,
    /// The one before it is repeated, in the same region.
    Retry,
    /// The one before it failed, and this goes to another region.
    Failover,
    /// The one before it has not answered yet.
    Hedging,
    /// It tries a partition where it failed before.
    Probe,
}

/// What an attempt depends on beside the operation and its route.
#[derive(Clone, Copy, Debug)]
pub struct AttemptSettings<'a> {
    /// Options of the request.
    pub options: RequestOptionsView<'a>,
    /// Whether every region takes writes.
    pub multiple_write_locations: bool,
    /// When the operation must be over.
    pub deadline: Option<Deadline>,
    /// Why the attempt is made.
    pub execution_context: ExecutionContext,
}

/// One attempt, ready to be sent.
#[derive(Clone, Copy, Debug)]
pub struct TransportRequest<'a> {
    operation: &'a CosmosOperation,
    routing: &'a RoutingDecision,
    session: &'a SessionState,
    settings: AttemptSettings<'a>,
}

/// Puts together what is sent for one attempt.
pub fn build_transport_request<'a>(
    operation: &'a CosmosOperation,
    routing: &'a RoutingDecision,
    session: &'a SessionState,
    settings: AttemptSettings<'a>,
) -> TransportRequest<'a> {
    TransportRequest { operation, routing, session, settings }
}

impl<'a> TransportRequest<'a> {
    /// The operation.
    pub fn operation(&self) -> &'a CosmosOperation {
        self.operation
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.operation.operation_type().method()
    }

    /// Where it goes.
    pub fn endpoint(&self) -> &'a CosmosEndpoint {
        &self.routing.endpoint
    }

    /// The Gateway 2.0 that it goes to instead, as a frame; `None` if it goes by REST.
    pub fn gateway(&self) -> Option<&'a CosmosEndpoint> {
        self.routing.framed.as_ref()
    }

    /// The resource or feed.
    pub fn path(&self) -> &'a ResourcePath {
        self.operation.path()
    }

    /// The whole address.
    pub fn uri(&self) -> Uri {
        self.endpoint().uri(self.path())
    }

    /// What is signed, beside the method and the date.
    pub fn signed_parts(&self) -> SignedParts<'a> {
        self.path().signed_by_name()
    }

    /// The body; empty if there is none.
    pub fn body(&self) -> &'a Bytes {
        self.operation.body()
    }

    /// When the operation must be over.
    pub fn deadline(&self) -> Option<Deadline> {
        self.settings.deadline
    }

    /// Why the attempt is made.
    pub fn execution_context(&self) -> ExecutionContext {
        self.settings.execution_context
    }

    /// Writes the headers of this attempt.
    ///
    /// Later ones replace earlier ones of the same name: what follows from the operation, then the user's own
    /// headers, then those that the operation was given.
    pub fn write_headers(&self, into: &mut HeaderMap) {
        write_operation(self.operation, into);
        write_target(self.operation, into);
        let is_first = self.execution_context() == ExecutionContext::Initial;
        if let Some(precondition) = self.operation.precondition()
            && (is_first || !mutation!("condition-is-dropped-on-a-repeat"))
        {
            let (name, etag) = match precondition {
                Precondition::IfMatch(etag) => (IF_MATCH, etag),
                Precondition::IfNoneMatch(etag) => (IF_NONE_MATCH, etag),
            };
            into.insert(name, etag.clone());
        }
        self.session.write_headers(into);
        if self.settings.multiple_write_locations && !self.operation.is_read_only() {
            into.insert(headers::ALLOW_TENTATIVE_WRITES, TRUE);
        }
        if let Some((name, value)) = format_header(self.operation, &self.settings.options) {
            into.insert(name, value);
        }
        write_options(&self.settings.options, into);
        let own = self.operation.headers().iter().map(|(name, value)| (name.clone(), value.clone()));
        write_own(own, into);
    }
}

/// What the caller adds.
fn write_own(headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>, into: &mut HeaderMap) {
    for (name, value) in headers {
        if !OF_CONNECTIONS.contains(&name) {
            into.insert(name, value);
        }
    }
}

/// What follows from the kind of operation.
fn write_operation(operation: &CosmosOperation, into: &mut HeaderMap) {
    let json = HeaderValue::from_static("application/json");
    let query = HeaderValue::from_static("application/query+json");
    match operation.operation_type() {
        OperationType::Read
        | OperationType::Head
        | OperationType::ReadFeed
        | OperationType::Delete
        | OperationType::DeleteByPartitionKey => {}
        OperationType::ChangeFeed => {
            into.insert(headers::A_IM, HeaderValue::from_static("Incremental Feed"));
        }
        OperationType::Create | OperationType::Replace | OperationType::Execute => {
            into.insert(CONTENT_TYPE, json);
        }
        OperationType::Upsert => {
            into.insert(CONTENT_TYPE, json);
            into.insert(headers::IS_UPSERT, TRUE);
        }
        OperationType::Patch => {
            into.insert(CONTENT_TYPE, HeaderValue::from_static("application/json_patch+json"));
        }
        OperationType::Batch => {
            into.insert(CONTENT_TYPE, json);
            into.insert(headers::IS_BATCH_REQUEST, TRUE);
            into.insert(headers::BATCH_ATOMIC, TRUE);
            into.insert(headers::BATCH_CONTINUE_ON_ERROR, FALSE);
        }
        OperationType::Bulk => {
            into.insert(CONTENT_TYPE, json);
            into.insert(headers::IS_BATCH_REQUEST, TRUE);
            into.insert(headers::BATCH_ATOMIC, FALSE);
            into.insert(headers::BATCH_CONTINUE_ON_ERROR, TRUE);
        }
        OperationType::Query => {
            into.insert(CONTENT_TYPE, query);
            into.insert(headers::IS_QUERY, TRUE);
            if !matches!(operation.target(), PartitionTarget::Key { .. }) {
                into.insert(headers::ENABLE_CROSS_PARTITION_QUERY, TRUE);
            }
        }
        OperationType::QueryPlan => {
            into.insert(CONTENT_TYPE, query);
            into.insert(headers::IS_QUERY_PLAN_REQUEST, TRUE);
        }
    }
}

/// What part of the container is meant.
fn write_target(operation: &CosmosOperation, into: &mut HeaderMap) {
    let range_id = match operation.target() {
        PartitionTarget::None => None,
        PartitionTarget::Key { header, .. } => {
            into.insert(headers::PARTITION_KEY, header.clone());
            None
        }
        PartitionTarget::Range(range) => Some(range),
        PartitionTarget::Epk { range, partition } => {
            let kind = HeaderValue::from_static("EffectivePartitionKeyRange");
            into.insert(headers::READ_KEY_TYPE, kind);
            for (name, key) in [(headers::START_EPK, &range.min), (headers::END_EPK, &range.max)] {
                let value = HeaderValue::try_from(key.to_string()).expect("hexadecimal is printable ASCII");
                into.insert(name, value);
            }
            partition.as_ref()
        }
    };
    // An id that does not fit in a header cannot be a partition's; the service will say so.
    if let Some(value) = range_id.and_then(|range| HeaderValue::from_str(range.as_str()).ok()) {
        into.insert(headers::PARTITION_KEY_RANGE_ID, value);
    }
}

fn write_options(options: &RequestOptionsView<'_>, into: &mut HeaderMap) {
    if let Some(priority) = options.priority() {
        let value = match priority {
            PriorityLevel::High => HeaderValue::from_static("High"),
            PriorityLevel::Low => HeaderValue::from_static("Low"),
        };
        into.insert(headers::PRIORITY_LEVEL, value);
    }
    if let Some(bucket) = options.throughput_bucket() {
        into.insert(headers::THROUGHPUT_BUCKET, HeaderValue::from(bucket));
    }
    write_own(options.custom_headers(), into);
}
