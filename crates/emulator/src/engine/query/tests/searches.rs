//! Searches: what indexes over vectors and texts answer equals a plain run, costs by what it gives, and follows writes.

use cosmonaut_query::Setting;
use cosmonaut_query::merge::{Fusion, Statistics};
use cosmonaut_query::plan::FILTER_PLACEHOLDER;
use cosmonaut_wire::model::{
    FullTextPath, FullTextPolicy, IndexingPolicy, QuerySpec, VectorDistanceFunction, VectorEmbedding,
    VectorEmbeddingPolicy, VectorIndex, VectorIndexType,
};
use proptest::prelude::*;
use serde_json::value::RawValue;

use super::super::compiled::{planned, read};
use super::super::{IndexMetrics, PageSize, QueryRequest};
use super::store::{Store, texts};
use crate::engine::charge::{self, QueryCost};
use crate::engine::{FeedScope, RegionId};
use crate::index::Index;

fn indexed() -> IndexingPolicy {
    IndexingPolicy::default()
        .with_excluded_path("/v/*")
        .with_vector_index(VectorIndex::new("/v", VectorIndexType::QuantizedFlat))
        .with_full_text_index("/t")
}

/// A container with vectors at `/v` and texts at `/t`, indexed or not.
fn store(
    policy: &IndexingPolicy,
    metric: VectorDistanceFunction,
    partitions: u8,
    documents: &[String],
) -> Store {
    let mut store = Store::new(policy, partitions);
    let vectors = vec![VectorEmbedding::new("/v", 2, metric)];
    store.properties.vector_embedding_policy =
        Some(VectorEmbeddingPolicy { vector_embeddings: vectors, ..Default::default() });
    let path = FullTextPath { path: "/t".to_owned(), language: None, extra: Default::default() };
    store.properties.full_text_policy =
        Some(FullTextPolicy { full_text_paths: Some(vec![path]), ..Default::default() });
    for document in documents {
        store.insert(document);
    }
    store
}

fn any_metric() -> impl Strategy<Value = VectorDistanceFunction> {
    prop_oneof![
        Just(VectorDistanceFunction::Cosine),
        Just(VectorDistanceFunction::DotProduct),
        Just(VectorDistanceFunction::Euclidean),
    ]
}

fn any_vector() -> impl Strategy<Value = String> {
    let near =
        prop_oneof![Just("0.1"), Just("0.1000000001"), Just("-3"), Just("0"), Just("1e-40"), Just("1e300")];
    prop_oneof![
        6 => (near.clone(), near).prop_map(|(x, y)| format!("[{x},{y}]")),
        3 => (-2i32..3, -2i32..3).prop_map(|(x, y)| format!("[{x},{y}]")),
        1 => Just("[1]".to_owned()),
        1 => Just("\"none\"".to_owned()),
        1 => Just("[1,\"x\"]".to_owned()),
    ]
}

fn any_text() -> impl Strategy<Value = String> {
    let word =
        prop_oneof![Just("red"), Just("reds"), Just("rad"), Just("the"), Just("blue"), Just("bicycle")];
    prop_oneof![
        8 => prop::collection::vec(word, 0..6).prop_map(|words| format!("\"{}\"", words.join(" "))),
        1 => Just("5".to_owned()),
    ]
}

fn any_documents() -> impl Strategy<Value = Vec<String>> {
    let document =
        (any_vector(), any_text(), 0..3).prop_map(|(v, t, a)| format!(r#"{{"v":{v},"t":{t},"a":{a}}}"#));
    prop::collection::vec(document, 0..14)
}

fn any_order() -> impl Strategy<Value = String> {
    let vector = any_vector().prop_filter("constant", |vector| vector.starts_with('['));
    let distance = vector.prop_map(|vector| format!("VectorDistance(c.v, {vector})"));
    let score = prop_oneof![
        Just("['red']"),
        Just("['red', 'blue bicycle']"),
        Just("[{'term': 'red', 'distance': 1}]")
    ];
    let score = score.prop_map(|terms| {
        let hits = if terms.contains(", 'blue") { "[3, 1]" } else { "[3]" };
        format!("_FullTextScore(c.t, {terms}, 9, 30, {hits})")
    });
    prop_oneof![
        distance,
        score.clone().prop_map(|score| format!("{score} DESC")),
        score.prop_map(|score| format!("{score} ASC"))
    ]
}

fn any_condition() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        3 => Just(""),
        1 => Just(" WHERE c.a = 1"),
        1 => Just(" WHERE FullTextContains(c.t, 'red')"),
        1 => Just(" WHERE FullTextContainsAll(c.t, 'red', 'blue') OR c.a = 2"),
        1 => Just(" WHERE FullTextContainsAny(c.t, 'bicycles', {'term': 'rid', 'distance': 1})"),
        1 => Just(" WHERE FullTextContainsAny(c.t, {'term': 'rid', 'distance': 2}, 'blue', 'the')"),
        1 => Just(" WHERE FullTextContains(c.t, 'blue bicycle')"),
        1 => Just(" WHERE NOT FullTextContains(c.t, 'blue')"),
    ]
}

