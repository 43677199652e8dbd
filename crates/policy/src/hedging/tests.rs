use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_wire::CosmosStatus;
use http::HeaderMap;

use super::*;
use crate::testing::{at, endpoint, ms, operation, partition, snapshot};
use crate::{FailoverMechanism, OperationType, Probe, RequestSentStatus, resolve_endpoint};

const FAST: ObservedLatency = ObservedLatency { count: 1000, p99: Some(Duration::from_millis(80)) };

fn dynamic(min: u64, max: u64) -> HedgingThreshold {
    HedgingThreshold::Dynamic { min: ms(min), max: ms(max) }
}

fn observed(count: u32, p99: u64) -> ObservedLatency {
    ObservedLatency { count, p99: Some(ms(p99)) }
}

#[test]
fn the_threshold_follows_the_99th_percentile_within_bounds() {
    for (case, threshold, observed, expected) in [
        ("within", dynamic(50, 4000), observed(1000, 80), 80),
        ("too low", dynamic(50, 4000), observed(1000, 3), 50),
        ("too high", dynamic(50, 4000), observed(1000, 9000), 4000),
        ("configured floor", dynamic(200, 4000), observed(1000, 80), 200),
        ("configured ceiling", dynamic(50, 300), observed(1000, 900), 300),
        ("floor below the hard one", dynamic(0, 4000), observed(1000, 3), 50),
        ("ceiling above the hard one", dynamic(50, 60_000), observed(1000, 9000), 4000),
        ("both above the hard ceiling", dynamic(5000, 9000), observed(1000, 80), 4000),
        ("both below the hard floor", dynamic(1, 2), observed(1000, 80), 50),
        ("too few requests", dynamic(50, 4000), observed(99, 80), 1000),
        ("just enough", dynamic(50, 4000), observed(100, 80), 80),
        ("none", dynamic(50, 4000), ObservedLatency::default(), 1000),
        ("none, low ceiling", dynamic(50, 300), ObservedLatency::default(), 300),
        ("static", HedgingThreshold::Static(ms(7)), observed(1000, 80), 7),
    ] {
        assert_eq!(hedging_threshold(threshold, observed), ms(expected), "{case}");
    }
}

const SETTINGS: HedgeSettings = HedgeSettings {
    enabled: true,
    writes_enabled: true,
    threshold: HedgingThreshold::Dynamic { min: HEDGING_FLOOR, max: HEDGING_CEILING },
    step: Duration::from_millis(500),
    max_regions: 3,
};

struct Setup {
    operation: CosmosOperation,
    retry_state: OperationRetryState,
    location: LocationSnapshot,
    settings: HedgeSettings,
    deadline: Option<Duration>,
    probe: bool,
}

impl Setup {
    fn new(kind: OperationType) -> Self {
        Self {
            operation: operation(kind),
            retry_state: OperationRetryState::initial(Some(partition("0")), &[]),
            location: snapshot(2, false),
            settings: SETTINGS,
            deadline: None,
            probe: false,
        }
    }

    fn plan(&self) -> Option<HedgePlan> {
        let mut routing = resolve_endpoint(&self.operation, &self.retry_state, &self.location, at(0));
        if self.probe {
            let mechanism = FailoverMechanism::CircuitBreaker;
            routing.probe = Probe::Proposed { partition: partition("0"), mechanism };
        }
        let context = HedgeContext {
            operation: &self.operation,
            retry_state: &self.retry_state,
            routing: &routing,
            location: &self.location,
            settings: self.settings,
            observed: FAST,
            deadline: self.deadline.map(|timeout| Deadline::after(at(0), timeout)),
        };
        plan_hedge(&context, at(0))
    }
}

