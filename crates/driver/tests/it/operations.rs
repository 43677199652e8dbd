//! Every operation, over both versions of HTTP, in clear text and over TLS.

use cosmonaut_driver::transport::HttpVersion;
use cosmonaut_driver::{ErrorKind, OperationType, PartitionTarget, Precondition};
use cosmonaut_options::HttpProtocol;
use cosmonaut_wire::{CosmosStatus, PartitionKey, PartitionKeyRangeId, ResourcePath, headers};
use http::HeaderValue;
use serde_json::json;

use crate::harness::{Bench, Wire, json_of, operation, read};

const ITEMS: &str = "/dbs/d/colls/c/docs";

async fn on_every_wire<F: Future<Output = ()>>(test: impl Fn(Bench, Wire) -> F) {
    for wire in Wire::ALL {
        test(Bench::with_container(wire).await, wire).await;
    }
}

#[tokio::test]
async fn items_are_written_read_and_deleted() {
    on_every_wire(async |bench, wire| {
        let made = bench.create_item("1", "a").await;
        assert_eq!(made.status().code().as_u16(), 201, "{wire:?}");
        assert!(made.request_charge() > 0.0 && made.session_token().is_some());
        let expected = match wire.protocol {
            HttpProtocol::Http1 => HttpVersion::Http1,
            HttpProtocol::Negotiated | HttpProtocol::Http2 => HttpVersion::Http2,
        };
        assert_eq!(made.diagnostics().attempts()[0].protocol, Some(expected), "{wire:?}");

        let found = bench.read_item("1", "a").await.unwrap();
        assert_eq!(json_of(&found)["pk"], "a");
        let path = format!("{ITEMS}/1");
        let body = json!({"id": "1", "pk": "a", "n": 1}).to_string();
        let etag = HeaderValue::from_str(found.etag().unwrap()).unwrap();
        let replace = operation(OperationType::Replace, &path).with_body(body.clone());
        let replace = replace.with_target(PartitionKey::from("a"));
        let guarded = replace.clone().with_precondition(Precondition::IfMatch(etag.clone()));
        assert_eq!(json_of(&bench.run(guarded.clone()).await.unwrap())["n"], 1);
        let again = bench.run(guarded).await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::PreconditionFailed, "{again}");

        let upsert = operation(OperationType::Upsert, ITEMS)
            .with_body(json!({"id": "1", "pk": "a", "n": 2}).to_string());
        let upserted = bench.run(upsert.with_target(PartitionKey::from("a"))).await.unwrap();
        assert_eq!(json_of(&upserted)["n"], 2);
        let patch = json!({"operations": [{"op": "incr", "path": "/n", "value": 40}]}).to_string();
        let patch =
            operation(OperationType::Patch, &path).with_body(patch).with_target(PartitionKey::from("a"));
        assert_eq!(json_of(&bench.run(patch).await.unwrap())["n"], 42);

        let delete = operation(OperationType::Delete, &path).with_target(PartitionKey::from("a"));
        assert_eq!(bench.run(delete).await.unwrap().status().code().as_u16(), 204);
        let gone = bench.read_item("1", "a").await.unwrap_err();
        assert_eq!((gone.kind(), gone.status().unwrap().code().as_u16()), (ErrorKind::NotFound, 404));
        assert!(gone.diagnostics().unwrap().attempts().len() == 1 && gone.request_charge() > 0.0);
    })
    .await;
}

