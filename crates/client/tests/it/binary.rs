//! Items as binary JSON on the wire: whoever reads and writes them sees what text would have shown.

use cosmonaut::options::{CosmosClientOptions, HttpProtocol, ItemOptions, RequestOptions};
use cosmonaut::{
    ChangeFeedStart, ContainerClient, ContainerProperties, CosmosDriverRuntime, FeedScope, RawItem, Trigger,
    TriggerOperation, TriggerType,
};
use serde_json::{Value, json};

use crate::harness::{Bench, another_client, client_in, client_of, speaking};

fn binary() -> CosmosClientOptions {
    let request = RequestOptions::default().with_binary_encoding_enabled(true);
    CosmosClientOptions { request, ..speaking(HttpProtocol::Negotiated) }
}

/// A container as a client of binary JSON sees it, and as one of text does.
async fn both(bench: &Bench) -> [ContainerClient; 2] {
    bench.container().await;
    [client_of(&bench.emulator, binary()), another_client(bench)]
        .map(|client| client.database("d").container("c"))
}

/// An item with strings and numbers of many forms.
fn item(id: &str) -> Value {
    json!({
        "id": id, "pk": "a", "name": "name", "again": ["contoso", "contoso", "again"], "nested": {"a": [{}, [], [[1]]]},
        "guid": "01234567-89ab-cdef-0123-456789abcdef", "time": "2024-01-02T03:04:05.0000000Z",
        "long": "the quick brown fox jumps over the lazy dog ".repeat(9), "other": "\u{0}\"ä\u{1f680}",
        "numbers": [0, 31, 32, -1, 255, 256, 65536, 9007199254740993u64, i64::MIN, i64::MAX, 0.5, 1e-300, -2.5e300],
        "vector": (0..64).map(|n| f64::from(2 * n + 1) / 14.0).collect::<Vec<_>>(), "none": null, "yes": true,
    })
}

#[tokio::test]
async fn clients_of_text_and_of_binary_json_see_each_others_items() {
    let bench = Bench::start().await;
    let [binary, text] = both(&bench).await;
    for (writer, id) in [(&binary, "1"), (&text, "2")] {
        writer.create_item("a", item(id)).await.unwrap();
        let read = binary.read_item::<RawItem>("a", id).await.unwrap();
        let plain = text.read_item::<RawItem>("a", id).await.unwrap();
        let [read_text, plain_text] = [&read, &plain].map(|read| read.value().as_bytes().to_vec());
        assert_eq!(String::from_utf8(read_text).unwrap(), String::from_utf8(plain_text).unwrap());
        let Value::Object(found) = read.value().json::<Value>().unwrap() else {
            panic!("an item is an object")
        };
        for (name, value) in item(id).as_object().unwrap() {
            assert_eq!(found.get(name), Some(value), "{name}");
        }
        let [short, long] = [read, plain].map(|read| read.diagnostics().attempts()[0].response_bytes);
        assert!(short * 10 < long * 9, "{short} bytes are not binary JSON, as {long} are of text");
    }
}

