mod gateways;
mod retries;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};

use super::*;
use crate::testing::{at, endpoint, global, ms, operation, partition, snapshot};
use crate::{
    Access, CosmosEndpoint, FailoverMechanism, OperationType, PartitionId, PartitionMove, PartitionTarget,
    Precondition, Probe, UnavailablePartition, begin_probe, expire_partition_overrides,
};
use RequestSentStatus::{NotSent, Sent, Unknown};

fn answered(code: u16, sub_status: u32) -> TransportOutcome {
    let status = CosmosStatus::new(StatusCode::from_u16(code).unwrap(), sub_status);
    let (headers, body) = (HeaderMap::new(), Bytes::new());
    if status.is_success() {
        TransportOutcome::Success { status, headers, body }
    } else {
        TransportOutcome::HttpError { status, headers, body }
    }
}

fn lost(request_sent: RequestSentStatus) -> TransportOutcome {
    TransportOutcome::TransportError { error: Arc::new(std::fmt::Error), request_sent }
}

fn failed_here(request_sent: RequestSentStatus) -> TransportOutcome {
    TransportOutcome::LocalFailure { error: Arc::new(std::fmt::Error), request_sent }
}

fn late(request_sent: RequestSentStatus) -> TransportOutcome {
    TransportOutcome::DeadlineExceeded { request_sent }
}

fn read() -> CosmosOperation {
    operation(OperationType::Read)
}

fn create() -> CosmosOperation {
    operation(OperationType::Create)
}

fn replace_of_one_version() -> CosmosOperation {
    let version = Precondition::IfMatch(HeaderValue::from_static("\"1\""));
    operation(OperationType::Replace).with_precondition(version)
}

fn to(endpoint: CosmosEndpoint) -> RoutingDecision {
    RoutingDecision { endpoint, framed: None, partition_override: None, probe: Probe::No }
}

/// An attempt in a world of its own.
struct World {
    operation: CosmosOperation,
    routing: RoutingDecision,
    state: OperationRetryState,
    location: LocationSnapshot,
    limits: RetryLimits,
    deadline: Option<Deadline>,
}

impl World {
    fn new(operation: CosmosOperation) -> Self {
        Self {
            operation,
            routing: to(endpoint(0)),
            state: OperationRetryState::initial(Some(partition("0")), &[]),
            location: snapshot(3, false),
            limits: RetryLimits::default(),
            deadline: None,
        }
    }

    fn evaluate(&self, outcome: TransportOutcome) -> (OperationAction, Effects) {
        self.evaluate_result(&TransportResult::new(outcome, ms(5)))
    }

    fn evaluate_result(&self, result: &TransportResult) -> (OperationAction, Effects) {
        evaluate_transport_result(&self.attempt(), result, at(0), 1.0)
    }

    fn attempt(&self) -> Attempt<'_> {
        Attempt {
            operation: &self.operation,
            routing: &self.routing,
            retry_state: &self.state,
            location: &self.location,
            limits: &self.limits,
            deadline: self.deadline,
        }
    }
}

/// An evaluation in words: the action, then the effects.
fn words((action, effects): &(OperationAction, Effects)) -> String {
    let action = match action {
        OperationAction::Complete => "complete".to_owned(),
        OperationAction::FailoverRetry { .. } => "failover".to_owned(),
        OperationAction::SessionRetry { .. } => "session".to_owned(),
        OperationAction::RetryInPlace { .. } => "in place".to_owned(),
        OperationAction::RefreshRetry { stale, .. } => format!("refresh {stale:?}"),
        OperationAction::Abort(kind) => format!("{kind:?}"),
    };
    effects.iter().fold(action, |words, effect| match effect {
        LocationEffect::RefreshAccountProperties => words + ", account",
        LocationEffect::CheckEndpoint(_) => words + ", check",
        LocationEffect::MarkEndpointUnavailable { reason, .. } => format!("{words}, {reason:?}"),
        LocationEffect::MarkPartitionUnavailable(_) => words + ", partition",
        LocationEffect::SuspectPartition(_) => words + ", suspect",
        LocationEffect::MovePartition(_) => words + ", moved",
        LocationEffect::RecordHedgeWin(_) => words + ", hedge win",
        LocationEffect::ResetHedgeWins(_) => words + ", reset",
        LocationEffect::ProbeSucceeded(_) => words + ", probe succeeded",
        LocationEffect::ProbeFailed(_) => words + ", probe failed",
        LocationEffect::ProbeAbandoned(_) => words + ", probe abandoned",
        LocationEffect::GatewayLost(_) => words + ", gateway lost",
        LocationEffect::GatewayHung(_) => words + ", gateway hung",
        LocationEffect::GatewaySlow(_) => words + ", gateway slow",
        LocationEffect::GatewayRefused(_) => words + ", gateway refused",
        LocationEffect::GatewayClosed(_) => words + ", gateway closed",
        LocationEffect::GatewayAnswered(_) => words + ", gateway answered",
    })
}

