//! Runs query texts over documents given as JSON texts, for table tests.

use cosmonaut_query::eval::{CompileError, ComputedProperty, Environment, EvalError, Limits, Program, Rows};
use cosmonaut_query::{Parameters, parse};

/// 2020-07-09T23:20:13.4575530Z, the time of every query here.
pub(crate) const NOW_TICKS: i64 = 15_943_368_134_575_530;

pub(crate) fn compile_in(
    text: &str,
    parameters: &Parameters,
    computed: &[ComputedProperty],
    limits: Limits,
) -> Result<Program, CompileError> {
    let query = parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    Program::compile(
        &query,
        parameters,
        &Environment {
            now_ticks: NOW_TICKS,
            random: &|| 0.25,
            limits,
            computed,
            setting: &Default::default(),
        },
    )
}

pub(crate) fn compile(text: &str) -> Program {
    compile_in(text, &Parameters::new(), &[], Limits::default())
        .unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// The rows of a run of `program` over `documents`, placed in the order given.
pub(crate) fn run(program: &Program, documents: &[&str]) -> Result<Vec<String>, EvalError> {
    let mut execution = program.start();
    let mut rows = Rows::new();
    for (place, document) in documents.iter().enumerate() {
        execution.push(document.as_bytes(), place as u64, &mut rows)?;
    }
    execution.finish(&mut rows)?;
    Ok(texts(&rows))
}

pub(crate) fn texts(rows: &Rows) -> Vec<String> {
    rows.iter().map(|row| String::from_utf8(row.to_vec()).unwrap()).collect()
}

pub(crate) fn query(text: &str, documents: &[&str]) -> Vec<String> {
    run(&compile(text), documents).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// The value of an expression over a document bound to `c`, or `undefined`.
pub(crate) fn value_in(expression: &str, document: &str) -> String {
    let rows = query(&format!("SELECT VALUE {expression} FROM c"), &[document]);
    rows.into_iter().next().unwrap_or_else(|| "undefined".into())
}

/// Checks each expression twice: with its constants folded when it is compiled, and computed for the document.
pub(crate) fn check(rows: &[(&str, &str)]) {
    for (expression, expected) in rows {
        assert_eq!(value_in(expression, "{}"), *expected, "{expression}");
    }
}

/// Calls `function` with arguments read from a document, so that nothing is folded.
pub(crate) fn check_calls(function: &str, rows: &[(&str, &str)]) {
    for (arguments, expected) in rows {
        let count = split_arguments(arguments).len();
        let document = split_arguments(arguments)
            .iter()
            .enumerate()
            .filter(|(_, argument)| *argument != "undefined")
            .map(|(index, argument)| format!("\"a{index}\":{argument}"))
            .collect::<Vec<_>>()
            .join(",");
        let call = (0..count).map(|index| format!("c.a{index}")).collect::<Vec<_>>().join(",");
        let computed = value_in(&format!("{function}({call})"), &format!("{{{document}}}"));
        assert_eq!(computed, *expected, "{function}({arguments}) over a document");
        let folded = value_in(&format!("{function}({arguments})"), "{}");
        assert_eq!(folded, *expected, "{function}({arguments}) folded");
    }
}

/// Splits a list of JSON values at its outer commas.
fn split_arguments(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted, mut escaped) = (vec![String::new()], 0, false, false);
    for c in text.chars() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else {
            match c {
                '"' => quoted = true,
                '[' | '{' => depth += 1,
                ']' | '}' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(String::new());
                    continue;
                }
                ' ' => continue,
                _ => {}
            }
        }
        parts.last_mut().unwrap().push(c);
    }
    if text.is_empty() { Vec::new() } else { parts }
}
