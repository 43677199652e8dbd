//! From one attempt to the next: how often, how long after, where, and what is carried along.

use super::*;

fn next_state(action: OperationAction) -> (OperationRetryState, Option<Duration>) {
    match action {
        OperationAction::FailoverRetry { new_state, delay, .. }
        | OperationAction::SessionRetry { new_state, delay }
        | OperationAction::RetryInPlace { new_state, delay }
        | OperationAction::RefreshRetry { new_state, delay, .. } => (*new_state, delay),
        OperationAction::Complete | OperationAction::Abort(_) => panic!("no retry: {action:?}"),
    }
}

/// Retries until the operation gives up; the delays, and how it ended.
fn exhaust(mut world: World, outcome: &TransportOutcome) -> (Vec<u128>, String) {
    let mut delays = Vec::new();
    loop {
        let evaluation = world.evaluate(outcome.clone());
        if let OperationAction::Abort(kind) = evaluation.0 {
            return (delays, format!("{kind:?}"));
        }
        assert!(delays.len() < 100, "retries have a limit");
        let (state, delay) = next_state(evaluation.0);
        world.state = state;
        delays.push(delay.unwrap_or_default().as_millis());
    }
}

#[test]
fn every_retry_has_a_limit_and_waits_grow() {
    let round_again = [100, 200, 400, 800, 1000, 1000, 1000, 1000];
    let failover = [&[0, 0][..], &round_again].concat();
    for (case, outcome, expected) in [
        ("failover", answered(503, 0), failover.clone()),
        ("not sent", lost(NotSent), failover),
        ("session", answered(404, 1002), vec![500, 0, 500, 0, 500]),
        ("stale", answered(410, 1002), vec![0, 100, 200, 400, 800, 1000, 1000, 1000]),
        ("449", answered(449, 0), vec![10, 20, 40, 80, 160, 320, 640, 1000, 1000]),
    ] {
        let (delays, end) = exhaust(World::new(read()), &outcome);
        assert_eq!((delays, end.as_str()), (expected, "RetriesExhausted"), "{case}");
    }
}

#[test]
fn a_failover_leaves_the_endpoint_and_remembers_why() {
    let (state, delay) = next_state(World::new(read()).evaluate(answered(503, 0)).0);
    assert_eq!(delay, None);
    assert_eq!(state.failed_endpoints.len(), 1);
    assert_eq!(state.failed_endpoints[0].endpoint, endpoint(0));
    assert_eq!(state.failed_endpoints[0].cause, FailureCause::Status(CosmosStatus::SERVICE_UNAVAILABLE));
    assert_eq!((state.failover_retry_count, state.partition), (1, Some(partition("0"))));
}

#[test]
fn a_stale_map_is_forgotten_and_the_endpoint_kept() {
    let (state, _) = next_state(World::new(read()).evaluate(answered(410, 1002)).0);
    assert_eq!((state.partition, state.pinned), (None::<PartitionId>, Some(endpoint(0))));
}

#[test]
fn what_is_bound_to_a_container_is_repeated_once_after_it_was_read_anew() {
    let bound = || read().with_container(partition("0").container());
    for (case, asked, outcome, tries) in [
        ("bound, made anew", bound(), answered(400, 1024), 1),
        ("bound, the gateway's cache", bound(), answered(410, 1000), 8),
        ("bound, split", bound(), answered(410, 1002), 8),
        ("not bound", read(), answered(400, 1024), 8),
    ] {
        assert_eq!(exhaust(World::new(asked), &outcome).0.len(), tries, "{case}");
    }
}

#[test]
fn a_partition_that_the_refreshed_map_lacks_is_asked_for_once_more() {
    let feed = || operation(OperationType::ReadFeed).with_target(PartitionTarget::Range("0".into()));
    for (case, asked, partition_after_refresh, tries) in [
        ("by id, gone", feed(), None, 1),
        ("by id, still there", feed(), Some(partition("0")), 8),
        ("by key", read(), None, 8),
    ] {
        let mut world = World::new(asked);
        let mut refreshed = 0;
        while let (OperationAction::RefreshRetry { new_state, .. }, _) = world.evaluate(answered(410, 1002)) {
            world.state = *new_state;
            world.state.partition = partition_after_refresh.clone();
            refreshed += 1;
        }
        assert_eq!(refreshed, tries, "{case}");
    }
}

