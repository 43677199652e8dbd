//! What follows from attempts at a Gateway 2.0.

use cosmonaut_wire::model::AccountLocation;

use super::*;
use crate::testing::{properties, region};
use crate::{AccountConfig, build_account_endpoint_state, resolve_endpoint};

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
        account = account.with_gateway_proven(&gateway(index));
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
    for (name, result, for_reads, for_writes) in [
        ("not sent", short(lost(NotSent)), "in place, gateway lost", "in place, gateway lost"),
        ("sent", short(lost(Sent)), lost_elsewhere, unknown),
        ("unknown", short(lost(Unknown)), lost_elsewhere, unknown),
        ("closed", short(answered(403, 13_001)), "in place, gateway refused", "in place, gateway refused"),
        ("refused", short(answered(400, 13_007)), "in place", "in place"),
        ("throttled by the gateway", short(answered(429, 13_010)), "in place", "in place"),
        ("failed", short(answered(503, 13_012)), lost_elsewhere, unknown),
        (
            "the region's failure",
            short(answered(503, 9002)),
            "failover, partition, ServiceUnavailable",
            "OutcomeUnknown, ServiceUnavailable, suspect",
        ),
        ("not done there", short(answered(405, 0)), "in place", "in place"),
        ("silent", long(late(Sent)), "DeadlineExceeded, gateway lost", "OutcomeUnknown, gateway lost"),
        ("impatient", short(late(Sent)), "DeadlineExceeded, gateway lost", "OutcomeUnknown, gateway lost"),
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
    let mut location = world.location.clone();
    for effect in effects.iter() {
        location = location.after(effect, at(0)).unwrap_or(location);
    }
    let asked = |location: &LocationSnapshot| {
        resolve_endpoint(&world.operation, &world.state, location, at(0)).framed
    };
    assert_eq!(asked(&location), None);
    assert_eq!(location.account.gateways_to_probe(true, at(10)).collect::<Vec<_>>(), [&gateway(0)]);
    let back = location.with_account(location.account.with_gateway_proven(&gateway(0)));
    assert_eq!(asked(&back), Some(gateway(0)));
}
