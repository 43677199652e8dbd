//! What is checked, a function each.

use std::pin::Pin;

use azure_data_cosmos::feed::{ChangeFeedPageIterator, ContinuationToken, FeedRange};
use azure_data_cosmos::models::{ChangeFeedItem, EffectivePartitionKey};
use azure_data_cosmos::options::{ChangeFeedOptions, ChangeFeedStartFrom};
use azure_data_cosmos::{ContainerClient, FeedScope, PartitionKey, Query, TransactionalBatch};
use futures::TryStreamExt as _;
use serde_json::{Value, json};

use crate::{Account, Outcome};

type Check = for<'a> fn(&'a Account) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>;

/// Every check by its name.
pub const ALL: &[(&str, Check)] = &[
    ("items live and die", |account| Box::pin(items(account))),
    ("keys are nested, missing or of every type", |account| Box::pin(keys(account))),
    ("ids are any text", |account| Box::pin(ids(account))),
    ("a query finds its rows over all partitions", |account| Box::pin(queries(account))),
    ("a query of a stretch finds what is in it alone", |account| Box::pin(stretches(account))),
    ("the change feed goes on where it was left", |account| Box::pin(changes(account))),
    ("a batch is all or nothing", |account| Box::pin(batches(account))),
    ("refusals carry their status and words", |account| Box::pin(refusals(account))),
];

fn equal<T: PartialEq + std::fmt::Debug>(found: T, expected: T) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("expected {expected:?}, found {found:?}").into()) }
}

/// A call that must be answered with this status and these words.
fn refused<T>(result: azure_data_cosmos::Result<T>, status: u16, words: &str) -> Outcome {
    match result {
        Ok(_) => Err(format!("expected status {status}, but it succeeded").into()),
        Err(error) => {
            equal(u16::from(error.status().status_code()), status)?;
            let text = format!("{error} {error:?}");
            if text.contains(words) { Ok(()) } else { Err(format!("{words:?} is not in: {text}").into()) }
        }
    }
}

async fn read(container: &ContainerClient, key: impl Into<PartitionKey>, id: &str) -> Outcome<Value> {
    Ok(container.read_item(key, id, None).await?.into_model()?)
}

async fn items(account: &Account) -> Outcome {
    let container = account.container("items", "/pk".into()).await?;
    container.create_item("a", "1", json!({"id": "1", "pk": "a", "n": 1}), None).await?;
    refused(
        container.create_item("a", "1", json!({"id": "1", "pk": "a"}), None).await,
        409,
        "already exists",
    )?;
    container.replace_item("a", "1", json!({"id": "1", "pk": "a", "n": 2}), None).await?;
    container.upsert_item("a", "1", json!({"id": "1", "pk": "a", "n": 3}), None).await?;
    let item = read(&container, "a", "1").await?;
    equal(&item["n"], &json!(3))?;
    equal(item["_etag"].is_string() && item["_ts"].is_u64(), true)?;
    container.delete_item("a", "1", None).await?;
    refused(container.read_item("a", "1", None).await, 404, "does not exist")
}

async fn keys(account: &Account) -> Outcome {
    let container = account.container("keys", "/pk".into()).await?;
    for (id, value, key) in [
        ("text", json!("x"), PartitionKey::from("x")),
        ("number", json!(15), PartitionKey::from(15)),
        ("truth", json!(true), PartitionKey::from(true)),
    ] {
        container.create_item(key.clone(), id, json!({"id": id, "pk": value}), None).await?;
        equal(&read(&container, key, id).await?["pk"], &value)?;
    }
    let nested = account.container("nested", ("/tenant", "/user").into()).await?;
    let whole = || PartitionKey::from(("contoso", "ada"));
    nested.create_item(whole(), "1", json!({"id": "1", "tenant": "contoso", "user": "ada"}), None).await?;
    equal(&read(&nested, whole(), "1").await?["user"], &json!("ada"))?;
    let part = nested.read_item("contoso", "1", None).await;
    refused(part, 400, "doesn't correspond to definition in the collection")
}

async fn ids(account: &Account) -> Outcome {
    let container = account.container("ids", "/pk".into()).await?;
    for id in ["with space", "ends with one ", "ünïcödé", "a+b", "a%b", "a?b", "a&b=c", "emoji 🚀"] {
        container.create_item("a", id, json!({"id": id, "pk": "a"}), None).await?;
        equal(&read(&container, "a", id).await?["id"], &json!(id))?;
        container.delete_item("a", id, None).await?;
    }
    Ok(())
}

async fn queries(account: &Account) -> Outcome {
    let container = account.container("queries", "/pk".into()).await?;
    for n in 0..20 {
        let (id, pk) = (n.to_string(), format!("p{}", n % 5));
        container.create_item(pk.clone(), &id, json!({"id": id, "pk": pk, "n": n}), None).await?;
    }
    let all = FeedScope::full_container;
    let query = Query::from("SELECT VALUE c.n FROM c WHERE c.n >= @least ORDER BY c.n DESC")
        .with_parameter("@least", 15)?;
    let found: Vec<i64> = container.query_items::<i64>(query, all(), None).await?.try_collect().await?;
    equal(found, vec![19, 18, 17, 16, 15])?;
    let one = FeedScope::partition("p3");
    let found =
        container.query_items::<Value>("SELECT * FROM c", one, None).await?.try_collect::<Vec<_>>().await?;
    equal(found.len(), 4)?;
    let mistaken = container.query_items::<Value>("SELEC", all(), None).await;
    let mistaken = match mistaken {
        Ok(rows) => rows.try_collect::<Vec<_>>().await,
        Err(error) => Err(error),
    };
    refused(mistaken, 400, "")
}