#[test]
fn a_session_is_retried_where_the_options_say() {
    // remote first, repeats in a region, regions, multi-write -> the steps: stay or move
    for (remote, in_region, regions, multi_write, expected) in [
        (false, 1, 1, false, "stay"),
        (false, 2, 1, false, "stay stay"),
        (false, 0, 2, false, "write region"),
        (false, 1, 2, false, "stay write region stay"),
        (true, 1, 2, false, "write region stay"),
        (true, 1, 3, true, "move move stay"),
        (false, 0, 3, true, "move move"),
        (false, 0, 1, true, ""),
    ] {
        let limits = RetryLimits {
            remote_region_preferred: remote,
            max_in_region_session_retries: in_region,
            ..RetryLimits::default()
        };
        let location = snapshot(regions, multi_write);
        let mut world = World { limits, location, ..World::new(read()) };
        let mut steps = Vec::new();
        while let (OperationAction::SessionRetry { new_state, .. }, _) = world.evaluate(answered(404, 1002)) {
            steps.push(match (&new_state.pinned, new_state.prefer_write_region) {
                (Some(_), _) => "stay",
                (None, true) => "write region",
                (None, false) => "move",
            });
            world.state = *new_state;
        }
        assert_eq!(steps.join(" "), expected, "remote {remote}, {in_region} in region, {regions} regions");
    }
}

#[test]
fn repeats_in_a_region_take_the_time_that_the_options_say() {
    for (repeats, time, expected) in
        [(1, 500, vec![500]), (2, 300, vec![100, 200]), (3, 700, vec![100, 200, 400])]
    {
        let limits = RetryLimits {
            max_in_region_session_retries: repeats,
            min_in_region_session_time: ms(time),
            ..RetryLimits::default()
        };
        let location = snapshot(1, false);
        let (delays, _) = exhaust(World { limits, location, ..World::new(read()) }, &answered(404, 1002));
        assert_eq!(delays, expected, "{repeats} repeats");
    }
}

#[test]
fn no_retry_is_begun_that_the_deadline_would_cut_off() {
    let in_ms = |millis| Some(Deadline::after(at(0), ms(millis)));
    for (case, operation, outcome, deadline, expected) in [
        ("time for it", read(), answered(449, 0), in_ms(100), "in place"),
        ("no time to wait", read(), answered(449, 0), in_ms(10), "DeadlineExceeded"),
        (
            "no time at all",
            read(),
            answered(503, 0),
            in_ms(0),
            "DeadlineExceeded, partition, ServiceUnavailable",
        ),
        (
            "write that may be applied",
            replace_of_one_version(),
            lost(Sent),
            in_ms(0),
            "OutcomeUnknown, TransportError",
        ),
    ] {
        let world = World { deadline, ..World::new(operation) };
        assert_eq!(words(&world.evaluate(outcome)), expected, "{case}");
    }
}

#[test]
fn after_a_write_that_may_be_applied_only_success_is_certain() {
    let vouched = create().with_repeats_allowed();
    for (case, operation, outcome, expected) in [
        ("the repeat succeeds", replace_of_one_version(), answered(200, 0), "complete"),
        ("the version is gone", replace_of_one_version(), answered(412, 0), "OutcomeUnknown"),
        ("the item is gone", replace_of_one_version(), answered(404, 0), "OutcomeUnknown"),
        ("throttled for good", replace_of_one_version(), answered(429, 0), "OutcomeUnknown"),
        ("the caller can tell", vouched.clone(), answered(409, 0), "FinalStatus"),
        ("the caller cannot tell", vouched, answered(429, 0), "OutcomeUnknown"),
        ("the other leg of a hedged create", create(), answered(409, 0), "OutcomeUnknown"),
        ("a read is not applied", read(), answered(404, 0), "FinalStatus"),
    ] {
        let mut world = World::new(operation);
        let mut result = TransportResult::new(outcome.clone(), ms(5));
        result.may_have_applied_before = true;
        assert_eq!(words(&world.evaluate_result(&result)), expected, "{case}, in this attempt");
        world.state.may_have_applied = true;
        assert_eq!(words(&world.evaluate(outcome)), expected, "{case}, in an earlier attempt");
    }
}

