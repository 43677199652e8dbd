//! Every built-in function, one table file for each family.

mod aggregates;
mod array_summaries;
mod arrays;
mod conversions;
mod dates;
mod integers;
mod numbers;
#[cfg(feature = "regex")]
mod regexes;
mod spatial;
mod strings;
mod substrings;
mod types;

use crate::harness::value_in;
use cosmonaut_query::functions::{all, lookup};
use proptest::prelude::*;

#[test]
fn functions_are_found_in_any_case_with_their_argument_counts() {
    for (name, min, max, aggregate) in [
        ("concat", 2, usize::MAX, false),
        ("Array_Contains", 2, 3, false),
        ("STRINGTONUMBER", 1, 1, false),
        ("pi", 0, 0, false),
        ("count", 1, 1, true),
        ("makeset", 1, 1, true),
        ("documentid", 1, 1, false),
    ] {
        let info = lookup(name).unwrap();
        assert_eq!((info.min_args, info.max_args, info.aggregate), (min, max, aggregate), "{name}");
    }
    assert!(lookup("NOPE").is_none());
}

/// Arguments that functions of one type or another stumble over.
const ODD: &[&str] = &[
    "undefined",
    "null",
    "true",
    "0",
    "-1",
    "2.5",
    "1e300",
    "-9223372036854775808",
    "10000000",
    "\"\"",
    "\"a\"",
    "\"é😀\"",
    "\"\\u0000\\ud83d\\ude00\"",
    "\"[1,{}]\"",
    "\"(\"",
    "\"ns\"",
    "\"yyyy\"",
    "\"9999-12-31T23:59:59.9999999Z\"",
    "\"0001-01-01\"",
    "[]",
    "[1,\"a\",null,[],{}]",
    "[\"a\",\"é\"]",
    "{}",
    "{\"a\":{\"b\":[1]},\"_rid\":\"AAAA\"}",
    "{\"type\":\"Point\",\"coordinates\":[180,90]}",
    "{\"type\":\"LineString\",\"coordinates\":[[0,0],[0,0],[1,1]]}",
    "{\"type\":\"Polygon\",\"coordinates\":[[[0,0],[2,0],[0,2],[0,0]],[[0.5,0.5],[0.6,0.5],[0.5,0.6],[0.5,0.5]]]}",
    "{\"type\":\"Polygon\",\"coordinates\":[[[0,0],[0,0],[0,0],[0,0]]]}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// No argument makes a function panic, and folding a constant call gives what computing it for a document does.
    #[test]
    fn any_arguments_are_answered_alike_when_folded_and_when_computed(
        function in prop::sample::select(all().iter().filter(|info| !info.aggregate && info.name != "RAND").collect::<Vec<_>>()),
        picks in prop::collection::vec(prop::sample::select(ODD), 6),
        extra in 0usize..4,
    ) {
        let count = (function.min_args + extra).min(function.max_args).min(picks.len());
        let arguments = &picks[..count];
        let members: Vec<String> = arguments
            .iter()
            .enumerate()
            .filter(|(_, argument)| **argument != "undefined")
            .map(|(index, argument)| format!("\"a{index}\":{argument}"))
            .collect();
        let paths: Vec<String> = (0..count).map(|index| format!("c.a{index}")).collect();
        let computed = value_in(&format!("{}({})", function.name, paths.join(",")), &format!("{{{}}}", members.join(",")));
        let folded = value_in(&format!("{}({})", function.name, arguments.join(",")), "{}");
        prop_assert_eq!(computed, folded);
    }
}
