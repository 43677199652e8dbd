//! Options at every layer, given as the application gives them.

use std::collections::HashMap;
use std::time::Duration;

use cosmonaut::options::{
    CosmosClientOptions, CosmosRuntimeOptions, ItemOptions, ItemWriteOptions, Layer, RegionOptions,
    RequestOptions,
};
use cosmonaut::{
    ConsistencyLevel, CosmosClient, CosmosDriverRuntime, Credential, ErrorKind, IndexingDirective,
    PriorityLevel,
};
use cosmonaut_emulator::Emulator;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::harness::{Bench, client_in, no_environment};

#[tokio::test]
async fn one_call_sets_what_the_client_and_the_application_left_open() {
    let runtime = CosmosRuntimeOptions {
        request: RequestOptions {
            consistency_level: Some(ConsistencyLevel::Session),
            priority: Some(PriorityLevel::High),
            ..Default::default()
        },
        ..Default::default()
    };
    let client_options = CosmosClientOptions {
        request: RequestOptions { throughput_bucket: Some(5), ..Default::default() },
        regions: RegionOptions {
            preferred_regions: Some(vec!["West US".into(), "East US".into()]),
            ..Default::default()
        },
        ..Default::default()
    };
    let emulator = Emulator::builder().start().await.unwrap();
    let runtime =
        CosmosDriverRuntime::builder().environment(&no_environment).options(runtime).build().unwrap();
    let client = client_in(&runtime, &emulator, client_options);
    let bench = Bench { emulator, client };
    let container = bench.container().await;

    let etag = container.create_item("a", json!({"id": "1", "pk": "a"})).await.unwrap().etag();
    let item_opts = ItemOptions {
        request: RequestOptions { priority: Some(PriorityLevel::Low), ..Default::default() },
        write: ItemWriteOptions {
            if_match_etag: etag,
            content_response_on_write: Some(true),
            indexing_directive: Some(IndexingDirective::Include),
            ..Default::default()
        },
        ..Default::default()
    };
    let item = json!({"id": "1", "pk": "a", "n": 1});
    let written = container.upsert_item("a", item).options(item_opts).await.unwrap();
    assert_eq!(written.json::<Value>().unwrap()["n"], 1);
}

#[tokio::test]
async fn a_call_has_its_own_deadline_headers_and_triggers() {
    let bench = Bench::start().await;
    let container = bench.container().await;
    let soon = ItemOptions::default().timeout(Duration::from_nanos(1));
    let late = container.read_item::<Value>("a", "1").options(soon).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::DeadlineExceeded, "{late}");

    let name = HeaderName::from_static("x-ms-activity-id");
    let custom_headers = Some(HashMap::from([(name, HeaderValue::from_static("mine"))]));
    let request = RequestOptions { custom_headers, ..Default::default() };
    let options = ItemOptions { request, ..Default::default() };
    container.create_item("a", json!({"id": "1", "pk": "a"})).options(options).await.unwrap();

    let unwritable = ItemWriteOptions { pre_triggers: Some(vec!["\n".to_owned()]), ..Default::default() };
    let options = ItemOptions { write: unwritable, ..Default::default() };
    let error = container.create_item("a", json!({"id": "2", "pk": "a"})).options(options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
}

#[tokio::test]
async fn a_client_says_which_options_hold_and_who_has_set_them() {
    let variables = |name: &str| (name == "AZURE_COSMOS_HEDGING_ENABLED").then(|| "false".into());
    let everywhere = CosmosRuntimeOptions {
        request: RequestOptions::default().with_priority(PriorityLevel::Low),
        ..Default::default()
    };
    let runtime = CosmosDriverRuntime::builder().environment(&variables).options(everywhere).build().unwrap();
    let client = CosmosClient::builder()
        .runtime(&runtime)
        .endpoint("http://localhost:1")
        .credential(Credential::master_key("c2VjcmV0").unwrap())
        .preferred_regions(["West US"])
        .build()
        .unwrap();
    let groups = client.explain_options();
    let shown = format!("{groups:?}");
    assert!(!shown.contains("c2VjcmV0"));
    for (group, path, value, layer) in [
        ("RegionOptions", "preferred_regions", "West US", Layer::Account),
        ("RequestOptions", "priority", "Low", Layer::Runtime),
        ("HedgingOptions", "hedging_enabled", "false", Layer::Environment),
        ("RequestOptions", "end_to_end_timeout", "2m", Layer::Default),
    ] {
        let group = groups.iter().find(|known| known.name == group).unwrap();
        let option = group.options.iter().find(|option| option.option.path == path).unwrap();
        assert_eq!((option.value.as_deref(), &*option.sources), (Some(value), &[layer][..]), "{path}");
    }
}
