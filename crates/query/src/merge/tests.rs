//! Each kind of merge over small pages, the refusal of rows that do not fit, and resuming.

use cosmonaut_wire::model::{AggregateKind, DCountInfo, DistinctType, QueryInfo, SortOrder};
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};

use super::{MergeError, Merger, Reached, Remaining, Standing, Step, resume_filter};
use crate::value::Value;

fn raw(json: &Json) -> Box<RawValue> {
    RawValue::from_string(json.to_string()).unwrap()
}

/// Feeds each source one row per page, in whatever order the merger asks for them.
fn merged(info: &QueryInfo, sources: &[Vec<Json>]) -> Result<Vec<Json>, MergeError> {
    drain(&mut Merger::new(info, sources.len()), sources)
}

fn drain(merger: &mut Merger, sources: &[Vec<Json>]) -> Result<Vec<Json>, MergeError> {
    let mut pending: Vec<_> = sources.iter().map(|rows| rows.iter()).collect();
    let mut result = Vec::new();
    loop {
        match merger.step()? {
            Step::Row(row) => result.push(serde_json::from_str(row.get()).unwrap()),
            Step::NeedPage(source) => {
                let row = pending[source].next();
                merger.feed(source, row.map(raw).into_iter().collect(), pending[source].len() == 0)?;
            }
            Step::Done => return Ok(result),
        }
    }
}

fn ordered_info(directions: &[SortOrder]) -> QueryInfo {
    let expressions = (0..directions.len()).map(|at| format!("c.k{at}")).collect();
    QueryInfo { order_by: directions.to_vec(), order_by_expressions: expressions, ..QueryInfo::default() }
}

fn ordered_row(key: Option<Json>, rid: &str, payload: Json) -> Json {
    let item = key.map_or(json!({}), |key| json!({"item": key}));
    json!({"_rid": rid, "orderByItems": [item], "payload": payload})
}

#[test]
fn a_merger_can_move_between_threads() {
    fn movable<T: Send>() {}
    movable::<Merger>();
}

#[test]
fn unordered_sources_follow_one_another() {
    let sources = [vec![json!(3), json!({"a": 1})], vec![], vec![json!("x")]];
    assert_eq!(merged(&QueryInfo::default(), &sources).unwrap(), [json!(3), json!({"a": 1}), json!("x")]);
}

#[test]
fn ordered_sources_interleave_by_type_then_value_then_source() {
    let row = |key, name: &str| ordered_row(key, name, json!(name));
    let left = vec![row(None, "l1"), row(Some(json!(1)), "l2"), row(Some(json!("a")), "l3")];
    let right = vec![row(Some(json!(null)), "r1"), row(Some(json!(1)), "r2"), row(Some(json!([])), "r3")];
    let rows = merged(&ordered_info(&[SortOrder::Ascending]), &[left.clone(), right.clone()]).unwrap();
    assert_eq!(rows, ["l1", "r1", "l2", "r2", "l3", "r3"]);

    let reversed = |rows: Vec<Json>| rows.into_iter().rev().collect::<Vec<_>>();
    let sources = [reversed(left), reversed(right)];
    let rows = merged(&ordered_info(&[SortOrder::Descending]), &sources).unwrap();
    assert_eq!(rows, ["r3", "l3", "l2", "r2", "r1", "l1"]);
}

#[test]
fn rows_whose_selected_value_is_undefined_are_passed_over() {
    let mut row = ordered_row(Some(json!(1)), "a", json!(null));
    let info = ordered_info(&[SortOrder::Ascending]);
    assert_eq!(merged(&info, &[vec![row.clone()]]).unwrap(), [json!(null)]);
    row.as_object_mut().unwrap().remove("payload");
    assert!(merged(&info, &[vec![row]]).unwrap().is_empty());
}

