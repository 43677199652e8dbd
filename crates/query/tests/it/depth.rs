//! The deepest queries that parse can also be checked, planned, printed, compiled and run on an ordinary thread.

use cosmonaut_query::eval::{Environment, Limits, Program, Rows};
use cosmonaut_query::{MAX_DEPTH, Parameters, check, parse, plan};

/// Repeats `open` and `close` around a core as often as the parser allows.
fn deepest(open: &str, core: &str, close: &str) -> String {
    let nested =
        |levels: usize| format!("SELECT VALUE {}{core}{} FROM c", open.repeat(levels), close.repeat(levels));
    let levels = (1..=MAX_DEPTH).rev().find(|levels| parse(&nested(*levels)).is_ok());
    nested(levels.expect("one level parses"))
}

#[test]
fn the_deepest_queries_go_all_the_way_through() {
    let texts = [
        deepest("LOWER(", "c.x", ")"),
        deepest("(NOT ", "c.x", ")"),
        deepest("(c.x AND (c.y OR ", "c.x", "))"),
        deepest("[", "c.x", "]"),
        deepest("{\"a\": ", "c.x", "}"),
        deepest("(SELECT VALUE ", "c.x", ")"),
        deepest("ARRAY(SELECT VALUE ", "c.x", " FROM c IN c.x)"),
        deepest("(c.x ? c.y : ", "c.x", ")"),
        deepest("(1 + ", "c.x", ")"),
        deepest("EXISTS(SELECT VALUE 1 FROM c IN c.x WHERE ", "c.y", ")"),
    ];
    let filtered = texts.clone().map(|text| {
        let expression = text.trim_start_matches("SELECT VALUE ").trim_end_matches(" FROM c").to_owned();
        format!("SELECT * FROM c WHERE {expression}")
    });
    let through = move || {
        for text in texts.into_iter().chain(filtered) {
            let query = parse(&text).unwrap_or_else(|error| panic!("{error}"));
            check(&query, &text).unwrap_or_else(|error| panic!("{error}"));
            plan(&query, &Parameters::new(), &"/pk".into()).unwrap();
            assert!(parse(&query.to_string()).is_ok());
            let environment = Environment {
                now_ticks: 0,
                random: &|| 0.5,
                limits: Limits::default(),
                computed: &[],
                setting: &Default::default(),
            };
            let program = Program::compile(&query, &Parameters::new(), &environment).unwrap();
            let mut execution = program.start();
            let mut rows = Rows::new();
            execution.push(br#"{"x":["A"],"y":true}"#, 0, &mut rows).unwrap();
            execution.finish(&mut rows).unwrap();
        }
    };
    std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(through).unwrap().join().unwrap();
}
