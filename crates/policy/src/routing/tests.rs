use std::sync::Arc;

use cosmonaut_wire::{CosmosStatus, RegionName};
use proptest::prelude::*;

use super::*;
use crate::testing::{at, endpoint, global, operation, partition, region, snapshot};
use crate::{
    FailureCause, LocationEffect, OperationType, PartitionEndpointState, PartitionFailoverConfig,
    PartitionMove, UnavailablePartition, begin_probe, expire_partition_overrides,
};

fn knowing_partition() -> OperationRetryState {
    OperationRetryState::initial(Some(partition("0")), &[])
}

fn excluding(regions: &[usize]) -> OperationRetryState {
    let names: Vec<RegionName> = regions.iter().map(|index| RegionName::from(region(*index))).collect();
    OperationRetryState::initial(Some(partition("0")), &names)
}

fn out(location: &LocationSnapshot, index: usize, seconds: u64) -> LocationSnapshot {
    let (endpoint, reason) = (endpoint(index), UnavailableReason::ServiceUnavailable);
    let effect = LocationEffect::MarkEndpointUnavailable { endpoint, reason, partition: None };
    location.after(&effect, at(seconds)).unwrap()
}

/// Partition 0 after so many failures at one endpoint.
fn failing(location: &LocationSnapshot, index: usize, access: Access, count: u32) -> LocationSnapshot {
    let failed = UnavailablePartition { partition: partition("0"), endpoint: endpoint(index), access };
    let effect = LocationEffect::MarkPartitionUnavailable(failed);
    (0..count).fold(location.clone(), |location, _| location.after(&effect, at(0)).unwrap())
}

/// Partition 0 after the service has moved its writes from one region to another.
fn moved(location: &LocationSnapshot, from: usize, to: usize) -> LocationSnapshot {
    let failed = vec![endpoint(from)];
    let moved = PartitionMove { partition: partition("0"), failed, confirmed: endpoint(to) };
    location.after(&LocationEffect::MovePartition(moved), at(0)).unwrap()
}

fn left(state: &OperationRetryState, indices: &[usize]) -> OperationRetryState {
    indices.iter().fold(state.clone(), |state, index| {
        let mut next =
            state.leaving(&endpoint(*index), FailureCause::Status(CosmosStatus::SERVICE_UNAVAILABLE));
        next.failover_retry_count += 1;
        next
    })
}

fn read_goes_to(retry_state: &OperationRetryState, location: &LocationSnapshot) -> CosmosEndpoint {
    resolve_endpoint(&operation(OperationType::Read), retry_state, location, at(10)).endpoint
}

#[test]
fn the_first_endpoint_in_service_is_chosen() {
    let all = snapshot(3, false);
    let first_out = out(&all, 0, 1);
    let all_out = out(&out(&out(&all, 2, 1), 0, 2), 1, 3);
    let fresh = knowing_partition();
    for (case, state, location, expected) in [
        ("all in service", fresh.clone(), &all, endpoint(0)),
        ("first out of service", fresh.clone(), &first_out, endpoint(1)),
        ("first left by this operation", left(&fresh, &[0]), &all, endpoint(1)),
        ("all out of service", fresh.clone(), &all_out, global()),
        ("all and the account's own out of use", excluding(&[9]), &all_out, endpoint(2)),
        ("all left", left(&fresh, &[0, 2, 1]), &all, global()),
        ("all left, some excluded region", left(&excluding(&[9]), &[0, 2, 1]), &all, endpoint(0)),
        ("first excluded", excluding(&[0]), &all, endpoint(1)),
        ("all but one excluded, that one out", excluding(&[1, 2]), &first_out, endpoint(0)),
        ("all excluded", excluding(&[0, 1, 2]), &all, global()),
    ] {
        assert_eq!(read_goes_to(&state, location), expected, "{case}");
    }
}

