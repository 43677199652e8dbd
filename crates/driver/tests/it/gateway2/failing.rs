//! Gateways that fail in ways of their own: they speak against themselves, and against no region and no partition.

use std::pin::pin;

use cosmonaut_driver::platform::Platform;
use cosmonaut_driver::{DiagnosticsContext, Error};
use cosmonaut_options::HedgingThreshold;
use cosmonaut_wire::CosmosStatus;
use http::StatusCode;

use super::*;
use crate::regions::clock::{eventually, within_patience};

fn at_gateway(world: &World, region: &str) -> FaultInjectionCondition {
    let url = world.emulator.gateway2_url(region).unwrap();
    let host = url.trim_end_matches('/').rsplit('/').next().unwrap().to_owned();
    FaultInjectionCondition { endpoint: Some(host), ..FaultInjectionCondition::default() }
}

fn at_rest(world: &World, region: &str) -> FaultInjectionCondition {
    let url = world.emulator.region_url(region).unwrap();
    let host = url.trim_end_matches('/').rsplit('/').next().unwrap().to_owned();
    FaultInjectionCondition { endpoint: Some(host), ..FaultInjectionCondition::default() }
}

fn status(code: u16, sub_status: u32) -> FaultInjectionResult {
    let status = CosmosStatus::new(StatusCode::from_u16(code).unwrap(), sub_status);
    FaultInjectionResult::Status { status, retry_after: None }
}

/// Another region is asked after so long.
fn hedging(after: u64) -> OperationOptions {
    let mut options = OperationOptions::default();
    options.hedging.hedging_threshold = Some(HedgingThreshold::Static(Duration::from_millis(after)));
    options
}

fn is_in(diagnostics: &DiagnosticsContext, region: &str) -> bool {
    diagnostics.attempts().iter().all(|attempt| attempt.endpoint.region().unwrap().as_str() == region)
}

fn create(id: &str) -> CosmosOperation {
    operation(OperationType::Create, "/dbs/d/colls/c/docs")
        .with_body(json!({"id": id, "pk": "a"}).to_string())
        .with_target(key_of("a"))
}

#[tokio::test]
async fn what_a_gateway_answers_by_itself_is_asked_by_rest_in_the_same_region() {
    for (code, sub_status) in [
        (503, 13_012),
        (500, 13_011),
        (408, 13_009),
        (429, 13_010),
        (401, 13_008),
        (403, 13_021),
        (403, 13_001),
        (400, 13_007),
        (405, 0),
    ] {
        let world = World::framed(&[EAST]).await;
        world
            .faults
            .set(FaultInjectionRule::new("own", status(code, sub_status)).when(at_gateway(&world, EAST)));
        let response = world.run(read("1", "a")).await;
        let shown = format!("{code}/{sub_status}: {}", response.diagnostics());
        assert!(is_in(response.diagnostics(), EAST) && !is_framed(&response), "{shown}");
        // No wait at the gateway comes before.
        assert_eq!(response.diagnostics().attempts().len(), 2, "{shown}");
    }
}

#[tokio::test]
async fn a_gateway_that_refuses_everything_is_left() {
    let world = World::framed(&[EAST]).await;
    world.faults.set(FaultInjectionRule::new("no", status(400, 13_007)).when(at_gateway(&world, EAST)));
    let mut asked = 0;
    for _ in 0..30 {
        asked += usize::from(world.run(read("1", "a")).await.diagnostics().attempts()[0].framed);
    }
    assert!((2..10).contains(&asked), "{asked}");
}

#[tokio::test]
async fn a_gateway_that_answers_probes_and_no_frames_is_left_after_two_silences() {
    let world = World::framed(&[EAST]).await;
    world
        .faults
        .set(FaultInjectionRule::new("hang", FaultInjectionResult::Hang).when(at_gateway(&world, EAST)));
    let mut options = OperationOptions::default();
    options.request.end_to_end_timeout = Some(Duration::from_millis(1_100));
    let mut failed = 0;
    for _ in 0..20 {
        let found = world.driver.execute_operation(&read("1", "a"), &options).await;
        failed += u32::from(found.is_err());
    }
    assert!((1..=2).contains(&failed), "{failed}");
}