#[test]
fn sources_without_order_are_sorted_when_the_plan_says_so() {
    let info = QueryInfo { has_non_streaming_order_by: true, ..ordered_info(&[SortOrder::Ascending]) };
    let row = |key: i32| ordered_row(Some(json!(key)), "", json!(key));
    let rows = merged(&info, &[vec![row(5), row(1)], vec![row(4), row(2)]]).unwrap();
    assert_eq!(rows, [1, 2, 4, 5]);
}

#[test]
fn sources_without_order_are_not_told_to_pass_anything_over() {
    let sorted = QueryInfo { distinct_type: DistinctType::Ordered, ..ordered_info(&[SortOrder::Ascending]) };
    let unsorted = QueryInfo { has_non_streaming_order_by: true, ..sorted.clone() };
    for (info, passes) in [(sorted, true), (unsorted, false)] {
        let mut merger = Merger::new(&info, 1);
        assert_eq!(merger.is_ordered_distinct(), passes);
        let row = raw(&ordered_row(Some(json!(5)), "", json!(5)));
        merger.feed(0, vec![row.clone(), row], false).unwrap();
        assert_eq!(merger.take_repeats(0).is_some(), passes);
    }
}

#[test]
fn aggregates_of_partitions_become_one() {
    use AggregateKind::*;
    let item = |value: Json| json!([{"item": value}]);
    let extreme = |name: &str, value: Json| json!([{"item": value, "item2": {name: value, "count": 1}}]);
    let none = json!([{"item2": {"count": 0}}]);
    let undefined = json!([{}]);
    let cases: Vec<(AggregateKind, Vec<Json>, Option<Json>)> = vec![
        (Count, vec![item(json!(2)), item(json!(0)), item(json!(5))], Some(json!(7))),
        (CountIf, vec![item(json!(2)), item(json!(1))], Some(json!(3))),
        (Sum, vec![item(json!(1.5)), item(json!(2))], Some(json!(3.5))),
        (Sum, vec![item(json!(1)), undefined.clone()], None),
        (
            Average,
            vec![item(json!({"sum": 3, "count": 2})), item(json!({"sum": 3, "count": 1}))],
            Some(json!(2)),
        ),
        (Average, vec![item(json!({"sum": 0, "count": 0}))], None),
        (Average, vec![item(json!({"sum": 1, "count": 1})), item(json!({"count": 1}))], None),
        (Min, vec![extreme("min", json!("b")), none.clone(), extreme("min", json!("a"))], Some(json!("a"))),
        (Min, vec![extreme("min", json!(false)), extreme("min", json!(-1))], Some(json!(false))),
        (Max, vec![extreme("max", json!(2)), extreme("max", json!(10)), none.clone()], Some(json!(10))),
        (Max, vec![item(json!(2)), item(json!(10)), undefined], Some(json!(10))),
        (Max, vec![none.clone(), none], None),
        (Max, vec![extreme("max", json!(2)), json!([{"item2": {"count": 3}}])], None),
        (MakeList, vec![item(json!([1, 2])), item(json!([2]))], Some(json!([1, 2, 2]))),
        (
            MakeSet,
            vec![item(json!([1, {"a": 1, "b": 2}])), item(json!([{"b": 2, "a": 1}, 3]))],
            Some(json!([1, {"a": 1, "b": 2}, 3])),
        ),
    ];
    for (kind, parts, expected) in cases {
        let info = QueryInfo { aggregates: vec![kind], has_select_value: true, ..QueryInfo::default() };
        let sources: Vec<_> = parts.iter().map(|part| vec![part.clone()]).collect();
        let whole: Vec<Json> = expected.into_iter().collect();
        let result = merged(&info, &sources).unwrap();
        assert_eq!(as_numbers(&result), as_numbers(&whole), "{kind:?} of {parts:?}");
    }
}

/// `2` and `2.0` are the same number.
fn as_numbers(rows: &[Json]) -> Vec<Value> {
    rows.iter().map(|row| Value::from_json(row.to_string().as_bytes()).unwrap()).collect()
}

