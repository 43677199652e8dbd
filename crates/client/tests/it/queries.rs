//! Queries as applications write them: scopes, types, parameters, pages, and what is wrong with them.

use cosmonaut::fault_injection::{
    FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule, FaultInjector,
};
use cosmonaut::options::FeedOptions;
use cosmonaut::{
    ContainerProperties, CosmosClient, CosmosDriverRuntime, CosmosStatus, Credential, ErrorKind, FeedScope,
    PartitionKey, Query,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::harness::{Bench, no_environment, on_every_wire};
use crate::partitioned::{FIVE, container, inside, make};

#[derive(Debug, Deserialize, PartialEq)]
struct Order {
    id: String,
    total: f64,
}

#[tokio::test]
async fn rows_come_as_types_from_one_key_or_from_all() {
    on_every_wire(async |bench, orders| {
        for (id, customer, total) in [("1", "a", 5.0), ("2", "b", 15.0), ("3", "a", 25.0), ("4", "c", 35.0)] {
            let order = json!({"id": id, "pk": customer, "total": total});
            orders.create_item(customer, &order).await.unwrap();
        }
        let query = Query::new("SELECT * FROM c WHERE c.total > @min ORDER BY c.total DESC").with("@min", 10);
        let mut found = orders.query_items::<Order>(query.clone(), FeedScope::Container);
        let mut ids = Vec::new();
        while let Some(order) = found.next().await {
            ids.push(order.unwrap().id);
        }
        assert_eq!(ids, ["4", "3", "2"]);
        assert!(found.next().await.is_none(), "an end is an end");

        let of_a = orders.query_items::<Order>(query, "a").collect().await.unwrap();
        assert_eq!(of_a, [Order { id: "3".into(), total: 25.0 }]);
        let counted = orders.query_items::<u64>("SELECT VALUE COUNT(1) FROM c", FeedScope::Container);
        assert_eq!(counted.collect().await.unwrap(), [4]);
        let text = "SELECT VALUE {\"n\": c.total} FROM c WHERE c.pk = 'b'";
        let raw = orders.query_items::<Box<RawValue>>(text, FeedScope::Container);
        assert_eq!(raw.collect().await.unwrap()[0].get(), r#"{"n":15}"#);
        drop(bench);
    })
    .await;
}

#[tokio::test]
async fn planning_takes_no_request() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    many.query_items::<Value>("SELECT * FROM c", FeedScope::Container).collect().await.unwrap();
    let before = bench.emulator.requests();
    let counted = many.query_items::<u64>("SELECT VALUE COUNT(1) FROM c", FeedScope::Container);
    assert_eq!(counted.collect().await.unwrap(), [0]);
    assert_eq!(bench.emulator.requests() - before, 5, "one for each partition");
    let text = "SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'a'";
    assert_eq!(many.query_items::<u64>(text, FeedScope::Container).collect().await.unwrap(), [0]);
    assert_eq!(bench.emulator.requests() - before, 6, "only the partition that can have any");
}

#[tokio::test]
async fn only_as_much_is_read_as_is_asked_for() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    for n in 0..100 {
        let key = format!("key {n}");
        many.create_item(&*key, json!({"id": "1", "pk": key, "a": n})).await.unwrap();
    }
    many.query_items::<Value>("SELECT * FROM c", FeedScope::Container).collect().await.unwrap();
    let before = bench.emulator.requests();
    let options = FeedOptions::default().max_item_count(1);
    let mut first =
        many.query_items::<Value>("SELECT * FROM c", FeedScope::Container).options(options).into_pages();
    assert_eq!(first.next().await.unwrap().unwrap().items.len(), 1);
    let asked = bench.emulator.requests() - before;
    assert!(asked <= 3, "one page, and at most two ahead, but there were {asked}");
}

#[tokio::test]
async fn a_page_says_what_it_cost_and_where_to_go_on() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    for n in 0..10 {
        let key = format!("key {n}");
        many.create_item(&*key, json!({"id": "1", "pk": key, "a": n})).await.unwrap();
    }
    let text = "SELECT VALUE c.a FROM c ORDER BY c.a";
    let options = FeedOptions::default().max_item_count(4);
    let mut items = many.query_items::<u32>(text, FeedScope::Container).options(options.clone());
    for expected in 0..4 {
        assert_eq!(items.continuation(), None);
        assert_eq!(items.next().await.unwrap().unwrap(), expected);
    }
    let token = items.continuation().unwrap().to_owned();
    let mut rest = many
        .query_items::<u32>(text, FeedScope::Container)
        .options(options.continue_from(token))
        .into_pages();
    let page = rest.next().await.unwrap().unwrap();
    assert_eq!(page.items, [4, 5, 6, 7]);
    assert!(page.request_charge > 0.0 && page.diagnostics.len() == 5);
    let last = rest.next().await.unwrap().unwrap();
    assert_eq!((last.items, last.continuation), (vec![8, 9], None));
    assert!(rest.next().await.is_none());
}

