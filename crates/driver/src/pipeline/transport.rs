//! One attempt at one endpoint: headers, date, signature, time limit, and the repeats that need no other
//! region.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_policy::{
    AttemptLimits, CosmosEndpoint, CosmosOperation, Deadline, Moment, PartitionId, RequestSentStatus,
    ThrottleAction, ThrottleRetryState, TransportOutcome, TransportRequest, TransportResult, TransportTry,
    attempt_timeout, evaluate_transport_retry,
};
use cosmonaut_wire::headers;
use http::{HeaderMap, HeaderValue, Request, Response, header};

use super::binary::as_text;
use super::frame::{Frame, unframed};
use crate::activity_id::ActivityId;
use crate::clock::DateCache;
use crate::credential::{CredentialError, CredentialErrorKind, Signature, Signer};
use crate::diagnostics::{AttemptDiagnostics, AttemptOutcome, NextStep};
use crate::platform::{Platform, chance};
use crate::transport::{AdaptiveTransport, Sent, SentOver, Timeline, TransportError, Try};

/// The protocol version that the driver speaks.
const VERSION: HeaderValue = HeaderValue::from_static("2020-07-15");
/// What the driver can do, as a bit set: 1, it follows partitions that merge.
const CAPABILITIES: HeaderValue = HeaderValue::from_static("1");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");
const TRUE: HeaderValue = HeaderValue::from_static("true");
/// Enough for the headers of nearly every request, so that the map does not grow.
const USUAL_HEADERS: usize = 16;

/// Sends attempts to endpoints.
pub(crate) struct TransportPipeline {
    pub(crate) transport: Arc<AdaptiveTransport>,
    pub(crate) signer: Signer,
    pub(crate) platform: Arc<dyn Platform>,
    pub(crate) date: DateCache,
    pub(crate) user_agent: HeaderValue,
    /// The same for all requests of a driver.
    pub(crate) client_id: HeaderValue,
    pub(crate) limits: AttemptLimits,
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
    /// What a Gateway 2.0 is told besides, if the attempt goes to one.
    pub(crate) frame: Option<&'a Frame>,
    /// Whether the answer depends on who asks. What does not is sent unsigned rather than wait for a token.
    pub(crate) needs_signature: bool,
    /// Set once another leg has answered, for a leg that may outlive its operation.
    pub(crate) is_left: Option<&'a AtomicBool>,
}

/// A try that is over.
struct Tried {
    result: TransportResult,
    /// Over which shard it was sent.
    shard: Option<u64>,
    /// With which token it was sent.
    token: Option<u64>,
    /// Whether it went to a Gateway 2.0.
    is_framed: bool,
    /// When it was over.
    ended: Moment,
}

impl TransportPipeline {
    /// Makes an attempt that begins now, with what its operation has spent so far. Every try is added to `attempts`.
    /// Also returns what the operation has spent then, and when the attempt was over.
    pub(crate) async fn execute(
        &self,
        leg: Leg<'_>,
        now: Moment,
        mut state: ThrottleRetryState,
        attempts: &mut Vec<AttemptDiagnostics>,
    ) -> (TransportResult, ThrottleRetryState, Moment) {
        let (mut started, mut avoid) = (now, None);
        loop {
            let how = (state.lost_tries, avoid);
            let Tried { result, shard, token, is_framed, ended } =
                self.try_once(&leg, started, how, attempts).await;
            let result = TransportResult { may_have_applied_before: state.may_have_applied, ..result };
            if result.is_success() {
                return (result, state, ended);
            }
            if self.deserves_new_token(&leg, &result, token, attempts) {
                conclude(attempts, NextStep::RetryWithNewToken);
                started = self.platform.now();
                continue;
            }
            state = state.after_try(&result.outcome);
            if leg.is_left() {
                return (result, state, ended);
            }
            match self.next(&leg, is_framed, &result.outcome, &state) {
                ThrottleAction::Retry { delay, new_state } => {
                    conclude(attempts, NextStep::RetryThrottled(delay));
                    self.platform.sleep(delay).await;
                    if leg.is_left() {
                        return (result, state, self.platform.now());
                    }
                    state = new_state;
                    avoid = None;
                }
                ThrottleAction::RetryOnAnotherShard { new_state } => {
                    conclude(attempts, NextStep::RetryOnAnotherShard);
                    state = new_state;
                    avoid = shard;
                }
                ThrottleAction::Propagate => return (result, state, ended),
            }
            started = self.platform.now();
        }
    }

