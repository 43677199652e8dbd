//! Gateway 2.0 of real regions over real sockets: what goes there, what goes by REST, and what happens when it fails.

mod failing;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cosmonaut_driver::fault_injection::{
    FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule, FaultInjector,
};
use cosmonaut_driver::transport::{BoxFuture, SocketStream, Sockets};
use cosmonaut_driver::{
    AttemptDiagnostics, AttemptOutcome, CosmosDriver, CosmosDriverRuntime, CosmosOperation, CosmosResponse,
    Credential, NextStep, OperationOptions, OperationType, PartitionTarget, Precondition,
};
use cosmonaut_emulator::Emulator;
use cosmonaut_options::{ConnectionOptions, CosmosClientOptions, HttpProtocol};
use cosmonaut_policy::ENDPOINT_PROBE_INTERVAL;
use cosmonaut_wire::PartitionKey;
use http::{HeaderName, HeaderValue};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::harness::{json_of, no_environment, operation, read};
use crate::regions::clock::Clock;

const EAST: &str = "East US";
const WEST: &str = "West US";

/// Real sockets, of which those to some ports can be closed and refused.
#[derive(Default)]
struct Doors {
    closed: Mutex<Vec<u16>>,
    news: watch::Sender<()>,
    /// How many have come to a closed door.
    refused: watch::Sender<usize>,
    pumps: Mutex<JoinSet<()>>,
}

impl Doors {
    fn is_closed(&self, port: u16) -> bool {
        self.closed.lock().unwrap().contains(&port)
    }

    /// Closes what is open to a port, and refuses what comes.
    fn close(&self, port: u16) {
        self.closed.lock().unwrap().push(port);
        self.news.send_replace(());
    }

    /// Waits until somebody has come to a closed door.
    async fn has_refused_one(&self) {
        self.refused.subscribe().wait_for(|refused| *refused > 0).await.unwrap();
    }

    fn open(&self, port: u16) {
        self.closed.lock().unwrap().retain(|closed| *closed != port);
    }
}

struct Door(Arc<Doors>);

impl Sockets for Door {
    fn connect(&self, to: SocketAddr) -> BoxFuture<'_, std::io::Result<Box<dyn SocketStream>>> {
        let doors = Arc::clone(&self.0);
        Box::pin(async move {
            if doors.is_closed(to.port()) {
                doors.refused.send_modify(|refused| *refused += 1);
                return Err(std::io::ErrorKind::ConnectionRefused.into());
            }
            let mut far = TcpStream::connect(to).await?;
            let (near, mut inner) = tokio::io::duplex(64 * 1024);
            let watched = Arc::clone(&doors);
            let pump = async move {
                let doors = watched;
                let mut news = doors.news.subscribe();
                let cut = async {
                    while !doors.is_closed(to.port()) {
                        let _ = news.changed().await;
                    }
                };
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut inner, &mut far) => {}
                    () = cut => {}
                }
            };
            doors.pumps.lock().unwrap().spawn(pump);
            Ok(Box::new(near) as Box<dyn SocketStream>)
        })
    }
}

/// An account whose regions have a Gateway 2.0, and a driver for it.
struct World {
    emulator: Emulator,
    driver: CosmosDriver,
    doors: Arc<Doors>,
    faults: FaultInjector,
    clock: Arc<Clock>,
}

impl World {
    async fn start(regions: &[&str], options: CosmosClientOptions) -> Self {
        let emulator = Emulator::builder().regions(regions.iter().copied());
        let emulator = emulator.gateway2(true).start().await.unwrap();
        Self::of(emulator, Arc::default(), options).await
    }

    async fn of(emulator: Emulator, doors: Arc<Doors>, mut options: CosmosClientOptions) -> Self {
        let (faults, clock) = (FaultInjector::new(), Clock::new());
        // A clock that is moved on would let every PING miss its answer.
        options.connection.http2_keepalive_interval = Some(Duration::from_secs(24 * 3600));
        let runtime = CosmosDriverRuntime::builder()
            .environment(&no_environment)
            .sockets(Arc::new(Door(Arc::clone(&doors))))
            .fault_injection(faults.clone())
            .platform(Arc::clone(&clock) as Arc<_>)
            .build()
            .unwrap();
        let key = Credential::master_key(emulator.key()).unwrap();
        let driver = runtime.create_driver(emulator.url(), key, options).unwrap();
        let world = Self { emulator, driver, doors, faults, clock };
        world.create("/dbs", json!({"id": "d"}), PartitionTarget::None).await;
        let key = json!({"paths": ["/pk"], "kind": "Hash", "version": 2});
        let container = json!({"id": "c", "partitionKey": key});
        world.create("/dbs/d/colls", container, PartitionTarget::None).await;
        world.create("/dbs/d/colls/c/docs", json!({"id": "1", "pk": "a", "n": 1}), key_of("a")).await;
        world
    }

