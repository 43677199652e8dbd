//! Databases, containers and throughput, over both versions of HTTP.

use cosmonaut::options::{
    CreateContainerOptions, CreateDatabaseOptions, FeedOptions, ReplaceContainerOptions,
};
use cosmonaut::{
    ContainerProperties, CosmosStatus, DatabaseProperties, ErrorKind, IndexingPolicy, Items, Query,
    ThroughputProperties, TimeToLive,
};
use cosmonaut_emulator::Emulator;

use crate::harness::{Bench, PROTOCOLS, on_every_wire, speaking};

async fn ids<T: serde::de::DeserializeOwned>(mut pager: Items<T>, id: impl Fn(&T) -> &str) -> Vec<String> {
    let mut ids = Vec::new();
    while let Some(item) = pager.next().await {
        ids.push(id(&item.unwrap()).to_owned());
    }
    ids.sort();
    ids
}

#[tokio::test]
async fn databases_are_created_read_listed_queried_and_deleted() {
    for protocol in PROTOCOLS {
        let client = Bench::with(Emulator::builder(), speaking(protocol)).await;
        let client = &client.client;
        let made = client.create_database("one").await.unwrap();
        assert_eq!((made.status(), made.value().id.as_str()), (CosmosStatus::CREATED, "one"));
        assert!(client.create_database("one").await.unwrap_err().is_conflict());
        let again = client.create_database_if_not_exists("one").await.unwrap();
        assert_eq!((again.status(), &again.value().rid), (CosmosStatus::OK, &made.value().rid));
        assert_eq!(
            client.create_database_if_not_exists("two").await.unwrap().status(),
            CosmosStatus::CREATED
        );
        client.create_database("three").await.unwrap();

        let name = |database: &DatabaseProperties| -> String { database.id.clone() };
        assert_eq!(client.database("one").read().await.map(|read| name(read.value())).unwrap(), "one");
        assert_eq!(ids(client.list_databases(), |found| &found.id).await, ["one", "three", "two"]);
        let query = Query::new("SELECT * FROM d WHERE d.id != @id").with("@id", "two");
        assert_eq!(ids(client.query_databases(query), |found| &found.id).await, ["one", "three"]);

        client.database("two").delete().await.unwrap();
        assert!(client.database("two").read().await.unwrap_err().is_not_found());
        assert!(client.database("two").delete().await.unwrap_err().is_not_found());
    }
}

#[tokio::test]
async fn lists_go_page_by_page_and_on_from_a_continuation() {
    let bench = Bench::start().await;
    for number in 0..5 {
        bench.client.create_database(&format!("d{number}")).await.unwrap();
    }
    let two = |continuation| {
        let max_item_count = Some(2);
        Some(FeedOptions { max_item_count, continuation, ..Default::default() })
    };
    let mut pages = bench.client.list_databases().options(two(None)).into_pages();
    let first = pages.next().await.unwrap().unwrap();
    assert_eq!((first.items.len(), first.diagnostics.len()), (2, 1));
    assert!(first.request_charge > 0.0);
    let mut rest = 0;
    while let Some(page) = pages.next().await {
        rest += page.unwrap().items.len();
    }
    assert_eq!(rest, 3);
    assert!(pages.next().await.is_none());

    let resumed = bench.client.list_databases().options(two(first.continuation));
    assert_eq!(ids(resumed, |found| &found.id).await.len(), 3);
    let mut broken = bench.client.list_databases().options(two(Some("\n".to_owned())));
    assert_eq!(broken.next().await.unwrap().unwrap_err().kind(), ErrorKind::Configuration);
    assert!(broken.next().await.is_none(), "an error ends a stream");
}

#[tokio::test]
async fn containers_are_created_read_replaced_listed_queried_and_deleted() {
    on_every_wire(async |bench, container| {
        let database = bench.client.database("d");
        let properties = container.read().await.unwrap();
        assert_eq!(properties.value().partition_key.paths, ["/pk"]);
        let etag = properties.etag();

        let changed = properties.into_value().with_default_ttl(TimeToLive::seconds(60).unwrap());
        let changed = changed.with_indexing_policy(IndexingPolicy::default().with_excluded_path("/blob/*"));
        let guarded = || Some(ReplaceContainerOptions { if_match_etag: etag.clone(), ..Default::default() });
        let replaced = container.replace(changed.clone()).options(guarded()).await.unwrap();
        assert_eq!(replaced.value().default_ttl, TimeToLive::seconds(60).ok());
        let late = container.replace(changed).options(guarded()).await.unwrap_err();
        assert!(late.is_precondition_failed(), "{late}");

        database.create_container(ContainerProperties::new("e", ["/a", "/b"])).await.unwrap();
        assert_eq!(ids(database.list_containers(), |found| &found.id).await, ["c", "e"]);
        let short = FeedOptions { max_item_count: Some(1), ..Default::default() };
        assert_eq!(ids(database.list_containers().options(short), |found| &found.id).await, ["c", "e"]);
        let query = "SELECT * FROM c WHERE c.defaultTtl = 60";
        assert_eq!(ids(database.query_containers(query), |found| &found.id).await, ["c"]);

        database.container("e").delete().await.unwrap();
        assert!(database.container("e").read().await.unwrap_err().is_not_found());
    })
    .await;
}

#[tokio::test]
async fn a_container_is_made_only_if_it_is_absent_and_must_have_the_key() {
    let bench = Bench::start().await;
    bench.container().await;
    let database = bench.client.database("d");
    let again = database.create_container_if_not_exists(ContainerProperties::new("c", "/pk")).await.unwrap();
    assert_eq!(again.status(), CosmosStatus::OK);
    let other = ContainerProperties::new("c", "/other");
    let error = database.create_container_if_not_exists(other).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("/other") && error.to_string().contains("/pk"), "{error}");
}

#[tokio::test]
async fn throughput_is_read_and_replaced_manual_and_autoscale() {
    let manual = ThroughputProperties::manual;
    let autoscale = |most| ThroughputProperties::autoscale(most, None);
    on_every_wire(async |bench, container| {
        let throughput = Some(autoscale(4000));
        let options = CreateDatabaseOptions { throughput, ..Default::default() };
        bench.client.create_database("shared").options(options).await.unwrap();
        let shared = bench.client.database("shared");
        assert_eq!(shared.read_throughput().await.unwrap().into_value(), throughput);
        let replaced = shared.replace_throughput(autoscale(5000)).await.unwrap();
        assert_eq!(replaced.into_value(), autoscale(5000));
        shared.create_container(ContainerProperties::new("c", "/pk")).await.unwrap();
        assert_eq!(shared.container("c").read_throughput().await.unwrap().into_value(), None);
        let none = shared.container("c").replace_throughput(manual(400)).await.unwrap_err();
        assert!(none.is_not_found() && none.to_string().contains("of its own"), "{none}");

        let options = CreateContainerOptions { throughput: Some(manual(500)), ..Default::default() };
        let database = bench.client.database("d");
        database.create_container(ContainerProperties::new("own", "/pk")).options(options).await.unwrap();
        let own = database.container("own");
        assert_eq!(own.read_throughput().await.unwrap().into_value(), Some(manual(500)));
        for wanted in [manual(600), autoscale(4000), manual(700)] {
            assert_eq!(own.replace_throughput(wanted).await.unwrap().into_value(), wanted);
            assert_eq!(own.read_throughput().await.unwrap().into_value(), Some(wanted));
        }
        assert!(container.read_throughput().await.is_ok());
        assert!(bench.client.database("no").read_throughput().await.unwrap_err().is_not_found());
    })
    .await;
}
