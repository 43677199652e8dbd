//! Connections whose peer is gone without a word: found by PINGs, and without these by what requests meet.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_driver::fault_injection::{
    FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule, FaultInjector,
};
use cosmonaut_driver::platform::Platform;
use cosmonaut_driver::transport::{
    Authority, BoxFuture, HttpClient, HttpClientFactory, HttpVersion, RequestSentStatus, SendProgress,
    TransportError, TransportErrorKind,
};
use cosmonaut_driver::{
    AttemptOutcome, CosmosDriver, CosmosDriverRuntime, CosmosResponse, Credential, Error, ErrorKind,
    OperationOptions,
};
use cosmonaut_options::{ConnectionOptions, CosmosClientOptions, RequestOptions, ShardingOptions};
use cosmonaut_policy::ShardStats;
use cosmonaut_wire::EMULATOR_KEY;
use http::{Request, Response};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::gateway::Gateway;
use crate::harness::{no_environment, read};
use crate::line::{Line, StillClock};
use crate::scripted::VirtualPlatform;

const DEADLINE: Duration = Duration::from_millis(100);

fn within(time: Duration) -> OperationOptions {
    let request = RequestOptions { end_to_end_timeout: Some(time), ..Default::default() };
    OperationOptions { request, ..Default::default() }
}

/// An open gateway at the end of a line, and a driver that has read from it.
struct Setup {
    line: Line,
    _gateway: Gateway,
    clock: Arc<StillClock>,
    driver: CosmosDriver,
}

impl Setup {
    async fn new() -> Self {
        let mut line = Line::new("http").await;
        let gateway = Gateway::start_behind(Some(&line.url)).await;
        gateway.open();
        line.lead_to(&gateway.url);
        let clock = StillClock::new();
        let runtime = CosmosDriverRuntime::builder()
            .environment(&no_environment)
            .platform(Arc::clone(&clock) as Arc<dyn Platform>)
            .build()
            .unwrap();
        let key = Credential::master_key(EMULATOR_KEY).unwrap();
        let driver = runtime.create_driver(&line.url, key, CosmosClientOptions::default()).unwrap();
        let setup = Self { line, _gateway: gateway, clock, driver };
        setup.start_read(OperationOptions::default()).await.unwrap().unwrap();
        setup
    }

    #[expect(clippy::disallowed_methods, reason = "tests have no door")]
    fn start_read(&self, options: OperationOptions) -> JoinHandle<Result<CosmosResponse, Error>> {
        let driver = self.driver.clone();
        tokio::spawn(async move { driver.execute_operation(&read("1", "a"), &options).await })
    }

    /// Reads with a deadline that passes.
    async fn read_in_vain(&self) {
        let heard = self.line.heard();
        let reading = self.start_read(within(DEADLINE));
        self.line.hears_more_than(heard).await;
        self.clock.advance(DEADLINE);
        let error = reading.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{error:?}");
    }
}

#[tokio::test]
async fn a_silent_peer_is_left_when_it_misses_a_ping_without_any_sweep() {
    let setup = Setup::new().await;
    let before = setup.line.opened();
    setup.line.fall_silent();
    for _ in 0..5 {
        setup.read_in_vain().await;
    }
    assert_eq!(setup.line.opened(), before, "until then nothing is known");
    setup.line.misses_pings(&setup.clock, before).await;
    setup.start_read(within(DEADLINE)).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_idle_connection_that_misses_a_ping_is_closed_before_a_request_meets_it() {
    let setup = Setup::new().await;
    let before = setup.line.opened();
    setup.line.fall_silent();
    setup.line.misses_pings(&setup.clock, before).await;
    let response = setup.start_read(OperationOptions::default()).await.unwrap().unwrap();
    assert_eq!(response.diagnostics().attempts().len(), 1);
}

#[tokio::test]
async fn a_request_that_waits_when_a_ping_is_missed_was_disconnected_and_may_have_been_seen() {
    let setup = Setup::new().await;
    let before = setup.line.opened();
    setup.line.fall_silent();
    let heard = setup.line.heard();
    let reading = setup.start_read(OperationOptions::default());
    setup.line.hears_more_than(heard).await;
    setup.line.misses_pings(&setup.clock, before).await;
    let response = reading.await.unwrap().unwrap();
    let expected = AttemptOutcome::Failed {
        kind: Some(TransportErrorKind::Disconnected),
        sent: RequestSentStatus::Unknown,
    };
    let attempts = response.diagnostics().attempts();
    assert_eq!(attempts[0].outcome, expected, "{}", response.diagnostics());
    assert_eq!(attempts.len(), 2, "{}", response.diagnostics());
}

/// Clients without PINGs. Those up to a number never answer, which a test can change.
struct Numbered {
    made: AtomicU64,
    silent_up_to: watch::Sender<u64>,
    can_connect: watch::Sender<bool>,
}

struct NumberedClient {
    number: u64,
    factory: Arc<Numbered>,
    closed: watch::Sender<bool>,
}

struct NumberedFactory(Arc<Numbered>);

impl HttpClientFactory for NumberedFactory {
    fn version<'a>(&'a self, _: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        Box::pin(std::future::ready(Ok(HttpVersion::Http2)))
    }

    fn create(&self, _: &Authority, _: HttpVersion) -> Arc<dyn HttpClient> {
        let number = self.0.made.fetch_add(1, Ordering::Relaxed) + 1;
        Arc::new(NumberedClient { number, factory: Arc::clone(&self.0), closed: watch::channel(false).0 })
    }
}

