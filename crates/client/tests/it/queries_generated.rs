//! For generated documents and queries, five partitions answer as one does: in content and in order, page by
//! page, through a token at every page, and while partitions split.
//!
//! Rows that sort alike come by partition, so among them the order is not compared. A window without order may
//! be any rows of the result, so there it is their number that is compared, and that they are of the result.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use cosmonaut::options::FeedOptions;
use cosmonaut::{ContainerClient, FeedScope, Page};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::harness::Bench;
use crate::partitioned::{FIVE, ONE, answer_of_one, container, normal, split};

/// A query, taken apart so that a test knows what it promises.
#[derive(Clone, Debug)]
struct Generated {
    /// `SELECT` and what is selected.
    select: &'static str,
    filter: &'static str,
    /// What comes behind the filter, such as `GROUP BY`.
    tail: &'static str,
    /// The members of rows that they are sorted by, with their directions.
    order: Vec<(&'static str, bool)>,
    window: Option<(u64, u64)>,
}

impl Generated {
    fn text(&self, with_window: bool) -> String {
        let mut text = format!("{} FROM c {} {}", self.select, self.filter, self.tail);
        for (nth, (member, descending)) in self.order.iter().enumerate() {
            let word = if nth == 0 { " ORDER BY" } else { "," };
            text += &format!("{word} c.{member} {}", if *descending { "DESC" } else { "ASC" });
        }
        match self.window.filter(|_| with_window) {
            Some((0, limit)) if self.select.starts_with("SELECT c.id") => {
                text.replacen("SELECT", &format!("SELECT TOP {limit}"), 1)
            }
            Some((offset, limit)) => format!("{text} OFFSET {offset} LIMIT {limit}"),
            None => text,
        }
    }

    /// The values that a row is sorted by.
    fn keys(&self, row: &Value) -> Vec<Option<Value>> {
        self.order.iter().map(|(member, _)| row.get(member).cloned()).collect()
    }

    /// Whether rows are in the order that one partition gives, are of the result, and are as many.
    fn check(&self, whole: &[Value], rows: &[Value]) -> Result<(), String> {
        let (offset, limit) = self.window.unwrap_or((0, u64::MAX));
        let from = (offset as usize).min(whole.len());
        let to = from.saturating_add(limit as usize).min(whole.len());
        if rows.len() != to - from {
            return Err(format!("{} rows instead of {}", rows.len(), to - from));
        }
        let order = |rows: &[Value]| rows.iter().map(|row| self.keys(row)).collect::<Vec<_>>();
        if order(rows) != order(&whole[from..to]) {
            return Err(format!("another order: {rows:?} instead of {:?}", &whole[from..to]));
        }
        let mut left = whole.to_vec();
        for row in rows {
            let Some(at) = left.iter().position(|other| other == row) else {
                return Err(format!("{row} is not in the result, or twice"));
            };
            left.swap_remove(at);
        }
        Ok(())
    }
}

fn document() -> impl Strategy<Value = Value> {
    let a = prop_oneof![
        3 => (0..4).prop_map(|n| json!(n)),
        1 => select(vec!["x", "y", ""]).prop_map(|text| json!(text)),
        1 => select(vec![json!(null), json!(true), json!(false), json!([1]), json!({"n": 1}), json!(-0.5)]),
    ];
    let tags = prop::collection::vec(0..3, 0..3);
    (0..30, prop::option::weighted(0.85, a), prop::option::weighted(0.9, 0..5), -4..20, tags).prop_map(
        |(pk, a, b, n, tags)| {
            let mut document = json!({"pk": format!("key {pk}"), "n": f64::from(n) / 2.0, "tags": tags});
            if let Some(a) = a {
                document["a"] = a;
            }
            if let Some(b) = b {
                document["b"] = json!(b);
            }
            document
        },
    )
}

const ROWS: &str = "SELECT c.id, c.a, c.b, c.n";

fn filter() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        "",
        "WHERE c.b > 1",
        "WHERE IS_DEFINED(c.a) AND c.n >= 0",
        "WHERE c.a = 2 OR c.a = 'x'",
        "WHERE ARRAY_CONTAINS(c.tags, 1)",
        "WHERE c.pk IN ('key 1', 'key 2', 'key 3', 'key 4', 'key 5')",
        "WHERE c.pk = 'key 7'",
        "WHERE false",
    ])
}

fn window() -> impl Strategy<Value = Option<(u64, u64)>> {
    prop::option::weighted(0.4, (prop_oneof![2 => Just(0), 1 => 0..12u64], 0..15u64))
}