#[test]
fn groups_of_partitions_become_one_row_each() {
    let info = QueryInfo {
        group_by_expressions: vec!["c.a".into()],
        group_by_aliases: vec!["n".into(), "a".into(), "low".into()],
        group_by_alias_to_aggregate_type: [
            ("a".to_owned(), None),
            ("n".to_owned(), Some(AggregateKind::Count)),
            ("low".to_owned(), Some(AggregateKind::Min)),
        ]
        .into(),
        ..QueryInfo::default()
    };
    let row = |a: Option<&str>, n: i32, low: Option<i32>| {
        let mut payload =
            json!({"n": {"item": n}, "low": {"item2": {"min": low, "count": low.iter().count()}}});
        let mut item = json!({});
        if let Some(a) = a {
            payload["a"] = json!(a);
            item["item"] = json!(a);
        }
        json!({"groupByItems": [item], "payload": payload})
    };
    let sources = [
        vec![row(Some("x"), 1, Some(5)), row(None, 2, None)],
        vec![row(Some("y"), 3, Some(1)), row(Some("x"), 4, Some(3)), row(None, 1, None)],
    ];
    let rows = merged(&info, &sources).unwrap();
    let expected =
        // In the order of their keys; none comes last.
        [json!({"n": 5, "a": "x", "low": 3}), json!({"n": 3, "a": "y", "low": 1}), json!({"n": 3})];
    assert_eq!(as_numbers(&rows), as_numbers(&expected));
    assert_eq!(merged(&QueryInfo { limit: Some(1), offset: Some(1), ..info }, &sources).unwrap().len(), 1);
}

#[test]
fn grouped_values_and_several_aggregates_at_once() {
    let grouped = QueryInfo {
        group_by_expressions: vec!["c.a".into()],
        has_select_value: true,
        ..QueryInfo::default()
    };
    let row = |a: i32, payload: Json| json!({"groupByItems": [{"item": a}], "payload": payload});
    let sources = [vec![row(1, json!({"k": 1}))], vec![row(1, json!({"k": 1})), row(2, json!("z"))]];
    assert_eq!(merged(&grouped, &sources).unwrap(), [json!({"k": 1}), json!("z")]);

    let counted = QueryInfo { aggregates: vec![AggregateKind::Count], ..grouped };
    let sources = [vec![row(1, json!([{"item": 2}]))], vec![row(1, json!([{"item": 3}]))]];
    assert_eq!(merged(&counted, &sources).unwrap(), [json!(5)]);

    let types = [("$1", Some(AggregateKind::Count)), ("s", Some(AggregateKind::Sum)), ("five", None)];
    let several = QueryInfo {
        group_by_alias_to_aggregate_type: types.map(|(alias, kind)| (alias.to_owned(), kind)).into(),
        group_by_aliases: types.iter().map(|(alias, _)| (*alias).to_owned()).collect(),
        ..QueryInfo::default()
    };
    let row = json!({"payload": {"$1": {"item": 2}, "s": {"item": 3}, "five": 5}});
    let rows = merged(&several, &[vec![row.clone()], vec![row]]).unwrap();
    assert_eq!(rows, [json!({"$1": 4, "s": 6, "five": 5})]);
}

#[test]
fn equal_rows_are_given_once() {
    let rows = || vec![json!({"a": 1, "b": 0}), json!({"b": 0, "a": 1}), json!(2), json!({"a": 1, "b": 0})];
    let unordered = QueryInfo { distinct_type: DistinctType::Unordered, ..QueryInfo::default() };
    assert_eq!(merged(&unordered, &[rows(), rows()]).unwrap(), [json!(2), json!({"a": 1, "b": 0})]);
    let ordered = QueryInfo { distinct_type: DistinctType::Ordered, ..QueryInfo::default() };
    assert_eq!(merged(&ordered, &[rows()]).unwrap().len(), 3);

    let counted = QueryInfo { d_count_info: Some(DCountInfo { alias: "n".into() }), ..unordered };
    assert_eq!(merged(&counted, &[rows(), rows()]).unwrap(), [json!({"n": 2})]);
    let bare = QueryInfo { d_count_info: Some(DCountInfo::default()), ..counted };
    assert_eq!(merged(&bare, &[rows(), vec![]]).unwrap(), [json!(2)]);
}