/// Writes items of different keys, which is all that is in the container then.
async fn write_items(container: &ContainerClient, ids: std::ops::Range<u32>) -> Outcome<Vec<String>> {
    let ids: Vec<String> = ids.map(|id| id.to_string()).collect();
    for id in &ids {
        container.create_item(id.clone(), id, json!({"id": id, "pk": id}), None).await?;
    }
    Ok(ids)
}

fn sorted(mut ids: Vec<String>) -> Vec<String> {
    ids.sort();
    ids
}

async fn stretches(account: &Account) -> Outcome {
    let container = account.container("stretches", "/pk".into()).await?;
    let all = write_items(&container, 0..40).await?;
    let third = |digit: char| format!("{digit}{}", "5".repeat(31));
    let cuts = [String::new(), third('1'), third('2'), "FF".to_owned()];
    let mut found = Vec::new();
    for bounds in cuts.windows(2) {
        let [min, max] =
            [&bounds[0], &bounds[1]].map(|bound| EffectivePartitionKey::try_from(bound.as_str()));
        let range = FeedRange::new(min?, max?)?;
        let scope = || FeedScope::range(range.clone());
        let rows = container.query_items::<String>("SELECT VALUE c.id FROM c", scope(), None).await?;
        let rows: Vec<String> = rows.try_collect().await?;
        equal((1..all.len()).contains(&rows.len()), true)?;
        let mut pages = container.query_change_feed(scope(), ChangeFeedStartFrom::Beginning, None).await?;
        equal(sorted(changed(&mut pages, rows.len()).await?), sorted(rows.clone()))?;
        found.extend(rows);
    }
    equal(sorted(found), sorted(all))
}

/// The ids of the next changes: so many, and a page without any.
async fn changed(
    pages: &mut ChangeFeedPageIterator<ChangeFeedItem<Value>>,
    expected: usize,
) -> Outcome<Vec<String>> {
    let mut ids = Vec::new();
    // A page of a partition may be empty while another has changes.
    for _ in 0..50 {
        let page = pages.try_next().await?.ok_or("the change feed has ended")?;
        let items = page.items().iter();
        ids.extend(items.filter_map(|item| item.current()?["id"].as_str().map(str::to_owned)));
        if ids.len() >= expected && page.items().is_empty() {
            break;
        }
    }
    Ok(ids)
}

async fn changes(account: &Account) -> Outcome {
    let container = account.container("changes", "/pk".into()).await?;
    let first = write_items(&container, 0..10).await?;
    let read = async |token: Option<ContinuationToken>| {
        let options = token.map(|token| ChangeFeedOptions::default().with_continuation_token(token));
        container
            .query_change_feed(FeedScope::full_container(), ChangeFeedStartFrom::Beginning, options)
            .await
    };
    let mut pages = read(None).await?;
    equal(sorted(changed(&mut pages, first.len()).await?), sorted(first))?;
    let token = pages.to_continuation_token()?;
    let more = write_items(&container, 10..12).await?;
    equal(sorted(changed(&mut pages, more.len()).await?), sorted(more.clone()))?;
    let mut resumed = read(Some(token)).await?;
    equal(sorted(changed(&mut resumed, more.len()).await?), sorted(more))?;
    let now = ChangeFeedStartFrom::Now;
    let mut later = container.query_change_feed(FeedScope::full_container(), now, None).await?;
    equal(changed(&mut later, 0).await?, Vec::new())
}

async fn batches(account: &Account) -> Outcome {
    let container = account.container("batches", "/pk".into()).await?;
    let item = |id: &str| json!({"id": id, "pk": "a"});
    let batch = TransactionalBatch::new("a").create_item(item("1"))?.create_item(item("2"))?;
    container.execute_transactional_batch(batch, None).await?;
    let batch = TransactionalBatch::new("a").create_item(item("3"))?.create_item(item("1"))?;
    let codes = |results: &azure_data_cosmos::models::TransactionalBatchResponse| {
        results.results().iter().map(|result| result.status_code()).collect::<Vec<_>>()
    };
    if let Ok(answer) = container.execute_transactional_batch(batch, None).await {
        equal(codes(&answer.into_model()?), vec![424, 409])?;
    }
    refused(container.read_item("a", "3", None).await, 404, "does not exist")?;
    equal(&read(&container, "a", "2").await?["id"], &json!("2"))
}

async fn refusals(account: &Account) -> Outcome {
    let container = account.container("refusals", "/pk".into()).await?;
    let null = json!({"id": "1", "pk": "a", "ttl": null});
    refused(container.create_item("a", "1", null, None).await, 400, "ttl")?;
    let large = json!({"id": "1", "pk": "a", "x": "y".repeat(2 * 1024 * 1024)});
    refused(container.create_item("a", "1", large, None).await, 413, "Request size is too large")?;
    let other = container.create_item("b", "1", json!({"id": "1", "pk": "a"}), None).await;
    refused(other, 400, "")
}