    fn next(
        &self,
        leg: &Leg<'_>,
        is_framed: bool,
        outcome: &TransportOutcome,
        state: &ThrottleRetryState,
    ) -> ThrottleAction {
        let (is_idempotent, deadline) = (leg.operation().is_idempotent(), leg.request.deadline());
        let attempted = TransportTry { outcome, state, is_idempotent, is_framed, deadline };
        evaluate_transport_retry(&attempted, self.platform.now(), chance(&*self.platform))
    }

    /// Whether the service has revoked the token. Once per operation: a second new token would be refused too.
    fn deserves_new_token(
        &self,
        leg: &Leg<'_>,
        result: &TransportResult,
        token: Option<u64>,
        attempts: &[AttemptDiagnostics],
    ) -> bool {
        let Some((status, headers)) = result.answer().filter(|_| leg.needs_signature) else { return false };
        let is_first = attempts.iter().all(|attempt| attempt.next != NextStep::RetryWithNewToken);
        is_first && self.signer.challenged(status, headers, token)
    }

    /// Tries once.
    async fn try_once(
        &self,
        leg: &Leg<'_>,
        started: Moment,
        (lost_tries, avoid): (u32, Option<u64>),
        attempts: &mut Vec<AttemptDiagnostics>,
    ) -> Tried {
        let (endpoint, deadline) = (leg.request.endpoint(), leg.request.deadline());
        if deadline.is_some_and(|deadline| deadline.has_passed(started)) {
            return Tried {
                result: TransportResult::new(TOO_LATE, Duration::ZERO),
                shard: None,
                token: None,
                is_framed: false,
                ended: started,
            };
        }
        let mut token = None;
        let mut gateway = None;
        let unsent = |outcome, ended| (outcome, SentOver::default(), ended, Timeline::default());
        let (outcome, sent_over, ended, timeline) = match self.http_request(leg).await {
            Err(error) => unsent(unsigned(error), self.platform.now()),
            Ok((request, how)) => {
                (token, gateway) = (how.token, how.gateway);
                let endpoint = gateway.unwrap_or(endpoint);
                let most = self.limits.limit(leg.operation(), lost_tries, gateway.is_some());
                // What the wait for a token took is not left for the answer.
                let signed = if how.waited { self.platform.now() } else { started };
                match attempt_timeout(deadline, most, signed) {
                    None => unsent(TOO_LATE, signed),
                    Some(limit) => {
                        let needs_http2 = gateway.is_some();
                        let attempt =
                            Try { endpoint, request, needs_http2, limit, avoid, started, ready: signed };
                        let Sent { result, over, ended, timeline } = self.transport.send(attempt).await;
                        let result = match gateway {
                            Some(gateway) => result.and_then(|answer| unframed(answer, gateway)),
                            None => result,
                        };
                        (outcome_of(result, deadline, ended), over, ended, timeline)
                    }
                }
            }
        };
        let latency = ended.since(started);
        let endpoint = gateway.unwrap_or(endpoint);
        let mut record = AttemptDiagnostics {
            context: leg.request.execution_context(),
            endpoint: endpoint.clone(),
            framed: gateway.is_some(),
            partition_override: leg.is_overridden,
            protocol: sent_over.version,
            shard: sent_over.shard,
            started,
            latency,
            timeline,
            outcome: AttemptOutcome::DeadlineExceeded,
            request_charge: None,
            response_bytes: 0,
            service_latency: None,
            next: NextStep::Done,
        };
        note_outcome(&mut record, &outcome);
        attempts.push(record);
        let outcome = as_text(outcome, endpoint);
        let (result, is_framed) = (TransportResult::new(outcome, latency), gateway.is_some());
        Tried { result, shard: sent_over.shard, token, is_framed, ended }
    }

