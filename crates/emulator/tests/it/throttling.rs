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

#[tokio::test]
async fn throughput_that_is_used_up_is_429_until_time_has_passed() {
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
