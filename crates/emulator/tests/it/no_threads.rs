//! An emulator that uses no thread but the caller's.

use std::path::PathBuf;

use cosmonaut_emulator::{Emulator, StartError};
use serde_json::{Value, json};

use crate::client::send;

/// A directory that goes away with the test.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn it_keeps_its_data_in_a_directory_which_is_free_again_when_it_has_stopped() {
    let scratch = Scratch(std::env::temp_dir().join(format!("cosmonaut-{}-no-threads", std::process::id())));
    let start = || Emulator::builder().threads(false).data(&scratch.0).start();
    for round in 0..3 {
        let emulator = start().await.unwrap();
        match start().await {
            Err(StartError::Storage(error)) => assert!(error.is_in_use(), "{error}"),
            other => panic!("{other:?}"),
        }
        for earlier in 0..round {
            let found = send(&emulator, &format!("GET /dbs/d{earlier}"), &[], &Value::Null).await;
            assert_eq!(found.code(), 200, "{}", found.body);
        }
        let made = send(&emulator, "POST /dbs", &[], &json!({"id": format!("d{round}")})).await;
        assert_eq!(made.code(), 201, "{}", made.body);
        emulator.shutdown().await;
    }
}