    async fn http_request<'a>(&self, leg: &Leg<'a>) -> Result<(Request<Bytes>, How<'a>), CredentialError> {
        let attempt = &leg.request;
        let method = attempt.method();
        let date = self.date.now(&*self.platform);
        let date_text = date.to_str().expect("an HTTP date is printable ASCII");
        let parts = attempt.signed_parts();
        let signature = match leg.needs_signature {
            true => Some(self.signer.sign(&method, parts, date_text, attempt.deadline()).await?),
            false => self.signer.sign_at_once(&method, parts, date_text),
        };
        let signed = signature.as_ref().map(|signature| &signature.header);
        if let Some((request, gateway)) = self.framed_request(leg, date_text, signed) {
            #[cfg(feature = "fault_injection")]
            let request = crate::fault_injection::tagged(request, leg, gateway);
            let how = How { gateway: Some(gateway), ..How::of(signature.as_ref()) };
            return Ok((request, how));
        }
        let how = How::of(signature.as_ref());
        let mut request = Request::new(attempt.body().clone());
        *request.method_mut() = method;
        *request.uri_mut() = attempt.uri();
        *request.headers_mut() = HeaderMap::with_capacity(USUAL_HEADERS);
        let map = request.headers_mut();
        map.insert(headers::VERSION, VERSION);
        map.insert(headers::ACTIVITY_ID, leg.activity_id.to_header());
        map.insert(header::USER_AGENT, self.user_agent.clone());
        map.insert(headers::CLIENT_ID, self.client_id.clone());
        map.insert(headers::SDK_CAPABILITIES, CAPABILITIES);
        map.insert(header::ACCEPT, JSON);
        map.insert(header::CACHE_CONTROL, NO_CACHE);
        if !leg.operation().is_read_only() {
            // The driver retries a 449 by itself, with a deadline that the gateway does not know.
            map.insert(headers::NO_RETRY_449, TRUE);
        }
        if let Some(rid) = leg.container_rid {
            map.insert(headers::INTENDED_COLLECTION_RID, rid.clone());
        }
        attempt.write_headers(map);
        // Last, so that no header of the user's stands in for them.
        map.insert(headers::DATE, date);
        match signature {
            Some(Signature { header, .. }) => map.insert(header::AUTHORIZATION, header),
            None => map.remove(header::AUTHORIZATION),
        };
        #[cfg(feature = "fault_injection")]
        let request = crate::fault_injection::tagged(request, leg, attempt.endpoint());
        Ok((request, how))
    }
}

/// How a request was signed, and whom it is for.
struct How<'a> {
    token: Option<u64>,
    waited: bool,
    /// The Gateway 2.0 that it is a frame for.
    gateway: Option<&'a CosmosEndpoint>,
}

impl How<'_> {
    fn of(signature: Option<&Signature>) -> Self {
        let (token, waited) =
            signature.map_or((None, false), |signature| (signature.token, signature.waited));
        Self { token, waited, gateway: None }
    }
}

impl Leg<'_> {
    /// Whether another leg has answered meanwhile. The try that is under way may end; none follows it.
    fn is_left(&self) -> bool {
        self.is_left.is_some_and(|is_left| is_left.load(Ordering::Relaxed))
    }

    /// What the caller wants.
    pub(crate) fn operation(&self) -> &CosmosOperation {
        self.request.operation()
    }
}

/// The operation's time was up before anything was sent.
const TOO_LATE: TransportOutcome =
    TransportOutcome::DeadlineExceeded { request_sent: RequestSentStatus::NotSent };

/// How a try has ended that could not be signed.
fn unsigned(error: CredentialError) -> TransportOutcome {
    match error.kind() {
        CredentialErrorKind::TimedOut => TOO_LATE,
        CredentialErrorKind::Failed
        | CredentialErrorKind::Unusable
        | CredentialErrorKind::Refused
        | CredentialErrorKind::Missing => {
            let request_sent = RequestSentStatus::NotSent;
            TransportOutcome::LocalFailure { error: Arc::new(error), request_sent }
        }
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
            if !error.kind().is_retried() {
                TransportOutcome::LocalFailure { error: Arc::new(error), request_sent }
            } else if deadline.is_some_and(|deadline| deadline.has_passed(ended)) {
                TransportOutcome::DeadlineExceeded { request_sent }
            } else {
                TransportOutcome::TransportError { error: Arc::new(error), request_sent }
            }
        }
    }
}

fn conclude(attempts: &mut [AttemptDiagnostics], next: NextStep) {
    if let Some(last) = attempts.last_mut() {
        last.next = next;
    }
}

fn note_outcome(record: &mut AttemptDiagnostics, outcome: &TransportOutcome) {
    record.outcome = match outcome {
        TransportOutcome::Success { status, headers, body }
        | TransportOutcome::HttpError { status, headers, body } => {
            record.request_charge = Some(charge(headers));
            record.response_bytes = body.len();
            record.service_latency = headers.get(headers::REQUEST_DURATION_MS).cloned();
            AttemptOutcome::Answered(*status)
        }
        TransportOutcome::TransportError { error, request_sent }
        | TransportOutcome::LocalFailure { error, request_sent } => AttemptOutcome::Failed {
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