/// Queries hang at the gateway of the east, and nothing else does.
fn hang_queries(world: &World) {
    let queries =
        FaultInjectionCondition { operation: Some(OperationType::Query), ..at_gateway(world, EAST) };
    world.faults.set(FaultInjectionRule::new("hang", FaultInjectionResult::Hang).when(queries));
}

fn query() -> CosmosOperation {
    operation(OperationType::Query, "/dbs/d/colls/c/docs")
        .with_body(json!({"query": "SELECT VALUE c.n FROM c"}).to_string())
        .with_target(key_of("a"))
}

#[tokio::test]
async fn an_impatient_caller_takes_a_gateway_from_nobody() {
    let world = World::framed(&[EAST]).await;
    hang_queries(&world);
    let mut options = OperationOptions::default();
    options.request.end_to_end_timeout = Some(Duration::from_millis(5));
    for _ in 0..20 {
        let began = world.clock.now();
        let error = world.driver.execute_operation(&query(), &options).await.unwrap_err();
        assert_eq!(error.kind(), cosmonaut_driver::ErrorKind::DeadlineExceeded, "{error}");
        if world.clock.now().since(began) >= Duration::from_secs(1) {
            // The machine has stalled, and the caller was patient after all: a probe comes first.
            within_patience("the gateway is used again", world.until_framed()).await;
        }
        assert!(is_framed(&world.run(read("1", "a")).await));
    }
}

#[tokio::test]
async fn a_slow_request_takes_a_gateway_from_nobody() {
    let world = World::framed(&[EAST, WEST]).await;
    hang_queries(&world);
    let mut options = OperationOptions::default();
    options.request.end_to_end_timeout = Some(Duration::from_millis(1_050));
    options.hedging.hedging_enabled = Some(false);
    for _ in 0..2 {
        // Once it is hedged, once it ends in silence: the probe that follows is answered at once.
        let found = world.driver.execute_operation(&query(), &hedging(50)).await.unwrap();
        assert!(!is_in(found.diagnostics(), EAST), "{}", found.diagnostics());
        assert!(is_framed(&world.run(read("1", "a")).await));
        world.driver.execute_operation(&query(), &options).await.unwrap_err();
        within_patience("the gateway is used again", world.until_framed()).await;
    }
}

#[tokio::test]
async fn a_slow_gateway_has_no_other_one_probed() {
    const SLOW: usize = 12;
    let world = World::framed(&[EAST, WEST]).await;
    let mut in_west = OperationOptions::default();
    in_west.request.excluded_regions = Some(vec![EAST.into()]);
    let read_in_west = async || {
        let read = world.driver.execute_operation(&read("1", "a"), &in_west).await.unwrap();
        read.diagnostics().attempts()[0].framed
    };
    eventually("the gateway of the west is used", read_in_west).await;
    world.doors.close(world.port_of(WEST));
    eventually("it is lost", async || !read_in_west().await).await;
    let lost = world.clock.now();
    let refused = || *world.doors.refused.borrow();
    let before = refused();
    // It has been left alone for long enough, and is probed at intervals.
    world.clock.skip(3 * ENDPOINT_PROBE_INTERVAL);
    eventually("it is probed", async || refused() > before).await;
    hang_queries(&world);
    for _ in 0..SLOW {
        let found = world.driver.execute_operation(&query(), &hedging(50)).await.unwrap();
        assert!(!is_in(found.diagnostics(), EAST), "{}", found.diagnostics());
        within_patience("the gateway of the east is used", world.until_framed()).await;
    }
    let intervals = world.clock.now().since(lost).as_secs() / ENDPOINT_PROBE_INTERVAL.as_secs() + 1;
    let refused = refused() - before;
    // A probe may be sent twice.
    let most = 2 * (usize::try_from(intervals).unwrap() + 1);
    assert!(refused <= most, "{refused} refused in {intervals} intervals");
}

