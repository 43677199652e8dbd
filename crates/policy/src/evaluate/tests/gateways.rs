//! What follows from attempts at a Gateway 2.0.

use cosmonaut_wire::model::AccountLocation;

use super::*;
use crate::testing::{properties, region};
use crate::{
    AccountConfig, SilentGateway, build_account_endpoint_state, hedge_win_effects, resolve_endpoint,
};

fn gateway(index: usize) -> CosmosEndpoint {
    let region = region(index);
    CosmosEndpoint::regional(region.as_str(), &format!("https://{region}.example:10250")).unwrap()
}

/// Three regions with a Gateway 2.0 each that has answered.
fn framed_world(operation: CosmosOperation) -> World {
    let mut world = World::new(operation);
    let mut properties = properties(3, false);
    let location = |index: usize| {
        AccountLocation::new(region(index), format!("https://{}.example:10250", region(index)))
    };
    properties.thin_client_readable_locations = Some((0..3).map(location).collect());
    properties.thin_client_writable_locations = Some(vec![location(0)]);
    let config = AccountConfig { gateway_v2: true, ..AccountConfig::default() };
    let mut account = build_account_endpoint_state(&properties, &config, global()).unwrap();
    for index in 0..3 {
        account = account.with_gateway_proven(&gateway(index), at(0));
    }
    world.location = world.location.with_account(account);
    world.routing = resolve_endpoint(&world.operation, &world.state, &world.location, at(0));
    assert_eq!(world.routing.framed, Some(gateway(0)));
    world
}

#[test]
fn what_a_gateway_fails_at_says_nothing_of_its_region() {
    let long = |outcome| TransportResult::new(outcome, ms(2_000));
    let short = |outcome| TransportResult::new(outcome, ms(5));
    let lost_elsewhere = "failover, gateway lost";
    let unknown = "OutcomeUnknown, gateway lost";
    let (hung, hung_write) = ("failover, gateway hung", "OutcomeUnknown, gateway hung");
    let refused = "in place, gateway refused";
    for (name, result, for_reads, for_writes) in [
        ("not sent", short(lost(NotSent)), "in place, gateway lost", "in place, gateway lost"),
        ("sent", short(lost(Sent)), lost_elsewhere, unknown),
        ("unknown", short(lost(Unknown)), lost_elsewhere, unknown),
        ("out of time", long(lost(Sent)), hung, hung_write),
        ("closed", short(answered(403, 13_001)), "in place, gateway closed", "in place, gateway closed"),
        ("refused", short(answered(400, 13_007)), refused, refused),
        ("throttled by the gateway", short(answered(429, 13_010)), refused, refused),
        ("kept out by the gateway", short(answered(401, 13_008)), refused, refused),
        ("forbidden by the gateway", short(answered(403, 13_021)), refused, refused),
        ("kept out by the service", short(answered(401, 0)), "FinalStatus", "FinalStatus"),
        ("failed", short(answered(503, 13_012)), lost_elsewhere, unknown),
        (
            "the region's failure",
            short(answered(503, 9002)),
            "failover, partition, ServiceUnavailable",
            "OutcomeUnknown, ServiceUnavailable, suspect",
        ),
        ("not done there", short(answered(405, 0)), refused, refused),
        ("silent", long(late(Sent)), "DeadlineExceeded, gateway hung", "OutcomeUnknown, gateway hung"),
        ("impatient", short(late(Sent)), "DeadlineExceeded", "OutcomeUnknown"),
        ("not found", short(answered(404, 0)), "FinalStatus", "FinalStatus"),
    ] {
        for (operation, expected) in [(read(), for_reads), (create(), for_writes)] {
            let world = framed_world(operation);
            assert_eq!(words(&world.evaluate_result(&result)), expected, "{name} {:?}", world.operation);
        }
    }
}

