//! One attempt at one endpoint: headers, date, signature, time limit, and the repeats that need no other
//! region.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_policy::{
    CosmosOperation, Deadline, Moment, PartitionId, RequestSentStatus, ThrottleAction, ThrottleRetryState,
    TransportOutcome, TransportRequest, TransportResult, TransportTry, attempt_timeout,
    evaluate_transport_retry,
};
use cosmonaut_wire::headers;
use http::{HeaderMap, HeaderValue, Request, Response, header};

use crate::activity_id::ActivityId;
use crate::clock::DateCache;
use crate::credential::{CredentialError, Signer};
use crate::diagnostics::{AttemptDiagnostics, AttemptOutcome, NextStep};
use crate::platform::{Platform, chance};
use crate::transport::{AdaptiveTransport, BoxFuture, Sent, SentOver, Timeline, TransportError, Try};

/// The protocol version that the driver speaks.
const VERSION: HeaderValue = HeaderValue::from_static("2020-07-15");
/// Enough for the headers of nearly every request, so that the map does not grow.
const USUAL_HEADERS: usize = 16;

/// Sends attempts to endpoints.
pub(crate) struct TransportPipeline {
    pub(crate) transport: Arc<AdaptiveTransport>,
    pub(crate) signer: Signer,
    pub(crate) platform: Arc<dyn Platform>,
    pub(crate) date: DateCache,
    pub(crate) user_agent: HeaderValue,
    pub(crate) request_timeout: Duration,
    /// The state before the first try.
    pub(crate) throttling: ThrottleRetryState,
}

/// One attempt: what is sent, and what is known about it besides.
#[derive(Clone, Copy)]
pub(crate) struct Leg<'a> {
    pub(crate) request: TransportRequest<'a>,
    pub(crate) activity_id: ActivityId,
    /// The container that is meant, so that one made anew under its name is noticed.
    pub(crate) container_rid: Option<&'a HeaderValue>,
    #[cfg_attr(
        not(feature = "fault_injection"),
        expect(dead_code, reason = "only faults are picked by partition")
    )]
    pub(crate) partition: Option<&'a PartitionId>,
    /// Whether the partition is served from elsewhere than its account.
    pub(crate) is_overridden: bool,
}

impl TransportPipeline {
    /// Makes an attempt that begins now. Every try is added to `attempts`.
    pub(crate) async fn execute(
        &self,
        leg: Leg<'_>,
        now: Moment,
        attempts: &mut Vec<AttemptDiagnostics>,
    ) -> TransportResult {
        let mut state = self.throttling;
        let (mut started, mut avoid) = (now, None);
        loop {
            let (result, shard) = self.try_once(&leg, started, avoid, attempts).await;
            let result = TransportResult { may_have_applied_before: state.may_have_applied, ..result };
            if result.is_success() {
                return result;
            }
            match self.next(&leg, &result.outcome, &state) {
                ThrottleAction::Retry { delay, new_state } => {
                    conclude(attempts, NextStep::RetryThrottled(delay));
                    self.platform.sleep(delay).await;
                    state = new_state;
                    avoid = None;
                }
                ThrottleAction::RetryOnAnotherShard { new_state } => {
                    conclude(attempts, NextStep::RetryOnAnotherShard);
                    state = new_state;
                    avoid = shard;
                }
                ThrottleAction::Propagate => return result,
            }
            started = self.platform.now();
        }
    }

