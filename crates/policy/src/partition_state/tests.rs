use super::*;
use crate::testing::{account, at, endpoint, operation, partition, partitions};
use crate::{Access, AccountEndpointState, CosmosEndpoint, CosmosOperation, Moment, OperationType};
use FailoverMechanism::{AutomaticFailover, CircuitBreaker};

fn failure(failed: CosmosEndpoint, access: Access) -> UnavailablePartition {
    UnavailablePartition { partition: partition("0"), endpoint: failed, access }
}

/// The state after so many failures of partition 0 at one endpoint.
fn after_failures(
    state: &PartitionEndpointState,
    account: &AccountEndpointState,
    (failed, access, count): (usize, Access, u32),
    now: Moment,
) -> PartitionEndpointState {
    (0..count).fold(state.clone(), |state, _| {
        mark_partition_unavailable(&state, account, &failure(endpoint(failed), access), now)
    })
}

fn entry(state: &PartitionEndpointState, mechanism: FailoverMechanism) -> Option<&PartitionFailoverEntry> {
    state.entry(mechanism, &partition("0"))
}

fn current(state: &PartitionEndpointState, mechanism: FailoverMechanism) -> Option<CosmosEndpoint> {
    entry(state, mechanism).map(|entry| entry.current_endpoint.clone())
}

#[test]
fn a_request_falls_under_one_mechanism_or_none() {
    let databases =
        CosmosOperation::new(OperationType::Read, cosmonaut_wire::ResourcePath::database("d").unwrap());
    let (read, write) = (operation(OperationType::Read), operation(OperationType::Create));
    // case, operation, regions, multi-write, the account's flag, the option, expected
    for (case, operation, regions, multi_write, flag, option, expected) in [
        ("write, single-write", &write, 2, false, true, true, Some(AutomaticFailover)),
        ("write, single-write, flag off", &write, 2, false, false, true, None),
        ("write, multi-write", &write, 2, true, true, true, Some(CircuitBreaker)),
        ("write, multi-write, by option", &write, 2, true, false, true, Some(CircuitBreaker)),
        ("read, single-write", &read, 2, false, true, true, Some(CircuitBreaker)),
        ("read, multi-write", &read, 2, true, true, true, Some(CircuitBreaker)),
        ("read, flag on, option off", &read, 2, false, true, false, Some(CircuitBreaker)),
        ("read, both off", &read, 2, false, false, false, None),
        ("write, both off", &write, 2, true, false, false, None),
        ("not partitioned", &databases, 2, false, true, true, None),
        ("one region", &read, 1, false, true, true, None),
        ("one region, write", &write, 1, false, true, true, None),
    ] {
        let config = PartitionFailoverConfig {
            circuit_breaker_option_enabled: option,
            ..PartitionFailoverConfig::default()
        };
        let state = PartitionEndpointState::new(config).with_account_flag(flag);
        let account = account(regions, multi_write);
        assert_eq!(mechanism_for(&state, &account, operation), expected, "{case}");
        assert_eq!(
            is_eligible_for_ppaf(&state, &account, operation),
            expected == Some(AutomaticFailover),
            "{case}"
        );
        assert_eq!(
            is_eligible_for_ppcb(&state, &account, operation),
            expected == Some(CircuitBreaker),
            "{case}"
        );
    }
}

#[test]
fn an_option_can_forbid_automatic_failover() {
    let config =
        PartitionFailoverConfig { automatic_failover_allowed: false, ..PartitionFailoverConfig::default() };
    let state = PartitionEndpointState::new(config).with_account_flag(true);
    assert!(!state.per_partition_automatic_failover_enabled && state.per_partition_circuit_breaker_enabled);
}

/// The state after writes of partition 0 failed at some endpoints and were taken at another.
fn after_move(
    state: &PartitionEndpointState,
    account: &AccountEndpointState,
    (failed, confirmed): (&[usize], CosmosEndpoint),
    now: Moment,
) -> PartitionEndpointState {
    let failed = failed.iter().map(|index| endpoint(*index)).collect();
    let moved = PartitionMove { partition: partition("0"), failed, confirmed };
    move_partition(state, account, &moved, now)
}

