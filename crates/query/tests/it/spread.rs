//! A query planned, run on each of several partitions and merged gives what it gives on one.

use cosmonaut_query::ast::Query;
use cosmonaut_query::eval::{Environment, Limits, Program, Rows};
use cosmonaut_query::merge::{Merger, Reached, Remaining, Step, resume_filter};
use cosmonaut_query::plan::FILTER_PLACEHOLDER;
use cosmonaut_query::{Parameters, check, parse, plan};
use cosmonaut_wire::model::QueryInfo;
use proptest::prelude::*;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::generated::documents;
use crate::harness::texts;

/// Queries whose results do not depend on how rows that sort alike are ordered.
const QUERIES: &[&str] = &[
    "SELECT * FROM c",
    "SELECT c.x, c.y AS z, c.x = c.y FROM c WHERE IS_DEFINED(c.x)",
    "SELECT TOP 3 c.x FROM c",
    "SELECT VALUE c._rid FROM c OFFSET 2 LIMIT 5",
    "SELECT VALUE t.n FROM c JOIN t IN c.tags",
    "SELECT * FROM c ORDER BY c.x",
    "SELECT VALUE c.x FROM c ORDER BY c.x DESC",
    "SELECT VALUE [c.x, c.y, c._rid] FROM c ORDER BY c.x ASC, c.y ASC",
    "SELECT VALUE [c.x, c.y] FROM c ORDER BY c.x ASC, c.y DESC",
    "SELECT TOP 4 VALUE {\"k\": c.x} FROM c ORDER BY c.x",
    "SELECT c.x FROM c ORDER BY c.x OFFSET 3 LIMIT 4",
    "SELECT TOP 3 VALUE c.x FROM c ORDER BY c.x",
    "SELECT TOP 5 VALUE (SELECT VALUE c.x) FROM c ORDER BY c.x DESC",
    "SELECT TOP 5 VALUE t.n FROM c JOIN t IN c.tags WHERE NOT IS_DEFINED(c.x) ORDER BY c._rid",
    "SELECT VALUE c.x FROM c ORDER BY c.x OFFSET 1 LIMIT 3",
    "SELECT c.x, t FROM c JOIN t IN c.tags ORDER BY c.x",
    "SELECT DISTINCT c.x FROM c ORDER BY c.x DESC",
    "SELECT DISTINCT TOP 3 VALUE c.x FROM c ORDER BY c.x",
    "SELECT DISTINCT c.x FROM c ORDER BY c.x OFFSET 1 LIMIT 2",
    "SELECT VALUE COUNT(1) FROM c",
    "SELECT VALUE COUNT(c.x) FROM c WHERE c.y = 1",
    "SELECT VALUE SUM(c.x) FROM c WHERE IS_NUMBER(c.x)",
    "SELECT VALUE SUM(c.x) FROM c",
    "SELECT VALUE AVG(c.x) FROM c WHERE IS_NUMBER(c.x)",
    "SELECT VALUE AVG(c.x) FROM c",
    "SELECT VALUE MIN(c.x) FROM c",
    "SELECT VALUE MAX(c.x) FROM c",
    "SELECT VALUE COUNTIF(c.x = 1) FROM c",
    "SELECT VALUE MakeList(c.x) FROM c",
    "SELECT VALUE MakeSet(c.x) FROM c",
    "SELECT COUNT(1), MIN(c.x) AS low, AVG(c.y) AS mean, 5 AS five FROM c",
];

/// Queries whose rows may come in any order.
const WITHOUT_ORDER: &[&str] = &[
    "SELECT DISTINCT c.x FROM c",
    "SELECT DISTINCT VALUE c.x FROM c",
    "SELECT c.x, COUNT(1) AS n, MAX(c.y) AS high FROM c GROUP BY c.x",
    "SELECT c.x, c.y FROM c GROUP BY c.x, c.y",
    "SELECT VALUE COUNT(1) FROM c GROUP BY c.x",
    "SELECT VALUE c.x FROM c GROUP BY c.x",
    "SELECT DISTINCT VALUE COUNT(1) FROM c GROUP BY c.x",
    "SELECT c.x, SUM(c.y) AS s FROM c GROUP BY c.x",
    "SELECT t.n, COUNT(1) AS many FROM c JOIN t IN c.tags GROUP BY t.n",
];

