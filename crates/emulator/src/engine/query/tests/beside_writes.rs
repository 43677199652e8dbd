//! Pages that are read while others write: what stays as it is comes once and in its place, or the page fails.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cosmonaut_query::value::Value;
use cosmonaut_wire::model::{
    ContainerProperties, DatabaseProperties, FullTextPath, FullTextPolicy, IndexingPolicy,
    VectorDistanceFunction, VectorEmbedding, VectorEmbeddingPolicy, VectorIndex, VectorIndexType,
};
use cosmonaut_wire::{PartitionKey, ResourcePath};
use proptest::prelude::*;

use super::store::{Still, policy, texts, unordered};
use crate::engine::query::{PageSize, QueryRequest, TieOrder, run};
use crate::engine::{Conditions, Container, Engine, EngineConfig, FeedScope, ItemRequest, RegionId};
use crate::index::tests::any_value;
use crate::pace::Pace;
use crate::storage::Journal;
use crate::{Timestamp, World};

const HERE: RegionId = RegionId(0);

/// How many documents nobody writes; those after them are written.
const KEPT: usize = 10;
const WRITTEN: usize = 8;

/// A world in which something happens whenever a query asks for the time, which it does for every document.
struct Busy<F> {
    asked: AtomicUsize,
    act: F,
}

impl<F: Fn(usize) + Send + Sync + 'static> World for Busy<F> {
    fn now(&self) -> Timestamp {
        (self.act)(self.asked.fetch_add(1, Ordering::Relaxed));
        Still.now()
    }

    fn random(&self) -> u64 {
        0
    }
}

fn disturbed(page_time: Duration, act: impl Fn(usize) + Send + Sync + 'static) -> Pace {
    let world = Arc::new(Busy { asked: AtomicUsize::new(0), act });
    Pace::new(world, page_time, None)
}

#[derive(Clone, Debug)]
enum Write {
    Put(usize, Value, Value),
    Delete(usize),
}

impl Write {
    fn apply(&self, container: &Container) {
        match self {
            Write::Put(nth, a, b) => {
                let item = ItemRequest::new(None, "", body(*nth, a, b));
                drop(container.upsert_item(HERE, item).unwrap());
            }
            Write::Delete(nth) => {
                let key = PartitionKey::from(key_of(*nth).as_str());
                // It may be gone already.
                let _ = container.delete_item(HERE, ItemRequest::new(Some(key), &nth.to_string(), ""));
            }
        }
    }
}

fn key_of(nth: usize) -> String {
    format!("k{}", nth % 3)
}

fn body(nth: usize, a: &Value, b: &Value) -> String {
    let member = |name: &str, value: &Value| {
        let json = value.to_json().map(|json| String::from_utf8(json).unwrap());
        json.map_or(String::new(), |json| format!(r#","{name}":{json}"#))
    };
    format!(r#"{{"id":"{nth}","pk":"{}"{}{}}}"#, key_of(nth), member("a", a), member("b", b))
}

fn empty() -> (Arc<Engine>, Arc<Container>) {
    with(ContainerProperties::new("c", "/pk").with_indexing_policy(policy()))
}

fn with(properties: ContainerProperties) -> (Arc<Engine>, Arc<Container>) {
    let engine = Engine::new(EngineConfig::default(), Arc::new(Still), Journal::memory()).unwrap();
    engine.create_database(DatabaseProperties::new("d"), None).unwrap();
    let database = ResourcePath::database("d").unwrap();
    let container = engine.create_container(&database, properties, None).unwrap().value;
    (engine, container)
}

fn request(container: &Container, text: &str) -> QueryRequest {
    let scope = FeedScope::Range(container.layout().ranges()[0].id.clone());
    QueryRequest { page_size: PageSize::Any, ..QueryRequest::new(text, scope) }
}

fn any_write() -> impl Strategy<Value = Write> {
    let nth = || KEPT..KEPT + WRITTEN;
    prop_oneof![
        2 => (nth(), any_value(), any_value()).prop_map(|(nth, a, b)| Write::Put(nth, a, b)),
        1 => nth().prop_map(Write::Delete),
    ]
}

fn any_filter() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just(""),
        Just(" WHERE c.a >= 0"),
        Just(" WHERE c.b > 0 OR c.a = true"),
        Just(" WHERE NOT IS_DEFINED(c.b)"),
        Just(" WHERE c.a = 1"),
        Just(" WHERE STARTSWITH(c.a, 'a')"),
    ]
}

fn any_order() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just(""),
        Just(" ORDER BY c.a"),
        Just(" ORDER BY c.a DESC"),
        Just(" ORDER BY c.b"),
        Just(" ORDER BY c.a, c.b DESC"),
        Just(" ORDER BY c.a DESC, c.b"),
    ]
}

