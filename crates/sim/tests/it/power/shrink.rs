//! A file that is made smaller when it is opened, while the power fails.

use std::time::Duration;

use cosmonaut_emulator::{Emulator, EmulatorBuilder};
use cosmonaut_sim::disk::RamDisk;
use http::StatusCode;
use serde_json::Value;

use super::DATA;
use super::client::{DOCS, REGIONS, definitions, document, key, send};
use super::clock::before;
use crate::disk::chance;

const HERE: &str = REGIONS[0];
/// What a file has at least before it is made smaller.
const LARGE: u64 = 32 << 20;

fn builder(disk: &RamDisk) -> EmulatorBuilder {
    Emulator::builder().auth(false).threads(false).volume(disk.mount())
}

async fn put(emulator: &Emulator, item: u32, padding: usize) {
    let body = document(0, item, u64::from(item), padding);
    let (status, answer) = send((emulator, HERE), &format!("POST {DOCS}"), &[key(0)], &body).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
}

/// A disk with a large file of which little is left.
async fn mostly_unused() -> RamDisk {
    let disk = RamDisk::new(chance(1));
    let emulator = builder(&disk).start().await.unwrap();
    for (path, body) in definitions() {
        send((&emulator, HERE), &format!("POST {path}"), &[], &body).await;
    }
    let large = 0..18;
    for item in large.clone() {
        put(&emulator, item, 1_900_000).await;
        put(&emulator, 100 + item, 2_000).await;
    }
    for item in large {
        let line = format!("DELETE {DOCS}/{item}");
        assert_eq!(send((&emulator, HERE), &line, &[key(0)], &Value::Null).await.0, StatusCode::NO_CONTENT);
    }
    emulator.shutdown().await;
    assert!(disk.mount().size_of(DATA).unwrap().unwrap() > LARGE);
    disk
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_made_smaller_loses_nothing_when_the_power_fails() {
    let origin = mostly_unused().await;
    for seed in 0..12 {
        let disk = origin.copy(chance(seed));
        // It stops before anybody is told that the emulator has started, so that all of its work is cut at any point.
        disk.delays(Duration::from_secs(1)..=Duration::from_secs(1));
        assert!(before(Duration::from_millis(500), builder(&disk).start()).await.is_none());
        disk.crash();
        let emulator = builder(&disk).start().await.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(disk.mount().size_of(DATA).unwrap().unwrap() < LARGE, "seed {seed}");
        for item in 100..118 {
            let (status, body) =
                send((&emulator, HERE), &format!("GET {DOCS}/{item}"), &[key(0)], &Value::Null).await;
            assert_eq!((status, body["n"].as_u64()), (StatusCode::OK, Some(item)), "seed {seed}");
        }
    }
}
