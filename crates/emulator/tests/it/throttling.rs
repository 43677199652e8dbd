//! Provisioned throughput, enforced when it is asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cosmonaut_emulator::{Emulator, SystemWorld, Timestamp, World};
use serde_json::json;

use crate::client::send;

/// A clock that stands still until it is moved.
struct Stopped {
    /// As the machine has it at the start: requests are signed by the machine's clock.
    start: Timestamp,
    micros: AtomicU64,
    chance: AtomicU64,
}

impl World for Stopped {
    fn now(&self) -> Timestamp {
        Timestamp(self.start.0 + self.micros.load(Ordering::Relaxed))
    }

    fn random(&self) -> u64 {
        self.chance.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
    }
}

/// An account in which time stands still, with a container `c` of 400 request units.
async fn throttled() -> (Emulator, Arc<Stopped>) {
    let world = Arc::new(Stopped {
        start: SystemWorld::new().now(),
        micros: AtomicU64::new(0),
        chance: AtomicU64::new(0),
    });
    let clock: Arc<dyn World> = Arc::clone(&world) as _;
    let emulator = Emulator::builder().throttle(true).world(clock).start().await.unwrap();
    send(&emulator, "POST /dbs", &[], &json!({"id": "d"})).await;
    let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "version": 2}});
    send(&emulator, "POST /dbs/d/colls", &[("x-ms-offer-throughput", "400")], &container).await;
    (emulator, world)
}

/// What a script has read is paid for, whether or not it comes to anything.
#[tokio::test]
async fn a_script_that_fails_uses_throughput_too() {
    let (emulator, world) = throttled().await;
    let key = ("x-ms-documentdb-partitionkey", "[\"a\"]");
    let reads = "for (let i = 0; i < 1000; i++) __.readDocument(__.getAltLink() + '/docs/1', () => {});";
    let make = async |id: &str, end: &str| {
        let body =
            format!("function () {{ {reads} __.readDocuments(__.getSelfLink(), () => {{ {end} }}); }}");
        let script = json!({"id": id, "body": body});
        assert_eq!(send(&emulator, "POST /dbs/d/colls/c/sprocs", &[], &script).await.code(), 201);
    };
    make("ends", "").await;
    make("throws", "throw new Error('m')").await;
    let item = json!({"id": "1", "pk": "a"});
    assert_eq!(send(&emulator, "POST /dbs/d/colls/c/docs", &[], &item).await.code(), 201);
    for (id, code) in [("ends", 200), ("throws", 400)] {
        let line = format!("POST /dbs/d/colls/c/sprocs/{id}");
        let ran = send(&emulator, &line, &[key], &json!([])).await;
        assert_eq!(ran.code(), code, "{}", ran.body);
        assert!(ran.header("x-ms-request-charge").parse::<f64>().unwrap() > 400.0, "{id}");
        let refused = send(&emulator, "GET /dbs/d/colls/c/docs/1", &[key], &json!(null)).await;
        assert_eq!(refused.status.to_string(), "429/3200", "{id}: {}", refused.body);
        let delay: u64 = refused.header("x-ms-retry-after-ms").parse().unwrap();
        world.micros.fetch_add(delay * 1000 + 1_000_000, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn throughput_that_is_used_up_is_429_until_time_has_passed() {
    let (emulator, world) = throttled().await;
    let text = "x".repeat(100_000);
    let write = async |n: usize| {
        let item = json!({"id": n.to_string(), "pk": "a", "text": text});
        send(&emulator, "POST /dbs/d/colls/c/docs", &[], &item).await
    };
    let mut refused = None;
    for n in 0..100 {
        let answer = write(n).await;
        if answer.code() != 201 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("100 writes of 100 KB cost more than 400 request units");
    assert_eq!(refused.status.to_string(), "429/3200");
    let delay: u64 = refused.header("x-ms-retry-after-ms").parse().unwrap();
    world.micros.fetch_add(delay * 1000, Ordering::Relaxed);
    assert_eq!(write(1000).await.code(), 201);
}
