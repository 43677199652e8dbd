//! An attempt as a frame, for a region's Gateway 2.0.
//!
//! Which operations go there, and what is in their frames, is decided in policy.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_policy::{
    CosmosEndpoint, ENDPOINT_PROBE_TIMEOUT, FrameAim, FrameParts, FramedAnswer, FramedContainer,
    RequestSentStatus, RoutingDecision, frame_aim, read_framed_answer,
};
use cosmonaut_wire::rntbd::Guid;
use cosmonaut_wire::{ResourceId, headers};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};

use super::operation::{OperationPipeline, OperationState};
use super::transport::{Leg, TransportPipeline};
use crate::diagnostics::AttemptDiagnostics;
use crate::transport::{Sent, TransportError, TransportErrorKind, Try};

const OPERATION: HeaderName = HeaderName::from_static("x-ms-thinclient-proxy-operation-type");
const PROBE_PATH: PathAndQuery = PathAndQuery::from_static("/connectivity-probe");
const PROBE: HeaderValue = HeaderValue::from_static("ConnectivityProbe");

/// What the frames of an operation say besides what its requests would.
#[derive(Clone)]
pub(crate) struct Frame {
    account: Arc<str>,
    container: ResourceId,
    rid_header: HeaderValue,
    aim: FrameAim,
}

/// An answer that was made on this side, so that it is in no frame.
#[cfg(feature = "fault_injection")]
#[derive(Clone, Copy)]
pub(crate) struct MadeHere;

impl OperationPipeline<'_> {
    /// What the frames of the operation say; `None` if it has to go by REST.
    pub(super) fn frame(&self, state: &OperationState) -> Option<Frame> {
        let account = state.location.account.framed_account()?;
        let container = state.target.container.as_ref().filter(|_| state.target.is_of(self.operation))?;
        let options = self.core.options.request(self.options);
        let asked = || {
            let ranges = container.ranges.current()?;
            Some(ranges.by_id(state.target.partition.as_ref()?.range())?.range.clone())
        };
        let aim = frame_aim(self.operation, &options, &container.definition, asked)?;
        Some(Frame {
            account: Arc::clone(account),
            container: container.rid,
            rid_header: container.rid_header.clone(),
            aim,
        })
    }
}

/// Where an attempt goes that can be said in this frame, or in none.
pub(super) fn by_frame_or_rest(routing: RoutingDecision, frame: Option<&Frame>) -> RoutingDecision {
    let framed = routing.framed.filter(|_| frame.is_some());
    RoutingDecision { framed, ..routing }
}

/// Where an attempt went, by its last try: what turns out to fit in no frame goes by REST.
pub(super) fn as_sent(routing: RoutingDecision, tries: &[AttemptDiagnostics]) -> RoutingDecision {
    let framed = routing.framed.filter(|_| tries.last().is_none_or(|last| last.framed));
    RoutingDecision { framed, ..routing }
}

impl TransportPipeline {
    /// The frame of an attempt for a Gateway 2.0, and which that is; `None` if it goes by REST.
    pub(super) fn framed_request<'a>(
        &self,
        leg: &Leg<'a>,
        date: &str,
        signature: Option<&HeaderValue>,
    ) -> Option<(Request<Bytes>, &'a CosmosEndpoint)> {
        let (gateway, frame) = (leg.request.gateway()?, leg.frame?);
        let Frame { account, container, rid_header, aim } = frame;
        let parts = FrameParts {
            activity: leg.activity_id.as_str().parse::<Guid>().unwrap_or_default(),
            account,
            container: FramedContainer { rid: *container, rid_header },
            aim,
            date,
            signature,
        };
        // A value that no token holds goes by REST, which has room for it.
        let frame = leg.request.frame(&parts)?;
        let mut request = Request::new(Bytes::from(frame));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = gateway.uri(leg.request.path());
        *request.headers_mut() = HeaderMap::with_capacity(2);
        let map = request.headers_mut();
        map.insert(headers::ACTIVITY_ID, leg.activity_id.to_header());
        map.insert(header::USER_AGENT, self.user_agent.clone());
        Some((request, gateway))
    }

    /// Whether an attempt goes to a Gateway 2.0, if it is meant for one.
    pub(super) fn can_be_framed(&self, leg: &Leg<'_>) -> bool {
        // Neither the date nor the signature is ever what does not fit.
        self.framed_request(leg, "", None).is_some()
    }

    /// Whether a Gateway 2.0 answers. A connection from before that turns out to be gone says nothing: the probe is
    /// sent again over another.
    pub(crate) async fn probe_gateway(&self, gateway: &CosmosEndpoint) -> bool {
        let first = self.send_probe(gateway, None).await;
        let answered = match first.result {
            Err(error) if error.sent() == RequestSentStatus::NotSent && first.over.shard.is_some() => {
                self.send_probe(gateway, first.over.shard).await.result
            }
            result => result,
        };
        answered.is_ok_and(|answer| answer.status() == StatusCode::OK)
    }

    async fn send_probe(&self, gateway: &CosmosEndpoint, avoid: Option<u64>) -> Sent {
        let mut request = Request::new(Bytes::new());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = gateway.uri_of(PROBE_PATH);
        let map = request.headers_mut();
        map.insert(header::USER_AGENT, self.user_agent.clone());
        map.insert(headers::CLIENT_ID, self.client_id.clone());
        map.insert(OPERATION, PROBE);
        let now = self.platform.now();
        let (limit, needs_http2) = (ENDPOINT_PROBE_TIMEOUT, true);
        let attempt = Try { endpoint: gateway, request, needs_http2, limit, avoid, started: now, ready: now };
        self.transport.send(attempt).await
    }
}

/// The answer in a frame.
pub(super) fn unframed(
    answer: Response<Bytes>,
    gateway: &CosmosEndpoint,
) -> Result<Response<Bytes>, TransportError> {
    #[cfg(feature = "fault_injection")]
    if answer.extensions().get::<MadeHere>().is_some() {
        return Ok(answer);
    }
    match read_framed_answer(answer) {
        FramedAnswer::Answer(answer) => Ok(answer),
        FramedAnswer::NoFrame(status) => {
            let (kind, sent) = (TransportErrorKind::Protocol, RequestSentStatus::Sent);
            let error = TransportError::new(kind, sent, gateway.to_string());
            Err(error.caused_by(format!("Gateway 2.0 answered {status} without a frame")))
        }
    }
}
