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
#[path = "../../examples/failover.rs"]
mod failover;
#[path = "../../examples/first_steps.rs"]
mod first_steps;
#[path = "../../examples/processor.rs"]
mod processor;
#[path = "../../examples/queries.rs"]
mod queries;
#[path = "../../examples/support/mod.rs"]
mod support;

use cosmonaut::CosmosDriverRuntime;
use cosmonaut::fault_injection::FaultInjector;
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
async fn a_failover_runs() {
    let account = Account::emulated().await.unwrap();
    let faults = FaultInjector::new();
    let runtime = CosmosDriverRuntime::builder().fault_injection(faults.clone());
    failover::run(&account.client(runtime).unwrap(), &faults).await.unwrap();
}