fn any_ties() -> impl Strategy<Value = TieOrder> {
    prop_oneof![Just(TieOrder::FirstKey), Just(TieOrder::Ascending), Just(TieOrder::Descending)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn what_nobody_writes_comes_once_and_in_its_place(
        values in prop::collection::vec((any_value(), any_value()), KEPT + WRITTEN),
        writes in prop::collection::vec(any_write(), 1..60),
        filter in any_filter(), order in any_order(), ties in any_ties(), size in 1usize..6,
        hurried: bool,
    ) {
        let (_engine, container) = empty();
        for (turn, (a, b)) in values.iter().enumerate() {
            // Kept and written ones take turns, as 7 and their number have no common divisor.
            Write::Put(turn * 7 % values.len(), a.clone(), b.clone()).apply(&container);
        }
        let text = format!("SELECT VALUE c.id FROM c{filter}{order}");
        let mut request = QueryRequest { ties, ..request(&container, &text) };
        let kept = |request: &mut QueryRequest| {
            let page = run(&container, HERE, request, &Still).unwrap();
            request.continuation = page.continuation;
            let is_kept = |row: &String| row.trim_matches('"').parse::<usize>().unwrap() < KEPT;
            texts(&page.rows).into_iter().filter(is_kept).collect::<Vec<_>>()
        };
        let alone = kept(&mut request);
        request.page_size = PageSize::Rows(size);
        let (writing, writes) = (Arc::clone(&container), Mutex::new(writes));
        // Without any time, a page ends as soon as it can.
        let page_time = Duration::from_secs(if hurried { 0 } else { 60 });
        request.pace = disturbed(page_time, move |_| {
            let write = writes.lock().unwrap().pop();
            write.iter().for_each(|write| write.apply(&writing));
        });
        let mut rows = kept(&mut request);
        while request.continuation.is_some() {
            rows.extend(kept(&mut request));
        }
        if order.is_empty() {
            prop_assert_eq!(unordered(rows), unordered(alone), "{}", text);
        } else {
            prop_assert_eq!(rows, alone, "{}", text);
        }
    }
}

#[test]
fn an_order_whose_index_goes_while_it_is_read_is_refused_and_not_cut_short() {
    for (order, why) in [
        ("ORDER BY c.a", "order-by item is excluded"),
        ("ORDER BY c.a DESC", "order-by item is excluded"),
        ("ORDER BY c.a, c.b DESC", "composite index"),
    ] {
        let (engine, container) = empty();
        for nth in 0..20 {
            Write::Put(nth, Value::Number(nth as f64), Value::Null).apply(&container);
        }
        let mut request = request(&container, &format!("SELECT VALUE c.id FROM c {order}"));
        assert_eq!(run(&container, HERE, &request, &Still).unwrap().rows.len(), 20, "{order}");
        request.pace = disturbed(Duration::from_secs(60), move |asked| {
            if asked == 5 {
                let path = ResourcePath::parse("/dbs/d/colls/c").unwrap();
                let policy = IndexingPolicy::default().with_excluded_path("/a/*");
                let properties = ContainerProperties::new("c", "/pk").with_indexing_policy(policy);
                drop(engine.replace_container(&path, properties, Conditions::default()).unwrap());
            }
        });
        let refused = run(&container, HERE, &request, &Still).unwrap_err();
        assert!(refused.message.contains(why), "{refused}");
    }
}

/// A container with texts of a language at `/t` and vectors at `/v`, both indexed.
fn searched(language: &str) -> ContainerProperties {
    let path = FullTextPath {
        path: "/t".to_owned(),
        language: Some(language.to_owned()),
        extra: Default::default(),
    };
    let vectors = vec![VectorEmbedding::new("/v", 2, VectorDistanceFunction::Euclidean)];
    ContainerProperties::new("c", "/pk")
        .with_indexing_policy(
            IndexingPolicy::default()
                .with_vector_index(VectorIndex::new("/v", VectorIndexType::Flat))
                .with_full_text_index("/t"),
        )
        .with_vector_embedding_policy(VectorEmbeddingPolicy {
            vector_embeddings: vectors,
            ..Default::default()
        })
        .with_full_text_policy(FullTextPolicy { full_text_paths: Some(vec![path]), ..Default::default() })
}

fn put(container: &Container, nth: usize, text: &str, place: usize) {
    let body = format!(r#"{{"id":"{nth}","pk":"k","t":"{text}","v":[{place},0]}}"#);
    drop(container.upsert_item(HERE, ItemRequest::new(None, "", body)).unwrap());
}

/// Writes come between the slices of a search, so that they need not wait for all of it; and none of the documents that
/// fit before and after a write is lost by it.
#[test]
fn a_search_that_is_written_to_finds_all_that_always_fits() {
    const DOCUMENTS: usize = 30;
    for (text, rows, slices) in [
        ("SELECT VALUE c.id FROM c WHERE FullTextContainsAny(c.t, 'red', 'blue')", DOCUMENTS, 20),
        (
            "SELECT VALUE c.id FROM c WHERE FullTextContainsAny(c.t, {'term': 'rod', 'distance': 1}, 'blue')",
            DOCUMENTS,
            20,
        ),
        ("SELECT VALUE c.id FROM c WHERE FullTextContainsAll(c.t, 'words', 'pale')", DOCUMENTS, 20),
        ("SELECT TOP 20 VALUE c.id FROM c ORDER BY VectorDistance(c.v, [0, 0])", 20, 10),
        (
            "SELECT TOP 20 VALUE c.id FROM c ORDER BY _FullTextScore(c.t, ['blue', 'red'], 30, 90, [9, 9]) DESC",
            20,
            20,
        ),
    ] {
        let (_engine, container) = with(searched("en-US"));
        let turned = |nth: usize, turn: usize| match turn % 2 {
            0 => (format!("pale words red {nth}"), 1 + nth % 3),
            _ => (format!("blue pale {turn} words"), 2 - nth % 3 / 2),
        };
        for nth in 0..DOCUMENTS {
            let (text, place) = turned(nth, nth);
            put(&container, nth, &text, if nth < 20 { place } else { 1000 });
        }
        let writing = Arc::clone(&container);
        let asks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asks);
        let mut request = request(&container, text);
        request.pace = disturbed(Duration::from_secs(60), move |asked| {
            counted.store(asked, Ordering::Relaxed);
            let nth = asked * 7 % 20;
            let (text, place) = turned(nth, nth + 1 + asked / 20);
            put(&writing, nth, &text, place);
        });
        let mut found = texts(&run(&container, HERE, &request, &Still).unwrap().rows);
        if text.contains("TOP") && text.contains("Vector") {
            // The others are far away.
            assert!(found.iter().all(|id| id.trim_matches('"').parse::<usize>().unwrap() < 20), "{found:?}");
        }
        found.sort();
        found.dedup();
        assert_eq!(found.len(), rows, "{text}");
        let asked = asks.load(Ordering::Relaxed);
        assert!(asked + 1 >= slices + rows, "{text}: asked {asked} times");
    }
}

#[test]
fn a_search_ends_when_nobody_waits_for_it() {
    let (_engine, container) = with(searched("en-US"));
    for nth in 0..30 {
        put(&container, nth, "red", nth);
    }
    for text in [
        "SELECT VALUE c.id FROM c WHERE FullTextContains(c.t, {'term': 'blue', 'distance': 2})",
        "SELECT COUNT(1) AS n, [COUNTIF(FullTextContains(c.t, 'blue'))] AS m FROM c",
        "SELECT TOP 1 VALUE c.id FROM c ORDER BY VectorDistance(c.v, [0, 0])",
    ] {
        let request = request(&container, text);
        let request = QueryRequest { pace: disturbed(Duration::from_secs(60), |_| {}), ..request };
        request.pace.stop();
        let ended = run(&container, HERE, &request, &Still).unwrap_err();
        assert_eq!(ended.status, cosmonaut_wire::CosmosStatus::REQUEST_TIMEOUT, "{text}: {ended}");
    }
}

/// The words of texts are other ones in another language, and so are those of a query that was read before.
#[test]
fn a_search_beside_a_change_of_language_answers_by_one_of_both() {
    for at in 1..40 {
        let (engine, container) = with(searched("en-US"));
        for nth in 0..12 {
            put(&container, nth, if nth % 2 == 0 { "a bicycle" } else { "two bicycles" }, nth);
        }
        let mut request =
            request(&container, "SELECT VALUE c.id FROM c WHERE FullTextContains(c.t, 'bicycles')");
        request.pace = disturbed(Duration::from_secs(60), move |asked| {
            if asked == at {
                let path = ResourcePath::parse("/dbs/d/colls/c").unwrap();
                drop(engine.replace_container(&path, searched("de-DE"), Conditions::default()).unwrap());
            }
        });
        // The query was read in English.
        assert_eq!(run(&container, HERE, &request, &Still).unwrap().rows.len(), 12, "changed at {at}");
        let later = QueryRequest { pace: Pace::default(), ..request };
        let expected = if container.properties().full_text_policy == searched("de-DE").full_text_policy {
            6
        } else {
            12
        };
        assert_eq!(run(&container, HERE, &later, &Still).unwrap().rows.len(), expected);
    }
}