fn any_window() -> impl Strategy<Value = (&'static str, &'static str)> {
    prop_oneof![Just(("TOP 3 ", "")), Just(("TOP 20 ", "")), Just(("", "")), Just(("", " OFFSET 1 LIMIT 2"))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn an_index_answers_as_a_plain_run_does(
        documents in any_documents(), metric in any_metric(), order in any_order(), condition in any_condition(),
        (top, window) in any_window(), size in 1usize..6, removed in 0u64..14,
    ) {
        let store = store(&indexed(), metric, 1, &documents);
        store.remove(removed);
        let text = format!("SELECT {top}c.id, c.v, c.t FROM c{condition} ORDER BY {order}{window}");
        let plain = store.plain(&text).unwrap();
        prop_assert_eq!(&store.all(&text).unwrap(), &plain, "{}", text);
        prop_assert_eq!(&store.rows(&text, FeedScope::Container, size).unwrap(), &plain, "{}", text);
        let text = format!("SELECT VALUE c.id FROM c{condition}");
        prop_assert_eq!(store.all(&text).unwrap(), store.plain(&text).unwrap(), "{}", text);
    }

    #[test]
    fn an_index_that_is_filled_is_one_that_followed(documents in any_documents(), removed in 0u64..14) {
        let store = store(&indexed(), VectorDistanceFunction::Cosine, 1, &documents);
        let replica = store.layout.ranges()[0].replica(RegionId(0));
        store.remove(removed);
        let mut filled = Index::of(&store.properties).unwrap();
        replica.read(|state| {
            let all: Vec<_> = state.documents().filter_map(|d| state.share(d.number).cloned()).collect();
            filled.fill(&all, || {});
            prop_assert!(filled == *state.index());
            Ok(())
        })?;
    }

    #[test]
    fn many_partitions_answer_as_one_does(
        documents in any_documents(), metric in any_metric(), vector in (-3i32..4, -3i32..4), partitions in 2u8..5,
    ) {
        // Rows of equal distance come by partition, so only distances are compared.
        let distance = format!("VectorDistance(c.v, [{}, {}])", vector.0, vector.1);
        let text = format!("SELECT TOP 5 VALUE {distance} ?? 'none' FROM c ORDER BY {distance}");
        let one = store(&indexed(), metric.clone(), 1, &documents);
        let many = store(&indexed(), metric, partitions, &documents);
        prop_assert_eq!(many.merged(&text, 2).unwrap(), one.plain(&text).unwrap(), "{}", text);
    }
}

/// What a client makes of a ranked query over all partitions.
fn fused(store: &Store, text: &str) -> Vec<String> {
    let (query, parameters) = read(&QuerySpec::new(text)).unwrap();
    let key = &store.properties.partition_key;
    let plan = planned(&query, &parameters, key, &Setting::of(&store.properties)).unwrap();
    let mut search = plan.hybrid_search_query_info.unwrap();
    let all = |text: &str| -> Vec<Box<RawValue>> {
        let ranges = store.layout.ranges().iter();
        let rows =
            ranges.flat_map(|range| store.rows(text, FeedScope::Range(range.id.clone()), 1000).unwrap());
        rows.map(|row| RawValue::from_string(row).unwrap()).collect()
    };
    let mut statistics = Statistics::default();
    all(&search.global_statistics_query).iter().for_each(|row| statistics.add(row).unwrap());
    statistics.fill(&mut search.component_query_infos);
    let mut fusion = Fusion::new(&search);
    for component in &search.component_query_infos {
        let rows = all(&component.rewritten_query.replace(FILTER_PLACEHOLDER, "true"));
        rows.iter().for_each(|row| fusion.add(row).unwrap());
    }
    fusion.finish().iter().map(|row| row.get().to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn counts_of_an_index_are_those_of_a_plain_run(documents in any_documents(), removed in 0u64..14) {
        let store = store(&indexed(), VectorDistanceFunction::Cosine, 1, &documents);
        store.remove(removed);
        let hits = ["'red'", "'blue bicycle'", "{'term': 'red', 'distance': 1}", "'the'"]
            .map(|term| format!("COUNTIF(FullTextContains(c.t, {term}))"));
        let text = format!(
            "SELECT COUNT(1) AS documentCount, [{{'totalWordCount': SUM(_FullTextWordCount(c.t)), \
             'hitCounts': [{}]}}] AS fullTextStatistics FROM c",
            hits.join(", ")
        );
        prop_assert_eq!(store.all(&text).unwrap(), store.plain(&text).unwrap());
    }
}

const RANKED: [(&str, &str); 6] = [
    ("TOP 3 ", "FullTextScore(c.t, 'bicycle')"),
    ("TOP 10 ", "VectorDistance(c.v, [1, 0])"),
    ("TOP 10 ", "RRF(FullTextScore(c.t, 'red', 'bicycle'), VectorDistance(c.v, [1, 0]))"),
    ("TOP 10 ", "RRF(FullTextScore(c.t, 'red', 'bicycle'), VectorDistance(c.v, [1, 0]), [1, -3])"),
    ("", "RRF(FullTextScore(c.t, 'red bicycle'), FullTextScore(c.t, 'blue'), VectorDistance(c.v, [1, 0]))"),
    (
        "",
        "RRF(FullTextScore(c.t, {'term': 'rad', 'distance': 1}), FullTextScore(c.t, 'blue')) OFFSET 1 LIMIT 2",
    ),
];

fn bicycles() -> Vec<String> {
    let texts = [
        ("red bicycle", "[1, 0]"),
        ("a blue bicycle with a red bell", "[0.9, 0.1]"),
        ("mountains", "[0, 1]"),
        ("red bicycles and red bicycle bells", "[-1, 0]"),
        ("blue", "[0.5, 0.5]"),
        ("bicycle", "[0, -1]"),
    ];
    texts.iter().map(|(t, v)| format!(r#"{{"t":"{t}","v":{v}}}"#)).collect()
}

#[test]
fn a_rank_of_one_partition_is_what_a_client_makes_of_many() {
    let documents = bicycles();
    for metric in [VectorDistanceFunction::Cosine, VectorDistanceFunction::Euclidean] {
        let one = store(&indexed(), metric.clone(), 1, &documents);
        let many = store(&indexed(), metric.clone(), 3, &documents);
        let unindexed = store(&IndexingPolicy::default(), metric, 2, &documents);
        for (top, rank) in RANKED {
            let text = format!("SELECT {top}VALUE c.id FROM c ORDER BY RANK {rank}");
            let rows = one.all(&text).unwrap();
            assert!(!rows.is_empty(), "{text}");
            assert_eq!(one.rows(&text, FeedScope::Container, 2).unwrap(), rows, "{text}");
            assert_eq!(fused(&many, &text), rows, "{text}");
            assert_eq!(fused(&unindexed, &text), rows, "{text}");
        }
    }
}

#[test]
fn the_best_fitting_documents_come_first() {
    let store = store(&indexed(), VectorDistanceFunction::Cosine, 1, &bicycles());
    for (rank, first) in [
        ("FullTextScore(c.t, 'red bicycle')", ["1", "4"]),
        ("FullTextScore(c.t, 'mountain')", ["3", "1"]),
        ("VectorDistance(c.v, [1, 0])", ["1", "2"]),
        ("RRF(FullTextScore(c.t, 'blue'), VectorDistance(c.v, [1, 1]))", ["5", "2"]),
        ("RRF(FullTextScore(c.t, 'blue'), VectorDistance(c.v, [1, 1]), [0, 1])", ["5", "2"]),
    ] {
        let text = format!("SELECT TOP 2 VALUE c.id FROM c ORDER BY RANK {rank}");
        let rows: Vec<_> =
            store.all(&text).unwrap().iter().map(|row| row.trim_matches('"').to_owned()).collect();
        assert_eq!(rows, first, "{text}");
    }
}

#[test]
fn a_rank_over_partitions_is_left_to_the_client_with_its_plan() {
    let store = store(&indexed(), VectorDistanceFunction::Cosine, 2, &bicycles());
    let text = "SELECT TOP 2 * FROM c ORDER BY RANK FullTextScore(c.t, 'red')";
    let failure = store.run(&QueryRequest::new(text, FeedScope::Container)).unwrap_err();
    assert_eq!(failure.status, cosmonaut_wire::CosmosStatus::CROSS_PARTITION_QUERY_NOT_SERVABLE);
    assert!(failure.additional_info.is_some_and(|plan| plan.contains("globalStatisticsQuery")));
    let one = QueryRequest::new(text, FeedScope::Key("1".into()));
    assert_eq!(store.run(&one).unwrap().rows.len(), 1);
}

#[test]
fn what_is_not_indexed_is_found_all_the_same() {
    let indexed = indexed();
    let none = IndexingPolicy {
        vector_indexes: indexed.vector_indexes.clone(),
        full_text_indexes: indexed.full_text_indexes.clone(),
        ..IndexingPolicy::none()
    };
    let store = store(&none, VectorDistanceFunction::Cosine, 1, &bicycles());
    for text in [
        "SELECT VALUE c.id FROM c WHERE FullTextContains(c.t, 'bicycle')",
        "SELECT COUNT(1) AS n, [SUM(_FullTextWordCount(c.t)), COUNTIF(FullTextContains(c.t, 'red'))] AS m FROM c",
        "SELECT TOP 3 VALUE c.id FROM c ORDER BY VectorDistance(c.v, [1, 0])",
    ] {
        let plain = store.plain(text).unwrap();
        assert!(!plain.is_empty(), "{text}");
        assert_eq!(store.all(text).unwrap(), plain, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Texts are compared with those of all partitions, also after some are gone.
    #[test]
    fn a_rank_over_partitions_is_that_of_one(
        documents in any_documents(), metric in any_metric(), (top, rank) in prop::sample::select(&RANKED[..]),
        partitions in 2u8..5, removed in prop::collection::vec(0u64..14, 0..3), is_indexed in any::<bool>(),
    ) {
        let policy = if is_indexed { indexed() } else { IndexingPolicy::default() };
        let one = store(&indexed(), metric.clone(), 1, &documents);
        let many = store(&policy, metric, partitions, &documents);
        for number in removed {
            one.remove(number);
            many.remove(number);
        }
        let text = format!("SELECT {top}VALUE c.id FROM c ORDER BY RANK {rank}");
        prop_assert_eq!(fused(&many, &text), one.all(&text).unwrap(), "{}", text);
    }
}

#[test]
fn a_rank_of_more_than_fits_into_a_page_looks_at_each_document_once() {
    let filler = "x".repeat(PageSize::MAX_BYTES / 3);
    let documents: Vec<String> =
        (0..9).map(|n| format!(r#"{{"t":"red {}","x":"{filler}"}}"#, "blue ".repeat(n))).collect();
    let store = store(&IndexingPolicy::default(), VectorDistanceFunction::Cosine, 1, &documents);
    let ranked = |select: &str| {
        let text = format!("SELECT VALUE {select} FROM c ORDER BY RANK FullTextScore(c.t, 'red')");
        store.run(&QueryRequest::new(text.as_str(), FeedScope::Container)).unwrap()
    };
    let (ids, fillers) = (ranked("c.id"), ranked("[c.id, c.x]"));
    assert_eq!(texts(&ids.rows).concat(), r#""1""2""3""4""5""6""7""8""9""#);
    assert!(fillers.rows.len() < 9 && fillers.continuation.is_some(), "the page is full");
    let sent = charge::query(&QueryCost { sent_bytes: 9 * filler.len() as u64, ..QueryCost::default() });
    assert!(
        fillers.charge <= ids.charge + 1.1 * sent,
        "{} for ids, {} with {sent} for sending",
        ids.charge,
        fillers.charge
    );
}

/// How many documents a query loads.
fn loaded(store: &Store, text: &str) -> u64 {
    let mut request = QueryRequest::new(text, FeedScope::Container);
    (request.populate_metrics, request.page_size) = (true, PageSize::Rows(100));
    let page = store.run(&request).unwrap();
    assert!(!texts(&page.rows).is_empty(), "{text}");
    let metrics = page.metrics.unwrap();
    let count = metrics.split(';').find_map(|part| part.strip_prefix("retrievedDocumentCount="));
    count.unwrap().parse().unwrap()
}

#[test]
fn searches_cost_by_what_they_give() {
    let document = |n: u32| {
        let angle = f64::from(n) * 0.003;
        let word = if n.is_multiple_of(250) { "rare" } else { "common" };
        format!(r#"{{"t":"{word} words","v":[{}, {}]}}"#, angle.cos(), angle.sin())
    };
    let documents: Vec<String> = (0..1000).map(document).collect();
    let store = store(&indexed(), VectorDistanceFunction::Cosine, 1, &documents);
    for (text, most) in [
        ("SELECT TOP 5 c.id FROM c ORDER BY VectorDistance(c.v, [1, 0])", 64),
        ("SELECT c.id FROM c WHERE FullTextContains(c.t, 'rare')", 4),
        (
            "SELECT COUNT(1) AS n, [SUM(_FullTextWordCount(c.t)), COUNTIF(FullTextContains(c.t, 'rare words'))] AS m FROM c",
            4,
        ),
        ("SELECT TOP 3 c.id FROM c ORDER BY _FullTextScore(c.t, ['rare'], 1000, 2000, [4]) DESC", 64),
    ] {
        assert!(loaded(&store, text) <= most, "{text}: {}", loaded(&store, text));
    }
    let unindexed = self::store(&IndexingPolicy::default(), VectorDistanceFunction::Cosine, 1, &documents);
    let text = "SELECT TOP 5 c.id FROM c ORDER BY VectorDistance(c.v, [1, 0])";
    assert_eq!(loaded(&unindexed, text), 1000);
    assert_eq!(store.all(text).unwrap(), unindexed.all(text).unwrap());
}

#[test]
fn a_search_that_gives_every_document_loads_each_once() {
    let documents: Vec<String> = (0..40)
        .map(|n| if n % 4 == 0 { r#"{"t":5}"#.to_owned() } else { format!(r#"{{"t":"red","v":[{n}, 1]}}"#) })
        .collect();
    let store = store(&indexed(), VectorDistanceFunction::Euclidean, 1, &documents);
    for order in ["VectorDistance(c.v, [1, 0])", "_FullTextScore(c.t, ['red'], 40, 30, [30]) DESC"] {
        let text = format!("SELECT TOP 100 c.id FROM c ORDER BY {order}");
        assert_eq!(loaded(&store, &text), 40, "{text}");
        assert_eq!(store.all(&text).unwrap(), store.plain(&text).unwrap(), "{text}");
    }
}

#[test]
fn a_ranked_query_says_what_it_cost_and_which_indexes_it_used() {
    let store = store(&indexed(), VectorDistanceFunction::Cosine, 1, &bicycles());
    let mut request = QueryRequest::new(
        "SELECT TOP 3 c.id FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'red'), VectorDistance(c.v, [1, 0]))",
        FeedScope::Container,
    );
    request.populate_metrics = true;
    request.index_metrics = Some(IndexMetrics::UriEncoded);
    let page = store.run(&request).unwrap();
    let metrics = page.metrics.unwrap();
    let number = |name: &str| -> u64 {
        metrics.split(';').find_map(|part| part.strip_prefix(name)?.strip_prefix('=')?.parse().ok()).unwrap()
    };
    assert_eq!(number("outputDocumentCount"), 3, "{metrics}");
    // Each of the six by each of two scores, at most.
    assert!((6..=12).contains(&number("retrievedDocumentCount")), "{metrics}");
    assert!(number("retrievedDocumentSize") > 100, "{metrics}");
    let used = page.index_utilization.unwrap();
    assert!(used.contains("%2Ft%2F%3F") && used.contains("%2Fv%2F%3F"), "{used}");
    request.populate_metrics = false;
    request.index_metrics = None;
    let page = store.run(&request).unwrap();
    assert!(page.metrics.is_none() && page.index_utilization.is_none());
}

/// A query that was read before the language of texts was changed, or after it while their index is made anew.
#[test]
fn texts_of_another_language_are_not_looked_for_in_an_index() {
    let mut store = store(&indexed(), VectorDistanceFunction::Cosine, 1, &bicycles());
    let path =
        FullTextPath { path: "/t".to_owned(), language: Some("de-DE".to_owned()), extra: Default::default() };
    store.properties.full_text_policy =
        Some(FullTextPolicy { full_text_paths: Some(vec![path]), ..Default::default() });
    for (text, rows) in [
        ("SELECT VALUE c.id FROM c WHERE FullTextContains(c.t, 'bicycles')", 1),
        ("SELECT VALUE c.id FROM c WHERE FullTextContainsAny(c.t, 'bicycles', 'mountains', 'with')", 3),
        (
            "SELECT COUNT(1) AS n, [SUM(_FullTextWordCount(c.t)), COUNTIF(FullTextContains(c.t, 'bicycles'))] AS m FROM c",
            1,
        ),
        (
            "SELECT TOP 2 VALUE c.id FROM c ORDER BY _FullTextScore(c.t, ['bicycles', 'with'], 6, 20, [1, 1]) DESC",
            2,
        ),
    ] {
        let plain = store.plain(text).unwrap();
        assert_eq!(plain.len(), rows, "{text}");
        assert_eq!(store.all(text).unwrap(), plain, "{text}");
    }
}
