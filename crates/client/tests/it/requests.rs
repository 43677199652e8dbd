//! Requests: nothing is sent before they are awaited, and options hold whichever way they are given.

use std::time::Duration;

use cosmonaut::options::{FeedOptions, ItemOptions};
use cosmonaut::{ChangeFeedStart, ErrorKind, FeedScope, Query, RawItem};
use serde_json::{Value, json};

use crate::harness::{Bench, on_every_wire};

#[tokio::test]
async fn nothing_is_sent_before_a_request_is_awaited() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    drop(items.create_item("a", json!({"id": "1", "pk": "a"})));
    assert!(items.read_item::<Value>("a", "1").await.unwrap_err().is_not_found());
    let kept = items.create_item("a", json!({"id": "1", "pk": "a"}));
    assert!(items.read_item::<Value>("a", "1").await.unwrap_err().is_not_found());
    kept.await.unwrap();
    items.read_item::<Value>("a", "1").await.unwrap();
}

#[tokio::test]
async fn options_hold_one_by_one_and_as_a_whole() {
    on_every_wire(async |_, items| {
        let item = json!({"id": "1", "pk": "a", "n": 1});
        let made = items.create_item("a", &item).content_response(true).await.unwrap();
        assert_eq!(made.json::<Value>().unwrap()["n"], 1);
        let seen = made.etag().unwrap();
        let guarded = || ItemOptions::default().if_match(seen.clone());
        items.replace_item("a", "1", &item).if_match(seen.clone()).await.unwrap();
        for request in [
            items.replace_item("a", "1", &item).if_match(seen.clone()),
            items.replace_item("a", "1", &item).options(guarded()),
            items.replace_item("a", "1", &item).options(Some(guarded())),
            items.replace_item("a", "1", &item).options(guarded()).content_response(true),
        ] {
            assert!(request.await.unwrap_err().is_precondition_failed());
        }
        // A whole replaces what was said before.
        items.replace_item("a", "1", &item).if_match(seen.clone()).options(None).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn requests_are_futures_that_can_be_joined_and_spawned() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    let (one, two) = tokio::join!(
        items.create_item("a", json!({"id": "1", "pk": "a"})),
        items.create_item("a", json!({"id": "2", "pk": "a"})),
    );
    assert!(one.is_ok() && two.is_ok());
    // They borrow nothing: neither the container nor the names that they were made with.
    let mut running = tokio::task::JoinSet::new();
    for number in 3..6 {
        let id = format!("{number}");
        running.spawn(items.clone().create_item("a", json!({"id": id, "pk": "a"})));
    }
    while let Some(made) = running.join_next().await {
        made.unwrap().unwrap();
    }
    let reads: Vec<_> = (1..6).map(|number| items.read_item::<Value>("a", &number.to_string())).collect();
    drop(items);
    for read in reads {
        read.await.unwrap();
    }
    // Who awaits one twice is told so.
    let mut again = bench.container().await.read_item::<Value>("a", "1");
    (&mut again).await.unwrap();
    assert_eq!((&mut again).await.unwrap_err().kind(), ErrorKind::Configuration);
}

#[tokio::test]
async fn what_is_wrong_with_an_argument_shows_when_it_is_awaited() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    let unwritable = std::collections::HashMap::from([((1, 2), 3)]);
    let create = items.create_item("a", &unwritable);
    assert_eq!(create.await.unwrap_err().kind(), ErrorKind::Serialization);
    assert!(items.read_item::<RawItem>("a", "a/b").await.is_err());
    let query = Query::new("SELECT * FROM c WHERE c.a = @a").with("@a", &unwritable);
    let mut rows = items.query_items::<Value>(query.clone(), FeedScope::Container);
    assert_eq!(rows.next().await.unwrap().unwrap_err().kind(), ErrorKind::Serialization);
    assert!(rows.next().await.is_none());
    let explained = items.explain_query(query.clone(), FeedScope::Container).await;
    assert_eq!(explained.unwrap_err().kind(), ErrorKind::Serialization);
    let mut databases = bench.client.query_databases(query);
    assert_eq!(databases.next().await.unwrap().unwrap_err().kind(), ErrorKind::Serialization);
}

#[tokio::test]
async fn options_that_come_too_late_or_say_nothing_are_refused() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    for id in ["1", "2", "3"] {
        items.create_item("a", json!({"id": id, "pk": "a"})).await.unwrap();
    }
    let mut rows = items.query_items::<Value>("SELECT * FROM c", "a").max_item_count(1);
    rows.next().await.unwrap().unwrap();
    let mut rows = rows.max_item_count(2);
    let error = rows.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    assert!(rows.next().await.is_none());

    for refused in [
        items.create_item("a", json!({"id": "4", "pk": "a"})).if_match("\"1\"").await.map(drop),
        items.delete_all_items_by_partition_key("a").if_match("\"1\"").await.map(drop),
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Configuration, "a condition that cannot be one");
    }
    for page in [
        items.query_items::<Value>("SELECT * FROM c", "a").max_item_count(0).collect().await.map(drop),
        bench.client.list_databases().max_item_count(0).collect().await.map(drop),
        items
            .change_feed::<Value>(ChangeFeedStart::Beginning, "a")
            .max_item_count(0)
            .collect()
            .await
            .map(drop),
    ] {
        assert_eq!(page.unwrap_err().kind(), ErrorKind::Configuration, "a page of nothing");
    }

    let begun = FeedOptions::default().continue_from("somewhere");
    let many = items.read_many::<Value>([("a", "1")]).options(begun.clone()).await;
    assert_eq!(many.unwrap_err().kind(), ErrorKind::Configuration);
    let paged = items.read_many::<Value>([("a", "1")]).max_item_count(1).await;
    assert_eq!(paged.unwrap_err().kind(), ErrorKind::Configuration);
    let second = Duration::from_secs(1);
    let many = items.read_many::<Value>([("a", "1")]).poll_interval(second).await.map(drop);
    let explained = items.explain_query("SELECT * FROM c", "a").poll_interval(second).await.map(drop);
    let polled = |polled: Result<Vec<Value>, cosmonaut::Error>| polled.map(drop);
    for refused in [
        many,
        explained,
        polled(items.query_items("SELECT * FROM c", "a").poll_interval(second).collect().await),
        bench.client.list_databases().poll_interval(second).collect().await.map(drop),
        polled(
            items.change_feed(ChangeFeedStart::Beginning, "a").poll_interval(Duration::ZERO).collect().await,
        ),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        assert!(error.to_string().contains("poll_interval"), "{error}");
    }
}
