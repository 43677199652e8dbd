use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_options::{RetryLimitOptions, RetryLimitOptionsView, RetryOptions, RetryOptionsView};
use cosmonaut_wire::CosmosStatus;
use http::HeaderValue;

use super::*;
use crate::testing::{at, ms};
use RequestSentStatus::{NotSent, Sent, Unknown};

fn initial() -> ThrottleRetryState {
    let none = RetryOptions::default();
    let no_limits = RetryLimitOptions::default();
    let limits = RetryLimitOptionsView::new(&no_limits, &no_limits, &no_limits, &no_limits);
    ThrottleRetryState::from_options(&RetryOptionsView::new(&none, &none, &none).throttling(), &limits)
}

fn answered(status: CosmosStatus, after: Option<&'static str>) -> TransportOutcome {
    let mut headers = HeaderMap::new();
    if let Some(after) = after {
        headers.insert(headers::RETRY_AFTER_MS, HeaderValue::from_static(after));
    }
    TransportOutcome::HttpError { status, headers, body: Bytes::new() }
}

fn throttled(after: Option<&'static str>) -> TransportOutcome {
    answered(CosmosStatus::REQUEST_RATE_TOO_LARGE, after)
}

fn lost(request_sent: RequestSentStatus) -> TransportOutcome {
    TransportOutcome::TransportError { error: Arc::new(std::fmt::Error), request_sent }
}

fn evaluate(
    outcome: &TransportOutcome,
    state: &ThrottleRetryState,
    deadline: Option<Duration>,
) -> ThrottleAction {
    let deadline = deadline.map(|timeout| Deadline::after(at(0), timeout));
    let (is_idempotent, is_framed) = (false, false);
    let attempted = TransportTry { outcome, state, is_idempotent, is_framed, deadline };
    evaluate_transport_retry(&attempted, at(0), 1.0)
}

#[test]
fn what_a_gateway_throttles_by_itself_is_not_waited_out() {
    for (sub_status, is_framed, is_waited_out) in
        [(13_010, true, false), (13_010, false, true), (3_200, true, true)]
    {
        let status = CosmosStatus::new(http::StatusCode::TOO_MANY_REQUESTS, sub_status);
        let (outcome, state) = (&answered(status, Some("70")), &initial());
        let attempted = TransportTry { outcome, state, is_idempotent: true, is_framed, deadline: None };
        let found = delay_of(&evaluate_transport_retry(&attempted, at(0), 1.0));
        assert_eq!(found, is_waited_out.then(|| ms(70)), "{sub_status}, framed {is_framed}");
    }
}

fn delay_of(action: &ThrottleAction) -> Option<Duration> {
    match action {
        ThrottleAction::Retry { delay, .. } => Some(*delay),
        ThrottleAction::RetryOnAnotherShard { .. } | ThrottleAction::Propagate => None,
    }
}

#[test]
fn throttling_is_waited_out_within_limits() {
    let used = |attempt_count, waited| ThrottleRetryState {
        attempt_count,
        cumulative_delay: ms(waited),
        ..initial()
    };
    for (case, state, after, deadline, expected) in [
        ("as the service says", initial(), Some("70"), None, Some(70)),
        ("at once", initial(), Some("0"), None, Some(0)),
        ("with a fraction", initial(), Some("12.5"), None, Some(12)),
        ("not said", initial(), None, None, Some(100)),
        ("not said, third time", used(2, 0), None, None, Some(400)),
        ("not said, ninth time", used(8, 0), None, None, Some(5000)),
        ("nonsense", initial(), Some("soon"), None, Some(100)),
        ("negative", initial(), Some("-5"), None, Some(100)),
        ("last attempt", used(8, 0), Some("70"), None, Some(70)),
        ("too many attempts", used(9, 0), Some("70"), None, None),
        ("just enough time", used(1, 29_930), Some("70"), None, Some(70)),
        ("too much time", used(1, 29_931), Some("70"), None, None),
        ("too long a wait", initial(), Some("30001"), None, None),
        ("a wait without end", initial(), Some("1e300"), None, None),
        ("before the deadline", initial(), Some("70"), Some(ms(71)), Some(70)),
        ("after the deadline", initial(), Some("70"), Some(ms(70)), None),
    ] {
        let delay = delay_of(&evaluate(&throttled(after), &state, deadline));
        assert_eq!(delay.map(|delay| delay.as_millis()), expected, "{case}");
    }
}

#[test]
fn each_wait_is_counted() {
    let ThrottleAction::Retry { new_state, .. } = evaluate(&throttled(Some("70")), &initial(), None) else {
        panic!("not retried")
    };
    assert_eq!((new_state.attempt_count, new_state.cumulative_delay), (1, ms(70)));
}

#[test]
fn what_is_not_throttling_is_left_to_the_operation() {
    let success =
        TransportOutcome::Success { status: CosmosStatus::OK, headers: HeaderMap::new(), body: Bytes::new() };
    for outcome in [
        success,
        answered(CosmosStatus::SYSTEM_RESOURCE_UNAVAILABLE, Some("70")),
        answered(CosmosStatus::SERVICE_UNAVAILABLE, Some("70")),
        answered(CosmosStatus::retry_with(), None),
        TransportOutcome::DeadlineExceeded { request_sent: NotSent },
    ] {
        assert_eq!(evaluate(&outcome, &initial(), None), ThrottleAction::Propagate, "{outcome:?}");
    }
}

#[test]
fn a_lost_try_goes_over_another_connection_if_that_is_safe() {
    // sent, idempotent, earlier repeats -> repeated, and whether it may have been applied
    for (sent, is_idempotent, earlier, expected) in [
        (NotSent, false, 0, Some(false)),
        (NotSent, true, 0, Some(false)),
        (Sent, true, 0, Some(true)),
        (Unknown, true, 0, Some(true)),
        (Sent, false, 0, None),
        (Unknown, false, 0, None),
        (NotSent, true, MAX_SHARD_RETRIES, None),
    ] {
        let state = ThrottleRetryState { shard_retry_count: earlier, ..initial() };
        let outcome = &lost(sent);
        let (state, is_framed) = (&state, false);
        let attempted = TransportTry { outcome, state, is_idempotent, is_framed, deadline: None };
        let action = evaluate_transport_retry(&attempted, at(0), 0.0);
        let found = match action {
            ThrottleAction::RetryOnAnotherShard { new_state } => Some(new_state.may_have_applied),
            ThrottleAction::Retry { .. } | ThrottleAction::Propagate => None,
        };
        assert_eq!(found, expected, "{sent:?}, idempotent {is_idempotent}, {earlier} before");
    }
    assert_eq!(evaluate(&lost(NotSent), &initial(), Some(ms(0))), ThrottleAction::Propagate, "no time left");
}