#[test]
fn what_one_partition_was_answered_is_no_reason_for_others_to_leave() {
    let all = snapshot(3, false);
    let answered = |location: &LocationSnapshot, range: Option<&str>, seconds| {
        let (reason, partition) = (UnavailableReason::ServiceUnavailable, range.map(partition));
        let effect = LocationEffect::MarkEndpointUnavailable { endpoint: endpoint(0), reason, partition };
        location.after(&effect, at(seconds)).unwrap()
    };
    let one = answered(&all, Some("0"), 1);
    let no_breaker = LocationSnapshot {
        partitions: Arc::new(PartitionEndpointState::new(PartitionFailoverConfig {
            circuit_breaker_option_enabled: false,
            ..Default::default()
        })),
        ..one.clone()
    };
    let (own, other) = (Some("0"), Some("1"));
    for (case, range, location, expected) in [
        ("another partition", other, &one, endpoint(0)),
        ("the one that is being counted", own, &one, endpoint(0)),
        ("it fails again", other, &answered(&one, own, 2), endpoint(0)),
        ("a second one fails", other, &answered(&one, Some("2"), 2), endpoint(1)),
        ("and the first again", other, &answered(&answered(&one, Some("2"), 2), own, 3), endpoint(1)),
        ("something else fails", other, &answered(&one, None, 2), endpoint(1)),
        ("something else failed before", other, &answered(&answered(&all, None, 1), own, 2), endpoint(1)),
        ("there was no answer at all", other, &out(&one, 0, 2), endpoint(1)),
        ("partition unknown", None, &one, endpoint(1)),
        ("partitions are not followed", other, &no_breaker, endpoint(1)),
    ] {
        let state = OperationRetryState::initial(range.map(partition), &[]);
        assert_eq!(read_goes_to(&state, location), expected, "{case}");
    }
    let long_after = answered(&answered(&all, Some("2"), 1), own, 70);
    let state = OperationRetryState::initial(other.map(partition), &[]);
    let decision = resolve_endpoint(&operation(OperationType::Read), &state, &long_after, at(71));
    assert_eq!(decision.endpoint, endpoint(0), "the other failure is over");
}

#[test]
fn writes_go_to_write_regions() {
    let write = operation(OperationType::Create);
    for (case, location, expected) in [
        ("one write region", snapshot(3, false), endpoint(0)),
        (
            "one write region, out of service: the partition may be anywhere",
            out(&snapshot(3, false), 0, 1),
            endpoint(1),
        ),
        ("several write regions, first out", out(&snapshot(3, true), 0, 1), endpoint(1)),
    ] {
        assert_eq!(
            resolve_endpoint(&write, &knowing_partition(), &location, at(10)).endpoint,
            expected,
            "{case}"
        );
    }
}

#[test]
fn an_endpoint_that_refuses_writes_still_answers_reads() {
    let (endpoint, reason) = (endpoint(0), UnavailableReason::WriteForbidden);
    let effect =
        LocationEffect::MarkEndpointUnavailable { endpoint: endpoint.clone(), reason, partition: None };
    let location = snapshot(2, true).after(&effect, at(1)).unwrap();
    assert_eq!(read_goes_to(&knowing_partition(), &location), endpoint);
    let write = operation(OperationType::Create);
    assert_ne!(resolve_endpoint(&write, &knowing_partition(), &location, at(10)).endpoint, endpoint);
}

#[test]
fn a_moved_partition_goes_where_it_was_moved_to() {
    let (read, write) = (operation(OperationType::Read), operation(OperationType::Create));
    let unknown = OperationRetryState::initial(None, &[]);
    let known = knowing_partition();
    let (single, multi) = (snapshot(3, false), snapshot(3, true));
    let failover = moved(&single, 0, 1);
    let tripped = failing(&single, 0, Access::Read, 3);
    // case, operation, state, location, endpoint, whether it is by override
    for (case, operation, state, location, expected, by_override) in [
        ("automatic failover", &write, &known, &failover, endpoint(1), true),
        ("automatic failover, read", &read, &known, &failover, endpoint(0), false),
        ("breaker tripped", &read, &known, &tripped, endpoint(1), true),
        ("breaker counting", &read, &known, &failing(&single, 0, Access::Read, 2), endpoint(0), false),
        (
            "breaker tripped for reads, write",
            &write,
            &known,
            &failing(&multi, 0, Access::Read, 3),
            endpoint(0),
            false,
        ),
        (
            "breaker tripped for writes",
            &write,
            &known,
            &failing(&multi, 0, Access::Write, 6),
            endpoint(1),
            true,
        ),
        ("partition unknown", &read, &unknown, &tripped, endpoint(0), false),
        ("override beats the account's order", &read, &known, &out(&tripped, 2, 1), endpoint(1), true),
        ("override out of service", &read, &known, &out(&tripped, 1, 1), endpoint(2), false),
        ("override excluded", &read, &excluding(&[1]), &tripped, endpoint(2), false),
        ("override left", &read, &left(&known, &[1]), &tripped, endpoint(2), false),
    ] {
        let decision = resolve_endpoint(operation, state, location, at(10));
        assert_eq!(decision.endpoint, expected, "{case}");
        assert_eq!(decision.partition_override.is_some(), by_override, "{case}");
        assert!(!decision.is_probe(), "{case}");
    }
    let decision = resolve_endpoint(&read, &known, &tripped, at(10));
    assert_eq!(decision.partition_override.unwrap().original, endpoint(0));
}

#[test]
fn a_moved_write_may_go_where_writes_are_refused_in_general() {
    let moved = moved(&snapshot(3, false), 0, 1);
    let reason = UnavailableReason::WriteForbidden;
    let effect = LocationEffect::MarkEndpointUnavailable { endpoint: endpoint(1), reason, partition: None };
    let location = moved.after(&effect, at(1)).unwrap();
    let decision =
        resolve_endpoint(&operation(OperationType::Create), &knowing_partition(), &location, at(10));
    assert_eq!(decision.endpoint, endpoint(1));
}

