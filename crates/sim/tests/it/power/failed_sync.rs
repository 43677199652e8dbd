//! Files of which a sync has failed.

use std::time::Duration;

use cosmonaut_emulator::Emulator;
use cosmonaut_sim::disk::{DiskFault, RamDisk};
use http::StatusCode;
use serde_json::{Value, json};

use super::client::{DOCS, REGIONS, definitions, document, key, send};
use super::clock::sleep;
use crate::disk::chance;

const HERE: &str = REGIONS[0];

async fn start_on(disk: &RamDisk) -> Emulator {
    Emulator::builder().auth(false).threads(false).volume(disk.mount()).start().await.unwrap()
}

async fn make_container(emulator: &Emulator) {
    for (path, body) in definitions() {
        let (status, _) = send((emulator, HERE), &format!("POST {path}"), &[], &body).await;
        assert_eq!(status, StatusCode::CREATED);
    }
}

#[tokio::test(start_paused = true)]
async fn files_last_though_the_sync_of_their_names_failed_when_they_were_made() {
    let mut refused = 0;
    for (after, seed) in (0..8).flat_map(|after| (0..8).map(move |seed| (after, seed))) {
        let disk = RamDisk::new(chance(seed));
        let start = || {
            let builder = Emulator::builder().auth(false).threads(false);
            builder.volume(disk.mount()).start()
        };
        disk.fail(Some((DiskFault::Sync, after)));
        refused += u32::from(start().await.is_err());
        disk.fail(None);
        sleep(Duration::from_millis(1)).await;
        let emulator = start().await.unwrap();
        assert_eq!(
            send((&emulator, HERE), "POST /dbs", &[], &json!({"id": "d"})).await.0,
            StatusCode::CREATED
        );
        disk.crash();
        drop(emulator);
        let emulator = start().await.unwrap_or_else(|error| panic!("{after}, {seed}: {error}"));
        let (status, _) = send((&emulator, HERE), "GET /dbs/d", &[], &Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{after}, {seed}");
    }
    assert!(refused > 8, "{refused}");
}

#[tokio::test(start_paused = true)]
async fn what_a_failed_sync_has_left_in_the_cache_is_not_built_upon() {
    for seed in 0..20 {
        let disk = RamDisk::new(chance(seed));
        let start = || {
            let builder = Emulator::builder().auth(false).threads(false);
            builder.volume(disk.mount()).start()
        };
        let put = async |emulator: &Emulator, item: u32| {
            let headers = [key(0), ("x-ms-documentdb-is-upsert", "true".to_owned())];
            send((emulator, HERE), &format!("POST {DOCS}"), &headers, &document(0, item, 7, 60_000)).await.0
        };
        let emulator = start().await.unwrap();
        make_container(&emulator).await;
        disk.fail(Some((DiskFault::Sync, 0)));
        assert_eq!(put(&emulator, 1).await, StatusCode::INTERNAL_SERVER_ERROR);
        drop(emulator);
        disk.fail(None);
        sleep(Duration::from_millis(1)).await;
        // The machine goes on, and its cache has what the sync did not make last.
        let emulator = start().await.unwrap();
        assert_eq!(put(&emulator, 2).await, StatusCode::CREATED);
        disk.crash();
        drop(emulator);
        let emulator = start().await.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let (status, _) = send((&emulator, HERE), &format!("GET {DOCS}/2"), &[key(0)], &Value::Null).await;
        assert_eq!(status, StatusCode::OK, "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_of_what_is_not_safe_yet() {
    let disk = RamDisk::new(chance(1));
    let emulator = start_on(&disk).await;
    make_container(&emulator).await;
    let at = (&emulator, HERE);
    let (create, item) = (format!("POST {DOCS}"), document(0, 1, 7, 60_000));
    let headers = [key(0)];
    // The second one finds the item, which comes to nothing.
    disk.fail(Some((DiskFault::Sync, 0)));
    let ((first, _), (second, _)) =
        tokio::join!(send(at, &create, &headers, &item), send(at, &create, &headers, &item));
    assert_eq!(first, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(second, StatusCode::INTERNAL_SERVER_ERROR, "not 409");
}

#[tokio::test(start_paused = true)]
async fn a_split_is_shown_when_it_is_safe() {
    let disk = RamDisk::new(chance(1));
    let emulator = start_on(&disk).await;
    make_container(&emulator).await;
    let at = (&emulator, HERE);
    let ranges = DOCS.replace("docs", "pkranges");
    assert_eq!(send(at, &format!("GET {ranges}"), &[], &Value::Null).await.0, StatusCode::OK);
    disk.fail(Some((DiskFault::Sync, 0)));
    let container = ranges.trim_start_matches("/dbs/").replace("/colls/", "/").replace("/pkranges", "");
    let list = format!("GET {ranges}");
    let (split, (shown, _)) =
        tokio::join!(emulator.control().split(&container, "0"), send(at, &list, &[], &Value::Null));
    assert!(split.is_err());
    assert_eq!(shown, StatusCode::INTERNAL_SERVER_ERROR);
}