/// Ordered queries that can stop after any row.
const RESUMABLE: &[&str] = &[
    "SELECT VALUE [c._rid, c.x] FROM c ORDER BY c.x",
    "SELECT VALUE [c._rid, c.x] FROM c ORDER BY c.x DESC",
    "SELECT VALUE [c._rid, c.x, c.y] FROM c ORDER BY c.x ASC, c.y DESC",
    "SELECT VALUE [c._rid, c.x, c.y] FROM c ORDER BY c.x DESC, c.y DESC",
    "SELECT VALUE [c._rid, t] FROM c JOIN t IN c.tags ORDER BY c.x",
    "SELECT TOP 6 VALUE [c._rid, c.x] FROM c ORDER BY c.x",
    "SELECT VALUE [c._rid, c.x] FROM c ORDER BY c.x OFFSET 3 LIMIT 6",
    "SELECT TOP 4 VALUE c.x FROM c ORDER BY c.x",
    "SELECT VALUE c.x FROM c ORDER BY c.x OFFSET 2 LIMIT 4",
];

/// Distinct rows that are sorted by what is selected.
const ORDERED_DISTINCT: &[&str] = &[
    "SELECT DISTINCT VALUE c.x FROM c ORDER BY c.x",
    "SELECT DISTINCT c.x FROM c ORDER BY c.x DESC",
    "SELECT DISTINCT c.x FROM c ORDER BY c.x ASC, c.y DESC",
    "SELECT DISTINCT c.y, c.x FROM c ORDER BY c.x DESC, c.y DESC",
    "SELECT DISTINCT c.x, c.y FROM c ORDER BY c.x ASC, c.y ASC, c.pk DESC",
    "SELECT DISTINCT TOP 3 c.x, c.y FROM c ORDER BY c.x ASC, c.y DESC",
    "SELECT DISTINCT c.x FROM c JOIN t IN c.tags ORDER BY c.x OFFSET 1 LIMIT 3",
];

pub(crate) fn compile(query: &Query, parameters: &Parameters) -> Program {
    let environment = Environment {
        now_ticks: 0,
        random: &|| 0.5,
        limits: Limits::default(),
        computed: &[],
        setting: &Default::default(),
    };
    Program::compile(query, parameters, &environment).unwrap()
}

fn run(text: &str, documents: &[Json], first: usize) -> Rows {
    let query = parse(text).unwrap_or_else(|error| panic!("{error}"));
    check(&query, text).unwrap_or_else(|error| panic!("{error}"));
    let mut execution = compile(&query, &Parameters::new()).start();
    let mut rows = Rows::new();
    for (at, document) in documents.iter().enumerate() {
        execution.push(document.to_string().as_bytes(), (first + at) as u64, &mut rows).unwrap();
    }
    execution.finish(&mut rows).unwrap();
    rows
}

fn info(text: &str) -> QueryInfo {
    plan(&parse(text).unwrap(), &Parameters::new(), &"/pk".into()).unwrap().query_info.unwrap()
}

/// Runs the rewritten query on each partition, with a filter for each, and feeds the results to a merger.
fn feed(merger: &mut Merger, info: &QueryInfo, text: &str, partitions: &[&[Json]], filters: &[String]) {
    let mut first = 0;
    for (source, (documents, filter)) in partitions.iter().zip(filters).enumerate() {
        let rewritten = match info.rewritten_query.as_str() {
            "" => text.to_owned(),
            rewritten => rewritten.replace(FILTER_PLACEHOLDER, filter),
        };
        let rows = texts(&run(&rewritten, documents, first));
        let rows = rows.into_iter().map(|row| RawValue::from_string(row).unwrap()).collect();
        merger.feed(source, rows, true).unwrap();
        first += documents.len();
    }
}

fn next(merger: &mut Merger) -> Option<String> {
    match merger.step().unwrap() {
        Step::Row(row) => Some(row.get().to_owned()),
        Step::NeedPage(source) => panic!("source {source} has ended"),
        Step::Done => None,
    }
}

fn spread(text: &str, partitions: &[&[Json]]) -> Vec<String> {
    let info = info(text);
    let mut merger = Merger::new(&info, partitions.len());
    feed(&mut merger, &info, text, partitions, &vec!["true".to_owned(); partitions.len()]);
    std::iter::from_fn(|| next(&mut merger)).collect()
}