    /// One whose gateways have answered.
    async fn framed(regions: &[&str]) -> Self {
        let world = Self::start(regions, CosmosClientOptions::default()).await;
        world.until_framed().await;
        world
    }

    async fn create(&self, path: &str, body: serde_json::Value, target: PartitionTarget) -> CosmosResponse {
        let create = operation(OperationType::Create, path).with_body(body.to_string()).with_target(target);
        self.run(create).await
    }

    async fn run(&self, operation: CosmosOperation) -> CosmosResponse {
        self.driver.execute_operation(&operation, &OperationOptions::default()).await.unwrap()
    }

    /// Waits until reads go to the nearest region's Gateway 2.0.
    async fn until_framed(&self) {
        while !is_framed(&self.run(read("1", "a")).await) {
            tokio::task::yield_now().await;
        }
    }

    fn port_of(&self, region: &str) -> u16 {
        port_of(&self.emulator, region)
    }
}

fn port_of(emulator: &Emulator, region: &str) -> u16 {
    let url = emulator.gateway2_url(region).unwrap();
    url.trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap()
}

fn key_of(key: &str) -> PartitionTarget {
    PartitionTarget::from(PartitionKey::from(key))
}

/// Whether the last attempt went to a Gateway 2.0.
fn is_framed(response: &CosmosResponse) -> bool {
    response.diagnostics().attempts().last().unwrap().framed
}

fn whole_partition() -> PartitionTarget {
    PartitionTarget::Range("0".into())
}

#[tokio::test]
async fn what_is_about_items_goes_by_frames_and_is_answered_as_by_rest() {
    let world = World::framed(&[EAST]).await;
    let item = "/dbs/d/colls/c/docs/1";
    let feed = "/dbs/d/colls/c/docs";
    let at = |kind, path| operation(kind, path).with_target(key_of("a"));
    let query = json!({"query": "SELECT VALUE c.n FROM c"}).to_string();
    let version = world.run(read("1", "a")).await.headers()["etag"].clone();
    let batch = json!([{"operationType": "Create", "resourceBody": {"id": "4", "pk": "a"}}]).to_string();
    let bulk = json!([{"operationType": "Read", "id": "1", "partitionKey": "[\"a\"]"}]).to_string();
    let patch = json!({"operations": [{"op": "set", "path": "/n", "value": 2}]}).to_string();
    let body = |id: &str| json!({"id": id, "pk": "a", "n": 1}).to_string();
    for (operation, status, framed) in [
        (at(OperationType::Create, feed).with_body(body("2")), 201, true),
        (at(OperationType::Upsert, feed).with_body(body("2")), 200, true),
        (at(OperationType::Replace, item).with_body(body("1")), 200, true),
        (at(OperationType::Patch, item).with_body(patch), 200, true),
        (at(OperationType::Read, item), 200, true),
        (at(OperationType::Batch, feed).with_body(batch), 200, true),
        (at(OperationType::Query, feed).with_body(query.clone()), 200, true),
        (operation(OperationType::Query, feed).with_body(query).with_target(whole_partition()), 200, true),
        (operation(OperationType::ChangeFeed, feed).with_target(whole_partition()), 200, true),
        (operation(OperationType::Bulk, feed).with_body(bulk).with_target(whole_partition()), 200, false),
        (at(OperationType::Delete, "/dbs/d/colls/c/docs/2"), 204, true),
        (at(OperationType::Head, item), 200, false),
        (operation(OperationType::ReadFeed, feed).with_target(whole_partition()), 200, false),
        (operation(OperationType::Read, "/dbs/d/colls/c"), 200, false),
        (
            at(OperationType::Read, item)
                .with_header(HeaderName::from_static("x-mine"), HeaderValue::from_static("1")),
            200,
            false,
        ),
    ] {
        let name = format!("{:?}", operation.operation_type());
        let response = world.run(operation).await;
        assert_eq!((response.status().code().as_u16(), is_framed(&response)), (status, framed), "{name}");
        assert!(response.request_charge() >= 1.0, "{name}");
        if framed {
            assert!(response.headers().contains_key("x-ms-session-token"), "{name}");
            assert!(
                response.headers().contains_key("date"),
                "{name}: the durable provider learns the time from it"
            );
        }
    }
    let shown = world.run(read("1", "a")).await.diagnostics().to_json();
    assert_eq!(shown["attempts"][0]["gateway2"], true, "{shown}");
    let unchanged = read("1", "a").with_precondition(Precondition::IfNoneMatch(version));
    let changed = world.run(unchanged).await;
    assert_eq!(json_of(&changed)["n"], 2);
}

