//! An emulator that enforces its throughput: the driver waits as it is told, and everything is done in the
//! end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cosmonaut_driver::{CosmosDriverRuntime, Credential, NextStep, OperationOptions, OperationType};
use cosmonaut_emulator::{Emulator, SystemWorld, Timestamp, World};
use cosmonaut_options::{CosmosClientOptions, RetryOptions, ThrottlingRetryOptions};
use cosmonaut_wire::PartitionKey;
use serde_json::json;
use tokio::task::JoinSet;

use crate::harness::{Bench, no_environment, operation};

/// Time moves on a little whenever somebody looks, so that how fast the machine is makes no difference.
struct Ticking(AtomicU64);

impl World for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(100, Ordering::Relaxed))
    }

    fn random(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn more_writes_than_the_throughput_allows_are_all_done() {
    // Requests are signed by the machine's clock.
    let start = SystemWorld::new().now().0;
    let world = Arc::new(Ticking(AtomicU64::new(start)));
    let emulator = Emulator::builder().throttle(true).world(world).start().await.unwrap();
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).build().unwrap();
    let key = Credential::master_key(emulator.key()).unwrap();
    // All are told to wait for the same few milliseconds, so some are unlucky many times.
    let throttling = ThrottlingRetryOptions { max_attempts: Some(1_000), ..Default::default() };
    let retry = RetryOptions { throttling: Some(throttling), ..Default::default() };
    let options = CosmosClientOptions { retry, ..Default::default() };
    let driver = runtime.create_driver(emulator.url(), key, options).unwrap();
    let bench = Bench { emulator, driver };
    bench.make_container().await;
    let mut writes = JoinSet::new();
    for number in 0..120 {
        let driver = bench.driver.clone();
        writes.spawn(async move {
            let body = json!({"id": number.to_string(), "pk": "a"}).to_string();
            let create = operation(OperationType::Create, "/dbs/d/colls/c/docs").with_body(body);
            let create = create.with_target(PartitionKey::from("a"));
            let response = driver.execute_operation(&create, &OperationOptions::default()).await.unwrap();
            let attempts = response.diagnostics().attempts();
            attempts.iter().filter(|attempt| matches!(attempt.next, NextStep::RetryThrottled(_))).count()
        });
    }
    let throttled: usize = writes.join_all().await.into_iter().sum();
    assert!(throttled > 0, "the emulator throttled nothing, so this shows nothing");
}