/// As [`spread`], in pages of so many rows, and with partitions that pass over what repeats their last rows.
fn spread_passing(text: &str, partitions: &[&[Json]], size: usize) -> Vec<String> {
    let info = info(text);
    let rows = |documents: &[Json], filter: &str| {
        texts(&run(&info.rewritten_query.replace(FILTER_PLACEHOLDER, filter), documents, 0))
    };
    let mut left: Vec<_> = partitions.iter().map(|documents| rows(documents, "true")).collect();
    let mut merger = Merger::new(&info, partitions.len());
    let mut given = Vec::new();
    loop {
        match merger.step().unwrap() {
            Step::Row(row) => given.push(row.get().to_owned()),
            Step::Done => return given,
            Step::NeedPage(source) => {
                let taken = size.min(left[source].len());
                let rest = left[source].split_off(taken);
                let page = std::mem::replace(&mut left[source], rest);
                let page = page.into_iter().map(|row| RawValue::from_string(row).unwrap()).collect();
                merger.feed(source, page, left[source].is_empty()).unwrap();
                if let Some(repeats) = merger.take_repeats(source).filter(|_| !left[source].is_empty()) {
                    let (keys, order) = (&info.order_by_expressions, &repeats.order);
                    let filter = resume_filter(keys, &info.order_by, order, Remaining::After);
                    let behind = rows(partitions[source], &filter);
                    assert!(behind.len() <= left[source].len(), "{text}: it goes back");
                    left[source] = behind;
                }
            }
        }
    }
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

/// Documents cut into partitions, some of them empty.
fn cut<'d>(documents: &'d [Json], cuts: &[usize]) -> Vec<&'d [Json]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| (*cut).min(documents.len())).collect();
    cuts.extend([0, documents.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|cut| &documents[cut[0]..cut[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn many_partitions_answer_as_one(documents in documents(), cuts in proptest::collection::vec(0..20usize, 0..4)) {
        let partitions = cut(&documents, &cuts);
        for text in QUERIES {
            let whole = texts(&run(text, &documents, 0));
            prop_assert_eq!(spread(text, &partitions), whole, "{}", text);
        }
        for text in WITHOUT_ORDER {
            let whole = sorted(texts(&run(text, &documents, 0)));
            prop_assert_eq!(&sorted(spread(text, &partitions)), &whole, "{}", text);
            // Any rows will do for a window, as long as there are so many and they are of the result.
            for window in ["OFFSET 0 LIMIT 2", "OFFSET 1 LIMIT 2"] {
                let expected = texts(&run(&format!("{text} {window}"), &documents, 0)).len();
                let rows = spread(&format!("{text} {window}"), &partitions);
                prop_assert_eq!(rows.len(), expected, "{} {}", text, window);
                let mut left = whole.clone();
                for row in rows {
                    let at = left.iter().position(|other| *other == row);
                    prop_assert!(at.is_some(), "{} {}: {}", text, window, row);
                    left.remove(at.unwrap());
                }
            }
        }
        // Counting distinct values is the merger's work even on a single partition.
        let distinct = run("SELECT DISTINCT c.x, c.y FROM c", &documents, 0).len();
        let counted = spread("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.x, c.y FROM c) AS d", &partitions);
        prop_assert_eq!(counted, [distinct.to_string()]);
    }

    #[test]
    fn partitions_that_pass_over_what_repeats_answer_as_one(
        documents in documents(),
        cuts in proptest::collection::vec(0..20usize, 0..4),
        size in 1..6usize,
    ) {
        let partitions = cut(&documents, &cuts);
        for text in ORDERED_DISTINCT {
            let whole = texts(&run(text, &documents, 0));
            prop_assert_eq!(spread_passing(text, &partitions, size), whole, "{}", text);
        }
    }

    #[test]
    fn an_ordered_query_goes_on_where_it_stopped(
        documents in documents(),
        cuts in proptest::collection::vec(0..20usize, 0..4),
        stop in 0..30usize,
    ) {
        let partitions = cut(&documents, &cuts);
        for text in RESUMABLE {
            let whole = spread(text, &partitions);
            let info = info(text);
            let mut first = Merger::new(&info, partitions.len());
            feed(&mut first, &info, text, &partitions, &vec!["true".to_owned(); partitions.len()]);
            let mut rows: Vec<String> = std::iter::from_fn(|| next(&mut first)).take(stop).collect();

            let mut second = Merger::new(&info, partitions.len());
            let mut filters = vec!["true".to_owned(); partitions.len()];
            let checkpoint = first.checkpoint();
            if let Reached::Ordered { order, standings, .. } = &checkpoint.reached {
                for (standing, filter) in standings.iter().zip(&mut filters) {
                    let remaining = standing.remaining();
                    *filter = resume_filter(&info.order_by_expressions, &info.order_by, order, remaining);
                }
            }
            second.resume(checkpoint);
            feed(&mut second, &info, text, &partitions, &filters);
            rows.extend(std::iter::from_fn(|| next(&mut second)));
            prop_assert_eq!(rows, whole, "{}, filters {:?}", text, filters);
        }
    }
}