#[tokio::test]
async fn a_hierarchical_prefix_and_feed_ranges_are_scopes() {
    let bench = Bench::start().await;
    let many = make(&bench, ContainerProperties::new("c", ["/tenant", "/user"]), FIVE).await;
    for n in 0..40 {
        let (tenant, user) = (format!("tenant {}", n % 4), format!("user {n}"));
        let item = json!({"id": n.to_string(), "tenant": tenant, "user": user, "n": n});
        many.create_item((&*tenant, &*user), &item).await.unwrap();
    }
    let text = "SELECT VALUE c.n FROM c ORDER BY c.n";
    let of_tenant = many.query_items::<u32>(text, "tenant 1").collect().await.unwrap();
    assert_eq!(of_tenant, (0..40).filter(|n| n % 4 == 1).collect::<Vec<_>>());
    let of_user = many.query_items::<u32>(text, ("tenant 1", "user 5")).collect().await.unwrap();
    assert_eq!(of_user, [5]);
    let prefix = many.feed_range_of("tenant 1").await.unwrap();
    let by_range = many.query_items::<u32>(text, &prefix).collect().await.unwrap();
    assert_eq!(by_range, of_tenant);

    let ranges = many.feed_ranges().await.unwrap();
    assert_eq!(ranges.len(), 5);
    let mut all = Vec::new();
    for range in &ranges {
        let (low, high) = range.split().unwrap();
        for part in [low, high] {
            all.extend(many.query_items::<u32>(text, part).collect().await.unwrap());
        }
    }
    all.sort_unstable();
    assert_eq!(all, (0..40).collect::<Vec<_>>());
    let error = many.query_items::<u32>(text, ("a", "b", "c")).next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadRequest, "{error}");
}

#[tokio::test]
async fn distinct_values_are_counted_over_partitions() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    for n in 0..30 {
        let key = format!("key {n}");
        many.create_item(&*key, json!({"id": "1", "pk": key, "a": n % 7})).await.unwrap();
    }
    let text = "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.a FROM c) AS d";
    for scope in [FeedScope::Container, FeedScope::from("key 1")] {
        let expected = if scope == FeedScope::Container { 7 } else { 1 };
        assert_eq!(many.query_items::<u64>(text, scope).collect().await.unwrap(), [expected]);
    }
    let named = "SELECT COUNT(1) AS n FROM (SELECT DISTINCT c.a FROM c) AS d";
    let rows = many.query_items::<Value>(named, FeedScope::Container).collect().await.unwrap();
    assert_eq!(rows, [json!({"n": 7})]);
}

#[tokio::test]
async fn what_is_wrong_with_a_query_is_said_once_with_the_place() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    many.create_item("a", json!({"id": "1", "pk": "a", "a": "text"})).await.unwrap();
    for (text, scope, kind, part) in [
        ("SELECT * FORM c", FeedScope::Container, ErrorKind::Query, "line 1, column 10"),
        ("SELECT * FORM c", FeedScope::from("a"), ErrorKind::Query, "line 1, column 10"),
        ("SELECT VALUE NOSUCH(c.a) FROM c", FeedScope::Container, ErrorKind::Query, "NOSUCH"),
        ("SELECT VALUE COUNT(1) + 1 FROM c", FeedScope::Container, ErrorKind::Query, "COUNT(1) + 1"),
        ("SELECT TOP @n * FROM c", FeedScope::Container, ErrorKind::Query, "@n"),
        ("SELECT VALUE c.a FROM c", FeedScope::Container, ErrorKind::Serialization, "u64"),
        ("SELECT VALUE c.a FROM c", FeedScope::from(("a", "b")), ErrorKind::BadRequest, "/pk"),
    ] {
        let mut rows = many.query_items::<u64>(text, scope.clone());
        let error = rows.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), kind, "{text}: {error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
        assert!(rows.next().await.is_none(), "{text}: an error ends the stream");
    }
    let gone = bench.client.database("d").container("none");
    let error = gone.query_items::<u64>("SELECT * FROM c", FeedScope::Container).next().await;
    assert!(error.unwrap().unwrap_err().is_not_found());
    let none = Some(FeedOptions::default().max_item_count(0));
    let error = many.query_items::<u64>("SELECT * FROM c", FeedScope::Container).options(none).next().await;
    assert_eq!(error.unwrap().unwrap_err().kind(), ErrorKind::Configuration);
}