#[test]
fn only_what_may_be_sent_twice_is_hedged() {
    use OperationType::*;
    let (single, multi) = (snapshot(2, false), snapshot(2, true));
    let reads_only = HedgeSettings { writes_enabled: false, ..SETTINGS };
    let container = cosmonaut_wire::ResourcePath::parse("/dbs/d/colls").unwrap();
    let container = CosmosOperation::new(Create, container);
    let one_region = HedgeSettings { max_regions: 1, ..SETTINGS };
    let retried = OperationRetryState { failover_retry_count: 1, ..OperationRetryState::default() };
    for (case, setup, hedged) in [
        ("read", Setup::new(Read), true),
        ("query", Setup::new(Query), true),
        ("off", Setup { settings: HedgeSettings { enabled: false, ..SETTINGS }, ..Setup::new(Read) }, false),
        ("one region wanted", Setup { settings: one_region, ..Setup::new(Read) }, false),
        ("writes off: read", Setup { settings: reads_only, ..Setup::new(Read) }, true),
        (
            "writes off: write",
            Setup { settings: reads_only, location: multi.clone(), ..Setup::new(Create) },
            false,
        ),
        ("one region", Setup { location: snapshot(1, false), ..Setup::new(Read) }, false),
        ("retry", Setup { retry_state: retried, ..Setup::new(Read) }, false),
        ("probe", Setup { probe: true, ..Setup::new(Read) }, false),
        (
            "new container",
            Setup { operation: container, location: multi.clone(), ..Setup::new(Create) },
            false,
        ),
        ("write, one write region", Setup { location: single, ..Setup::new(Create) }, false),
        ("create", Setup { location: multi.clone(), ..Setup::new(Create) }, true),
        ("upsert", Setup { location: multi.clone(), ..Setup::new(Upsert) }, true),
        ("patch", Setup { location: multi.clone(), ..Setup::new(Patch) }, false),
        ("batch", Setup { location: multi.clone(), ..Setup::new(Batch) }, false),
        ("procedure", Setup { location: multi, ..Setup::new(Execute) }, false),
    ] {
        let plan = setup.plan();
        assert_eq!(plan.is_some(), hedged, "{case}");
        if let Some(plan) = plan {
            assert_eq!(plan, HedgePlan { after: ms(80), step: ms(500), legs: 2 }, "{case}");
        }
    }
}

#[test]
fn the_deadline_leaves_time_for_the_second_leg() {
    for (threshold, deadline, expected) in [
        (HedgingThreshold::default(), 1000, Some(80)),
        (HedgingThreshold::default(), 120, Some(60)),
        (HedgingThreshold::default(), 52, Some(50)),
        (HedgingThreshold::default(), 50, None),
        (HedgingThreshold::Static(ms(500)), 600, Some(500)),
        (HedgingThreshold::Static(ms(500)), 500, None),
    ] {
        let settings = HedgeSettings { threshold, ..SETTINGS };
        let setup = Setup { settings, deadline: Some(ms(deadline)), ..Setup::new(OperationType::Read) };
        assert_eq!(setup.plan().map(|plan| plan.after), expected.map(ms), "{threshold} before {deadline} ms");
    }
}

#[test]
fn as_many_regions_are_asked_as_there_are_and_as_are_wanted() {
    for (regions, max_regions, legs) in
        [(1, 3, None), (2, 3, Some(2)), (3, 3, Some(3)), (5, 3, Some(3)), (5, 2, Some(2)), (9, 9, Some(4))]
    {
        let settings = HedgeSettings { max_regions, ..SETTINGS };
        let setup = Setup { settings, location: snapshot(regions, false), ..Setup::new(OperationType::Read) };
        assert_eq!(setup.plan().map(|plan| plan.legs), legs, "{regions} regions, {max_regions} wanted");
    }
}

fn answered(status: CosmosStatus) -> TransportResult {
    let (code, headers) = (status.code(), HeaderMap::new());
    let mut result = TransportResult::from_response(code, headers, Bytes::new(), ms(5));
    if let TransportOutcome::HttpError { status: found, .. } = &mut result.outcome {
        *found = status;
    }
    result
}

fn lost(request_sent: RequestSentStatus) -> TransportResult {
    let outcome = TransportOutcome::TransportError { error: Arc::new(std::fmt::Error), request_sent };
    TransportResult::new(outcome, ms(5))
}

#[test]
fn a_success_settles_the_race_and_so_does_an_answer_about_the_request() {
    let by_rest =
        RoutingDecision { endpoint: endpoint(0), framed: None, partition_override: None, probe: Probe::No };
    for (result, read, write) in [
        (answered(CosmosStatus::OK), true, true),
        (answered(CosmosStatus::NOT_MODIFIED), true, true),
        (answered(CosmosStatus::BAD_REQUEST), true, true),
        (answered(CosmosStatus::UNAUTHORIZED), true, true),
        (answered(CosmosStatus::PRECONDITION_FAILED), true, false),
        (answered(CosmosStatus::NOT_FOUND), false, false),
        (answered(CosmosStatus::CONFLICT), true, false),
        (answered(CosmosStatus::READ_SESSION_NOT_AVAILABLE), false, false),
        (answered(CosmosStatus::SERVICE_UNAVAILABLE), false, false),
        (answered(CosmosStatus::REQUEST_RATE_TOO_LARGE), false, false),
        (lost(RequestSentStatus::Sent), false, false),
    ] {
        assert_eq!(
            settles_hedge(&operation(OperationType::Read), &by_rest, &result),
            read,
            "read: {result:?}"
        );
        assert_eq!(
            settles_hedge(&operation(OperationType::Create), &by_rest, &result),
            write,
            "write: {result:?}"
        );
    }
}

