//! Transactional batches: all or nothing, and what failed is named.

use cosmonaut::options::BatchOptions;
use cosmonaut::{CosmosStatus, ErrorKind, Patch, RawItem};
use serde_json::{Value, json};

use crate::harness::{Bench, on_every_wire};
use crate::scripted::{self, Scripted};

fn item(id: &str, n: u32) -> Value {
    json!({"id": id, "pk": "a", "n": n})
}

#[tokio::test]
async fn every_operation_of_a_batch_is_applied_and_answers() {
    on_every_wire(async |_bench, container| {
        for id in ["replaced", "patched", "deleted"] {
            container.create_item("a", item(id, 1)).await.unwrap();
        }
        let done = container
            .batch("a")
            .create(item("created", 1))
            .upsert(item("upserted", 2))
            .replace("replaced", item("replaced", 3))
            .patch("patched", Patch::new().increment("/n", 3))
            .delete("deleted")
            .read("created")
            .execute()
            .options(BatchOptions::default())
            .await
            .unwrap();
        let statuses: Vec<_> = done.results().iter().map(|result| result.status().code().as_u16()).collect();
        assert_eq!(statuses, [201, 201, 200, 200, 204, 200]);
        for (index, n) in [(0, 1), (1, 2), (2, 3), (3, 4), (5, 1)] {
            assert_eq!(done.get::<Value>(index).unwrap()["n"], n, "operation {index}");
            assert!(done.results()[index].etag().is_some() && done.results()[index].request_charge() > 0.0);
        }
        assert!(!done.get::<RawItem>(5).unwrap().is_empty());
        for nothing in [4, 6] {
            assert_eq!(done.get::<Value>(nothing).unwrap_err().kind(), ErrorKind::Serialization);
        }
        let sum: f64 = done.results().iter().map(|result| result.request_charge()).sum();
        assert!((done.response().request_charge() - sum).abs() < 0.5, "{sum}");
        assert!(done.response().session_token().is_some());
    })
    .await;
}

#[tokio::test]
async fn the_operation_that_fails_is_named_with_its_own_status() {
    on_every_wire(async |_bench, container| {
        let there = container.create_item("a", item("there", 1)).await.unwrap().etag().unwrap();
        container.replace_item("a", "there", item("there", 2)).await.unwrap();
        let batch = || container.batch("a").create(item("new", 1)).read("there");
        let unmet = Patch::new().set("/n", 9).condition("FROM c WHERE c.n = 9");
        for (batch, status, kind) in [
            (batch().create(item("there", 1)), 409, ErrorKind::Conflict),
            (batch().delete("missing"), 404, ErrorKind::NotFound),
            (batch().read("missing"), 404, ErrorKind::NotFound),
            (batch().delete_if_match("there", there), 412, ErrorKind::PreconditionFailed),
            (batch().patch("there", unmet), 412, ErrorKind::PreconditionFailed),
        ] {
            let error = batch.upsert(item("later", 1)).execute().await.unwrap_err();
            let failure = error.batch_failure().unwrap();
            assert_eq!((failure.index(), failure.status().code().as_u16()), (2, status), "{error}");
            assert_eq!((error.kind(), error.status()), (kind, Some(failure.status())), "{error}");
            assert!(error.to_string().contains("operation 2"), "{error}");
            assert!(error.request_charge() > 0.0 && error.diagnostics().is_some());
            for id in ["new", "later"] {
                assert!(container.read_item::<Value>("a", id).await.unwrap_err().is_not_found());
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_batch_that_cannot_be_is_refused_before_it_is_sent() {
    let bench = Bench::start().await;
    let container = bench.container().await;
    let sent = bench.emulator.requests();
    let many = (0..101).fold(container.batch("a"), |batch, n| batch.create(item(&n.to_string(), n)));
    let large = json!({"id": "1", "pk": "a", "text": "x".repeat(1_100_000)});
    let unwritable = std::collections::HashMap::from([((1, 2), 3)]);
    for (batch, kind, part) in [
        (container.batch("a"), ErrorKind::BadRequest, "not 0"),
        (many, ErrorKind::BadRequest, "not 101"),
        (container.batch("a").create(&large).create(&large), ErrorKind::TooLarge, "split it"),
        (container.batch("a").read("1").create(unwritable), ErrorKind::Serialization, "operation 1"),
        (container.batch("a").create(RawItem::from("{")), ErrorKind::Serialization, "operation 0"),
        (container.batch("a").patch("1", Patch::new()), ErrorKind::BadRequest, "operation 0"),
    ] {
        let error = batch.execute().await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!((error.status(), error.diagnostics().is_none()), (None, true));
    }
    assert_eq!(bench.emulator.requests(), sent);
    assert_eq!(CosmosStatus::OK, container.read().await.unwrap().status());
}

#[tokio::test]
async fn a_batch_whose_results_are_not_all_there_may_have_been_applied() {
    // No server leaves results out on demand.
    let body = || json!([{"statusCode": 201, "requestCharge": 1.0}]);
    let client = scripted::client(move |_, _| Scripted { body: body(), headers: "" }).await;
    let batch = || client.database("d").container("c").batch("a");
    for (batch, kind) in [
        (batch().create(item("1", 1)).read("2"), ErrorKind::OutcomeUnknown),
        (batch().read("1").read("2"), ErrorKind::InvalidResponse),
    ] {
        let error = batch.execute().await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains("2 operations has 1 results"), "{error}");
    }
}