#[test]
fn what_may_have_been_applied_is_not_sent_again_unless_that_does_no_harm() {
    let upsert = || operation(OperationType::Upsert);
    for (outcome, retried) in [
        (answered(410, 1022), "failover"),
        (answered(449, 0), "in place"),
        (answered(410, 1002), "refresh PartitionKeyRanges"),
        (answered(403, 3), "failover"),
        (lost(NotSent), "failover"),
    ] {
        for (operation, expected) in [(upsert(), "OutcomeUnknown"), (replace_of_one_version(), retried)] {
            let world = World { location: snapshot(3, true), ..World::new(operation) };
            let mut result = TransportResult::new(outcome.clone(), ms(5));
            result.may_have_applied_before = true;
            let found = words(&world.evaluate_result(&result));
            assert!(found.starts_with(expected), "{found} after {outcome:?}");
        }
    }
    let vouched = World::new(create().with_repeats_allowed());
    let mut result = TransportResult::new(failed_here(NotSent), ms(5));
    result.may_have_applied_before = true;
    assert_eq!(words(&vouched.evaluate_result(&result)), "OutcomeUnknown", "a failure here is no answer");
}

#[test]
fn refusals_do_not_use_up_the_retries_of_other_failures() {
    let mut world = World { location: snapshot(1, false), ..World::new(create()) };
    for _ in 0..15 {
        world.state = next_state(world.evaluate(answered(403, 3)).0).0;
    }
    assert!(words(&world.evaluate(answered(503, 21008))).starts_with("failover"));
}

#[test]
fn a_write_that_cannot_be_sent_waits_for_its_region_as_long_as_the_patience_lasts() {
    let partitions = Arc::new(crate::PartitionEndpointState::new(Default::default()));
    let location = LocationSnapshot { partitions, ..snapshot(3, false) };
    let mut world = World { location, ..World::new(create()) };
    for _ in 0..50 {
        world.state = next_state(world.evaluate(lost(NotSent)).0).0;
    }
    let alone = World { location: snapshot(1, false), ..World::new(create()) };
    assert_eq!(exhaust(alone, &lost(NotSent)).0.len(), 10, "there is no region to wait for");
    let read = World { location: snapshot(1, false), ..World::new(read()) };
    assert_eq!(exhaust(read, &lost(NotSent)).0.len(), 10, "reads have other regions");
}

#[test]
fn limits_begin_anew_in_another_region() {
    let (state, _) = next_state(World::new(read()).evaluate(lost(Sent)).0);
    assert_eq!((state.tries_lost_at(&endpoint(0)), state.tries_lost_at(&endpoint(1))), (2, 0));
}

#[test]
fn doubt_is_carried_from_attempt_to_attempt() {
    for (operation, outcome, doubt) in [
        (replace_of_one_version(), lost(Sent), true),
        (replace_of_one_version(), lost(NotSent), false),
        (replace_of_one_version(), answered(408, 0), true),
        (replace_of_one_version(), answered(503, 21008), false),
        (replace_of_one_version(), answered(503, 0), true),
        (read(), lost(Sent), false),
    ] {
        let (state, _) = next_state(World::new(operation).evaluate(outcome.clone()).0);
        assert_eq!(state.may_have_applied, doubt, "{outcome:?}");
    }
    let mut world = World::new(replace_of_one_version());
    world.state.may_have_applied = true;
    assert!(next_state(world.evaluate(answered(449, 0)).0).0.may_have_applied);
}

#[test]
fn a_refusal_is_repeated_for_as_long_as_the_patience_lasts() {
    let limits = RetryLimits { refusal_patience: Duration::from_secs(60), ..RetryLimits::default() };
    let mut world = World { limits, location: snapshot(1, false), ..World::new(create()) };
    let mut delays = Vec::new();
    let mut now = at(5);
    loop {
        let attempt = Attempt {
            operation: &world.operation,
            routing: &world.routing,
            retry_state: &world.state,
            location: &world.location,
            limits: &world.limits,
            deadline: None,
        };
        let result = TransportResult::new(answered(403, 3), ms(5));
        let (action, effects) = evaluate_transport_result(&attempt, &result, now, 1.0);
        assert!(effects.iter().any(|effect| *effect == LocationEffect::RefreshAccountProperties));
        if let OperationAction::Abort(kind) = action {
            assert_eq!(kind, AbortKind::RetriesExhausted);
            break;
        }
        let (state, delay) = next_state(action);
        world.state = state;
        delays.push(delay.unwrap_or_default().as_millis());
        now = now + delay.unwrap_or_default();
    }
    assert_eq!(delays[..6], [0, 100, 200, 400, 800, 1000], "the first is repeated at once");
    assert!((60..70).contains(&delays.len()), "{} attempts in a minute", delays.len());
}