#[tokio::test]
async fn batches_apply_as_a_whole() {
    on_every_wire(async |bench, _| {
        let batch = |operations: serde_json::Value| {
            let batch = operation(OperationType::Batch, ITEMS).with_body(operations.to_string());
            batch.with_target(PartitionKey::from("a"))
        };
        let item = |id: &str| json!({"operationType": "Create", "resourceBody": {"id": id, "pk": "a"}});
        let both = bench.run(batch(json!([item("1"), item("2")]))).await.unwrap();
        assert_eq!(json_of(&both)[1]["statusCode"], 201);
        let half = bench.run(batch(json!([item("3"), item("1")]))).await.unwrap();
        assert_eq!(half.status().code().as_u16(), 207);
        assert_eq!(json_of(&half)[0]["statusCode"], 424);
        assert_eq!(bench.read_item("3", "a").await.unwrap_err().kind(), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test]
async fn queries_feeds_and_change_feeds_go_page_by_page() {
    on_every_wire(async |bench, _| {
        for id in ["1", "2", "3"] {
            bench.create_item(id, "a").await;
        }
        let query = json!({"query": "SELECT VALUE c.id FROM c ORDER BY c.id", "parameters": []}).to_string();
        let query = operation(OperationType::Query, ITEMS)
            .with_body(query)
            .with_header(headers::MAX_ITEM_COUNT, HeaderValue::from_static("2"));
        let page = bench.run(query.clone().with_target(PartitionKey::from("a"))).await.unwrap();
        assert_eq!(json_of(&page)["Documents"], json!(["1", "2"]));
        let next = HeaderValue::from_str(page.continuation().unwrap()).unwrap();
        let page =
            query.clone().with_target(PartitionKey::from("a")).with_header(headers::CONTINUATION, next);
        assert_eq!(json_of(&bench.run(page).await.unwrap())["Documents"], json!(["3"]));
        let range = PartitionTarget::Range(PartitionKeyRangeId::from("0"));
        assert_eq!(json_of(&bench.run(query.with_target(range)).await.unwrap())["_count"], 2);

        let feed = bench.run(operation(OperationType::ReadFeed, ITEMS)).await.unwrap();
        assert_eq!(json_of(&feed)["_count"], 3);
        let range = PartitionTarget::Range(PartitionKeyRangeId::from("0"));
        let changes = operation(OperationType::ChangeFeed, ITEMS).with_target(range);
        let page = bench.run(changes.clone()).await.unwrap();
        assert_eq!(json_of(&page)["_count"], 3);
        let etag = HeaderValue::from_str(page.etag().unwrap()).unwrap();
        let after = changes.with_precondition(Precondition::IfNoneMatch(etag));
        assert_eq!(bench.run(after).await.unwrap().status().code().as_u16(), 304);
    })
    .await;
}

#[tokio::test]
async fn databases_containers_offers_and_ranges_are_managed() {
    on_every_wire(async |bench, _| {
        let databases = bench.run(operation(OperationType::ReadFeed, "/dbs")).await.unwrap();
        assert_eq!(json_of(&databases)["_count"], 1);
        let container = bench.run(operation(OperationType::Read, "/dbs/d/colls/c")).await.unwrap();
        assert_eq!(json_of(&container)["id"], "c");
        let offers = bench.run(operation(OperationType::ReadFeed, "/offers")).await.unwrap();
        let offer = json_of(&offers)["Offers"][0].clone();
        let path = format!("/offers/{}", offer["id"].as_str().or(offer["_rid"].as_str()).unwrap());
        assert_eq!(
            json_of(&bench.run(operation(OperationType::Read, &path)).await.unwrap())["_rid"],
            offer["_rid"]
        );
        let ranges =
            bench.driver.partitions(&ResourcePath::parse("/dbs/d/colls/c").unwrap(), false).await.unwrap();
        assert_eq!(ranges.len(), 1);
        let again = bench.post("/dbs", json!({"id": "d"})).await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::Conflict, "{again}");
        bench.run(operation(OperationType::Delete, "/dbs/d/colls/c")).await.unwrap();
        bench.run(operation(OperationType::Delete, "/dbs/d")).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_container_made_anew_under_its_name_is_noticed() {
    let bench = Bench::with_container(Wire::CLEAR_HTTP2).await;
    bench.create_item("1", "a").await;
    let path = ResourcePath::parse("/dbs/d/colls/c").unwrap();
    let before = bench.driver.container(&path).await.unwrap();
    // Another client does it, so that this driver is not told.
    let runtime = cosmonaut_driver::CosmosDriverRuntime::builder()
        .environment(&crate::harness::no_environment)
        .build()
        .unwrap();
    let key = cosmonaut_driver::Credential::master_key(bench.emulator.key()).unwrap();
    let other = runtime.create_driver(bench.emulator.url(), key, Default::default()).unwrap();
    let run = async |operation| other.execute_operation(&operation, &Default::default()).await.unwrap();
    run(operation(OperationType::Delete, "/dbs/d/colls/c")).await;
    let anew =
        json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}).to_string();
    run(operation(OperationType::Create, "/dbs/d/colls").with_body(anew)).await;

    // What goes on from a place in the old container is not repeated in the new one, whether the driver knows that yet or
    // not.
    let of = |rid| operation(OperationType::ReadFeed, "/dbs/d/colls/c/docs").with_container(rid);
    for case in ["not known yet", "known"] {
        let error = bench.run(of(before.rid).with_target(PartitionKey::from("a"))).await.unwrap_err();
        assert_eq!(error.status(), Some(CosmosStatus::COLLECTION_RID_MISMATCH), "{case}: {error}");
    }
    bench.create_item("1", "a").await;
    assert_eq!(json_of(&bench.read_item("1", "a").await.unwrap())["id"], "1");
    let after = bench.driver.container(&path).await.unwrap();
    assert_ne!(after.rid, before.rid);
    bench.run(of(after.rid).with_target(PartitionKey::from("a"))).await.unwrap();
}

#[tokio::test]
async fn a_key_of_the_wrong_shape_is_refused_before_it_is_sent() {
    let bench = Bench::with_container(Wire::CLEAR_HTTP2).await;
    let two = PartitionKey::hierarchical(["a".into(), "b".into()]);
    let error = bench.run(read("1", "a").with_target(two)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadRequest, "{error}");
    assert!(error.diagnostics().unwrap().attempts().is_empty());
}

#[tokio::test]
async fn a_stored_procedure_is_called_where_its_partition_is() {
    let bench = Bench::with_container(Wire::CLEAR_HTTP2).await;
    let body = "function (word) { getContext().getResponse().setBody('said ' + word); }";
    let procedure = json!({"id": "p", "body": body}).to_string();
    bench.run(operation(OperationType::Create, "/dbs/d/colls/c/sprocs").with_body(procedure)).await.unwrap();
    let call = |path: &str| {
        let call = operation(OperationType::Execute, path).with_body(r#"["hello"]"#);
        call.with_target(PartitionKey::from("a"))
    };
    assert_eq!(json_of(&bench.run(call("/dbs/d/colls/c/sprocs/p")).await.unwrap()), "said hello");
    // A refusal is told as it is, and not repeated.
    let error = bench.run(call("/dbs/d/colls/c/sprocs/q")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert_eq!(error.diagnostics().unwrap().attempts().len(), 1);
}