#[test]
fn of_two_failures_the_one_that_says_more_counts() {
    const PRIMARY: usize = 0;
    const SECONDARY: usize = 1;
    let (not_found, unavailable) = (CosmosStatus::NOT_FOUND, CosmosStatus::SERVICE_UNAVAILABLE);
    let late = || {
        TransportResult::new(
            TransportOutcome::DeadlineExceeded { request_sent: RequestSentStatus::Sent },
            ms(5),
        )
    };
    let read = operation(OperationType::Read);
    for (case, primary, secondary, expected) in [
        ("equals", answered(unavailable), answered(unavailable), PRIMARY),
        ("final beats retryable", answered(unavailable), answered(not_found), SECONDARY),
        ("an answer beats none", lost(RequestSentStatus::Sent), answered(unavailable), SECONDARY),
        ("none loses", answered(unavailable), lost(RequestSentStatus::Sent), PRIMARY),
        ("a lost one beats a late one", late(), lost(RequestSentStatus::Sent), SECONDARY),
        ("success beats all", answered(not_found), answered(CosmosStatus::OK), SECONDARY),
    ] {
        let pick = pick_hedge_result(&read, &[primary, secondary]).unwrap();
        assert_eq!(pick, HedgePick { place: expected, in_doubt: false }, "{case}");
    }
}

#[test]
fn the_result_knows_whether_the_other_leg_may_have_been_applied() {
    use RequestSentStatus::{NotSent, Sent};
    for (case, kind, other, expected) in [
        ("sent write", OperationType::Create, lost(Sent), true),
        ("write not sent", OperationType::Create, lost(NotSent), false),
        ("write refused", OperationType::Create, answered(CosmosStatus::WRITE_FORBIDDEN), false),
        ("write lost inside", OperationType::Create, answered(CosmosStatus::SERVICE_UNAVAILABLE), true),
        ("write timed out", OperationType::Create, answered(CosmosStatus::REQUEST_TIMEOUT), true),
        ("read", OperationType::Read, lost(Sent), false),
    ] {
        let results = [other, answered(CosmosStatus::CONFLICT)];
        assert_eq!(pick_hedge_result(&operation(kind), &results).unwrap().in_doubt, expected, "{case}");
    }
}

#[test]
fn a_win_of_the_second_leg_is_told_about_the_first() {
    let read = operation(OperationType::Read);
    let state = OperationRetryState::initial(Some(partition("0")), &[]);
    let primary = resolve_endpoint(&read, &state, &snapshot(2, false), at(0));
    let effects = hedge_win_effects(&read, &state, &primary, at(0));
    let slow =
        UnavailablePartition { partition: partition("0"), endpoint: endpoint(0), access: Access::Read };
    assert!(effects.iter().eq([&LocationEffect::RecordHedgeWin(slow)]));
    assert!(hedge_win_effects(&read, &OperationRetryState::default(), &primary, at(0)).is_empty());
}

#[test]
fn what_a_gateway_says_by_itself_settles_nothing_and_its_silence_is_its_own() {
    let framed = RoutingDecision {
        endpoint: endpoint(0),
        framed: Some(endpoint(7)),
        partition_override: None,
        probe: Probe::No,
    };
    let answered = |code: u16, sub_status| {
        let status = CosmosStatus::new(http::StatusCode::from_u16(code).unwrap(), sub_status);
        let outcome = TransportOutcome::HttpError { status, headers: HeaderMap::new(), body: Bytes::new() };
        TransportResult::new(outcome, ms(5))
    };
    for (code, sub_status, expected) in [(403, 13_001, false), (405, 0, false), (400, 0, true)] {
        let result = answered(code, sub_status);
        let create = operation(OperationType::Create);
        assert_eq!(settles_hedge(&create, &framed, &result), expected, "{code}/{sub_status}");
        assert_eq!(is_nearly_settled(&framed, &result), expected, "{code}/{sub_status}");
    }
    let state = OperationRetryState::initial(Some(partition("0")), &[]);
    let effects = hedge_win_effects(&operation(OperationType::Read), &state, &framed, at(3));
    let (partition, access) = (partition("0"), Access::Read);
    let partition = Some(UnavailablePartition { partition, endpoint: endpoint(0), access });
    let slow = SilentGateway { gateway: endpoint(7), asked: at(3), partition };
    assert_eq!(effects.into_iter().collect::<Vec<_>>(), [LocationEffect::GatewaySlow(slow)]);
}