#[test]
fn what_has_seen_a_gateway_fail_goes_by_rest_until_it_ends() {
    for (outcome, place) in [(lost(NotSent), endpoint(0)), (lost(Sent), endpoint(1))] {
        let world = framed_world(read());
        let (action, _) = world.evaluate(outcome);
        let (OperationAction::RetryInPlace { new_state, .. }
        | OperationAction::FailoverRetry { new_state, .. }) = action
        else {
            panic!("{action:?}");
        };
        let next = resolve_endpoint(&world.operation, &new_state, &world.location, at(0));
        assert_eq!((next.endpoint, next.framed), (place, None));
        assert!(new_state.by_rest);
    }
    // An answer came through it, whatever it says.
    let world = framed_world(read());
    let (action, _) = world.evaluate(answered(503, 9002));
    let OperationAction::FailoverRetry { new_state, .. } = action else { panic!("{action:?}") };
    let location = &world.location;
    let next = resolve_endpoint(&world.operation, &new_state, location, at(0));
    assert_eq!(next.framed, Some(gateway(1)));
}

#[test]
fn a_lost_gateway_is_passed_over_until_it_answers() {
    let world = framed_world(read());
    let (_, effects) = world.evaluate(lost(NotSent));
    let location = after(&world.location, effects, at(0));
    let asked = |location: &LocationSnapshot| {
        resolve_endpoint(&world.operation, &world.state, location, at(0)).framed
    };
    assert_eq!(asked(&location), None);
    assert_eq!(location.account.gateways_to_probe(true, at(10)).collect::<Vec<_>>(), [&gateway(0)]);
    let back = location.with_account(location.account.with_gateway_proven(&gateway(0), at(10)));
    assert_eq!(asked(&back), Some(gateway(0)));
}

fn after(location: &LocationSnapshot, effects: Effects, now: Moment) -> LocationSnapshot {
    let next = |location: LocationSnapshot, effect| location.after(&effect, now).unwrap_or(location);
    effects.into_iter().fold(location.clone(), next)
}

/// A thousand reads, of which one in a hundred is slow, or ten in a row of a thousand. Says how many went to the
/// gateway; a probe is answered before the next read.
fn framed_of_a_thousand(is_slow: impl Fn(u64) -> bool, silence: impl Fn(&World, Moment) -> Effects) -> usize {
    let mut world = framed_world(read());
    let mut framed = 0;
    for place in 0..1_000 {
        let now = Moment::START + ms(place * 20);
        let probed: Vec<_> = world.location.account.gateways_to_probe(true, now).cloned().collect();
        for gateway in probed {
            world.location =
                world.location.with_account(world.location.account.with_gateway_proven(&gateway, now));
        }
        world.routing = resolve_endpoint(&world.operation, &world.state, &world.location, now);
        framed += usize::from(world.routing.framed.is_some());
        let effects = match is_slow(place) {
            true => silence(&world, now),
            false => world.evaluate(answered(200, 0)).1,
        };
        world.location = after(&world.location, effects, now);
    }
    framed
}

#[test]
fn slow_reads_and_impatient_callers_take_a_gateway_from_nobody() {
    let hedge_win =
        |world: &World, now| hedge_win_effects(&world.operation, &world.state, &world.routing, now);
    let late_after = |silence| {
        move |world: &World, _| world.evaluate_result(&TransportResult::new(late(Sent), ms(silence))).1
    };
    let is_one_in_a_hundred = |place: u64| place % 100 == 7;
    assert_eq!(framed_of_a_thousand(is_one_in_a_hundred, hedge_win), 1_000);
    assert_eq!(framed_of_a_thousand(|place| place % 4 != 0, hedge_win), 1_000);
    assert_eq!(framed_of_a_thousand(|_| true, late_after(5)), 1_000);
    assert_eq!(framed_of_a_thousand(|_| true, late_after(999)), 1_000);
    assert_eq!(framed_of_a_thousand(|place| (500..503).contains(&place), hedge_win), 1_000);
}