    /// As [`execute`](Self::execute), on the heap: for all but the usual case, so that the way to the network is
    /// not compiled anew for each.
    pub(crate) fn execute_boxed<'a>(
        &'a self,
        leg: Leg<'a>,
        now: Moment,
        attempts: &'a mut Vec<AttemptDiagnostics>,
    ) -> BoxFuture<'a, TransportResult> {
        Box::pin(self.execute(leg, now, attempts))
    }

    fn next(&self, leg: &Leg<'_>, outcome: &TransportOutcome, state: &ThrottleRetryState) -> ThrottleAction {
        if is_hopeless(outcome) {
            return ThrottleAction::Propagate;
        }
        let is_idempotent = leg.operation().is_idempotent();
        let attempted = TransportTry { outcome, state, is_idempotent, deadline: leg.request.deadline() };
        evaluate_transport_retry(&attempted, self.platform.now(), chance(&*self.platform))
    }

    /// Tries once. Also says over which shard.
    async fn try_once(
        &self,
        leg: &Leg<'_>,
        started: Moment,
        avoid: Option<u64>,
        attempts: &mut Vec<AttemptDiagnostics>,
    ) -> (TransportResult, Option<u64>) {
        let (endpoint, deadline) = (leg.request.endpoint(), leg.request.deadline());
        let Some(limit) = attempt_timeout(deadline, self.request_timeout, started) else {
            let outcome = TransportOutcome::DeadlineExceeded { request_sent: RequestSentStatus::NotSent };
            return (TransportResult::new(outcome, Duration::ZERO), None);
        };
        let (outcome, sent_over, ended, timeline) = match self.http_request(leg).await {
            Err(error) => {
                let request_sent = RequestSentStatus::NotSent;
                let outcome = TransportOutcome::TransportError { error: Arc::new(error), request_sent };
                (outcome, SentOver::default(), self.platform.now(), Timeline::default())
            }
            Ok(request) => {
                let attempt = Try { endpoint, request, limit, avoid, started };
                let Sent { result, over, ended, timeline } = self.transport.send(attempt).await;
                (outcome_of(result, deadline, ended), over, ended, timeline)
            }
        };
        let latency = ended.since(started);
        let mut record = AttemptDiagnostics {
            context: leg.request.execution_context(),
            endpoint: endpoint.clone(),
            partition_override: leg.is_overridden,
            protocol: sent_over.version,
            shard: sent_over.shard,
            started,
            latency,
            timeline,
            outcome: AttemptOutcome::DeadlineExceeded,
            request_charge: 0.0,
            service_latency: None,
            next: NextStep::Done,
        };
        note_outcome(&mut record, &outcome);
        attempts.push(record);
        (TransportResult::new(outcome, latency), sent_over.shard)
    }

    async fn http_request(&self, leg: &Leg<'_>) -> Result<Request<Bytes>, CredentialError> {
        let attempt = &leg.request;
        let method = attempt.method();
        let date = self.date.now(&*self.platform);
        let date_text = date.to_str().expect("an HTTP date is printable ASCII");
        let authorization = self.signer.sign(&method, attempt.signed_parts(), date_text).await?;
        let mut request = Request::new(attempt.body().clone());
        *request.method_mut() = method;
        *request.uri_mut() = attempt.uri();
        *request.headers_mut() = HeaderMap::with_capacity(USUAL_HEADERS);
        let map = request.headers_mut();
        map.insert(headers::VERSION, VERSION);
        map.insert(headers::ACTIVITY_ID, leg.activity_id.to_header());
        map.insert(header::USER_AGENT, self.user_agent.clone());
        if let Some(rid) = leg.container_rid {
            map.insert(headers::INTENDED_COLLECTION_RID, rid.clone());
        }
        attempt.write_headers(map);
        // Last, so that no header of the user's stands in for them.
        map.insert(headers::DATE, date);
        map.insert(header::AUTHORIZATION, authorization);
        #[cfg(feature = "fault_injection")]
        crate::fault_injection::tag(&mut request, leg);
        Ok(request)
    }
}

impl Leg<'_> {
    /// What the caller wants.
    pub(crate) fn operation(&self) -> &CosmosOperation {
        self.request.operation()
    }
}

/// How a try that was sent, or was meant to be, has ended.
fn outcome_of(
    result: Result<Response<Bytes>, TransportError>,
    deadline: Option<Deadline>,
    ended: Moment,
) -> TransportOutcome {
    match result {
        Ok(response) => {
            let (head, body) = response.into_parts();
            TransportResult::from_response(head.status, head.headers, body, Duration::ZERO).outcome
        }
        Err(error) => {
            let request_sent = error.sent();
            if deadline.is_some_and(|deadline| deadline.has_passed(ended)) {
                TransportOutcome::DeadlineExceeded { request_sent }
            } else {
                TransportOutcome::TransportError { error: Arc::new(error), request_sent }
            }
        }
    }
}

/// Whether no further try, anywhere, would end otherwise.
pub(super) fn is_hopeless(outcome: &TransportOutcome) -> bool {
    match outcome {
        TransportOutcome::TransportError { error, .. } => match error.downcast_ref::<TransportError>() {
            Some(error) => !error.kind().is_retried(),
            None => error.is::<CredentialError>(),
        },
        TransportOutcome::Success { .. }
        | TransportOutcome::HttpError { .. }
        | TransportOutcome::DeadlineExceeded { .. } => false,
    }
}

fn conclude(attempts: &mut [AttemptDiagnostics], next: NextStep) {
    if let Some(last) = attempts.last_mut() {
        last.next = next;
    }
}

fn note_outcome(record: &mut AttemptDiagnostics, outcome: &TransportOutcome) {
    record.outcome = match outcome {
        TransportOutcome::Success { status, headers, .. }
        | TransportOutcome::HttpError { status, headers, .. } => {
            record.request_charge = charge(headers);
            record.service_latency = headers.get(headers::REQUEST_DURATION_MS).cloned();
            AttemptOutcome::Answered(*status)
        }
        TransportOutcome::TransportError { error, request_sent } => AttemptOutcome::Failed {
            kind: error.downcast_ref::<TransportError>().map(TransportError::kind),
            sent: *request_sent,
        },
        TransportOutcome::DeadlineExceeded { .. } => AttemptOutcome::DeadlineExceeded,
    };
}

fn charge(response: &HeaderMap) -> f64 {
    let charge = response.get(headers::REQUEST_CHARGE).and_then(|value| value.to_str().ok()?.parse().ok());
    charge.filter(|charge: &f64| charge.is_finite()).unwrap_or(0.0)
}