#[test]
fn automatic_failover_follows_what_a_region_has_confirmed() {
    let account = account(3, false);
    let state = after_failures(&partitions(), &account, (0, Access::Write, 9), at(1));
    assert_eq!(entry(&state, AutomaticFailover), None, "a failure alone says nothing");
    let state = after_move(&partitions(), &account, (&[0], endpoint(2)), at(1));
    let moved = entry(&state, AutomaticFailover).unwrap();
    assert_eq!(moved.current_endpoint, endpoint(2));
    assert_eq!(moved.first_failed_endpoint, endpoint(0));
    assert!(moved.is_tripped(AutomaticFailover, &state.config));
    assert_eq!(entry(&state, CircuitBreaker), None);

    let on = after_move(&state, &account, (&[2], endpoint(1)), at(2));
    assert_eq!(current(&on, AutomaticFailover), Some(endpoint(1)), "it has moved on");
    let back = after_move(&on, &account, (&[1], endpoint(0)), at(3));
    assert_eq!(entry(&back, AutomaticFailover), None, "it is where it was at first");
    let global = after_move(&partitions(), &account, (&[0], crate::testing::global()), at(1));
    assert_eq!(entry(&global, AutomaticFailover), None, "the account's own endpoint leads anywhere");
    let elsewhere = after_move(&state, &account, (&[1], crate::testing::global()), at(2));
    assert_eq!(
        current(&elsewhere, AutomaticFailover),
        Some(endpoint(2)),
        "nothing is said of where it was found"
    );
    let nowhere = after_move(&state, &account, (&[2, 1], crate::testing::global()), at(2));
    assert_eq!(entry(&nowhere, AutomaticFailover), None, "it is not where it was thought to be");
}

#[test]
fn the_breaker_moves_once_more_failures_than_the_threshold() {
    for (access, multi_write, count, moves) in [
        (Access::Read, false, 1, false),
        (Access::Read, false, 2, false),
        (Access::Read, false, 3, true),
        (Access::Read, true, 3, true),
        (Access::Write, true, 5, false),
        (Access::Write, true, 6, true),
    ] {
        let state = after_failures(&partitions(), &account(3, multi_write), (0, access, count), at(1));
        let found = entry(&state, CircuitBreaker).unwrap();
        let case = format!("{count} failures of {access:?}");
        assert_eq!(found.current_endpoint, endpoint(usize::from(moves)), "{case}");
        assert_eq!(found.is_tripped_for(CircuitBreaker, access, &state.config), moves, "{case}");
        let counted =
            if access == Access::Read { found.read_failure_count } else { found.write_failure_count };
        assert_eq!(counted, count, "{case}");
    }
}

#[test]
fn reads_and_writes_are_counted_apart() {
    let account = account(3, true);
    let state = after_failures(&partitions(), &account, (0, Access::Read, 3), at(1));
    let entry = entry(&state, CircuitBreaker).unwrap();
    assert!(entry.is_tripped_for(CircuitBreaker, Access::Read, &state.config));
    assert!(!entry.is_tripped_for(CircuitBreaker, Access::Write, &state.config));
}

#[test]
fn failures_further_apart_than_the_window_are_not_counted_together() {
    let account = account(3, false);
    for (seconds, expected) in [(300, 3), (301, 1)] {
        let state = after_failures(&partitions(), &account, (0, Access::Read, 2), at(0));
        let state = after_failures(&state, &account, (0, Access::Read, 1), at(seconds));
        let entry = entry(&state, CircuitBreaker).unwrap();
        assert_eq!(entry.read_failure_count, expected, "{seconds} s later");
        assert_eq!(entry.write_failure_count, 0);
    }
}

#[test]
fn a_partition_walks_through_the_regions_and_then_is_routed_like_any_other() {
    let account = account(3, false);
    let state = after_failures(&partitions(), &account, (0, Access::Read, 3), at(1));
    assert_eq!(current(&state, CircuitBreaker), Some(endpoint(1)));
    let state = after_failures(&state, &account, (1, Access::Read, 1), at(2));
    assert_eq!(current(&state, CircuitBreaker), Some(endpoint(2)), "transition 6");
    let state = after_failures(&state, &account, (2, Access::Read, 1), at(3));
    assert_eq!(current(&state, CircuitBreaker), None, "transition 4");
}

#[test]
fn a_failure_reported_after_another_has_moved_the_partition_does_not_move_it_again() {
    let account = account(3, false);
    let state = after_failures(&partitions(), &account, (0, Access::Read, 3), at(1));
    let state = after_failures(&state, &account, (0, Access::Read, 5), at(2));
    assert_eq!(current(&state, CircuitBreaker), Some(endpoint(1)));
}

