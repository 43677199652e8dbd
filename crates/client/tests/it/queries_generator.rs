//! Generated documents and queries, with what a test can know of a query's result.
//!
//! Rows that sort alike come by partition, so among them the order is not compared. A window without order may
//! be any rows of the result, so there it is their number that is compared, and that they are of the result.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// A query, taken apart so that a test knows what it promises.
#[derive(Clone, Debug)]
pub(crate) struct Generated {
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
    pub(crate) fn text(&self, with_window: bool) -> String {
        let mut text = format!("{} FROM c {} {}", self.select, self.filter, self.tail);
        for (nth, (member, descending)) in self.order.iter().enumerate() {
            let word = if nth == 0 { " ORDER BY" } else { "," };
            text += &format!("{word} c.{member} {}", if *descending { "DESC" } else { "ASC" });
        }
        match self.window.filter(|_| with_window) {
            Some((0, limit)) if self.tail.is_empty() => {
                let select = if text.starts_with("SELECT DISTINCT") { "SELECT DISTINCT" } else { "SELECT" };
                text.replacen(select, &format!("{select} TOP {limit}"), 1)
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
    pub(crate) fn check(&self, whole: &[Value], rows: &[Value]) -> Result<(), String> {
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

pub(crate) fn document() -> impl Strategy<Value = Value> {
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

pub(crate) fn query() -> impl Strategy<Value = Generated> {
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
    let joined = (
        select(vec![
            ("SELECT c.id, c.a, t", "JOIN t IN c.tags"),
            ("SELECT c.id, c.a, c.b, t", "JOIN t IN c.tags WHERE t > 0"),
            ("SELECT c.id, c.a, t, u", "JOIN t IN c.tags JOIN u IN c.tags"),
            ("SELECT DISTINCT c.a, t", "JOIN t IN c.tags"),
        ]),
        select(vec![vec![], vec![("a", false)], vec![("a", true)], vec![("a", true), ("b", false)]]),
        window(),
    )
        .prop_map(|((select, filter), order, window)| Generated {
            select,
            filter,
            tail: "",
            order,
            window,
        });
    // The value is undefined for some of the documents, which are of no account to a window.
    let orders = vec![vec![], vec![("a", false)], vec![("n", false)], vec![("n", true)]];
    let few = prop::option::weighted(0.8, (0..3u64, 1..6u64));
    let valued = (filter(), select(orders), few).prop_map(|(filter, order, window)| Generated {
        select: "SELECT VALUE IIF(c.b > 1, {\"id\": c.id, \"a\": c.a, \"n\": c.n}, undefined)",
        filter,
        tail: "",
        order,
        window,
    });
    let distinct = (
        select(vec![
            ("SELECT DISTINCT c.a", vec![]),
            ("SELECT DISTINCT c.a, c.b", vec![]),
            ("SELECT DISTINCT VALUE c.b", vec![]),
            ("SELECT DISTINCT c.a", vec![("a", false)]),
            ("SELECT DISTINCT c.a", vec![("a", true)]),
            ("SELECT DISTINCT c.a, c.b", vec![("a", false), ("b", true)]),
            ("SELECT DISTINCT c.a, c.b", vec![("a", true), ("b", true)]),
            ("SELECT DISTINCT c.b, c.a", vec![("a", true), ("b", false)]),
            ("SELECT DISTINCT c.a", vec![("a", false), ("b", false)]),
            ("SELECT DISTINCT c.a", vec![("a", true), ("b", false)]),
            ("SELECT DISTINCT c.a, c.n", vec![("a", true)]),
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
    prop_oneof![4 => rows, 2 => joined, 2 => valued, 4 => distinct, 2 => grouped, 1 => aggregated]
}
