//! Gateway 2.0 of a region: the same account, asked by frames in HTTP/2 instead of by methods, paths and headers.
//!
//! A frame is turned into the request that says the same to the [`Gateway`], and the answer into a frame, so everything
//! that holds for a request holds for a frame: signatures, faults, charges, the request log. What a frame can ask for at
//! all is in [`mod@eligible`].

mod answer;
mod eligible;
mod plan;
mod request;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use cosmonaut_wire::CosmosStatus;
use cosmonaut_wire::rntbd::{Operation, RequestFrame};
use http::request::Parts;
use http::{Method, Response, StatusCode, Version};

use super::{Gateway, Origin};
use crate::Failure;
use crate::faults::Verdict;
use crate::server::{Answer, Handler};
use answer::framed;

/// Where clients ask whether they may come.
const PROBE: &str = "/connectivity-probe";

/// A region's Gateway 2.0.
pub(crate) struct FramedGateway {
    gateway: Arc<Gateway>,
}

/// What a request is, by its head.
pub(crate) enum Visit {
    /// It only wants to know whether it gets here.
    Probe,
    /// It has a frame.
    Frame,
}

impl FramedGateway {
    pub(crate) fn new(gateway: Arc<Gateway>) -> Self {
        Self { gateway }
    }

    fn visit(&self, request: &Parts, origin: Origin<'_>) -> Result<Visit, Failure> {
        self.gateway.visitors.check(origin.authority, &request.headers)?;
        if request.version != Version::HTTP_2 {
            let status = CosmosStatus::new(StatusCode::HTTP_VERSION_NOT_SUPPORTED, 0);
            let message =
                "Gateway 2.0 is spoken over HTTP/2 only (use HTTP/2, or the region's other endpoint)";
            return Err(Failure::new(status, message));
        }
        if request.method != Method::POST {
            return Err(Failure::new(
                CosmosStatus::METHOD_NOT_ALLOWED,
                format!(
                    "The requested verb is not supported. {} does not apply here: send a frame by POST, or the request \
                     to the region's other endpoint",
                    request.method
                ),
            ));
        }
        Ok(if request.uri.path() == PROBE { Visit::Probe } else { Visit::Frame })
    }

    /// Says that a client gets here, unless a fault of the whole region strikes that too.
    async fn answer_probe(&self, request: &Parts) -> Answer {
        self.gateway.requests.fetch_add(1, Ordering::Relaxed);
        let here = || Answer::Send(Response::new(Bytes::new()));
        if self.gateway.faults.is_empty() {
            return here();
        }
        match Box::pin(self.gateway.judge(request, &Bytes::new(), &mut Vec::new())).await {
            Verdict::Pass | Verdict::Duplicate => self.gateway.unless_down(Response::new(Bytes::new())),
            Verdict::Fail(failure) => {
                let refusal = self.gateway.refusal(&request.headers, failure.status, failure.message.clone());
                Answer::Send(refusal)
            }
            Verdict::Cut | Verdict::DropResponse => Answer::Cut,
        }
    }

    async fn answer_frame(&self, outer: &Parts, body: &Bytes, origin: Origin<'_>) -> Answer {
        let frame = match RequestFrame::parse(body) {
            Ok(frame) => frame,
            Err(error) => {
                let message = format!("The request's bytes are not valid. {error}");
                let failure = Failure::new(CosmosStatus::INVALID_REQUEST_BYTES, message);
                return Answer::Send(self.refused(outer, origin, &failure));
            }
        };
        let operation = frame.operation;
        let inner = match request::translated(&frame, origin) {
            Ok(inner) => inner,
            Err(failure) => {
                let mut outer = outer.clone();
                request::name_activity(&mut outer.headers, frame.activity);
                return Answer::Send(self.refused(&outer, origin, &failure));
            }
        };
        let payload = frame.payload.map_or_else(Bytes::new, |payload| body.slice_ref(payload));
        let pass = match self.gateway.admit(&inner, origin) {
            Ok(pass) => pass,
            Err(refusal) => return Answer::Send(framed(*refusal)),
        };
        match self.gateway.answer(pass, &inner, payload, origin).await {
            Answer::Send(response) if operation == Operation::QueryPlan => {
                Answer::Send(framed(plan::in_key_values(response)))
            }
            Answer::Send(response) => Answer::Send(framed(response)),
            Answer::Cut => Answer::Cut,
        }
    }

    /// The answer to a frame that asks for nothing that there is.
    fn refused(&self, request: &Parts, origin: Origin<'_>, failure: &Failure) -> Response<Bytes> {
        self.gateway.requests.fetch_add(1, Ordering::Relaxed);
        let refusal = self.gateway.refusal(&request.headers, failure.status, failure.message.clone());
        self.gateway.tell(self.gateway.asked(request, origin), Some(&refusal), Vec::new());
        framed(refusal)
    }
}

impl Handler for FramedGateway {
    type Pass = Visit;

    /// Nothing is known of who asks before the frame is read.
    fn admit(&self, request: &Parts, origin: Origin<'_>) -> Result<Visit, Box<Response<Bytes>>> {
        self.visit(request, origin).map_err(|failure| {
            self.gateway.requests.fetch_add(1, Ordering::Relaxed);
            let refusal = self.gateway.refusal(&request.headers, failure.status, failure.message);
            self.gateway.tell(self.gateway.asked(request, origin), Some(&refusal), Vec::new());
            Box::new(refusal)
        })
    }

    async fn answer(
        self: &Arc<Self>,
        visit: Visit,
        request: &Parts,
        body: Bytes,
        origin: Origin<'_>,
    ) -> Answer {
        match visit {
            Visit::Probe => self.answer_probe(request).await,
            Visit::Frame => self.answer_frame(request, &body, origin).await,
        }
    }

    fn refuse(
        &self,
        request: &Parts,
        origin: Origin<'_>,
        status: StatusCode,
        message: String,
    ) -> Response<Bytes> {
        self.refused(request, origin, &Failure::new(status.into(), message))
    }
}