#[tokio::test]
async fn a_write_that_a_gateway_swallows_is_of_unknown_outcome_after_seconds() {
    let world = World::framed(&[EAST]).await;
    let creates =
        FaultInjectionCondition { operation: Some(OperationType::Create), ..at_gateway(&world, EAST) };
    world.faults.set(FaultInjectionRule::new("hang", FaultInjectionResult::Hang).when(creates));
    let (operation, options) = (create("s"), OperationOptions::default());
    let mut writing = pin!(world.driver.execute_operation(&operation, &options));
    let sent = async {
        while world.faults.hits("hang") != Some(1) {
            tokio::task::yield_now().await;
        }
        world.clock.skip(Duration::from_secs(7));
    };
    let error = within_patience("the write ends", async {
        let (found, ()) = tokio::join!(&mut writing, sent);
        found.unwrap_err()
    })
    .await;
    assert_eq!(error.kind(), cosmonaut_driver::ErrorKind::OutcomeUnknown, "{error}");
    assert_eq!(error.diagnostics().unwrap().attempts().len(), 1);
}

#[tokio::test]
async fn what_went_by_rest_is_held_against_no_gateway() {
    let world = World::framed(&[EAST, WEST]).await;
    world.faults.set(FaultInjectionRule::new("hang", FaultInjectionResult::Hang).when(at_rest(&world, EAST)));
    // No token has room for it.
    let too_large =
        (HeaderName::from_static("x-ms-cosmos-workload-id"), HeaderValue::from_static("99999999"));
    let read_it = read("1", "a").with_header(too_large.0, too_large.1);
    for _ in 0..2 {
        let found = world.driver.execute_operation(&read_it, &hedging(50)).await.unwrap();
        let attempts = found.diagnostics().attempts();
        assert!(attempts.len() == 2 && attempts.iter().all(|attempt| !attempt.framed), "{attempts:?}");
    }
    assert!(world.run(read("1", "a")).await.diagnostics().attempts()[0].framed);
}

#[tokio::test]
async fn a_gateway_that_hangs_costs_its_region_nothing() {
    let world = World::framed(&[EAST, WEST]).await;
    world
        .faults
        .set(FaultInjectionRule::new("hang", FaultInjectionResult::Hang).when(at_gateway(&world, EAST)));
    let mut shown = Vec::new();
    for _ in 0..20 {
        let found = world.driver.execute_operation(&read("1", "a"), &hedging(100)).await.unwrap();
        shown.push(found.diagnostics().clone());
    }
    // The first few are answered by the west. Whoever comes after asks the east by REST first.
    let mut met_the_gateway = 0;
    for diagnostics in &shown {
        let first = &diagnostics.attempts()[0];
        assert!(!first.partition_override, "{diagnostics}");
        let region = first.endpoint.region().unwrap().as_str();
        met_the_gateway += usize::from(region == EAST && first.framed);
    }
    assert!((1..=6).contains(&met_the_gateway), "{met_the_gateway}");
    assert!(shown[10..].iter().all(|diagnostics| is_in(diagnostics, EAST)), "{shown:?}");
}

#[tokio::test]
async fn a_hedged_create_that_one_gateway_refuses_is_never_said_to_be_a_conflict() {
    let emulator = Emulator::builder().regions([EAST, WEST]).multi_write(true).gateway2(true);
    let world =
        World::of(emulator.start().await.unwrap(), Arc::default(), CosmosClientOptions::default()).await;
    world.until_framed().await;
    let creates = |condition| FaultInjectionCondition { operation: Some(OperationType::Create), ..condition };
    let slow = FaultInjectionResult::SlowBody(Duration::from_millis(900));
    world.faults.set(FaultInjectionRule::new("slow", slow).when(creates(at_gateway(&world, EAST))));
    world
        .faults
        .set(FaultInjectionRule::new("no", status(403, 13_001)).when(creates(at_gateway(&world, WEST))));
    let found = world.driver.execute_operation(&create("h"), &hedging(150)).await;
    let is_certain_failure = |error: &Error| error.kind() != cosmonaut_driver::ErrorKind::OutcomeUnknown;
    assert!(!found.as_ref().is_err_and(is_certain_failure), "{found:?}");
}