#[test]
fn the_window_is_applied_to_the_merged_result_and_stops_fetching() {
    let rows = |from: i32| (from..from + 5).map(|n| json!(n)).collect::<Vec<_>>();
    for (offset, limit, top, expected) in [
        (Some(4), Some(3), None, vec![4, 10, 11]),
        (None, None, Some(2), vec![0, 1]),
        (Some(9), Some(5), None, vec![14]),
        (None, Some(0), None, vec![]),
    ] {
        let info = QueryInfo { offset, limit, top, ..QueryInfo::default() };
        assert_eq!(merged(&info, &[rows(0), rows(10)]).unwrap(), expected);
    }
    let mut merger = Merger::new(&QueryInfo { top: Some(1), ..QueryInfo::default() }, 2);
    merger.feed(0, vec![raw(&json!(1))], false).unwrap();
    assert!(matches!(merger.step(), Ok(Step::Row(_))));
    assert!(matches!(merger.step(), Ok(Step::Done)));
}

#[test]
fn distinct_rows_without_order_are_collected_until_there_are_enough_if_nobody_goes_on_between_them() {
    let unordered =
        QueryInfo { distinct_type: DistinctType::Unordered, top: Some(2), ..QueryInfo::default() };
    let page = || [1, 1, 3, 2].map(|n| raw(&json!(n))).to_vec();
    for (most, is_enough) in [(2, true), (1, false)] {
        let mut merger = Merger::new(&unordered, 2);
        merger.give_at_once(most);
        assert_eq!(merger.enough(), is_enough.then_some(2));
        merger.feed(0, page(), false).unwrap();
        assert_eq!(matches!(merger.step(), Ok(Step::Row(_))), is_enough);
        if is_enough {
            assert!(matches!(merger.step(), Ok(Step::Row(_))));
            assert!(matches!(merger.step(), Ok(Step::Done)));
        }
    }
    // Groups are not known before all of their rows are.
    let grouped = QueryInfo { group_by_expressions: vec!["c.a".into()], has_select_value: true, ..unordered };
    let mut merger = Merger::new(&grouped, 1);
    merger.give_at_once(2);
    assert_eq!(merger.enough(), None);
}

#[test]
fn rows_that_do_not_fit_the_plan_are_refused() {
    let aggregate = QueryInfo { aggregates: vec![AggregateKind::Count], ..QueryInfo::default() };
    let grouped = QueryInfo { group_by_expressions: vec!["c.a".into()], ..aggregate.clone() };
    let ordered = ordered_info(&[SortOrder::Ascending]);
    for (info, row) in [
        (&aggregate, json!(5)),
        (&aggregate, json!([])),
        (&aggregate, json!([{"item": "x"}])),
        (&grouped, json!({"groupByItems": [], "payload": 1})),
        (&grouped, json!([1])),
        (&ordered, json!({"payload": 1})),
        (&ordered, json!({"orderByItems": [], "payload": 1})),
        (&ordered, json!("x")),
    ] {
        let error = merged(info, &[vec![row.clone()]]).expect_err(&row.to_string());
        assert!(matches!(error, MergeError::Row { .. }), "{error}");
    }
    let mut merger = Merger::new(&aggregate, 1);
    merger.feed(0, vec![], true).unwrap();
    assert_eq!(merger.feed(0, vec![], true), Err(MergeError::Source(0)));
    assert_eq!(merger.feed(1, vec![], true), Err(MergeError::Source(1)));
}