/// The loop of an operation: route, fail, apply, route again.
#[test]
fn an_operation_goes_through_all_regions_by_its_partition() {
    let operation = read();
    let mut location = snapshot(3, false);
    let mut state = OperationRetryState::initial(Some(partition("0")), &[]);
    let mut visited = Vec::new();
    for _ in 0..4 {
        let routing = crate::resolve_endpoint(&operation, &state, &location, at(0));
        visited.push(routing.endpoint.clone());
        let world = World { routing, state, location: location.clone(), ..World::new(operation.clone()) };
        let (action, effects) = world.evaluate(answered(503, 0));
        for effect in effects {
            location = location.after(&effect, at(0)).unwrap_or(location);
        }
        state = next_state(action).0;
    }
    assert_eq!(visited, [endpoint(0), endpoint(1), endpoint(2), global()]);
}

#[test]
fn a_write_follows_its_partition_when_the_service_has_moved_it() {
    let operation = create();
    let location = snapshot(3, false);
    let world = World::new(operation.clone());
    let (action, effects) = world.evaluate(answered(403, 3));
    let location =
        effects.iter().fold(location, |location, effect| location.after(effect, at(0)).unwrap_or(location));
    let state = next_state(action).0;
    let routing = crate::resolve_endpoint(&operation, &state, &location, at(0));
    assert_eq!(routing.endpoint, endpoint(1));
    assert!(routing.partition_override.is_none(), "nothing is known yet");

    let world = World { routing, state, location: location.clone(), ..World::new(operation.clone()) };
    let (_, effects) = world.evaluate(answered(201, 0));
    let location =
        effects.iter().fold(location, |location, effect| location.after(effect, at(0)).unwrap_or(location));
    let next = OperationRetryState::initial(Some(partition("0")), &[]);
    let routing = crate::resolve_endpoint(&operation, &next, &location, at(0));
    assert_eq!(routing.endpoint, endpoint(1));
    assert!(routing.partition_override.is_some(), "the next write goes there at once");
}

#[test]
fn the_limits_come_from_the_options() {
    use cosmonaut_options::{RetryLimitOptions, RetryLimitOptionsView, RetryOptions, RetryOptionsView};
    let (none, no_limits) = (RetryOptions::default(), RetryLimitOptions::default());
    let view = RetryOptionsView::new(&none, &none, &none);
    let limits = RetryLimitOptionsView::new(&no_limits, &no_limits, &no_limits, &no_limits);
    assert_eq!(RetryLimits::from_options(&view, &limits), RetryLimits::default());
    let once = RetryLimitOptions { max_failover_retries: Some(1), ..Default::default() };
    let limits = RetryLimitOptionsView::new(&no_limits, &no_limits, &no_limits, &once);
    assert_eq!(RetryLimits::from_options(&view, &limits).max_failover_retries, 1);
}

#[test]
fn an_operation_that_has_tried_every_endpoint_asks_for_others() {
    for (case, regions, outcome, expected) in [
        ("others are left", 3, answered(503, 0), "failover, partition, ServiceUnavailable"),
        ("none is left", 1, answered(503, 0), "failover, partition, ServiceUnavailable, account"),
        ("none is left, not sent", 1, lost(NotSent), "failover, check, account"),
        ("none is left, asked already", 1, answered(403, 3), "failover, account, WriteForbidden, partition"),
        ("none is left, and no more tries", 1, answered(404, 0), "FinalStatus"),
    ] {
        let world = World { location: snapshot(regions, false), ..World::new(read()) };
        assert_eq!(words(&world.evaluate(outcome)), expected, "{case}");
    }
    let alone = World { location: snapshot(1, false), ..World::new(create()) };
    let found = words(&alone.evaluate(answered(503, 0)));
    assert_eq!(
        found, "OutcomeUnknown, partition, ServiceUnavailable, account",
        "the next write needs another"
    );
}