/// The status matrix: each outcome for a read, for a write that cannot be applied twice, and for one that
/// can. Where the service moves single partitions, which these accounts with one write region have, a failed write
/// says nothing yet about its partition.
#[test]
fn the_status_matrix() {
    const OUTAGE: &str = "failover, partition, ServiceUnavailable";
    const MOVED: &str = "failover, account, WriteForbidden, partition";
    const GONE_HERE: &str = "failover, account, AccountNotFound";
    const RANGES: &str = "refresh PartitionKeyRanges";
    const FINAL: &str = "FinalStatus";
    const UNKNOWN: &str = "OutcomeUnknown";
    const UNHEARD: &str = "OutcomeUnknown, check";
    let same = |words: &'static str| [words; 3];
    let timeout = "failover, partition, RequestTimeout";
    let server_error = "failover, partition, InternalServerError";
    let cut_off = "failover, TransportError";
    let in_doubt = [OUTAGE, OUTAGE, "OutcomeUnknown, partition, ServiceUnavailable"];
    for (case, outcome, expected) in [
        ("200", answered(200, 0), same("complete")),
        ("201", answered(201, 0), same("complete")),
        ("204", answered(204, 0), same("complete")),
        ("207", answered(207, 0), same("complete")),
        ("304", answered(304, 0), same("complete")),
        ("400", answered(400, 0), same(FINAL)),
        ("400/1001", answered(400, 1001), same(FINAL)),
        ("400/1004", answered(400, 1004), same(FINAL)),
        ("400/1024", answered(400, 1024), same("refresh Container")),
        ("401", answered(401, 0), same(FINAL)),
        ("403", answered(403, 0), same(FINAL)),
        ("403/3", answered(403, 3), same(MOVED)),
        ("403/1008", answered(403, 1008), same(GONE_HERE)),
        ("403/5300", answered(403, 5300), same(FINAL)),
        ("404", answered(404, 0), same(FINAL)),
        ("404/1002", answered(404, 1002), same("session")),
        ("404/1003", answered(404, 1003), same(FINAL)),
        ("405", answered(405, 0), same(FINAL)),
        ("408", answered(408, 0), [timeout, timeout, "OutcomeUnknown, partition, RequestTimeout"]),
        ("408/1", answered(408, 1), [timeout, timeout, "OutcomeUnknown, partition, RequestTimeout"]),
        ("409", answered(409, 0), same(FINAL)),
        ("410", answered(410, 0), same(OUTAGE)),
        ("410/1000", answered(410, 1000), same("refresh Container")),
        ("410/1002", answered(410, 1002), same(RANGES)),
        ("410/1007", answered(410, 1007), same(RANGES)),
        ("410/1008", answered(410, 1008), same(RANGES)),
        ("410/1022", answered(410, 1022), same(OUTAGE)),
        ("412", answered(412, 0), same(FINAL)),
        ("413", answered(413, 0), same(FINAL)),
        ("424", answered(424, 0), same(FINAL)),
        ("429", answered(429, 0), same("RetriesExhausted")),
        ("429/3200", answered(429, 3200), same("RetriesExhausted")),
        ("429/3092", answered(429, 3092), same(OUTAGE)),
        ("449", answered(449, 0), same("in place")),
        ("500", answered(500, 0), [server_error, UNKNOWN, UNKNOWN]),
        ("501", answered(501, 0), same(FINAL)),
        ("502", answered(502, 0), in_doubt),
        ("503", answered(503, 0), in_doubt),
        ("503/1022, no lease", answered(503, 1022), same(OUTAGE)),
        ("503/20001, not sent", answered(503, 20001), same(OUTAGE)),
        ("503/20003, timed out inside", answered(503, 20003), in_doubt),
        ("503/20006, cut off inside", answered(503, 20006), in_doubt),
        ("503/21001, not there", answered(503, 21001), same(OUTAGE)),
        ("503/21006, not everywhere yet", answered(503, 21006), in_doubt),
        ("503/21008, refused", answered(503, 21008), same(OUTAGE)),
        ("503/21010", answered(503, 21010), in_doubt),
        ("503/21012, not everywhere yet", answered(503, 21012), in_doubt),
        ("504", answered(504, 0), in_doubt),
        ("lost, not sent", lost(NotSent), same("failover, check")),
        ("lost, sent", lost(Sent), [cut_off, cut_off, UNHEARD]),
        ("lost, perhaps sent", lost(Unknown), [cut_off, cut_off, UNHEARD]),
        ("failed on this side, not sent", failed_here(NotSent), same(FINAL)),
        ("failed on this side, sent", failed_here(Sent), [FINAL, UNKNOWN, UNKNOWN]),
        ("late, not sent", late(NotSent), same("DeadlineExceeded")),
        ("late, sent", late(Sent), ["DeadlineExceeded", UNKNOWN, UNKNOWN]),
        ("late, perhaps sent", late(Unknown), ["DeadlineExceeded", UNKNOWN, UNKNOWN]),
    ] {
        let operations = [read(), replace_of_one_version(), create()];
        for (operation, expected) in operations.into_iter().zip(expected) {
            for multi_write in [false, true] {
                let kind = operation.operation_type();
                let is_moved_by_the_service = !multi_write && !operation.is_read_only();
                let expected = match is_moved_by_the_service {
                    true => {
                        // Whoever cannot try elsewhere leaves it to the next write.
                        let suspect = if expected.starts_with("OutcomeUnknown, ") { ", suspect" } else { "" };
                        expected.replace(", WriteForbidden", "").replace(", partition", "") + suspect
                    }
                    false => expected.to_owned(),
                };
                let location = snapshot(3, multi_write);
                let world = World { location, ..World::new(operation.clone()) };
                let found = words(&world.evaluate(outcome.clone()));
                assert_eq!(found, expected, "{case}, {kind:?}, multi-write {multi_write}");
            }
        }
    }
}