/// As from the service, which keeps no difference between the two.
#[tokio::test]
async fn a_double_without_a_fraction_comes_back_as_an_integer() {
    let bench = Bench::start().await;
    let [binary, _] = both(&bench).await;
    binary.create_item("a", RawItem::from(r#"{"id":"1","pk":"a","n":[3.0,-0.0,1e3]}"#)).await.unwrap();
    let read = binary.read_item::<Value>("a", "1").await.unwrap();
    assert_eq!(read.value()["n"], json!([3, 0, 1000]));
}

#[tokio::test]
async fn queries_lists_changes_and_batches_are_the_same_in_both() {
    let bench = Bench::start().await;
    let clients = both(&bench).await;
    for id in ["1", "2", "3"] {
        clients[0].upsert_item("a", item(id)).await.unwrap();
    }
    let mut seen = Vec::new();
    for container in &clients {
        let query = "SELECT c.id, c.vector, c.guid AS again FROM c ORDER BY c.id DESC";
        let found = container.query_items::<Value>(query, FeedScope::Container).collect().await.unwrap();
        let counted = container.query_items::<u64>("SELECT VALUE COUNT(1) FROM c", FeedScope::Container);
        let changes = container.change_feed::<Value>(ChangeFeedStart::Beginning, FeedScope::Container);
        let many = container.read_many::<Value>([("a", "3"), ("a", "1")]).await.unwrap();
        let listed = container.query_items::<Value>("SELECT * FROM c", "a").collect().await.unwrap();
        let batch = container.batch("a").read("2").upsert(item("2")).execute().await.unwrap();
        assert_eq!(batch.get::<Value>(0).unwrap()["vector"], item("2")["vector"]);
        let (counted, changed) = (counted.collect().await.unwrap(), changes.collect().await.unwrap());
        assert_eq!((found.len(), &counted[..], changed.len()), (3, &[3][..], 3));
        let mut changed: Vec<_> = changed.into_iter().map(|change| change["vector"].clone()).collect();
        changed.dedup();
        seen.push((found, counted, changed, many.into_found().len(), listed.len()));
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn answers_to_writes_and_triggers_are_as_with_text() {
    let bench = Bench::start().await;
    let [binary, text] = both(&bench).await;
    let echoed = || ItemOptions::default().content_response(true);
    let made = binary.create_item("a", item("1")).options(echoed()).await.unwrap();
    assert_eq!(made.json::<Value>().unwrap()["numbers"], item("1")["numbers"]);
    let found = binary.create_item("a", item("1")).await.unwrap_err();
    assert!(found.is_conflict() && found.to_string().contains("409"), "{found}");

    let body = "function () { var request = getContext().getRequest(), item = request.getBody(); item.stamped = true; request.setBody(item); }";
    let stamp = Trigger::new("stamp", TriggerType::Pre, TriggerOperation::All, body);
    text.scripts().create_trigger(stamp).await.unwrap();
    binary.create_item("a", item("2")).pre_trigger("stamp").await.unwrap();
    assert_eq!(text.read_item::<Value>("a", "2").await.unwrap().value()["stamped"], true);
}

#[tokio::test]
async fn text_that_is_no_json_goes_as_it_is_and_the_service_says_what_is_wrong() {
    let bench = Bench::start().await;
    let [binary, text] = both(&bench).await;
    for wrong in ["{", r#"{"id":"1","pk":"a","x":"\ud800"}"#, r#"{"id":"1","pk":"a","x":1e400}"#] {
        let errors = [&binary, &text].map(|container| container.create_item("a", RawItem::from(wrong)));
        let [first, second] = errors;
        let [first, second] = [first.await.unwrap_err(), second.await.unwrap_err()];
        assert_eq!((first.status(), first.kind()), (second.status(), second.kind()), "{first} {second}");
    }
}

#[tokio::test]
async fn a_variable_switches_it_on_and_a_call_off() {
    let bench = Bench::start().await;
    bench.container_as(ContainerProperties::new("c", "/pk")).await;
    let variables = |name: &str| (name == "AZURE_COSMOS_BINARY_ENCODING_ENABLED").then(|| "true".into());
    let runtime = CosmosDriverRuntime::builder().environment(&variables).build().unwrap();
    let client = client_in(&runtime, &bench.emulator, CosmosClientOptions::default());
    let container = client.database("d").container("c");
    container.create_item("a", item("1")).await.unwrap();
    let on = container.read_item::<Value>("a", "1").await.unwrap();
    let request = RequestOptions::default().with_binary_encoding_enabled(false);
    let off = ItemOptions { request, ..Default::default() };
    let off = container.read_item::<Value>("a", "1").options(off).await.unwrap();
    assert_eq!(on.value(), off.value());
    let [on, off] = [on, off].map(|read| read.diagnostics().attempts()[0].response_bytes);
    assert!(on < off, "{on} {off}");
}