#[test]
fn failures_at_several_endpoints_before_the_first_move_leave_all_of_them() {
    let account = account(3, false);
    let state = after_failures(&partitions(), &account, (0, Access::Read, 2), at(1));
    let state = after_failures(&state, &account, (1, Access::Read, 1), at(1));
    assert_eq!(current(&state, CircuitBreaker), Some(endpoint(2)));
}

#[test]
fn partitions_of_two_containers_do_not_mix() {
    let other = UnavailablePartition {
        partition: PartitionId::new(cosmonaut_wire::ResourceId::container(1, 2), "0"),
        ..failure(endpoint(0), Access::Read)
    };
    let state = mark_partition_unavailable(&partitions(), &account(2, false), &other, at(1));
    assert_eq!(entry(&state, CircuitBreaker), None);
    assert_eq!(state.entries(CircuitBreaker).count(), 1);
}

#[test]
fn the_number_of_tracked_partitions_is_bounded() {
    let account = account(2, false);
    let mut full = partitions();
    let one = Arc::new(PartitionFailoverEntry::first_failure(&endpoint(0), at(0)));
    for index in 0..MAX_TRACKED_PARTITIONS {
        full.failover_overrides.insert(partition(&format!("r{index}")), Arc::clone(&one));
        full.circuit_breaker_overrides.insert(partition(&format!("r{index}")), Arc::clone(&one));
    }
    let state = after_failures(&full, &account, (0, Access::Read, 1), at(1));
    assert_eq!(entry(&state, CircuitBreaker), None);
    let state = after_move(&full, &account, (&[0], endpoint(1)), at(1));
    assert_eq!(entry(&state, AutomaticFailover), None);
    let known = partition("r7");
    let moved = PartitionMove { partition: known.clone(), failed: vec![endpoint(0)], confirmed: endpoint(1) };
    let state = move_partition(&full, &account, &moved, at(1));
    assert!(state.entry(AutomaticFailover, &known).unwrap().has_moved(), "a known one still moves");
}

/// Both mechanisms' partition 0 moved at second 0.
fn tripped() -> PartitionEndpointState {
    let account = account(3, false);
    let state = after_failures(&partitions(), &account, (0, Access::Read, 3), at(0));
    after_move(&state, &account, (&[0], endpoint(1)), at(0))
}

#[test]
fn a_moved_partition_is_ready_for_a_probe_after_its_term() {
    for (seconds, ready) in [(4, false), (5, false), (6, true), (300, true)] {
        let swept = expire_partition_overrides(&tripped(), at(seconds));
        for mechanism in FailoverMechanism::ALL {
            let health = entry(&swept, mechanism).unwrap().health;
            let expected = if ready {
                PartitionHealth::ProbeCandidate { since: at(seconds) }
            } else {
                PartitionHealth::Unhealthy
            };
            assert_eq!(health, expected, "{mechanism:?} after {seconds} s");
        }
    }
}

#[test]
fn one_that_is_ready_stays_so_until_nobody_has_asked_for_an_hour() {
    let ready = expire_partition_overrides(&tripped(), at(10));
    let still = expire_partition_overrides(&ready, at(400));
    assert_eq!(
        entry(&still, CircuitBreaker).unwrap().health,
        PartitionHealth::ProbeCandidate { since: at(10) }
    );
    let gone = expire_partition_overrides(&ready, at(10 + 3601));
    assert_eq!(gone.entries(CircuitBreaker).count() + gone.entries(AutomaticFailover).count(), 0);
}

#[test]
fn one_that_never_moved_is_forgotten_after_its_term() {
    let counting = after_failures(&partitions(), &account(2, false), (0, Access::Read, 2), at(0));
    assert!(entry(&expire_partition_overrides(&counting, at(5)), CircuitBreaker).is_some());
    assert_eq!(entry(&expire_partition_overrides(&counting, at(6)), CircuitBreaker), None, "transition 3");
}

/// Partition 0 with a probe under way since second 10.
fn probing(mechanism: FailoverMechanism) -> (PartitionEndpointState, ProbeTicket) {
    let ready = expire_partition_overrides(&tripped(), at(10));
    begin_probe(&ready, mechanism, &partition("0"), at(10)).unwrap()
}