/// Regions that a write has gone through, and what each of them answered.
fn left_behind(regions: &[(usize, u16, u32)]) -> OperationRetryState {
    let initial = OperationRetryState::initial(Some(partition("0")), &[]);
    regions.iter().fold(initial, |state, (region, code, sub_status)| {
        let status = CosmosStatus::new(StatusCode::from_u16(*code).unwrap(), *sub_status);
        state.leaving(&endpoint(*region), FailureCause::Status(status))
    })
}

#[test]
fn a_partition_whose_write_ended_in_doubt_is_looked_for_by_the_next_write() {
    let write = create();
    let mut location = snapshot(3, false);
    let mut asked = Vec::new();
    for _ in 0..3 {
        let state = OperationRetryState::initial(Some(partition("0")), &[]);
        let routing = crate::resolve_endpoint(&write, &state, &location, at(0));
        asked.push(routing.endpoint.clone());
        let world = World { routing, state, location: location.clone(), ..World::new(write.clone()) };
        for effect in world.evaluate(answered(503, 0)).1 {
            location = location.after(&effect, at(0)).unwrap_or(location);
        }
    }
    assert_eq!(asked, [endpoint(0), endpoint(1), endpoint(2)]);
}

#[test]
fn what_is_refused_for_metadata_says_nothing_about_items() {
    let path = cosmonaut_wire::ResourcePath::parse("/dbs/d/colls").unwrap();
    let world = World {
        location: snapshot(3, true),
        ..World::new(CosmosOperation::new(OperationType::Create, path))
    };
    assert_eq!(words(&world.evaluate(answered(403, 3))), "failover, account");
}

#[test]
fn a_partition_has_moved_once_another_region_proves_to_have_it() {
    for (case, before, answer, moved_from) in [
        ("taken at once", vec![], (201, 0), None),
        ("taken by the second", vec![(0, 403, 3)], (201, 0), Some(vec![0])),
        ("taken by the third", vec![(0, 503, 21008), (1, 403, 3)], (200, 0), Some(vec![0, 1])),
        ("there is one already", vec![(0, 403, 3)], (409, 0), Some(vec![0])),
        ("another version", vec![(0, 503, 0)], (412, 0), Some(vec![0])),
        ("no such item", vec![(0, 403, 3)], (404, 0), None),
        ("refused too", vec![(0, 403, 3)], (403, 3), None),
        ("nobody's fault there", vec![(0, 403, 1008)], (201, 0), None),
    ] {
        let world = World { state: left_behind(&before), routing: to(endpoint(2)), ..World::new(create()) };
        let (_, effects) = world.evaluate(answered(answer.0, answer.1));
        let found = effects.iter().find_map(|effect| match effect {
            LocationEffect::MovePartition(moved) => Some(moved.clone()),
            _ => None,
        });
        let expected = moved_from.map(|regions| PartitionMove {
            partition: partition("0"),
            failed: regions.into_iter().map(endpoint).collect(),
            confirmed: endpoint(2),
        });
        assert_eq!(found, expected, "{case}");
    }
}