#[test]
fn one_request_probes_and_the_others_do_not() {
    let read = operation(OperationType::Read);
    let tripped = failing(&snapshot(3, false), 0, Access::Read, 3);
    let ready = tripped.with_partitions(expire_partition_overrides(&tripped.partitions, at(6)));
    let probe = resolve_endpoint(&read, &knowing_partition(), &ready, at(10));
    assert_eq!((probe.endpoint.clone(), probe.is_probe()), (endpoint(0), true));
    let Probe::Proposed { partition, mechanism } = probe.probe else { panic!("not proposed: {probe:?}") };

    for (case, state, location) in [
        ("a retry", left(&knowing_partition(), &[2]), &ready),
        ("original region excluded", excluding(&[0]), &ready),
        ("original region out of service", knowing_partition(), &out(&ready, 0, 9)),
    ] {
        let decision = resolve_endpoint(&read, &state, location, at(10));
        assert_eq!((decision.endpoint.clone(), decision.is_probe()), (endpoint(1), false), "{case}");
    }

    let (state, _ticket) = begin_probe(&ready.partitions, mechanism, &partition, at(10)).unwrap();
    let under_way = ready.with_partitions(state);
    let decision = resolve_endpoint(&read, &knowing_partition(), &under_way, at(10));
    assert_eq!((decision.endpoint.clone(), decision.is_probe()), (endpoint(1), false));
}

#[test]
fn a_repeat_in_place_stays_while_its_endpoint_is_in_service() {
    let location = snapshot(3, false);
    let state = knowing_partition().staying_at(&endpoint(2));
    assert_eq!(read_goes_to(&state, &location), endpoint(2));
    assert_eq!(read_goes_to(&state, &out(&location, 2, 1)), endpoint(0));
}

#[test]
fn a_session_goes_to_the_region_that_takes_the_partitions_writes() {
    let state = OperationRetryState { prefer_write_region: true, ..knowing_partition() };
    let location = snapshot(3, false);
    let order = |location: &LocationSnapshot, index| {
        let account = out(location, index, 1);
        read_goes_to(&state, &account)
    };
    assert_eq!(order(&location, 1), endpoint(0));
    assert_eq!(read_goes_to(&state, &moved(&location, 0, 1)), endpoint(1), "moved by the service");
    assert_eq!(order(&location, 0), endpoint(1), "write region out of service");
}

#[test]
fn a_second_leg_goes_to_the_next_region_in_service() {
    let read = operation(OperationType::Read);
    let location = snapshot(3, false);
    let tripped = failing(&location, 0, Access::Read, 3);
    for (case, state, location, expected) in [
        ("all in service", knowing_partition(), &location, Some(endpoint(1))),
        ("second out of service", knowing_partition(), &out(&location, 1, 1), Some(endpoint(2))),
        ("second excluded", excluding(&[1]), &location, Some(endpoint(2))),
        ("no second", excluding(&[1, 2]), &location, None),
        ("only one region", knowing_partition(), &snapshot(1, false), None),
        ("first moved", knowing_partition(), &tripped, Some(endpoint(2))),
    ] {
        let primary = resolve_endpoint(&read, &state, location, at(10));
        let second = resolve_hedge_endpoint(&read, &state, location, &[primary.endpoint], at(10));
        assert_eq!(second.map(|second| second.endpoint), expected, "{case}");
    }
}

proptest! {
    #[test]
    fn excluded_regions_are_never_chosen_unless_all_are(
        regions in 1..5_usize,
        excluded in proptest::collection::vec(0..5_usize, 0..5),
        out_of_service in proptest::collection::vec((0..5_usize, 0..10_u64), 0..5),
        tried in proptest::collection::vec(0..5_usize, 0..8),
        failures in 0..5_u32,
        multi_write in any::<bool>(),
        write in any::<bool>(),
    ) {
        let location = failing(&snapshot(regions, multi_write), 0, Access::Read, failures);
        let location = out_of_service.iter().fold(location, |location, (index, seconds)| out(&location, *index, *seconds));
        let state = left(&excluding(&excluded), &tried);
        let operation = operation(if write { OperationType::Create } else { OperationType::Read });
        let chosen = resolve_endpoint(&operation, &state, &location, at(10)).endpoint;
        // The writes of a partition that the service moves by itself may have gone to any region.
        let any_region = if write && !multi_write && regions > 1 { location.account.preferred_read_endpoints() } else { location.account.endpoints_for(&operation) };
        let all_excluded = any_region.iter().all(|one| one.is_in(&state.excluded_regions));
        prop_assert!(!chosen.is_in(&state.excluded_regions));
        prop_assert!(!all_excluded || chosen == global());
        prop_assert!(chosen == global() || Arc::as_ref(&location.account).preferred_read_endpoints().contains(&chosen));
    }
}
