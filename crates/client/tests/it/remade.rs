//! A container that is deleted and made anew under its name while somebody reads it.

use cosmonaut::options::CreateContainerOptions;
use cosmonaut::{
    ChangeFeedStart, ContainerClient, ContainerProperties, ErrorKind, FeedScope, ThroughputProperties,
};
use serde_json::{Value, json};

use crate::harness::{Bench, another_client};
use crate::partitioned::{FIVE, ONE, container};

/// Makes `c` anew, as somebody else would, with so many items of the number `n`.
async fn make_anew(bench: &Bench, throughput: u32, items: u32, n: u32) {
    let database = another_client(bench).database("d");
    database.container("c").delete().await.unwrap();
    let throughput = Some(ThroughputProperties::manual(throughput));
    let options = CreateContainerOptions { throughput, ..Default::default() };
    database.create_container(ContainerProperties::new("c", "/pk")).options(options).await.unwrap();
    write(&database.container("c"), items, n).await;
}

async fn write(container: &ContainerClient, items: u32, n: u32) {
    for id in 0..items {
        let key = format!("key {id}");
        container.upsert_item(&*key, json!({"id": id.to_string(), "pk": key, "n": n})).await.unwrap();
    }
}

async fn numbers(mut feed: cosmonaut::Items<Value>) -> Vec<Value> {
    let mut all = Vec::new();
    while let Some(item) = feed.next().await {
        all.push(item.unwrap()["n"].clone());
    }
    all
}

#[tokio::test]
async fn a_change_feed_under_way_ends_with_its_container() {
    for throughput in [ONE, FIVE] {
        let bench = Bench::start().await;
        let items = container(&bench, "c", throughput).await;
        write(&items, 10, 1).await;
        let feed = || items.change_feed::<Value>(ChangeFeedStart::Beginning, FeedScope::Container);
        let mut pages = feed().max_item_count(3).into_pages();
        let page = pages.next().await.unwrap().unwrap();
        assert_eq!(page.items[0]["n"], 1);
        make_anew(&bench, throughput, 20, 2).await;
        let error = loop {
            match pages.next().await.unwrap() {
                Ok(page) => assert!(page.items.iter().all(|item| item["n"] == 1), "{:?}", page.items),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::Query, "{error}");
        assert!(error.to_string().contains("the container was made anew"), "{error}");
        assert!(pages.next().await.is_none(), "nothing follows");
        let behind = feed().continue_from(page.continuation.unwrap()).next().await.unwrap().unwrap_err();
        assert_eq!(behind.kind(), ErrorKind::Query, "a token of it says the same: {behind}");
        assert_eq!(
            numbers(feed()).await,
            vec![json!(2); 20],
            "another feed reads the new one from its beginning"
        );
    }
}

#[tokio::test]
async fn a_feed_that_has_read_nothing_begins_in_the_container_that_there_is() {
    for (before, after) in [(ONE, FIVE), (FIVE, ONE), (FIVE, FIVE)] {
        let bench = Bench::start().await;
        let items = container(&bench, "c", before).await;
        write(&items, 5, 1).await;
        let query = |text: &str| items.query_items::<Value>(text, FeedScope::Container);
        // Now this client knows the container and its partitions.
        assert_eq!(numbers(query("SELECT * FROM c")).await.len(), 5);
        make_anew(&bench, after, 20, 2).await;
        assert_eq!(numbers(query("SELECT * FROM c ORDER BY c.n")).await, vec![json!(2); 20]);
        make_anew(&bench, before, 20, 3).await;
        assert_eq!(numbers(query("SELECT * FROM c")).await, vec![json!(3); 20]);
        make_anew(&bench, after, 20, 4).await;
        let changes = items.change_feed(ChangeFeedStart::Beginning, FeedScope::Container);
        assert_eq!(numbers(changes).await, vec![json!(4); 20]);
    }
}

#[tokio::test]
async fn a_query_under_way_ends_with_its_container() {
    let bench = Bench::start().await;
    let items = container(&bench, "c", FIVE).await;
    for text in ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.id"] {
        write(&items, 40, 1).await;
        let query = || items.query_items::<Value>(text, FeedScope::Container);
        let mut pages = query().max_item_count(3).into_pages();
        let page = pages.next().await.unwrap().unwrap();
        make_anew(&bench, FIVE, 40, 2).await;
        let error = loop {
            match pages.next().await.unwrap() {
                Ok(page) => assert!(page.items.iter().all(|item| item["n"] == 1), "{text}: {:?}", page.items),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::Query, "{text}: {error}");
        assert!(error.to_string().contains("the container was made anew"), "{text}: {error}");
        let behind = query().continue_from(page.continuation.unwrap()).next().await.unwrap().unwrap_err();
        assert_eq!(behind.kind(), ErrorKind::Query, "{text}: {behind}");
    }
}
