//! Injected faults against the emulator: the driver sees them as the real thing.

use std::time::Duration;

use cosmonaut_driver::fault_injection::{
    FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule, FaultInjector,
};
use cosmonaut_driver::{CosmosDriver, CosmosDriverRuntime, Credential, ErrorKind, OperationType};
use cosmonaut_emulator::Emulator;
use cosmonaut_wire::{CosmosStatus, ResourcePath, ResourceType};
use http::StatusCode;
use serde_json::json;

use crate::harness::{Bench, emulator, no_environment};

async fn bench(faults: &FaultInjector) -> Bench {
    let emulator = emulator(false).await;
    let driver = driver_of(&emulator, faults);
    let bench = Bench { emulator, driver };
    bench.make_container().await;
    bench
}

/// A driver that knows nothing yet, and meets these faults.
fn driver_of(emulator: &Emulator, faults: &FaultInjector) -> CosmosDriver {
    let runtime = CosmosDriverRuntime::builder()
        .environment(&no_environment)
        .fault_injection(faults.clone())
        .build()
        .unwrap();
    let key = Credential::master_key(emulator.key()).unwrap();
    runtime.create_driver(emulator.url(), key, Default::default()).unwrap()
}

fn once(operation: OperationType, result: FaultInjectionResult) -> FaultInjectionRule {
    FaultInjectionRule::new("fault", result).when(FaultInjectionCondition {
        operation: Some(operation),
        container: Some("/dbs/d/colls/c".to_owned()),
        max_hits: Some(1),
        ..Default::default()
    })
}

#[tokio::test]
async fn reads_survive_every_fault_that_passes() {
    let faults = FaultInjector::new();
    let bench = bench(&faults).await;
    bench.create_item("1", "a").await;
    let busy = CosmosStatus::new(StatusCode::TOO_MANY_REQUESTS, 3200);
    let retry_after = Some(Duration::from_millis(1));
    for result in [
        FaultInjectionResult::Status { status: busy, retry_after },
        FaultInjectionResult::Status {
            status: CosmosStatus::new(StatusCode::SERVICE_UNAVAILABLE, 0),
            retry_after: None,
        },
        FaultInjectionResult::Delay(Duration::from_millis(1)),
        FaultInjectionResult::ConnectionRefused,
        FaultInjectionResult::ResetBeforeSend,
        FaultInjectionResult::ResetAfterSend,
        FaultInjectionResult::ResponseLost,
        FaultInjectionResult::SlowBody(Duration::from_millis(1)),
    ] {
        faults.set(once(OperationType::Read, result.clone()));
        let response = bench.read_item("1", "a").await.unwrap();
        assert_eq!(faults.hits("fault"), Some(1), "{result:?}");
        assert!(response.status().is_success(), "{result:?}: {}", response.diagnostics());
    }
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_was_applied_and_its_outcome_is_unknown() {
    let faults = FaultInjector::new();
    let bench = bench(&faults).await;
    for (result, id, applied) in
        [(FaultInjectionResult::ResponseLost, "1", true), (FaultInjectionResult::ResetAfterSend, "2", false)]
    {
        faults.set(once(OperationType::Create, result.clone()));
        let body = json!({"id": id, "pk": "a"});
        let create = crate::harness::operation(OperationType::Create, "/dbs/d/colls/c/docs")
            .with_body(body.to_string());
        let create = create.with_target(cosmonaut_wire::PartitionKey::from("a"));
        let error = bench.run(create).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{result:?}: {error}");
        assert_eq!(bench.read_item(id, "a").await.is_ok(), applied, "{result:?}");
    }
    faults.set(once(OperationType::Create, FaultInjectionResult::ResetBeforeSend));
    bench.create_item("3", "a").await;
    assert_eq!(faults.hits("fault"), Some(1), "not sent, so it is sent again");
}

#[tokio::test]
async fn a_fault_on_one_connection_is_answered_over_another() {
    let faults = FaultInjector::new();
    let bench = bench(&faults).await;
    bench.create_item("1", "a").await;
    let condition = FaultInjectionCondition { shard: Some(1), ..Default::default() };
    faults.set(FaultInjectionRule::new("bad shard", FaultInjectionResult::ResetAfterSend).when(condition));
    let response = bench.read_item("1", "a").await.unwrap();
    let attempts = response.diagnostics().attempts();
    assert_eq!(attempts.iter().map(|attempt| attempt.shard).collect::<Vec<_>>(), [Some(1), Some(2)]);
    assert_eq!(faults.hits("bad shard"), Some(1));
}

#[tokio::test]
async fn what_the_driver_reads_for_its_own_sake_can_be_singled_out() {
    let bench = bench(&FaultInjector::new()).await;
    bench.create_item("1", "a").await;
    let container = ResourcePath::parse("/dbs/d/colls/c").unwrap();
    // Whether the account, the container, its partitions and the database can be read.
    for (resource, expected) in [
        (ResourceType::DatabaseAccount, [false, false, false, false]),
        (ResourceType::Container, [true, false, false, true]),
        (ResourceType::PartitionKeyRange, [true, true, false, true]),
        (ResourceType::Database, [true, true, true, false]),
        (ResourceType::Document, [true, true, true, true]),
    ] {
        let faults = FaultInjector::new();
        let condition = FaultInjectionCondition { resource: Some(resource), ..Default::default() };
        let status = CosmosStatus::new(StatusCode::FORBIDDEN, 5300);
        let refuse = FaultInjectionResult::Status { status, retry_after: None };
        faults.set(FaultInjectionRule::new("refused", refuse).when(condition));
        let driver = driver_of(&bench.emulator, &faults);
        let database = crate::harness::operation(OperationType::Read, "/dbs/d");
        let read = [
            driver.account().await.is_ok(),
            driver.container(&container).await.is_ok(),
            driver.partitions(&container, false).await.is_ok(),
            driver.execute_operation(&database, &Default::default()).await.is_ok(),
        ];
        assert_eq!(read, expected, "{resource:?}");
        faults.clear();
        driver.partitions(&container, false).await.unwrap();
    }
}