#[tokio::test]
async fn one_partition_that_fails_ends_the_stream_once() {
    let plain = Bench::start().await;
    let faults = FaultInjector::new();
    let runtime = CosmosDriverRuntime::builder()
        .environment(&no_environment)
        .fault_injection(faults.clone())
        .build()
        .unwrap();
    let key = Credential::master_key(plain.emulator.key()).unwrap();
    let client = CosmosClient::builder()
        .runtime(&runtime)
        .endpoint(plain.emulator.url())
        .credential(key)
        .build()
        .unwrap();
    let bench = Bench { emulator: plain.emulator, client };
    let many = container(&bench, "c", FIVE).await;
    for n in 0..20 {
        let key = format!("key {n}");
        many.create_item(&*key, json!({"id": "1", "pk": key, "a": n})).await.unwrap();
    }
    let last = inside(&bench, "c").partition_key_ranges().pop().unwrap();
    let fault = FaultInjectionResult::Status { status: CosmosStatus::FORBIDDEN, retry_after: None };
    let condition = FaultInjectionCondition { partition: Some(last.id), ..Default::default() };
    faults.set(FaultInjectionRule::new("one partition", fault).when(condition));
    for text in [
        "SELECT VALUE c.a FROM c",
        "SELECT VALUE c.a FROM c ORDER BY c.a",
        "SELECT DISTINCT VALUE c.a FROM c",
        "SELECT VALUE COUNT(1) FROM c",
    ] {
        let mut rows = many.query_items::<u32>(text, FeedScope::Container);
        let mut errors = Vec::new();
        while let Some(row) = rows.next().await {
            errors.extend(row.err());
        }
        let [error] = &errors[..] else { panic!("{text}: {errors:?}") };
        assert_eq!(error.kind(), ErrorKind::Forbidden, "{text}: {error}");
    }
}

#[tokio::test]
async fn a_token_of_another_query_or_scope_is_refused() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    for n in 0..10 {
        let key = format!("key {n}");
        many.create_item(&*key, json!({"id": "1", "pk": key, "a": n})).await.unwrap();
    }
    let options = FeedOptions::default().max_item_count(1);
    let text = "SELECT * FROM c ORDER BY c.a";
    let mut pages =
        many.query_items::<Value>(text, FeedScope::Container).options(options.clone()).into_pages();
    let token = pages.next().await.unwrap().unwrap().continuation.unwrap();
    for (text, scope, token, part) in [
        ("SELECT * FROM c ORDER BY c.a DESC", FeedScope::Container, &*token, "another query"),
        (text, FeedScope::PartitionKey(PartitionKey::from("key 1")), &*token, "another scope"),
        (text, FeedScope::Container, "no token", "not a token"),
        (text, FeedScope::Container, &token[..token.len() / 2], "not a token"),
    ] {
        let options = options.clone().continue_from(token);
        let error =
            many.query_items::<Value>(text, scope).options(options).next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Query, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn an_ordered_query_goes_on_among_arrays_and_objects_without_reading_them_again() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    for n in 0..60 {
        let key = if n % 2 == 0 { json!([n / 4, "x"]) } else { json!({"n": n / 4}) };
        many.create_item("a", json!({"id": n.to_string(), "pk": "a", "a": key})).await.unwrap();
    }
    for order in ["c.a", "c.a DESC"] {
        let text = format!("SELECT VALUE c.id FROM c ORDER BY {order}");
        let query = || many.query_items::<String>(&*text, FeedScope::Container);
        let whole = query().collect().await.unwrap();
        let (mut rows, mut token) = (Vec::new(), None);
        loop {
            let mut rest = query().max_item_count(5);
            rest = match token {
                Some(token) => rest.continue_from(token),
                None => rest,
            };
            let page = rest.into_pages().next().await.unwrap().unwrap();
            // One for each partition, and one more where rows are given that come again.
            assert!(page.diagnostics.len() <= 7, "{order}: {} behind {}", page.diagnostics.len(), rows.len());
            rows.extend(page.items);
            token = page.continuation;
            if token.is_none() {
                break;
            }
        }
        assert_eq!(rows, whole, "{order}");
        assert_eq!(rows.len(), 60);
    }
}
