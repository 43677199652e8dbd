//! A point read that meets no trouble pays for nothing: its decisions allocate only what is sent.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_options::{HedgingThreshold, RequestOptions, RequestOptionsView};
use cosmonaut_policy::{
    Attempt, AttemptSettings, ExecutionContext, HedgeContext, HedgeSettings, Moment, ObservedLatency,
    OperationAction, OperationRetryState, PartitionId, RetryLimits, Seen, SessionSource, SessionView,
    ShardSelection, ShardingConfig, TransportResult, build_transport_request, evaluate_transport_result,
    plan_hedge, resolve_endpoint, resolve_read_consistency, resolve_session, response_token, select_shard,
};
use cosmonaut_wire::{ConsistencyLevel, PartitionKeyRangeId, ResourceId, SessionToken, headers};
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::world;

/// A session that has seen one partition.
struct One(Arc<Seen>);

impl One {
    fn of(partition: &PartitionId, response: &HeaderMap) -> Self {
        let token = response_token(response).expect("a token");
        let range = partition.range();
        let progress = token.get(range).expect("the partition's own");
        Self(Arc::new(Seen::after(None, range, progress).expect("a first token is news")))
    }
}

impl SessionView for One {
    fn of_range(&self, _: ResourceId, _: &PartitionKeyRangeId) -> Option<Arc<Seen>> {
        Some(Arc::clone(&self.0))
    }

    fn of_container(&self, _: ResourceId) -> SessionToken {
        SessionToken::default()
    }
}

#[test]
fn a_point_reads_decisions_allocate_nothing_and_its_headers_only_their_map() {
    let (location, operation, partition) = (world::location(), world::read(), world::partition());
    let none = RequestOptions::default();
    let options = RequestOptionsView::new(&none, &none, &none, &none);
    let (now, limits, config) = (Moment::START, RetryLimits::default(), ShardingConfig::default());
    let response = HeaderMap::from_iter([(headers::SESSION_TOKEN, HeaderValue::from_static("0:-1#5"))]);
    let seen = One::of(&partition, &response);
    // The first copy of a header makes it shared, once for all requests.
    let _ = seen.0.header(partition.range()).clone();
    let result = TransportResult::from_response(StatusCode::OK, response, Bytes::new(), Default::default());
    let latencies = ObservedLatency::default();
    let mut sent = HeaderMap::with_capacity(16);
    write_once(&operation, &mut sent);

    let counted = allocation_counter::measure(|| {
        let retry_state = OperationRetryState::initial(Some(partition.clone()), &[]);
        let routing = resolve_endpoint(&operation, &retry_state, &location, now);
        let consistency = resolve_read_consistency(&operation, &options, ConsistencyLevel::Session).unwrap();
        let source = SessionSource {
            seen: &seen,
            given: None,
            container: None,
            partition: retry_state.partition.as_ref(),
            parents: &[],
            heirs: &[],
        };
        let session = resolve_session(&operation, consistency, false, source);
        assert!(session.session_token.is_some());
        let hedge = HedgeContext {
            operation: &operation,
            retry_state: &retry_state,
            routing: &routing,
            location: &location,
            settings: HedgeSettings {
                enabled: true,
                writes_enabled: true,
                threshold: HedgingThreshold::default(),
                step: Duration::from_millis(500),
                max_regions: 3,
            },
            observed: latencies,
            deadline: None,
        };
        assert!(plan_hedge(&hedge, now).is_some());
        let settings = AttemptSettings {
            options,
            multiple_write_locations: false,
            deadline: None,
            execution_context: ExecutionContext::Initial,
        };
        build_transport_request(&operation, &routing, &session, settings).write_headers(&mut sent);
        assert_eq!(select_shard(&[3, 2], |load| Some(*load), 1.0, &config), ShardSelection::Use(1));
        let attempt = Attempt {
            operation: &operation,
            routing: &routing,
            retry_state: &retry_state,
            location: &location,
            limits: &limits,
            deadline: None,
        };
        let (action, effects) = evaluate_transport_result(&attempt, &result, now, 0.0);
        assert!(action == OperationAction::Complete && effects.is_empty());
        let (_, headers) = result.answer().unwrap();
        assert!(seen.0.is_said_by(headers));
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
    assert_eq!(sent.len(), 2);
}

/// Makes the operation's own header shared, as the first attempt does.
fn write_once(operation: &cosmonaut_policy::CosmosOperation, sent: &mut HeaderMap) {
    let cosmonaut_policy::PartitionTarget::Key { header, .. } = operation.target() else { unreachable!() };
    sent.insert(headers::PARTITION_KEY, header.clone());
}