#[tokio::test]
async fn what_goes_on_by_rest_is_hedged_still() {
    let world = World::framed(&[EAST, WEST]).await;
    let down = FaultInjectionResult::ConnectionRefused;
    world.faults.set(FaultInjectionRule::new("down", down).when(at_gateway(&world, EAST)));
    world.faults.set(FaultInjectionRule::new("hang", FaultInjectionResult::Hang).when(at_rest(&world, EAST)));
    let mut options = hedging(100);
    options.request.end_to_end_timeout = Some(Duration::from_secs(5));
    let found = world.driver.execute_operation(&read("1", "a"), &options).await.unwrap();
    assert!(!is_in(found.diagnostics(), EAST), "{}", found.diagnostics());
}

#[tokio::test]
async fn what_a_gateway_does_not_do_takes_it_from_no_other_operation() {
    let world = World::framed(&[EAST]).await;
    let patches =
        FaultInjectionCondition { operation: Some(OperationType::Patch), ..at_gateway(&world, EAST) };
    world.faults.set(FaultInjectionRule::new("no", status(405, 0)).when(patches));
    let body = json!({"operations": [{"op": "set", "path": "/n", "value": 2}]}).to_string();
    let patch = operation(OperationType::Patch, "/dbs/d/colls/c/docs/1").with_target(key_of("a"));
    assert!(!is_framed(&world.run(patch.with_body(body)).await));
    assert!(is_framed(&world.run(read("1", "a")).await));
}

#[tokio::test]
async fn headers_that_the_driver_says_itself_are_not_said_twice() {
    let world = World::framed(&[EAST]).await;
    for name in ["x-ms-cosmos-sdk-supportedcapabilities", "authorization", "x-ms-date"] {
        let own = (HeaderName::from_static(name), HeaderValue::from_static("1"));
        let response = world.run(read("1", "a").with_header(own.0, own.1)).await;
        assert!(is_framed(&response) && response.diagnostics().attempts().len() == 1, "{name}");
    }
    // What a token cannot have goes by REST, which says what is wrong with it.
    let odd = read("1", "a")
        .with_header(HeaderName::from_static("x-ms-consistency-level"), HeaderValue::from_static("Nonsense"));
    let error = world.driver.execute_operation(&odd, &OperationOptions::default()).await.unwrap_err();
    assert_eq!(error.status().unwrap().code(), StatusCode::BAD_REQUEST);
    assert!(!error.diagnostics().unwrap().attempts()[0].framed);
}

#[tokio::test]
async fn a_gateway_that_loses_answers_moves_no_partitions_writes() {
    let emulator = Emulator::builder().regions([EAST, WEST]).partition_failover(true).gateway2(true);
    let world =
        World::of(emulator.start().await.unwrap(), Arc::default(), CosmosClientOptions::default()).await;
    world.until_framed().await;
    let creates =
        FaultInjectionCondition { operation: Some(OperationType::Create), ..at_gateway(&world, EAST) };
    world.faults.set(FaultInjectionRule::new("lost", FaultInjectionResult::ResponseLost).when(creates));
    let error = world.driver.execute_operation(&create("x"), &OperationOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), cosmonaut_driver::ErrorKind::OutcomeUnknown, "{error}");
    let next = world.run(create("y")).await;
    assert!(
        is_in(next.diagnostics(), EAST) && next.diagnostics().attempts().len() == 1,
        "{}",
        next.diagnostics()
    );
}