#[tokio::test]
async fn answers_without_a_body_and_refusals_are_the_services() {
    let world = World::framed(&[EAST]).await;
    let etag = world.run(read("1", "a")).await.headers()["etag"].clone();
    let none_match = |etag: HeaderValue| Precondition::IfNoneMatch(etag);
    for (operation, status) in [
        (read("1", "a").with_precondition(none_match(etag)), 304),
        (read("nobody", "a"), 404),
        (
            operation(OperationType::Create, "/dbs/d/colls/c/docs")
                .with_body(json!({"id": "1", "pk": "a"}).to_string())
                .with_target(key_of("a")),
            409,
        ),
        (
            operation(OperationType::Replace, "/dbs/d/colls/c/docs/1")
                .with_body(json!({"id": "1", "pk": "a"}).to_string())
                .with_precondition(Precondition::IfMatch(HeaderValue::from_static("\"other\"")))
                .with_target(key_of("a")),
            412,
        ),
    ] {
        let found = world.driver.execute_operation(&operation, &OperationOptions::default()).await;
        let (found, diagnostics) = match found {
            Ok(response) => (response.status(), response.diagnostics().clone()),
            Err(error) => (error.status().unwrap(), error.diagnostics().unwrap().clone()),
        };
        assert_eq!(found.code().as_u16(), status);
        let attempts = diagnostics.attempts();
        assert!(attempts.len() == 1 && attempts[0].framed, "{diagnostics}");
    }
}

#[tokio::test]
async fn the_switches_keep_everything_at_rest() {
    let off = |connection: ConnectionOptions| CosmosClientOptions { connection, ..Default::default() };
    for (name, options, expected) in [
        ("usual", CosmosClientOptions::default(), true),
        ("disabled", off(ConnectionOptions { gateway_v2_disabled: Some(true), ..Default::default() }), false),
        (
            "not enabled",
            off(ConnectionOptions { thin_client_enabled: Some(false), ..Default::default() }),
            false,
        ),
        (
            "no HTTP/2",
            off(ConnectionOptions { http_protocol: Some(HttpProtocol::Http1), ..Default::default() }),
            false,
        ),
    ] {
        let world = World::start(&[EAST], options).await;
        let account = world.driver.account().await.unwrap();
        assert_eq!(account.thin_client_readable_locations.is_some(), expected, "{name}");
        if expected {
            world.until_framed().await;
        }
        assert_eq!(is_framed(&world.run(read("1", "a")).await), expected, "{name}");
    }
}

#[tokio::test]
async fn a_gateway_that_does_not_answer_is_never_used() {
    let emulator = Emulator::builder().regions([EAST]).gateway2(true).start().await.unwrap();
    let doors = Arc::new(Doors::default());
    doors.close(port_of(&emulator, EAST));
    let world = World::of(emulator, doors, CosmosClientOptions::default()).await;
    world.doors.has_refused_one().await;
    for _ in 0..20 {
        let response = world.run(read("1", "a")).await;
        assert!(!is_framed(&response) && response.diagnostics().attempts().len() == 1);
    }
}

#[tokio::test]
async fn no_read_fails_when_gateways_are_lost_under_load_and_they_are_used_again_when_they_are_back() {
    for regions in [&[EAST][..], &[EAST, WEST]] {
        let world = World::framed(regions).await;
        world.doors.close(world.port_of(EAST));
        let in_east = |response: &CosmosResponse, framed: bool| {
            let here = |attempt: &AttemptDiagnostics| attempt.endpoint.region().unwrap().as_str() == EAST;
            let mut attempts = response.diagnostics().attempts().iter();
            attempts.any(|attempt| here(attempt) && attempt.framed == framed)
        };
        let (mut has_met_the_door, mut fell_back) = (false, false);
        for _ in 0..200 {
            let response = world.run(read("1", "a")).await;
            has_met_the_door |= in_east(&response, true);
            fell_back |= in_east(&response, false);
        }
        assert!(has_met_the_door && fell_back);
        assert!(!in_east(&world.run(read("1", "a")).await, true));
        // Writes go on too, and none is sent twice.
        world.create("/dbs/d/colls/c/docs", json!({"id": "w", "pk": "a"}), key_of("a")).await;
        world.doors.open(world.port_of(EAST));
        world.clock.skip(ENDPOINT_PROBE_INTERVAL);
        world.until_framed().await;
    }
}

