//! Running a program document by document: streaming, resuming, budgets, and the parts an engine uses.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::harness::{compile, compile_in, query, run, texts};
use cosmonaut_query::eval::{
    ComputedProperty, ConditionError, Environment, EvalError, Interrupt, Limits, Program, Rows,
};
use cosmonaut_query::value::Value;
use cosmonaut_query::{Parameters, parse};
use proptest::prelude::*;

#[test]
fn a_program_says_what_it_needs() {
    let shape = |text| {
        let program = compile(text);
        [
            program.is_streaming(),
            program.is_grouped(),
            program.has_aggregates(),
            program.is_ordered(),
            program.is_distinct(),
            program.reads_documents(),
        ]
        .map(u8::from)
    };
    for (text, expected) in [
        ("SELECT * FROM c", [1, 0, 0, 0, 0, 1]),
        ("SELECT TOP 5 * FROM c WHERE c.x = 1", [1, 0, 0, 0, 0, 1]),
        ("SELECT VALUE COUNT(1) FROM c", [0, 1, 1, 0, 0, 1]),
        ("SELECT c.a FROM c GROUP BY c.a", [0, 1, 0, 0, 0, 1]),
        ("SELECT * FROM c ORDER BY c.x", [0, 0, 0, 1, 0, 1]),
        ("SELECT DISTINCT c.x FROM c", [0, 0, 0, 0, 1, 1]),
        ("SELECT VALUE (SELECT VALUE COUNT(1) FROM t IN c.l) FROM c", [1, 0, 0, 0, 0, 1]),
        ("SELECT 1", [1, 0, 0, 0, 0, 0]),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
}

#[test]
fn a_run_can_stop_after_any_document_and_go_on() {
    let program = compile("SELECT VALUE t FROM c JOIN t IN c.l OFFSET 2 LIMIT 4");
    let documents = [r#"{"l":[1,2,3]}"#, r#"{"l":[4]}"#, r#"{"l":[5,6,7,8]}"#];
    let mut rows = Rows::new();
    let mut progress = program.start().progress();
    for document in documents {
        let mut execution = program.resume(progress);
        execution.push(document.as_bytes(), 0, &mut rows).unwrap();
        progress = execution.progress();
    }
    assert_eq!(texts(&rows).join(" "), "3 4 5 6");
    assert!(program.resume(progress).is_done());
}

#[test]
fn documents_in_order_stream_through_an_order_by() {
    let program = compile("SELECT TOP 2 VALUE c.id FROM c ORDER BY c.k");
    let mut execution = program.start_presorted();
    let mut rows = Rows::new();
    for document in [r#"{"id":0}"#, r#"{"id":1,"k":1}"#, r#"{"id":2,"k":2}"#, r#"{"id":3,"k":3}"#] {
        execution.push(document.as_bytes(), 0, &mut rows).unwrap();
    }
    assert_eq!(texts(&rows), ["0", "1"]);
    assert!(execution.is_done());
}

#[test]
fn parts_of_a_program_work_on_single_documents() {
    let program = compile("SELECT VALUE c.id FROM c WHERE c.k > 1 ORDER BY c.k, c.id");
    let document = br#"{"id":"a","k":2}"#;
    assert_eq!(program.matches(document), Ok(true));
    assert_eq!(program.matches(b"{\"k\":1}"), Ok(false));
    assert_eq!(program.order_keys(document), Ok(Some(vec![Value::Number(2.0), Value::from("a")])));
    assert_eq!(program.order_keys(b"{}"), Ok(None));
    let mut rows = Rows::new();
    program.project(document, &mut rows).unwrap();
    assert_eq!(texts(&rows), ["\"a\""]);
    let mut keyed = Vec::new();
    program.keyed_rows(document, &mut keyed).unwrap();
    assert_eq!((keyed.len(), keyed[0].row.as_slice()), (1, b"\"a\"".as_slice()));
}

#[test]
fn a_condition_alone_is_a_program_too() {
    let environment = Environment {
        now_ticks: 0,
        random: &|| 0.0,
        limits: Limits::default(),
        computed: &[],
        setting: &Default::default(),
    };
    let compile = |text: &str| Program::compile_condition(text, &environment);
    let program = compile("from c where c.x = 1 and not is_defined(c.y)").unwrap();
    assert_eq!(program.matches(b"{\"x\":1}"), Ok(true));
    assert_eq!(program.matches(b"{\"x\":1,\"y\":null}"), Ok(false));
    let ConditionError::Syntax(error) = compile("from c where c.x = ").unwrap_err() else { panic!() };
    assert_eq!((error.line(), error.column()), (1, 20));
    for text in ["where c.x = 1", "from c where d.x = 1", "from c order by c.x", "from c group by c.x", ""] {
        assert!(compile(text).is_err(), "{text}");
    }
}

#[test]
fn joins_and_nested_sources_are_bounded() {
    let joins = |count: usize| {
        format!("SELECT 1 FROM c {}", (0..count).map(|i| format!("JOIN t{i} IN c.l ")).collect::<String>())
    };
    assert!(compile_in(&joins(10), &Parameters::new(), &[], Limits::default()).is_ok());
    let error = compile_in(&joins(11), &Parameters::new(), &[], Limits::default()).unwrap_err();
    assert!(error.message.contains("at most 10"), "{error}");
    // Each subquery adds ten variables to those around it.
    let nested = (0..11).rev().fold("1".to_owned(), |inner, level| {
        let joins = (0..10).map(|i| format!("JOIN t{level}_{i} IN c.l ")).collect::<String>();
        format!("(SELECT VALUE {inner} FROM c {joins})")
    });
    let error =
        compile_in(&format!("SELECT {nested} AS x FROM c"), &Parameters::new(), &[], Limits::default());
    assert!(error.unwrap_err().message.contains("nested"));
}

#[test]
fn what_the_rows_of_one_document_are_sorted_by_is_held_within_limits() {
    let limits = Limits { held_bytes: 40_000, ..Limits::default() };
    let text = "SELECT VALUE 1 FROM c JOIN t IN c.l ORDER BY c.s";
    let program = compile_in(text, &Parameters::new(), &[], limits).unwrap();
    let document = |tags: usize| format!("{{\"l\":{:?},\"s\":\"{}\"}}", vec![1; tags], "x".repeat(1000));
    for (tags, expected) in [(5, Ok(())), (50, Err(EvalError::TooMuchHeld { limit: 10_000 }))] {
        let mut keyed = Vec::new();
        assert_eq!(program.keyed_rows(document(tags).as_bytes(), &mut keyed), expected);
        assert!(keyed.len() < 10);
    }
}

#[test]
fn groups_are_held_and_shown_within_limits() {
    let text = "SELECT c.s, COUNT(1) AS n FROM c GROUP BY c.s";
    let document = |nth: usize| format!("{{\"s\":\"{nth}{}\"}}", "x".repeat(1000));
    let limits = Limits { held_bytes: 40_000, ..Limits::default() };
    let program = compile_in(text, &Parameters::new(), &[], limits).unwrap();
    let mut run = program.start_placed(None, (100, usize::MAX));
    let pushed = (0..100).map(|nth| run.push(document(nth).as_bytes(), b"")).find(Result::is_err);
    assert_eq!(pushed, Some(Err(EvalError::TooMuchHeld { limit: 40_000 })));
    // No more texts are made than a page has room for, and one: the others come again.
    let program = compile(text);
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let mut run = program.start_placed(after.clone(), (100, 3_000));
        (0..20).for_each(|nth| run.push(document(nth).as_bytes(), b"").unwrap());
        let found = run.finish().unwrap();
        assert!((1..=4).contains(&found.rows.len()), "{}", found.rows.len());
        after = found.rows.last().map(|row| row.place.clone());
        seen.extend(found.rows.into_iter().filter_map(|row| row.row));
        if !found.has_more {
            break;
        }
    }
    let all = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((all, seen.len()), (20, 20));
}

#[test]
fn budgets_end_runs_with_errors_that_say_so() {
    let list: String = (0..200).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let document = format!("{{\"l\":[{list}],\"s\":\"{}\"}}", "x".repeat(600));
    let limits = Limits { steps_per_document: 10_000, value_bytes: 1000, held_bytes: 4000 };
    let cross = "c JOIN a IN c.l JOIN b IN c.l JOIN d IN c.l";
    for (text, expected) in [
        (format!("SELECT VALUE 1 FROM {cross}"), Some(EvalError::TooManySteps { limit: 10_000 })),
        (format!("SELECT VALUE COUNT(1) FROM {cross}"), Some(EvalError::TooManySteps { limit: 10_000 })),
        (
            "SELECT * FROM c WHERE EXISTS(SELECT 1 FROM a IN c.l JOIN b IN c.l JOIN d IN c.l WHERE d < 0)"
                .into(),
            Some(EvalError::TooManySteps { limit: 10_000 }),
        ),
        ("SELECT VALUE CONCAT(c.s, c.s) FROM c".into(), Some(EvalError::ValueTooLarge { limit: 1000 })),
        ("SELECT c.s, c.s AS t FROM c".into(), Some(EvalError::ValueTooLarge { limit: 1000 })),
        ("SELECT VALUE c.s || c.s FROM c".into(), Some(EvalError::ValueTooLarge { limit: 1000 })),
        ("SELECT VALUE [c.s, c.s] FROM c".into(), Some(EvalError::ValueTooLarge { limit: 1000 })),
        (
            "SELECT VALUE REPLACE(c.s, 'x', 'yyyy') FROM c".into(),
            Some(EvalError::ValueTooLarge { limit: 1000 }),
        ),
        ("SELECT VALUE StringSplit(c.s, 'x') FROM c".into(), Some(EvalError::ValueTooLarge { limit: 1000 })),
        ("SELECT VALUE ARRAY_CONCAT(c.l, c.l) FROM c".into(), Some(EvalError::ValueTooLarge { limit: 1000 })),
        (
            "SELECT VALUE t FROM c JOIN t IN c.l ORDER BY c.s".into(),
            Some(EvalError::TooMuchHeld { limit: 4000 }),
        ),
        ("SELECT DISTINCT VALUE t FROM c JOIN t IN c.l".into(), Some(EvalError::TooMuchHeld { limit: 4000 })),
        ("SELECT t FROM c JOIN t IN c.l GROUP BY t".into(), Some(EvalError::TooMuchHeld { limit: 4000 })),
        (
            "SELECT VALUE MakeList(t) FROM c JOIN t IN c.l".into(),
            Some(EvalError::TooMuchHeld { limit: 4000 }),
        ),
        ("SELECT VALUE COUNT(1) FROM c JOIN t IN c.l".into(), None),
    ] {
        let program = compile_in(&text, &Parameters::new(), &[], limits).unwrap();
        assert_eq!(run(&program, &[&document]).err(), expected, "{text}");
    }
}

#[test]
fn computed_properties_are_read_by_name_and_not_by_star() {
    let computed = [ComputedProperty {
        name: "lower".into(),
        query: parse("SELECT VALUE LOWER(d.name) FROM d").unwrap(),
    }];
    let documents = [r#"{"name":"AB"}"#, r#"{"name":"cd","lower":"own"}"#, "{}"];
    for (text, expected) in [
        ("SELECT VALUE c.lower FROM c", "\"ab\" \"cd\""),
        ("SELECT VALUE c['lower'] FROM c WHERE c.lower = 'ab'", "\"ab\""),
        ("SELECT * FROM c WHERE c.lower = 'ab'", r#"{"name":"AB"}"#),
        ("SELECT VALUE x.lower FROM c AS x ORDER BY x.lower DESC", "\"cd\" \"ab\""),
        ("SELECT VALUE c.lower FROM c GROUP BY c.lower", "\"ab\" \"cd\""),
    ] {
        let program = compile_in(text, &Parameters::new(), &computed, Limits::default()).unwrap();
        assert_eq!(run(&program, &documents).unwrap().join(" "), expected, "{text}");
    }
    assert_eq!(
        compile("SELECT VALUE LOWER(d.name) FROM d").value_of(documents[0].as_bytes()),
        Ok("ab".into())
    );
}

#[test]
fn programs_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<Program>();
}

proptest! {
    #[test]
    fn a_condition_keeps_the_same_documents_alone_and_in_a_run(
        values in prop::collection::vec(prop_oneof![Just("1"), Just("2"), Just("\"a\""), Just("null"), Just("[1]")], 0..8),
        condition in prop::sample::select(vec!["c.v = 1", "c.v > 1", "NOT (c.v = 1)", "c.v != 1 OR IS_ARRAY(c.v)", "c.v IN (1, 'a')"]),
    ) {
        let documents: Vec<String> = values.iter().map(|value| format!("{{\"v\":{value}}}")).collect();
        let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
        let text = format!("SELECT * FROM c WHERE {condition}");
        let program = compile(&text);
        let kept: Vec<&str> =
            documents.iter().copied().filter(|document| program.matches(document.as_bytes()).unwrap()).collect();
        prop_assert_eq!(query(&text, &documents), kept);
    }

    #[test]
    fn stored_bytes_of_any_kind_break_nothing(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let program = compile("SELECT c.a.b[0], ARRAY(SELECT VALUE x.y FROM x IN c.l) FROM c WHERE c.a != 1 OR true");
        let mut rows = Rows::new();
        prop_assert!(program.project(&bytes, &mut rows).is_ok());
    }
}

#[test]
fn queries_as_deep_and_as_long_as_the_parser_allows_run_on_a_small_stack() {
    let depth = cosmonaut_query::MAX_DEPTH;
    let nest = |open: &str, core: &str, close: &str| {
        // The deepest form that still parses.
        (1..=depth)
            .rev()
            .map(|levels| {
                format!("SELECT VALUE {}{core}{} FROM c", open.repeat(levels), close.repeat(levels))
            })
            .find(|text| parse(text).is_ok())
            .unwrap()
    };
    for text in [
        nest("ABS(", "1", ")"),
        nest("ABS(", "c.x", ")"),
        nest("[", "c.x", "]"),
        nest("NOT ", "c.b", ""),
        nest("(SELECT VALUE ", "c.x", ")"),
        nest("ARRAY(SELECT VALUE ", "c.x", ")"),
        nest("ARRAY(SELECT VALUE y FROM c JOIN y IN c.l WHERE y = 1 AND EXISTS ", "(SELECT 1)", ")"),
        nest("1 + (", "c.x", ")"),
    ] {
        assert_eq!(query(&text, &[r#"{"x":1,"b":true,"l":[1]}"#]).len(), 1, "{text:.60}");
    }
    let path = ".a".repeat(20_000);
    for text in
        [format!("SELECT 1 FROM c JOIN t IN c.l JOIN u IN t{path}"), format!("SELECT 1 FROM x IN c{path}")]
    {
        assert!(compile_in(&text, &Parameters::new(), &[], Limits::default()).is_err());
    }
    let paths = (0..10_000).map(|i| format!("c.x{i}")).collect::<Vec<_>>().join(",");
    assert_eq!(query(&format!("SELECT VALUE [{paths}] FROM c"), &[r#"{"x5":5,"x\u0038":8}"#]), ["[5,8]"]);
    let many = (0..10_000).map(|i| format!("c.x = {i}")).collect::<Vec<_>>();
    for (operator, kept) in [(" OR ", 1), (" AND ", 0)] {
        let text = format!("SELECT * FROM c WHERE {}", many.join(operator));
        assert_eq!(query(&text, &[r#"{"x":9999}"#]).len(), kept);
    }
}

#[test]
fn a_run_that_would_take_for_ever_is_stopped_by_whoever_waits_for_it() {
    let list: String = (0..200).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let document = format!("{{\"l\":[{list}]}}");
    let limits = Limits { steps_per_document: u64::MAX, ..Limits::default() };
    // 200⁸ rows: nothing but the interrupt ends this.
    let joins = (0..8).map(|i| format!("JOIN t{i} IN c.l ")).collect::<String>();
    for text in [
        format!("SELECT VALUE 1 FROM c {joins} WHERE t0 < 0"),
        format!("SELECT VALUE COUNT(1) FROM c {joins}"),
    ] {
        let program = compile_in(&text, &Parameters::new(), &[], limits).unwrap();
        let looks = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&looks);
        let program =
            program.interrupted_by(Interrupt::when(move || seen.fetch_add(1, Ordering::Relaxed) == 1000));
        let mut rows = Rows::new();
        assert_eq!(
            program.start().push(document.as_bytes(), 1, &mut rows),
            Err(EvalError::Interrupted),
            "{text}"
        );
        assert_eq!(looks.load(Ordering::Relaxed), 1001, "{text}");
    }
}

#[test]
fn a_pattern_that_takes_long_is_stopped_by_whoever_waits_for_it() {
    let document = format!(r#"{{"t":"{}"}}"#, "a".repeat(100_000));
    let tail = "a".repeat(5_000);
    for pattern in [format!("%_{tail}b"), format!("%[a-c]{tail}b%"), format!("%{}b", "_a".repeat(2_500))] {
        let text = format!("SELECT VALUE 1 FROM c WHERE c.t LIKE '{pattern}'");
        let program = compile_in(&text, &Parameters::new(), &[], Limits::default()).unwrap();
        let program = program.interrupted_by(Interrupt::when(|| true));
        let mut rows = Rows::new();
        assert_eq!(program.start().push(document.as_bytes(), 1, &mut rows), Err(EvalError::Interrupted));
    }
}

#[test]
fn calls_and_operators_over_large_values_are_stopped_by_whoever_waits_for_them() {
    let numbers = (0..30_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let members = (0..10_000).map(|n| format!(r#""m{n}":{n}"#)).collect::<Vec<_>>().join(",");
    let document = format!(
        r#"{{"t":"{}","u":"{}x","l":[{numbers}],"m":[{numbers},0],"o":{{{members}}},"p":[{{{members}}}],"few":[1,2,3]}}"#,
        "a".repeat(200_000),
        "a".repeat(200_000),
    );
    let many_calls = (0..40).map(|n| format!("CONTAINS(c.t, '{n}')")).collect::<Vec<_>>().join(" OR ");
    for condition in [
        "ARRAY_CONTAINS(c.l, -1)",
        "ARRAY_CONTAINS(c.p, c.o, true)",
        "ARRAY_CONTAINS_ALL(c.l, 1, 2, 3)",
        "ARRAY_CONTAINS_ANY(c.l, -1, -2, -3)",
        "ARRAY_LENGTH(ARRAY_CONCAT(c.l, c.m)) = 0",
        "ARRAY_LENGTH(ARRAY_SLICE(c.l, 5)) = 0",
        "ARRAY_LENGTH(ObjectToArray(c.o)) = 0",
        "ARRAY_LENGTH(SetUnion(c.l, c.m)) = 0",
        "ARRAY_LENGTH(SetIntersect(c.l, c.m)) = 0",
        "RegexMatch(c.t, 'b')",
        "RegexMatch(c.t, CONCAT('b', c.t.x ?? ''))",
        "CONTAINS(c.t, 'b', true)",
        "INDEX_OF(c.t, 'b') = 0",
        "LENGTH(REPLACE(c.t, 'a', 'bc')) = 0",
        "ARRAY_LENGTH(StringSplit(c.t, 'a')) = 0",
        "TRIM(c.t, c.u) = 'b'",
        "UPPER(c.t) = 'b'",
        "c.t || c.t = 'b'",
        "c.l = c.m",
        "c.t = c.u",
        "c.l[ARRAY_LENGTH(c.few) + 29990] = -1",
        "EXISTS(SELECT VALUE 1 FROM x IN c.few WHERE c.o[CONCAT('m', ToString(x))] = -1)",
        "c.t IN (c.u, c.l)",
        "c.t BETWEEN c.u AND c.u",
        "ARRAY_LENGTH([c.l, c.m, c.o]) = 0",
        &many_calls,
    ] {
        let text = format!("SELECT VALUE 1 FROM c WHERE {condition}");
        let program = compile_in(&text, &Parameters::new(), &[], Limits::default()).unwrap();
        let mut rows = Rows::new();
        let free = program.start().push(document.as_bytes(), 1, &mut rows);
        assert_eq!(free, Ok(()), "{text}");
        let program = program.interrupted_by(Interrupt::when(|| true));
        let stopped = program.start().push(document.as_bytes(), 1, &mut rows);
        assert_eq!(stopped, Err(EvalError::Interrupted), "{text}");
    }
}

#[test]
fn what_is_computed_while_a_query_is_compiled_does_not_take_long() {
    let pattern = format!("%_{}b", "a".repeat(5_000));
    let parameters: Parameters =
        [("@text", Value::from("a".repeat(300_000).as_str())), ("@pattern", Value::from(pattern.as_str()))]
            .into_iter()
            .collect();
    for condition in ["@text LIKE @pattern", "RegexMatch(@text, '(a|b)*c')", "UPPER(@text) = 'b'"] {
        let text = format!("SELECT VALUE 1 FROM c WHERE {condition}");
        let program = compile_in(&text, &parameters, &[], Limits::default()).unwrap();
        let program = program.interrupted_by(Interrupt::when(|| true));
        // It is left to the run, which can be stopped.
        assert_eq!(program.matches(b"{}"), Err(EvalError::Interrupted), "{text}");
    }
}

#[test]
fn calls_that_compare_all_with_all_take_time_in_proportion() {
    // Every pair of these would be 10¹⁰ steps and more.
    let members = (0..100_000).map(|n| format!(r#""m{n}":{n}"#)).collect::<Vec<_>>().join(",");
    let empty = vec!["[]"; 100_000].join(",");
    let letters: String = (0x4E00..0x9000).filter_map(char::from_u32).collect();
    let document = format!(
        r#"{{"o":{{{members}}},"p":[{{{members}}}],"e":[{empty}],"l":[[{empty}]],"letters":"{letters}","t":"{}"}}"#,
        "\u{8FFF}".repeat(100_000)
    );
    for (condition, holds) in [
        ("ARRAY_CONTAINS(c.p, c.o, true)", true),
        ("ARRAY_CONTAINS(c.e, c.e)", false),
        ("ARRAY_CONTAINS(c.l, c.e)", true),
        ("ARRAY_CONTAINS_ALL(c.e, c.e)", false),
        ("TRIM(c.t, c.letters) = ''", true),
    ] {
        let text = format!("SELECT VALUE {condition} FROM c");
        assert_eq!(query(&text, &[document.as_str()]), [holds.to_string()], "{condition}");
    }
}