impl NumberedClient {
    fn failed(&self, kind: TransportErrorKind, sent: RequestSentStatus) -> TransportError {
        TransportError::new(kind, sent, "http://numbered.test")
    }
}

impl HttpClient for NumberedClient {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        progress: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let here = json!([{"name": "here", "databaseAccountEndpoint": "http://numbered.test/"}]);
            let body = match request.uri().path() {
                "/" => json!({
                    "id": "a", "writableLocations": here, "readableLocations": here,
                    "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"},
                }),
                "/dbs/d/colls/c" => json!({
                    "id": "c", "_rid": "1FAbAPmd4Rw=",
                    "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
                }),
                "/dbs/d/colls/c/pkranges" => json!({
                    "_rid": "1FAbAPmd4Rw=",
                    "PartitionKeyRanges": [{"id": "0", "minInclusive": "", "maxExclusive": "FF"}],
                }),
                _ => {
                    progress.hand_over();
                    if self.number <= *self.factory.silent_up_to.borrow() {
                        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
                        return Err(self.failed(TransportErrorKind::Disconnected, RequestSentStatus::Unknown));
                    }
                    json!({"id": "1"})
                }
            };
            Ok(Response::new(Bytes::from(body.to_string())))
        })
    }

    fn warm_up(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            match *self.factory.can_connect.borrow() {
                true => Ok(()),
                false => Err(self.failed(TransportErrorKind::Unreachable, RequestSentStatus::NotSent)),
            }
        })
    }

    fn close(&self) {
        self.closed.send_replace(true);
    }
}

fn numbered(sharding: ShardingOptions) -> (Arc<Numbered>, CosmosDriver) {
    let factory = Arc::new(Numbered {
        made: AtomicU64::new(0),
        silent_up_to: watch::channel(0).0,
        can_connect: watch::channel(true).0,
    });
    let runtime = CosmosDriverRuntime::builder()
        .environment(&no_environment)
        .platform(VirtualPlatform::new())
        .http_client_factory(Arc::new(NumberedFactory(Arc::clone(&factory))))
        .build()
        .unwrap();
    let connection = ConnectionOptions { sharding: Some(sharding), ..Default::default() };
    let options = CosmosClientOptions { connection, ..Default::default() };
    let key = Credential::master_key(EMULATOR_KEY).unwrap();
    (factory, runtime.create_driver("http://numbered.test", key, options).unwrap())
}

fn shards(driver: &CosmosDriver) -> Vec<ShardStats> {
    let endpoint = driver.location().unwrap().account.preferred_read_endpoints()[0].clone();
    driver.shards(&endpoint)
}