#[test]
fn one_probe_at_a_time() {
    for mechanism in FailoverMechanism::ALL {
        assert!(begin_probe(&tripped(), mechanism, &partition("0"), at(1)).is_none(), "none is due");
        let (state, _) = probing(mechanism);
        assert!(begin_probe(&state, mechanism, &partition("0"), at(11)).is_none(), "one is under way");
        let other = FailoverMechanism::ALL.into_iter().find(|other| *other != mechanism).unwrap();
        assert!(begin_probe(&state, other, &partition("0"), at(11)).is_some(), "mechanisms are independent");
    }
    assert!(
        begin_probe(&partitions(), CircuitBreaker, &partition("9"), at(1)).is_none(),
        "unknown partition"
    );
}

#[test]
fn a_probe_ends_in_success_failure_or_not_at_all() {
    for mechanism in FailoverMechanism::ALL {
        let (state, ticket) = probing(mechanism);
        assert_eq!(entry(&succeed_probe(&state, &ticket), mechanism), None, "transition 5a");

        let failed = fail_probe(&state, &ticket, at(12));
        let found = entry(&failed, mechanism).unwrap();
        assert_eq!(
            (found.health, found.first_failure_time),
            (PartitionHealth::Unhealthy, at(12)),
            "transition 5b"
        );
        assert_eq!(found.current_endpoint, endpoint(1), "it stays where it is");
        assert!(
            begin_probe(&expire_partition_overrides(&failed, at(17)), mechanism, &partition("0"), at(17))
                .is_none()
        );
        assert!(
            begin_probe(&expire_partition_overrides(&failed, at(18)), mechanism, &partition("0"), at(18))
                .is_some()
        );

        let abandoned = abandon_probe(&state, &ticket, at(12));
        assert!(
            begin_probe(&abandoned, mechanism, &partition("0"), at(12)).is_some(),
            "the next may try at once"
        );
    }
}

#[test]
fn a_lost_probe_counts_as_failed_and_its_late_end_changes_nothing() {
    let (state, lost) = probing(CircuitBreaker);
    assert!(
        entry(&expire_partition_overrides(&state, at(310)), CircuitBreaker).unwrap().health
            != PartitionHealth::Unhealthy
    );
    let state = expire_partition_overrides(&state, at(311));
    assert_eq!(entry(&state, CircuitBreaker).unwrap().health, PartitionHealth::Unhealthy);
    let ready = expire_partition_overrides(&state, at(320));
    let (state, _) = begin_probe(&ready, CircuitBreaker, &partition("0"), at(320)).unwrap();
    assert!(entry(&succeed_probe(&state, &lost), CircuitBreaker).is_some());
}

#[test]
fn slow_answers_in_a_row_count_as_failures() {
    let account = account(3, false);
    let slow = failure(endpoint(0), Access::Read);
    let win = |state: &PartitionEndpointState| record_hedge_win(state, &account, &slow, at(1));
    let mut state = partitions();
    for wins in 1..=6 {
        state = win(&state);
        let entry = entry(&state, CircuitBreaker).unwrap();
        assert_eq!(entry.read_failure_count, wins - wins.min(TOLERATED_HEDGE_WINS), "{wins} wins");
        assert_eq!(entry.has_moved(), wins == 6, "{wins} wins");
    }
    let reset = reset_hedge_wins(&win(&win(&win(&partitions()))), &partition("0"));
    assert_eq!(entry(&win(&reset), CircuitBreaker).unwrap().read_failure_count, 0, "not in a row");
}

#[test]
fn slowness_does_not_cause_automatic_failover() {
    let slow = failure(endpoint(0), Access::Write);
    let state =
        (0..20).fold(partitions(), |state, _| record_hedge_win(&state, &account(3, false), &slow, at(1)));
    assert_eq!(entry(&state, AutomaticFailover), None);
}

#[test]
fn the_configuration_comes_from_the_options() {
    use cosmonaut_options::{RetryOptions, RetryOptionsView};
    let none = RetryOptions::default();
    let set = RetryOptions::default().with_disable_partition_level_failover(true);
    let view = RetryOptionsView::new(&none, &none, &none);
    assert_eq!(PartitionFailoverConfig::from_options(&view), PartitionFailoverConfig::default());
    let view = RetryOptionsView::new(&none, &none, &set);
    assert!(!PartitionFailoverConfig::from_options(&view).automatic_failover_allowed);
}