#[test]
fn a_gateway_that_is_silent_for_long_is_used_again_when_it_has_answered_a_probe() {
    // The clock of the reads goes on by less than their silence, so the silence is told as of then.
    let hung = |world: &World, now| match &world.routing.framed {
        Some(gateway) => {
            let mut effects = Effects::NONE;
            let silent = SilentGateway { gateway: gateway.clone(), asked: now, partition: None };
            effects.push(LocationEffect::GatewayHung(silent));
            effects
        }
        None => Effects::NONE,
    };
    // Each is a single one: an answer to a frame comes between it and the next.
    assert_eq!(framed_of_a_thousand(|place| place % 100 == 7, hung), 1_000);
    // Nothing but silence, whatever it says to probes.
    let framed = framed_of_a_thousand(|_| true, hung);
    assert!(framed < 10, "{framed}");
    let world = framed_world(read());
    let (_, effects) = world.evaluate_result(&TransportResult::new(late(Sent), ms(2_000)));
    let asked = Moment::START;
    let (partition, access) = (partition("0"), Access::Read);
    let partition = Some(UnavailablePartition { partition, endpoint: endpoint(0), access });
    let silent = LocationEffect::GatewayHung(SilentGateway { gateway: gateway(0), asked, partition });
    assert_eq!(effects.iter().collect::<Vec<_>>(), [&silent]);
}

#[test]
fn a_partition_that_is_silent_while_others_are_answered_is_asked_elsewhere() {
    let hedge_win = |world: &World| hedge_win_effects(&world.operation, &world.state, &world.routing, at(1));
    let hung = |world: &World| {
        evaluate_transport_result(&world.attempt(), &TransportResult::new(late(Sent), ms(2_000)), at(3), 0.0)
            .1
    };
    for (silence, others_are_answered, expected) in [
        (&hedge_win as &dyn Fn(&World) -> Effects, true, endpoint(1)),
        (&hung, true, endpoint(1)),
        (&hedge_win, false, endpoint(0)),
        (&hung, false, endpoint(0)),
    ] {
        let mut world = framed_world(read());
        for _ in 0..8 {
            let effects = silence(&world);
            world.location = after(&world.location, effects, at(3));
            if others_are_answered {
                let other = OperationRetryState::initial(Some(partition("1")), &[]);
                let other = World { state: other, location: world.location.clone(), ..framed_world(read()) };
                world.location = after(&world.location, other.evaluate(answered(200, 0)).1, at(3));
                let proven = world.location.account.with_gateway_proven(&gateway(0), at(1));
                world.location = world.location.with_account(proven);
            }
        }
        let next = resolve_endpoint(&world.operation, &world.state, &world.location, at(3));
        assert_eq!((next.endpoint, next.framed.is_some()), (expected, others_are_answered));
    }
}

#[test]
fn an_answer_of_the_service_alone_refutes_what_speaks_against_a_gateway() {
    let world = framed_world(read());
    let slow = hedge_win_effects(&world.operation, &world.state, &world.routing, at(0));
    let doubted = World { location: after(&world.location, slow, at(0)), ..framed_world(read()) };
    for (outcome, expected) in [
        (answered(200, 0), "complete, reset, gateway answered"),
        (answered(404, 0), "FinalStatus, gateway answered"),
        (answered(401, 13_008), "in place, gateway refused"),
        (lost(NotSent), "in place, gateway lost"),
    ] {
        assert_eq!(words(&doubted.evaluate(outcome)), expected);
    }
    assert_eq!(words(&world.evaluate(answered(200, 0))), "complete");
}

#[test]
fn what_speaks_against_a_gateway_is_refuted_once() {
    let world = framed_world(read());
    let slow = hedge_win_effects(&world.operation, &world.state, &world.routing, at(0));
    let doubted = after(&world.location, slow, at(0));
    let answered = LocationEffect::GatewayAnswered(gateway(0));
    let refuted = doubted.after(&answered, at(0)).unwrap();
    // What was sent while it was in doubt is answered too.
    assert!(refuted.after(&answered, at(0)).is_none());
    assert!(world.location.after(&answered, at(0)).is_none());
    assert!(doubted.after(&LocationEffect::GatewayAnswered(gateway(1)), at(0)).is_none());
}

#[test]
fn what_a_gateway_says_by_itself_blames_no_partition() {
    let world = framed_world(read());
    for status in [503, 408] {
        let sub_status = if status == 503 { 13_012 } else { 13_009 };
        let (action, _) = world.evaluate(answered(status, sub_status));
        let OperationAction::FailoverRetry { new_state, .. } = action else { panic!("{action:?}") };
        let blamed = new_state.failed_endpoints.iter().any(|failed| failed.cause.blames_partition());
        assert!(!blamed, "{:?}", new_state.failed_endpoints);
    }
}