#[test]
fn the_filter_names_types_that_sort_later() {
    let filter = |value: Value, direction, remaining| {
        resume_filter(&["c.x".to_owned()], &[direction], &[value], remaining)
    };
    use SortOrder::{Ascending, Descending};
    assert_eq!(
        filter(Value::from("a"), Ascending, Remaining::After),
        r#"(((c.x > "a" OR IS_ARRAY(c.x) OR IS_OBJECT(c.x))))"#
    );
    assert_eq!(
        filter(Value::from(5.0), Descending, Remaining::FromIt),
        "(((c.x < 5 OR (NOT IS_DEFINED(c.x)) OR IS_NULL(c.x) OR IS_BOOL(c.x))) OR (c.x = 5 AND true))"
    );
    assert_eq!(filter(Value::Undefined, Descending, Remaining::After), "((false))");
    assert_eq!(
        filter(Value::Undefined, Descending, Remaining::FromIt),
        "((false) OR ((NOT IS_DEFINED(c.x)) AND true))"
    );
    for value in [Value::Null, Value::Bool(true), Value::Number(-1e-9), Value::Array(vec![Value::from("x")])]
    {
        let text = format!("SELECT * FROM c WHERE {}", filter(value, Ascending, Remaining::FromIt));
        crate::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Sorted sources of `(key, document)` rows; documents of a source are numbered as their `_rid`s order them.
fn sources() -> impl Strategy<Value = Vec<Vec<(i32, usize)>>> {
    proptest::collection::vec(proptest::collection::vec((0..4, 0..3usize), 0..6), 1..4).prop_map(|mut all| {
        all.iter_mut().for_each(|rows| rows.sort());
        all
    })
}

proptest! {
    #[test]
    fn a_merge_can_stop_after_any_row_and_go_on(sources in sources(), stop in 0..20usize) {
        let info = ordered_info(&[SortOrder::Ascending]);
        let rows: Vec<Vec<Json>> = sources.iter().enumerate().map(|(source, rows)| {
            let row = |(at, (key, document)): (usize, &(i32, usize))| {
                ordered_row(Some(json!(key)), &document.to_string(), json!([key, source, document, at]))
            };
            rows.iter().enumerate().map(row).collect()
        }).collect();
        let whole = merged(&info, &rows).unwrap();

        let mut sorted: Vec<(i32, usize)> = Vec::new();
        for (source, rows) in sources.iter().enumerate() {
            sorted.extend(rows.iter().map(|(key, _)| (*key, source)));
        }
        sorted.sort();
        let given = whole.iter().map(|row| (row[0].as_i64().unwrap() as i32, row[1].as_u64().unwrap() as usize));
        prop_assert_eq!(given.collect::<Vec<_>>(), sorted);

        let mut first = Merger::new(&info, rows.len());
        for (source, rows) in rows.iter().enumerate() {
            first.feed(source, rows.iter().map(raw).collect(), true).unwrap();
        }
        let mut result = Vec::new();
        while result.len() < stop && let Step::Row(row) = first.step().unwrap() {
            result.push(serde_json::from_str::<Json>(row.get()).unwrap());
        }
        let mut second = Merger::new(&info, rows.len());
        second.resume(first.checkpoint());
        result.extend(drain(&mut second, &rows).unwrap());
        prop_assert_eq!(result, whole);
    }

    #[test]
    fn a_result_without_order_can_stop_after_any_row_and_go_on(
        keys in proptest::collection::vec(proptest::collection::vec(0..9, 0..9), 1..4),
        stops in proptest::collection::vec(0..4usize, 0..6),
    ) {
        let grouped = QueryInfo {
            group_by_expressions: vec!["c.a".into()],
            aggregates: vec![AggregateKind::Count],
            has_select_value: true,
            ..QueryInfo::default()
        };
        let distinct = QueryInfo { distinct_type: DistinctType::Unordered, ..QueryInfo::default() };
        let group = |key: &i32| json!({"groupByItems": [{"item": key}], "payload": [{"item": 1}]});
        for (info, row) in [(grouped, &group as &dyn Fn(&i32) -> Json), (distinct, &|key: &i32| json!(key))] {
            let mut rows: Vec<Vec<Json>> =
                keys.iter().map(|keys| keys.iter().map(row).collect()).collect();
            let whole = merged(&info, &rows).unwrap();
            let mut result = Vec::new();
            let mut checkpoint = Merger::new(&info, rows.len()).checkpoint();
            for stop in stops.iter().copied().chain([usize::MAX]) {
                // Where rows come from does not matter.
                rows.rotate_left(1);
                let mut merger = Merger::new(&info, rows.len());
                merger.resume(checkpoint);
                for (source, rows) in rows.iter().enumerate() {
                    merger.feed(source, rows.iter().map(raw).collect(), true).unwrap();
                }
                for _ in 0..stop {
                    let Step::Row(row) = merger.step().unwrap() else { break };
                    result.push(serde_json::from_str::<Json>(row.get()).unwrap());
                }
                checkpoint = merger.checkpoint();
            }
            prop_assert_eq!(result, whole);
        }
    }
}

/// Feeds rows of `(key, _rid)` and takes so many.
fn take(merger: &mut Merger, sources: &[&[(i32, &str)]], most: usize) -> Vec<String> {
    for (source, rows) in sources.iter().enumerate() {
        let rows =
            rows.iter().map(|(key, rid)| raw(&ordered_row(Some(json!(key)), rid, json!(rid)))).collect();
        merger.feed(source, rows, true).unwrap();
    }
    let mut taken = Vec::new();
    while taken.len() < most
        && let Step::Row(row) = merger.step().unwrap()
    {
        taken.push(serde_json::from_str(row.get()).unwrap());
    }
    taken
}

#[test]
fn the_halves_of_a_split_source_go_on_where_it_was() {
    let info = ordered_info(&[SortOrder::Ascending]);
    let mut merger = Merger::new(&info, 2);
    let whole: &[(i32, &str)] = &[(1, "1"), (1, "2"), (1, "3"), (1, "4"), (2, "5")];
    assert_eq!(take(&mut merger, &[whole, &[(1, "6")]], 2), ["1", "2"]);
    let mut checkpoint = merger.checkpoint();
    // The first source becomes two: documents 2 and 4, and the others.
    let halves: [&[(i32, &str)]; 3] = [&[(1, "2"), (1, "4")], &[(1, "1"), (1, "3"), (2, "5")], &[(1, "6")]];
    let Reached::Ordered { standings, .. } = &mut checkpoint.reached else { panic!("{checkpoint:?}") };
    standings.insert(0, standings[0].clone());
    let mut given = Vec::new();
    for _ in 0..5 {
        let mut merger = Merger::new(&info, 3);
        merger.resume(checkpoint);
        given.extend(take(&mut merger, &halves, 1));
        checkpoint = merger.checkpoint();
    }
    assert_eq!(given, ["4", "3", "6", "5"]);
    let Reached::Ordered { standings, .. } = checkpoint.reached else { panic!() };
    assert_eq!(
        standings,
        [Standing::All, Standing::UpTo { rid: "5".into(), given: 1, falling: None }, Standing::None]
    );
}

#[test]
fn distinct_rows_in_another_order_are_known_again_when_they_come_again() {
    let info = QueryInfo { distinct_type: DistinctType::Unordered, ..ordered_info(&[SortOrder::Ascending]) };
    let row = |key: i32, rid: &str, payload: &str| ordered_row(Some(json!(key)), rid, json!(payload));
    let rows =
        [vec![row(1, "1", "a"), row(2, "2", "b"), row(3, "3", "a"), row(4, "4", "c"), row(5, "5", "b")]];
    let mut given = Vec::new();
    let mut checkpoint = Merger::new(&info, 1).checkpoint();
    for _ in 0..5 {
        let mut merger = Merger::new(&info, 1);
        assert!(merger.replays());
        merger.resume(checkpoint);
        merger.feed(0, rows[0].iter().map(raw).collect(), true).unwrap();
        if let Step::Row(row) = merger.step().unwrap() {
            given.push(row.get().to_owned());
        }
        checkpoint = merger.checkpoint();
    }
    assert_eq!(given, [r#""a""#, r#""b""#, r#""c""#]);
}