async fn read_within(driver: &CosmosDriver, options: OperationOptions) -> Result<CosmosResponse, Error> {
    driver.execute_operation(&read("1", "a"), &options).await
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
async fn a_lone_silent_shard_is_replaced_by_one_that_is_connected_first() {
    let (factory, driver) = numbered(ShardingOptions::default());
    read_within(&driver, within(DEADLINE)).await.unwrap();
    let lone = shards(&driver)[0].id;
    factory.silent_up_to.send_replace(lone);
    factory.can_connect.send_replace(false);
    let began = tokio::time::Instant::now();
    while began.elapsed() < Duration::from_secs(15) {
        read_within(&driver, within(DEADLINE)).await.unwrap_err();
    }
    let ids: Vec<u64> = shards(&driver).iter().map(|shard| shard.id).collect();
    assert_eq!(ids, [lone], "it stays while no successor can be connected");
    factory.can_connect.send_replace(true);
    while read_within(&driver, within(DEADLINE)).await.is_err() {
        assert!(began.elapsed() < Duration::from_secs(21), "the next sweep replaces it");
    }
    assert!(shards(&driver).iter().all(|shard| shard.id != lone));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_counts_against_a_shard_that_was_silent() {
    let (factory, driver) = numbered(ShardingOptions::default());
    read_within(&driver, OperationOptions::default()).await.unwrap();
    crate::waiting::sleep(Duration::from_millis(1)).await;
    factory.silent_up_to.send_replace(shards(&driver)[0].id);
    for dropped in 1..=3 {
        let gone =
            crate::waiting::timeout(Duration::from_millis(10), read_within(&driver, Default::default()))
                .await;
        assert!(gone.is_err());
        assert_eq!(shards(&driver)[0].consecutive_failures, dropped);
        assert_eq!(shards(&driver)[0].inflight, 0);
    }
    // One that answers others meanwhile is only slow.
    let mut slow = Box::pin(read_within(&driver, OperationOptions::default()));
    assert!(crate::waiting::timeout(Duration::from_millis(10), &mut slow).await.is_err());
    factory.silent_up_to.send_replace(0);
    read_within(&driver, OperationOptions::default()).await.unwrap();
    drop(slow);
    assert_eq!(shards(&driver)[0].consecutive_failures, 0);
}

/// Sharding with few streams, so that a handful of reads needs several shards.
fn injected(faults: &FaultInjector, clock: &Arc<StillClock>, url: &str) -> CosmosDriver {
    let runtime = CosmosDriverRuntime::builder()
        .environment(&no_environment)
        .platform(Arc::clone(clock) as Arc<dyn Platform>)
        .fault_injection(faults.clone())
        .build()
        .unwrap();
    let sharding = ShardingOptions {
        max_streams_per_client: Some(2),
        max_clients_per_endpoint: Some(8),
        ..Default::default()
    };
    let connection = ConnectionOptions { sharding: Some(sharding), ..Default::default() };
    let options = CosmosClientOptions { connection, ..Default::default() };
    runtime.create_driver(url, Credential::master_key(EMULATOR_KEY).unwrap(), options).unwrap()
}

#[tokio::test]
async fn under_injected_faults_a_shard_is_evicted_the_pool_grows_and_shrinks_again() {
    let gateway = Gateway::start().await;
    let (faults, clock) = (FaultInjector::new(), StillClock::new());
    let driver = injected(&faults, &clock, &gateway.url);
    gateway.open();
    read_within(&driver, OperationOptions::default()).await.unwrap();
    let bad = shards(&driver)[0].id;
    let condition = FaultInjectionCondition { shard: Some(bad), ..Default::default() };
    faults.set(FaultInjectionRule::new("bad", FaultInjectionResult::ResetBeforeSend).when(condition));
    for _ in 0..6 {
        let response = read_within(&driver, OperationOptions::default()).await.unwrap();
        assert_eq!(response.diagnostics().attempts().last().unwrap().shard, Some(bad + 1));
        clock.advance(Duration::from_millis(500));
    }
    driver.sweep_shards();
    assert!(shards(&driver).iter().all(|shard| shard.id != bad), "it is evicted while another does well");

    faults.set(FaultInjectionRule::new("bad", FaultInjectionResult::Hang));
    let hanging: Vec<_> = (0..8)
        .map(|_| {
            let driver = driver.clone();
            Box::pin(async move { read_within(&driver, OperationOptions::default()).await })
        })
        .collect();
    let mut all = tokio::task::JoinSet::new();
    hanging.into_iter().for_each(|read| drop(all.spawn(read)));
    while shards(&driver).iter().map(|shard| shard.inflight).sum::<u32>() < 8 {
        tokio::task::yield_now().await;
    }
    let hung: Vec<u64> = shards(&driver).iter().map(|shard| shard.id).collect();
    assert_eq!(hung.len(), 4, "two on each");
    faults.clear();
    clock.advance(Duration::from_secs(11));
    driver.sweep_shards();
    assert!(all.join_all().await.into_iter().all(|result| result.is_ok()));
    assert!(shards(&driver).iter().all(|shard| !hung.contains(&shard.id)), "what hangs is closed");

    clock.advance(Duration::from_secs(61));
    driver.sweep_shards();
    assert_eq!(shards(&driver).len(), 1, "the pool shrinks when there is nothing to do");
}
