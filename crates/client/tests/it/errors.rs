//! What goes wrong says what, where, and what to try.

use cosmonaut::fault_injection::{FaultInjectionResult, FaultInjectionRule, FaultInjector};
use cosmonaut::options::{RequestOptions, RetryOptions, SessionRetryOptions, ThrottlingRetryOptions};
use cosmonaut::{CosmosClient, CosmosDriverRuntime, CosmosStatus, Credential, ErrorKind, ItemOptions};
use cosmonaut_emulator::Emulator;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

use crate::harness::{Bench, client_in, no_environment, on_every_wire};

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "it is never read")]
struct Order {
    lines: Vec<Line>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "it is never read")]
struct Line {
    price: f64,
}

#[tokio::test]
async fn an_item_of_another_type_is_named_with_the_member_at_fault() {
    on_every_wire(async |_bench, container| {
        let item = json!({"id": "7", "pk": "a", "lines": [{"price": 1}, {"price": "much"}]});
        container.create_item("a", &item).await.unwrap();
        let error = container.read_item::<Order>("a", "7").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Serialization);
        let message = error.to_string();
        for part in ["item \"7\" in d/c", "Order", "`lines[1].price`", "expected f64"] {
            assert!(message.contains(part), "{message}");
        }
        assert!(error.request_charge() > 0.0, "the read was paid for all the same");
        assert_eq!(error.status(), Some(CosmosStatus::OK));
        assert!(std::error::Error::source(&error).is_some());

        let written = container.upsert_item("a", &item).await.unwrap();
        let none = written.json::<Value>().unwrap_err();
        assert!(none.to_string().contains("content_response"), "{none}");
        let unwritable = std::collections::HashMap::from([((1, 2), 3)]);
        let error = container.create_item("a", unwritable).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Serialization, "{error}");
    })
    .await;
}

#[tokio::test]
async fn what_is_missing_or_too_large_is_told_apart() {
    on_every_wire(async |bench, container| {
        let missing = container.read_item::<Value>("a", "no such").await.unwrap_err();
        assert!(missing.is_not_found());
        assert!(missing.to_string().contains("reading /dbs/d/colls/c/docs/no%20such"), "{missing}");
        assert!(missing.request_charge() > 0.0 && missing.activity_id().is_some());
        let nowhere = bench.client.database("d").container("nowhere");
        assert!(nowhere.read_item::<Value>("a", "1").await.unwrap_err().is_not_found());
        assert!(nowhere.read_many::<Value>([("a", "1"), ("a", "2")]).await.unwrap_err().is_not_found());

        let large = json!({"id": "1", "pk": "a", "text": "x".repeat(2_200_000)});
        let error = container.create_item("a", &large).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        assert!(container.read_item::<Value>("a", "1").await.unwrap_err().is_not_found());
    })
    .await;
}

#[tokio::test]
async fn names_that_cannot_be_show_at_the_first_call() {
    let bench = Bench::start().await;
    let container = bench.container().await;
    let sent = bench.emulator.requests();
    let client = &bench.client;
    let errors = [
        client.database("a/b").read().await.map(drop),
        client.create_database("").await.map(drop),
        client.database("a/b").container("c").read().await.map(drop),
        client.database("d").container("c?").read_item::<Value>("a", "1").await.map(drop),
        client.database("d").container("c?").batch("a").read("1").execute().await.map(drop),
        container.read_item::<Value>("a", "a/b").await.map(drop),
        container.delete_item("a", "").await.map(drop),
        container.read_item::<Value>("a", "1").options(ItemOptions::default().if_match("\n")).await.map(drop),
    ];
    for error in errors {
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Configuration);
    }
    assert_eq!(bench.emulator.requests(), sent);
    let listed = client.database("a/b").list_containers().next().await;
    assert_eq!(listed.unwrap().unwrap_err().kind(), ErrorKind::Configuration);
}

#[test]
fn a_client_without_a_runtime_says_so() {
    let error = CosmosClient::emulator().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("Tokio"), "{error}");
}

#[tokio::test]
async fn options_and_endpoints_that_cannot_be_used_are_refused() {
    let key = || Credential::master_key(cosmonaut_emulator::EMULATOR_KEY).unwrap();
    for endpoint in ["", "ftp://x", "not a url", "http://"] {
        let error = CosmosClient::new(endpoint, key()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{endpoint}: {error}");
    }
    let request = RequestOptions { end_to_end_timeout: Some(Duration::ZERO), ..Default::default() };
    let options = cosmonaut::options::CosmosClientOptions { request, ..Default::default() };
    assert!(
        CosmosClient::builder()
            .endpoint("http://localhost")
            .credential(key())
            .options(options)
            .build()
            .is_err()
    );
    for text in ["", "AccountEndpoint=http://x", "AccountEndpoint=http://x;AccountKey=%%%"] {
        let error = CosmosClient::from_connection_string(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{text}: {error}");
    }
}

#[tokio::test]
async fn statuses_have_their_kinds() {
    let emulator = Emulator::builder().start().await.unwrap();
    let faults = FaultInjector::new();
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).fault_injection(faults.clone());
    let runtime = runtime.build().unwrap();
    let retry = RetryOptions {
        throttling: Some(ThrottlingRetryOptions { max_attempts: Some(0), ..Default::default() }),
        session_retry: Some(SessionRetryOptions { max_in_region_retry_count: Some(1), ..Default::default() }),
        ..Default::default()
    };
    let options = cosmonaut::options::CosmosClientOptions { retry, ..Default::default() };
    let client = client_in(&runtime, &emulator, options);
    let bench = Bench { emulator, client };
    let container = bench.container().await;
    container.create_item("a", json!({"id": "1", "pk": "a"})).await.unwrap();
    for (status, kind) in [
        (CosmosStatus::TOO_MANY_REQUESTS, ErrorKind::Throttled),
        // The item may well be there: the region has only not caught up.
        (CosmosStatus::READ_SESSION_NOT_AVAILABLE, ErrorKind::SessionNotAvailable),
        (CosmosStatus::FORBIDDEN, ErrorKind::Forbidden),
        (CosmosStatus::NOT_IMPLEMENTED, ErrorKind::Status),
    ] {
        let retry_after = status.is_throttled().then_some(Duration::from_millis(7));
        faults.set(FaultInjectionRule::new("status", FaultInjectionResult::Status { status, retry_after }));
        let error = container.read_item::<Value>("a", "1").await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!((error.status(), error.retry_after()), (Some(status), retry_after), "{error}");
    }
}
