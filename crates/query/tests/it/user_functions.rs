//! Calls of functions that users have defined, run by whoever runs the query.

use std::sync::{Arc, Mutex};

use cosmonaut_query::eval::{Environment, EvalError, Limits, Program, Rows, UserFunctions};
use cosmonaut_query::{Parameters, check, parse};

/// Answers with what it was asked; `nothing` gives nothing, and `fails` fails.
#[derive(Default)]
struct Echo(Mutex<Vec<String>>);

impl UserFunctions for Echo {
    fn call(&self, name: &str, arguments: &str) -> Result<Option<String>, EvalError> {
        self.0.lock().unwrap().push(format!("{name}{arguments}"));
        match name {
            "nothing" => Ok(None),
            "fails" => Err(EvalError::UserFunction),
            "first" => {
                Ok(arguments.strip_prefix("[[").and_then(|rest| rest.split(']').next()).map(str::to_owned))
            }
            _ => Ok(Some(arguments.to_owned())),
        }
    }
}

fn program(text: &str) -> Program {
    let query = parse(text).unwrap();
    check(&query, text).unwrap();
    let environment = Environment {
        now_ticks: 0,
        random: &|| 0.5,
        limits: Limits::default(),
        computed: &[],
        setting: &Default::default(),
    };
    Program::compile(&query, &Parameters::default(), &environment).unwrap()
}

fn rows(text: &str) -> Result<Vec<String>, EvalError> {
    let program = program(text).with_functions(Arc::new(Echo::default()));
    let (mut rows, mut execution) = (Rows::new(), program.start());
    for document in [r#"{"a":1,"s":"x"}"#, r#"{"a":2}"#] {
        execution.push(document.as_bytes(), 1, &mut rows)?;
    }
    execution.finish(&mut rows)?;
    Ok(rows.iter().map(|row| String::from_utf8_lossy(row).into_owned()).collect())
}

#[test]
fn arguments_and_results_are_json_values_or_undefined() {
    for (text, expected) in [
        ("SELECT VALUE udf.echo(c.a, c.s, c.none) FROM c", vec![r#"[[1],["x"],[]]"#, "[[2],[],[]]"]),
        ("SELECT VALUE udf.echo() FROM c WHERE c.a = 1", vec!["[]"]),
        ("SELECT VALUE udf.first(c.a) + 1 FROM c", vec!["2", "3"]),
        ("SELECT udf.nothing(1) AS n, c.a FROM c", vec![r#"{"a":1}"#, r#"{"a":2}"#]),
        ("SELECT c.a FROM c WHERE udf.first(c.a) > 1", vec![r#"{"a":2}"#]),
        ("SELECT VALUE SUM(udf.first(c.a)) FROM c", vec!["3"]),
        ("SELECT COUNT(1) AS n FROM c GROUP BY udf.first(1)", vec![r#"{"n":2}"#]),
        ("SELECT VALUE udf.first(udf.first(c.a)) FROM c", vec!["1", "2"]),
    ] {
        assert_eq!(rows(text).as_deref(), Ok(&expected.map_into()[..]), "{text}");
    }
    assert_eq!(rows("SELECT VALUE udf.fails() FROM c"), Err(EvalError::UserFunction));
}

#[test]
fn a_program_names_the_functions_that_it_calls() {
    let program = program(
        "SELECT udf.b(udf.a(1)), udf.B(1), udf.a(2) FROM c WHERE udf.d(c.x) OR EXISTS(SELECT udf.e(1))",
    );
    let mut names = program.user_functions().to_vec();
    names.sort();
    assert_eq!(names, ["B", "a", "b", "d", "e"]);
    // Nobody is there to run them.
    let mut rows = Rows::new();
    assert_eq!(program.project(b"{}", &mut rows), Err(EvalError::UserFunction));
}

trait MapInto {
    fn map_into(self) -> Vec<String>;
}

impl MapInto for Vec<&str> {
    fn map_into(self) -> Vec<String> {
        self.into_iter().map(str::to_owned).collect()
    }
}