#[tokio::test]
async fn no_read_that_is_under_way_fails_when_a_gateway_is_lost() {
    for regions in [&[EAST][..], &[EAST, WEST]] {
        let world = World::framed(regions).await;
        let mut readers = JoinSet::new();
        let (has_cut, cut) = watch::channel(false);
        let under_way = Arc::new(AtomicUsize::new(0));
        for _ in 0..32 {
            let (driver, cut, under_way) = (world.driver.clone(), cut.clone(), Arc::clone(&under_way));
            readers.spawn(async move {
                let mut met_the_cut = false;
                for _ in 0..50 {
                    let before = *cut.borrow();
                    under_way.fetch_add(1, Ordering::Relaxed);
                    let found = driver.execute_operation(&read("1", "a"), &OperationOptions::default()).await;
                    under_way.fetch_sub(1, Ordering::Relaxed);
                    let found = found.unwrap_or_else(|error| panic!("{error}: {:?}", error.diagnostics()));
                    let attempts = found.diagnostics().attempts();
                    met_the_cut |= !before && attempts.len() > 1 && attempts[0].framed;
                }
                met_the_cut
            });
        }
        while under_way.load(Ordering::Relaxed) < 32 {
            tokio::task::yield_now().await;
        }
        has_cut.send_replace(true);
        world.doors.close(world.port_of(EAST));
        let met_the_cut = readers.join_all().await;
        assert!(met_the_cut.contains(&true));
    }
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_of_unknown_outcome_and_not_repeated() {
    let world = World::framed(&[EAST]).await;
    let creates = FaultInjectionCondition {
        operation: Some(OperationType::Create),
        max_hits: Some(1),
        ..FaultInjectionCondition::default()
    };
    world.faults.set(FaultInjectionRule::new("lost", FaultInjectionResult::ResponseLost).when(creates));
    let create = operation(OperationType::Create, "/dbs/d/colls/c/docs")
        .with_body(json!({"id": "9", "pk": "a"}).to_string())
        .with_target(key_of("a"));
    let error = world.driver.execute_operation(&create, &OperationOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), cosmonaut_driver::ErrorKind::OutcomeUnknown, "{error}");
    assert_eq!(error.diagnostics().unwrap().attempts().len(), 1);
    assert_eq!(json_of(&world.run(read("9", "a")).await)["id"], "9");
}

#[tokio::test]
async fn faults_of_the_driver_strike_frames_like_requests() {
    let world = World::framed(&[EAST, WEST]).await;
    let unavailable = cosmonaut_wire::CosmosStatus::new(http::StatusCode::SERVICE_UNAVAILABLE, 0);
    let answer = FaultInjectionResult::Status { status: unavailable, retry_after: None };
    let east = FaultInjectionCondition { region: Some(EAST.into()), ..FaultInjectionCondition::default() };
    world.faults.set(FaultInjectionRule::new("out", answer).when(east));
    let response = world.run(read("1", "a")).await;
    let attempts = response.diagnostics().attempts();
    assert_eq!(attempts[0].outcome, AttemptOutcome::Answered(unavailable));
    assert!(attempts[0].framed && matches!(attempts[0].next, NextStep::Failover(_)), "{attempts:?}");
    assert_eq!(attempts[1].endpoint.region().unwrap().as_str(), WEST);
}

#[tokio::test]
async fn a_container_that_was_made_anew_is_noticed_in_frames_too() {
    let world = World::framed(&[EAST]).await;
    let other = Credential::master_key(world.emulator.key()).unwrap();
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).build().unwrap();
    let other = runtime.create_driver(world.emulator.url(), other, CosmosClientOptions::default()).unwrap();
    let run = async |operation: CosmosOperation| {
        other.execute_operation(&operation, &OperationOptions::default()).await.unwrap()
    };
    run(operation(OperationType::Delete, "/dbs/d/colls/c")).await;
    let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
    run(operation(OperationType::Create, "/dbs/d/colls").with_body(container.to_string())).await;
    let response = world.create("/dbs/d/colls/c/docs", json!({"id": "1", "pk": "a"}), key_of("a")).await;
    let attempts = response.diagnostics().attempts();
    assert!(attempts.iter().all(|attempt| attempt.framed), "{attempts:?}");
    assert!(matches!(attempts[0].next, NextStep::RetryAfterRefresh(_)), "{attempts:?}");
}

#[tokio::test]
async fn sessions_and_regions_are_followed_by_frames() {
    let world = World::framed(&[EAST, WEST]).await;
    world.emulator.control().take_down(EAST, cosmonaut_emulator::Outage::Refuse).await.unwrap();
    for _ in 0..50 {
        let response = world.run(read("1", "a")).await;
        assert_eq!(json_of(&response)["id"], "1");
    }
    let response = world.run(read("1", "a")).await;
    let attempts = response.diagnostics().attempts();
    assert_eq!(attempts.last().unwrap().endpoint.region().unwrap().as_str(), WEST);
    assert!(is_framed(&response), "{}", response.diagnostics());
}
