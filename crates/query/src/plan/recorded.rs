//! Rewritten queries as the service's own planner writes them, from the plans that Microsoft publishes with its SDK.
//!
//! Line breaks and parentheses that change nothing are not compared.

use cosmonaut_wire::model::{DistinctType, QueryInfo};

use super::{FILTER_PLACEHOLDER, plan};
use crate::parameters::Parameters;
use crate::parse;

/// A query, and what the service sends to each partition instead; empty for the query itself.
const REWRITTEN: &[(&str, &str)] = &[
    ("SELECT DISTINCT c.blah FROM c", ""),
    (
        "SELECT DISTINCT VALUE c.blah FROM c ORDER BY c.blah",
        "SELECT c._rid, [{\"item\": c.blah}] AS orderByItems, c.blah AS payload\nFROM c\n\
         WHERE (({documentdb-formattableorderbyquery-filter}) AND IS_DEFINED(c.blah))\nORDER BY c.blah",
    ),
    (
        "SELECT * FROM Root r WHERE r.key IN (1, 2, 3) ORDER BY r.key",
        "SELECT r._rid, [{\"item\": r.key}] AS orderByItems, r AS payload\nFROM Root AS r\n\
         WHERE ((r.key IN (1, 2, 3)) AND ({documentdb-formattableorderbyquery-filter}))\nORDER BY r.key",
    ),
    (
        "SELECT TOP 10 * FROM Root r ORDER BY r.key",
        "SELECT TOP 10 r._rid, [{\"item\": r.key}] AS orderByItems, r AS payload\nFROM Root AS r\n\
         WHERE ({documentdb-formattableorderbyquery-filter})\nORDER BY r.key",
    ),
    (
        "SELECT TOP 50 r[0] FROM r ORDER BY r.key ASC",
        "SELECT TOP 50 r._rid, [{\"item\": r.key}] AS orderByItems, {\"$1\": r[0]} AS payload\nFROM r\n\
         WHERE ({documentdb-formattableorderbyquery-filter})\nORDER BY r.key ASC",
    ),
    (
        "SELECT TOP 70 r[\"a\"] FROM Root r ORDER BY r.key DESC",
        "SELECT TOP 70 r._rid, [{\"item\": r.key}] AS orderByItems, {\"a\": r[\"a\"]} AS payload\nFROM Root AS r\n\
         WHERE ({documentdb-formattableorderbyquery-filter})\nORDER BY r.key DESC",
    ),
    (
        "SELECT VALUE r.a FROM r ORDER BY r.b",
        "SELECT r._rid, [{\"item\": r.b}] AS orderByItems, r.a AS payload\nFROM r\n\
         WHERE (({documentdb-formattableorderbyquery-filter}) AND IS_DEFINED(r.a))\nORDER BY r.b",
    ),
    (
        "SELECT VALUE r.a FROM r WHERE r.d = true ORDER BY r.b",
        "SELECT r._rid, [{\"item\": r.b}] AS orderByItems, r.a AS payload\nFROM r\n\
         WHERE (((r.d = true) AND ({documentdb-formattableorderbyquery-filter})) AND IS_DEFINED(r.a))\nORDER BY r.b",
    ),
    (
        "SELECT VALUE 1 FROM r ORDER BY r._ts",
        "SELECT r._rid, [{\"item\": r._ts}] AS orderByItems, 1 AS payload\nFROM r\n\
         WHERE (({documentdb-formattableorderbyquery-filter}) AND IS_DEFINED(1))\nORDER BY r._ts",
    ),
    (
        "SELECT 1 FROM r ORDER BY r._ts",
        "SELECT r._rid, [{\"item\": r._ts}] AS orderByItems, {\"$1\": 1} AS payload\nFROM r\n\
         WHERE ({documentdb-formattableorderbyquery-filter})\nORDER BY r._ts",
    ),
    (
        "SELECT TOP 10 c.property1, c.property2 FROM c ORDER BY c.orderByField1, c.orderByField2",
        "SELECT TOP 10 c._rid, [{\"item\": c.orderByField1}, {\"item\": c.orderByField2}] AS orderByItems, \
         {\"property1\": c.property1, \"property2\": c.property2} AS payload\nFROM c\n\
         WHERE ({documentdb-formattableorderbyquery-filter})\nORDER BY c.orderByField1, c.orderByField2",
    ),
    ("SELECT TOP 5 * FROM c", ""),
    ("SELECT DISTINCT TOP 5 VALUE c.name FROM c", "SELECT DISTINCT VALUE c.name\nFROM c"),
    (
        "SELECT DISTINCT * FROM c WHERE c.key = 5 OFFSET 1 LIMIT 2",
        "SELECT DISTINCT *\nFROM c\nWHERE (c.key = 5)",
    ),
    ("SELECT * FROM c OFFSET 1 LIMIT 2", "SELECT *\nFROM c\nOFFSET 0 LIMIT 3"),
    (
        "SELECT * FROM c WHERE c.blah = 5 OFFSET 1 LIMIT 2",
        "SELECT *\nFROM c\nWHERE (c.blah = 5)\nOFFSET 0 LIMIT 3",
    ),
    (
        "SELECT TOP 5 VALUE AVG(c.name) FROM c",
        "SELECT VALUE [{\"item\": {\"sum\": SUM(c.name), \"count\": COUNT(c.name)}}]\nFROM c",
    ),
    (
        "SELECT TOP 5 VALUE c.name FROM c GROUP BY c.name",
        "SELECT [{\"item\": c.name}] AS groupByItems, c.name AS payload\nFROM c\nGROUP BY c.name",
    ),
    (
        "SELECT c.name FROM c WHERE c.key = 5 GROUP BY c.name OFFSET 1 LIMIT 2",
        "SELECT [{\"item\": c.name}] AS groupByItems, {\"name\": c.name} AS payload\nFROM c\n\
         WHERE (c.key = 5)\nGROUP BY c.name",
    ),
];

fn info(text: &str) -> QueryInfo {
    plan(&parse(text).unwrap(), &Parameters::new(), &"/key".into()).unwrap().query_info.unwrap()
}

/// The text in this crate's spelling.
fn spelled(text: &str) -> String {
    match text {
        "" => String::new(),
        text => {
            let query = parse(&text.replace(FILTER_PLACEHOLDER, "true"));
            query.unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
        }
    }
}

#[test]
fn queries_are_rewritten_as_the_service_rewrites_them() {
    for (text, recorded) in REWRITTEN {
        assert_eq!(spelled(&info(text).rewritten_query), spelled(recorded), "{text}");
    }
}

#[test]
fn distinct_rows_are_ordered_where_the_service_says_so() {
    for (text, expected) in [
        ("SELECT * FROM c", DistinctType::None),
        ("SELECT DISTINCT c.blah FROM c", DistinctType::Unordered),
        ("SELECT DISTINCT VALUE c.blah FROM c ORDER BY c.blah", DistinctType::Ordered),
        ("SELECT DISTINCT TOP 5 VALUE c.name FROM c", DistinctType::Unordered),
        ("SELECT DISTINCT * FROM c WHERE c.key = 5 OFFSET 1 LIMIT 2", DistinctType::Unordered),
    ] {
        assert_eq!(info(text).distinct_type, expected, "{text}");
    }
}