#[test]
fn an_unknown_partition_is_not_marked() {
    for (partition, path, expected) in [
        (None, "/dbs/d/colls/c/docs/1", "failover, ServiceUnavailable"),
        (Some("0"), "/dbs/d/colls/c", "failover, ServiceUnavailable"),
        (Some("0"), "/dbs/d/colls/c/docs/1", "failover, partition, ServiceUnavailable"),
    ] {
        let path = cosmonaut_wire::ResourcePath::parse(path).unwrap();
        let mut world = World::new(CosmosOperation::new(OperationType::Read, path));
        world.state.partition = partition.map(crate::testing::partition);
        assert_eq!(words(&world.evaluate(answered(503, 0))), expected);
    }
}

#[test]
fn the_partition_of_the_operation_and_the_endpoint_of_the_attempt_are_marked() {
    let world = World { routing: to(endpoint(2)), ..World::new(read()) };
    let (_, effects) = world.evaluate(answered(503, 0));
    let expected =
        UnavailablePartition { partition: partition("0"), endpoint: endpoint(2), access: Access::Read };
    assert_eq!(effects.iter().next(), Some(&LocationEffect::MarkPartitionUnavailable(expected)));
}

/// A world whose attempt is a probe.
fn probing() -> World {
    let mut world = World::new(read());
    let failed =
        UnavailablePartition { partition: partition("0"), endpoint: endpoint(0), access: Access::Read };
    for _ in 0..3 {
        let effect = LocationEffect::MarkPartitionUnavailable(failed.clone());
        world.location = world.location.after(&effect, at(0)).unwrap();
    }
    let ready = expire_partition_overrides(&world.location.partitions, at(6));
    let (state, ticket) =
        begin_probe(&ready, FailoverMechanism::CircuitBreaker, &partition("0"), at(6)).unwrap();
    world.location = world.location.with_partitions(state);
    world.routing.probe = Probe::UnderWay(ticket);
    world
}

#[test]
fn each_end_of_a_probe_is_told() {
    for (case, outcome, expected) in [
        ("success", answered(200, 0), "complete, probe succeeded"),
        ("no such item", answered(404, 0), "FinalStatus, probe succeeded"),
        ("throttled", answered(429, 3200), "RetriesExhausted, probe succeeded"),
        ("met another", answered(449, 0), "in place, probe succeeded"),
        ("behind the session", answered(404, 1002), "session, probe failed"),
        ("outage", answered(503, 0), "failover, probe failed, ServiceUnavailable"),
        ("not in region", answered(403, 1008), "failover, probe failed, account, AccountNotFound"),
        ("moved", answered(403, 3), "failover, account, WriteForbidden, probe failed"),
        ("timeout", answered(408, 0), "failover, probe failed, RequestTimeout"),
        ("split", answered(410, 1002), "refresh PartitionKeyRanges, probe abandoned"),
        ("lost", lost(Sent), "failover, probe failed, TransportError"),
        ("not connected", lost(NotSent), "failover, probe failed, check"),
        ("hangs", late(Sent), "DeadlineExceeded, probe failed"),
        ("no time to send", late(NotSent), "DeadlineExceeded, probe abandoned"),
    ] {
        assert_eq!(words(&probing().evaluate(outcome)), expected, "{case}");
    }
}

#[test]
fn an_answer_after_slow_ones_is_told_if_it_is_the_slow_regions() {
    let mut world = World::new(read());
    let slow =
        UnavailablePartition { partition: partition("0"), endpoint: endpoint(0), access: Access::Read };
    world.location = world.location.after(&LocationEffect::RecordHedgeWin(slow), at(0)).unwrap();
    assert_eq!(words(&world.evaluate(answered(200, 0))), "complete, reset");
    world.routing = to(endpoint(1));
    assert_eq!(words(&world.evaluate(answered(200, 0))), "complete");
}

#[test]
fn a_deadline_after_long_silence_counts_for_the_breaker() {
    for (case, operation, latency, sent, expected) in [
        ("read", read(), 1000, Sent, "DeadlineExceeded, partition"),
        ("impatient read", read(), 999, Sent, "DeadlineExceeded"),
        ("not sent", read(), 5000, NotSent, "DeadlineExceeded"),
        ("write, moved by the service alone", create(), 5000, Sent, "OutcomeUnknown, check, suspect"),
        ("impatient write", create(), 999, Sent, "OutcomeUnknown"),
    ] {
        let result = TransportResult::new(late(sent), ms(latency));
        assert_eq!(words(&World::new(operation).evaluate_result(&result)), expected, "{case}");
    }
}
