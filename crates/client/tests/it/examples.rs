//! The examples that need no account of Azure, run as they are against an emulator.
#![expect(dead_code, reason = "each example's own `main`, and how it finds an account, is not called here")]
#![expect(
    clippy::duplicate_mod,
    reason = "each example is a program of its own that finds its account by it"
)]

#[path = "../../examples/batch.rs"]
mod batch;
#[path = "../../examples/bulk.rs"]
mod bulk;
#[path = "../../examples/change_feed.rs"]
mod change_feed;
#[path = "../../examples/conflicts.rs"]
mod conflicts;
#[path = "../../examples/failover.rs"]
mod failover;
#[path = "../../examples/first_steps.rs"]
mod first_steps;
#[path = "../../examples/processor.rs"]
mod processor;
#[path = "../../examples/queries.rs"]
mod queries;
#[path = "../../examples/read_many.rs"]
mod read_many;
#[path = "../../examples/scripts.rs"]
mod scripts;
#[path = "../../examples/search.rs"]
mod search;
#[path = "../../examples/support/mod.rs"]
mod support;
#[path = "../../examples/throughput.rs"]
mod throughput;
#[path = "../../examples/users.rs"]
mod users;

use cosmonaut::fault_injection::FaultInjector;
use cosmonaut::{CosmosClient, CosmosDriverRuntime, Credential};
use cosmonaut_emulator::Emulator;
use support::Account;

#[tokio::test]
async fn first_steps_run() {
    let account = Account::emulated().await.unwrap();
    first_steps::run(&account.client(CosmosDriverRuntime::builder()).unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_batch_runs() {
    let account = Account::emulated().await.unwrap();
    batch::run(&account.client(CosmosDriverRuntime::builder()).unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_bulk_run_runs() {
    let account = Account::emulated().await.unwrap();
    bulk::run(&account.client(CosmosDriverRuntime::builder()).unwrap()).await.unwrap();
}

#[tokio::test]
async fn queries_run() {
    let account = Account::emulated().await.unwrap();
    queries::run(&account.client(CosmosDriverRuntime::builder()).unwrap()).await.unwrap();
}

#[tokio::test]
async fn scripts_run() {
    let account = Account::emulated().await.unwrap();
    scripts::run(&account.client(CosmosDriverRuntime::builder()).unwrap()).await.unwrap();
}

#[tokio::test]
async fn many_reads_at_once_run() {
    let account = Account::emulated().await.unwrap();
    read_many::run(&account.client(CosmosDriverRuntime::builder()).unwrap()).await.unwrap();
}

#[tokio::test]
async fn searches_run() {
    let account = Account::emulated().await.unwrap();
    search::run(&account.client(CosmosDriverRuntime::builder()).unwrap()).await.unwrap();
}

#[tokio::test]
async fn users_and_their_tokens_run() {
    let account = Account::emulated().await.unwrap();
    let with = |credential| account.client_with(CosmosDriverRuntime::builder(), credential);
    let client = account.client(CosmosDriverRuntime::builder()).unwrap();
    users::run(&client, with).await.unwrap();
}

#[tokio::test]
async fn a_change_feed_runs() {
    let account = Account::emulated().await.unwrap();
    change_feed::run(&account.client(CosmosDriverRuntime::builder()).unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_processor_runs() {
    let account = Account::emulated().await.unwrap();
    processor::run(&account.client(CosmosDriverRuntime::builder()).unwrap()).await.unwrap();
}

#[tokio::test]
async fn throughput_runs() {
    let account = Account::emulated().await.unwrap();
    throughput::run(&account.client(CosmosDriverRuntime::builder()).unwrap()).await.unwrap();
}

#[tokio::test]
async fn conflicts_are_decided() {
    let emulator =
        Emulator::builder().regions(["East US", "West US"]).multi_write(true).start().await.unwrap();
    let [east, west] = ["East US", "West US"].map(|region| {
        let runtime = CosmosDriverRuntime::builder().build().unwrap();
        let key = Credential::master_key(emulator.key()).unwrap();
        let client = CosmosClient::builder().runtime(&runtime).endpoint(emulator.url()).credential(key);
        client.preferred_regions([region]).build().unwrap()
    });
    let here = conflicts::container(&east).await.unwrap();
    let there = conflicts::container(&west).await.unwrap();
    emulator.control().pause(None, None).unwrap();
    for (container, visits) in [(&here, 2), (&there, 3)] {
        let counter = serde_json::json!({"id": "1", "page": "home", "visits": visits});
        container.create_item("home", &counter).await.unwrap();
    }
    emulator.control().resume(None, None).unwrap();
    assert_eq!(conflicts::decide(&here).await.unwrap(), 1);
    let kept: serde_json::Value = here.read_item("home", "1").await.unwrap().into_value();
    assert_eq!(kept["visits"], 5);
}

#[tokio::test]
async fn a_failover_runs() {
    let account = Account::emulated().await.unwrap();
    let faults = FaultInjector::new();
    let runtime = CosmosDriverRuntime::builder().fault_injection(faults.clone());
    failover::run(&account.client(runtime).unwrap(), &faults).await.unwrap();
}