fn query() -> impl Strategy<Value = Generated> {
    let orders = vec![
        vec![],
        vec![("a", false)],
        vec![("a", true)],
        vec![("b", false)],
        vec![("n", true)],
        vec![("a", false), ("b", false)],
        vec![("a", true), ("b", true)],
        vec![("a", false), ("b", true)],
        vec![("a", true), ("b", false)],
    ];
    let rows = (filter(), select(orders), window()).prop_map(|(filter, order, window)| Generated {
        select: ROWS,
        filter,
        tail: "",
        order,
        window,
    });
    let joined = (filter(), select(vec![vec![], vec![("a", false)], vec![("a", true)]]), window()).prop_map(
        |(_, order, window)| Generated {
            select: "SELECT c.id, c.a, t",
            filter: "JOIN t IN c.tags",
            tail: "",
            order,
            window,
        },
    );
    let distinct = (
        select(vec![
            ("SELECT DISTINCT c.a", vec![]),
            ("SELECT DISTINCT c.a, c.b", vec![]),
            ("SELECT DISTINCT VALUE c.b", vec![]),
            ("SELECT DISTINCT c.a", vec![("a", false)]),
            ("SELECT DISTINCT c.a", vec![("a", true)]),
            ("SELECT DISTINCT c.a, c.b", vec![("a", false), ("b", true)]),
        ]),
        filter(),
        window(),
    )
        .prop_map(|((select, order), filter, window)| Generated {
            select,
            filter,
            tail: "",
            order,
            window,
        });
    let grouped = (
        select(vec![
            ("SELECT c.a, COUNT(1) AS many, SUM(c.n) AS sum", "GROUP BY c.a"),
            ("SELECT c.a, c.b, MIN(c.n) AS low, MAX(c.n) AS high, AVG(c.n) AS mean", "GROUP BY c.a, c.b"),
            ("SELECT VALUE COUNT(1)", "GROUP BY c.b"),
            ("SELECT DISTINCT VALUE COUNT(1)", "GROUP BY c.b"),
            ("SELECT c.b", "GROUP BY c.b"),
        ]),
        filter(),
        window(),
    )
        .prop_map(|((select, tail), filter, window)| Generated {
            select,
            filter,
            tail,
            order: vec![],
            window,
        });
    let aggregated = (
        select(vec![
            "SELECT VALUE COUNT(1)",
            "SELECT VALUE COUNT(c.a)",
            "SELECT VALUE SUM(c.n)",
            "SELECT VALUE SUM(c.a)",
            "SELECT VALUE AVG(c.n)",
            "SELECT VALUE MIN(c.a)",
            "SELECT VALUE MAX(c.b)",
            "SELECT COUNT(1) AS many, MIN(c.n) AS low, MAX(c.n) AS high, AVG(c.b) AS mean",
        ]),
        filter(),
    )
        .prop_map(|(select, filter)| Generated { select, filter, tail: "", order: vec![], window: None });
    prop_oneof![4 => rows, 1 => joined, 2 => distinct, 2 => grouped, 2 => aggregated]
}

/// How a result is read.
#[derive(Clone, Copy, Debug)]
struct Reading {
    page: u32,
    /// Whether each page is asked for anew, by the token of the one before.
    by_token: bool,
    /// Behind which page a partition is split, and which.
    split: Option<(usize, usize)>,
}

fn reading() -> impl Strategy<Value = Reading> {
    let page = prop_oneof![2 => Just(1), 3 => 1..8u32, 1 => Just(1000)];
    (page, any::<bool>(), prop::option::of((0..4usize, 0..8usize)))
        .prop_map(|(page, by_token, split)| Reading { page, by_token, split })
}

async fn read(bench: &Bench, many: &ContainerClient, text: &str, reading: Reading) -> Vec<Value> {
    let options = FeedOptions { max_item_count: Some(reading.page), ..Default::default() };
    let ask = |continuation: Option<String>| {
        let options = FeedOptions { continuation, ..options.clone() };
        many.query_items::<Value>(text, FeedScope::Container).options(options).into_pages()
    };
    let mut pages = ask(None);
    let mut rows = Vec::new();
    for nth in 0.. {
        assert!(nth < 500, "{text}: it does not end");
        let Some(page) = pages.next().await else { break };
        let Page { items, continuation, .. } = page.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert!(items.len() <= reading.page as usize, "{text}: a page of {} rows", items.len());
        assert!(!items.is_empty() || continuation.is_none(), "{text}: an empty page within the result");
        rows.extend(items.into_iter().map(normal));
        if let Some((behind, which)) = reading.split
            && behind == nth
        {
            split(bench, many.id(), which);
        }
        match continuation {
            None => break,
            Some(token) if reading.by_token => pages = ask(Some(token)),
            Some(_) => {}
        }
    }
    rows
}

/// What all cases share, because starting an emulator for each would take most of the time.
struct Shared {
    runtime: tokio::runtime::Runtime,
    bench: Bench,
    cases: AtomicUsize,
}

fn shared() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(|| {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let bench = runtime.block_on(Bench::start());
        Shared { runtime, bench, cases: AtomicUsize::new(0) }
    })
}

/// The documents in a container with five partitions, and in one with one.
async fn fill(bench: &Bench, case: usize, documents: Vec<Value>) -> (ContainerClient, ContainerClient) {
    let many = container(bench, &format!("many {case}"), FIVE).await;
    let one = container(bench, &format!("one {case}"), ONE).await;
    for (nth, mut document) in documents.into_iter().enumerate() {
        document["id"] = json!(nth.to_string());
        let key = document["pk"].as_str().unwrap();
        for container in [&many, &one] {
            container.create_item(key, &document).await.unwrap();
        }
    }
    (many, one)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 25,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    })]

    #[test]
    fn five_partitions_answer_as_one(
        documents in prop::collection::vec(document(), 0..40),
        queries in prop::collection::vec((query(), reading()), 8),
    ) {
        let Shared { runtime, bench, cases } = shared();
        let case = cases.fetch_add(1, Ordering::Relaxed);
        runtime.block_on(async {
            let (many, one) = fill(bench, case, documents).await;
            for (query, reading) in queries {
                let whole = answer_of_one(bench, one.id(), &query.text(false));
                let text = query.text(true);
                let rows = read(bench, &many, &text, reading).await;
                if let Err(problem) = query.check(&whole, &rows) {
                    return Err(TestCaseError::fail(format!("{text} with {reading:?}: {problem}")));
                }
            }
            Ok(())
        })?;
    }
}
