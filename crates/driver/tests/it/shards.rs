//! HTTP/2 connections under load: spread, limited, given up when they hang, closed when idle, and none left
//! behind.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cosmonaut_driver::platform::Platform;
use cosmonaut_driver::{
    CosmosDriver, CosmosDriverRuntime, Credential, NextStep, OperationOptions, OperationType,
};
use cosmonaut_options::{
    ConnectionOptions, CosmosClientOptions, HttpProtocol, RequestOptions, ShardingOptions,
};
use cosmonaut_wire::{EMULATOR_KEY, PartitionKey};
use tokio::task::JoinSet;

use crate::gateway::{Gateway, SkewedPlatform};
use crate::harness::{no_environment, operation, read};
use crate::line::StillClock;

fn with_clients(most: u32) -> CosmosClientOptions {
    let sharding = ShardingOptions { max_clients_per_endpoint: Some(most), ..Default::default() };
    let connection = ConnectionOptions { sharding: Some(sharding), ..Default::default() };
    CosmosClientOptions { connection, ..Default::default() }
}

fn shard_count(driver: &CosmosDriver) -> usize {
    let endpoint = driver.location().unwrap().account.preferred_read_endpoints()[0].clone();
    driver.shards(&endpoint).len()
}

fn start_reads(driver: &CosmosDriver, count: usize) -> JoinSet<usize> {
    let mut reads = JoinSet::new();
    for _ in 0..count {
        let driver = driver.clone();
        reads.spawn(async move {
            let response =
                driver.execute_operation(&read("1", "a"), &OperationOptions::default()).await.unwrap();
            response.diagnostics().attempts().len()
        });
    }
    reads
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_hundred_reads_spread_over_shards_and_the_pool_shrinks_again() {
    let (gateway, platform) = (Gateway::start().await, SkewedPlatform::new());
    let driver = gateway.driver(&platform, with_clients(64));
    let reads = start_reads(&driver, 400);
    gateway.holds(400).await;
    let connections = gateway.data_connections();
    assert!((25..=64).contains(&connections.len()), "{} connections", connections.len());
    assert!(shard_count(&driver) >= 25);
    gateway.open();
    assert!(reads.join_all().await.into_iter().all(|attempts| attempts == 1));
    for connection in &connections {
        let peak = connection.peak.load(Ordering::Relaxed);
        assert!(peak <= 20, "{peak} streams at once on one connection");
    }
    platform.set_forward(Duration::from_secs(61));
    driver.sweep_shards();
    assert_eq!(shard_count(&driver), 1);
    gateway.has_at_most(1).await;
}

#[tokio::test]
async fn more_than_all_connections_carry_waits_and_is_answered() {
    let (gateway, platform) = (Gateway::start().await, SkewedPlatform::new());
    let driver = gateway.driver(&platform, with_clients(2));
    let reads = start_reads(&driver, 100);
    // The gateway allows far more streams, so all of them arrive.
    gateway.holds(100).await;
    assert_eq!(shard_count(&driver), 2);
    gateway.open();
    assert_eq!(reads.join_all().await.len(), 100);
}

#[tokio::test]
async fn a_shard_that_hangs_is_replaced_and_its_requests_repeated() {
    let (gateway, platform) = (Gateway::start().await, SkewedPlatform::new());
    gateway.first_connection_hangs();
    gateway.open();
    let driver = gateway.driver(&platform, with_clients(8));
    let reads = start_reads(&driver, 4);
    gateway.holds(4).await;
    platform.set_forward(Duration::from_secs(11));
    platform.set_cpu_load(0.95);
    driver.sweep_shards();
    assert_eq!(driver_shards(&driver)[0].inflight, 4, "busy processors are no proof of a hang");
    let hung = driver_shards(&driver)[0].id;
    platform.set_cpu_load(0.5);
    driver.sweep_shards();
    assert_eq!(reads.join_all().await, [2; 4], "each was sent twice");
    assert!(driver_shards(&driver).iter().all(|shard| shard.id != hung));
}

/// A PING goes out after a second of silence; each is answered before more time passes.
#[tokio::test]
async fn a_request_that_takes_long_is_not_cut_off_while_its_connection_answers_pings() {
    let gateway = Gateway::start().await;
    let clock = StillClock::new();
    let runtime = CosmosDriverRuntime::builder()
        .environment(&no_environment)
        .platform(Arc::clone(&clock) as Arc<dyn Platform>)
        .build()
        .unwrap();
    let connection = ConnectionOptions {
        http_protocol: Some(HttpProtocol::Http2),
        request_timeout: Some(Duration::from_secs(60)),
        ..Default::default()
    };
    let options = CosmosClientOptions { connection, ..Default::default() };
    let key = Credential::master_key(EMULATOR_KEY).unwrap();
    let driver = runtime.create_driver(&gateway.url, key, options).unwrap();
    let write = operation(OperationType::Create, "/dbs/d/colls/c/docs")
        .with_body(r#"{"id":"1","pk":"a"}"#.to_owned())
        .with_target(PartitionKey::from("a"));
    let (own, mut writes) = (driver.clone(), JoinSet::new());
    writes.spawn(async move { own.execute_operation(&write, &OperationOptions::default()).await });
    gateway.holds(1).await;
    for _ in 0..30 {
        clock.advance(Duration::from_secs(1));
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        driver.sweep_shards();
    }
    gateway.open();
    let made = writes.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(made.diagnostics().attempts().len(), 1, "{}", made.diagnostics());
}

fn driver_shards(driver: &CosmosDriver) -> Vec<cosmonaut_policy::ShardStats> {
    let endpoint = driver.location().unwrap().account.preferred_read_endpoints()[0].clone();
    driver.shards(&endpoint)
}

#[tokio::test]
async fn a_deadline_frees_the_stream() {
    let (gateway, platform) = (Gateway::start().await, SkewedPlatform::new());
    let driver = gateway.driver(&platform, CosmosClientOptions::default());
    let request =
        RequestOptions { end_to_end_timeout: Some(Duration::from_millis(200)), ..Default::default() };
    let options = OperationOptions { request, ..Default::default() };
    let error = driver.execute_operation(&read("1", "a"), &options).await.unwrap_err();
    assert_eq!(error.kind(), cosmonaut_driver::ErrorKind::DeadlineExceeded, "{error:?}");
    // The gateway sees the stream reset.
    gateway.holds(0).await;
    assert!(driver_shards(&driver).iter().all(|shard| shard.inflight == 0));
}

#[tokio::test]
async fn dropping_everything_mid_flight_leaves_no_task_and_no_connection() {
    let gateway = Gateway::start().await;
    tokio::task::yield_now().await;
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let driver = gateway.driver(&SkewedPlatform::new(), with_clients(8));
    let reads = start_reads(&driver, 40);
    gateway.holds(40).await;
    assert!(metrics.num_alive_tasks() > before);
    drop(reads);
    drop(driver);
    gateway.has_at_most(0).await;
    while metrics.num_alive_tasks() > before {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn shutting_down_waits_for_background_tasks() {
    let (gateway, platform) = (Gateway::start().await, SkewedPlatform::new());
    gateway.open();
    let driver = gateway.driver(&platform, CosmosClientOptions::default());
    assert_eq!(start_reads(&driver, 1).join_all().await, [1]);
    driver.shutdown().await;
    let response = driver.execute_operation(&read("1", "a"), &OperationOptions::default()).await.unwrap();
    assert_eq!(response.diagnostics().attempts()[0].next, NextStep::Done);
    drop(Arc::new(driver));
}
