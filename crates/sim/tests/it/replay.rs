//! The same seed is the same world, to the last byte of what happened.

use std::process::Command;

use serde_json::Value;

fn verdict(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_cosmonaut-sim")).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

#[test]
fn a_world_is_the_same_whenever_it_is_lived() {
    for (kind, seed) in [("items", "3"), ("items", "41"), ("processors", "8"), ("orchestrations", "2")] {
        let live = || verdict(&["world", seed, "--world", kind]);
        let (first, second) = (live(), live());
        assert_eq!(first, second, "{kind} {seed}");
        assert_ne!(first["digest"], verdict(&["world", "4", "--world", kind])["digest"], "{kind} {seed}");
    }
}

#[test]
fn worlds_beside_each_other_change_nothing() {
    let run = |jobs: &str| {
        let arguments = ["run", "--world", "items", "--seeds", "6", "--from", "50", "--jobs", jobs, "--json"];
        let mut verdict = verdict(&arguments);
        verdict.as_object_mut().unwrap().remove("elapsedSeconds");
        verdict
    };
    let (alone, together) = (run("1"), run("3"));
    assert_eq!(alone, together);
    assert_eq!(alone["seeds"], 6);
    assert_eq!(alone["violations"], Value::Array(Vec::new()));
    assert!(alone["operations"].as_u64().unwrap() > 1000, "{alone}");
    assert!(alone["coverage"].as_object().unwrap().len() > 10, "{alone}");
}

#[test]
fn parts_of_a_world_can_be_left_out() {
    let whole = verdict(&["world", "3", "--world", "items"]);
    let without = verdict(&[
        "world",
        "3",
        "--world",
        "items",
        "--without-faults",
        "0",
        "--without-clients",
        "0",
        "--calls",
        "10",
    ]);
    let number = |verdict: &Value, what: &str| verdict[what].as_u64().unwrap();
    assert_eq!(number(&without, "faults") + 1, number(&whole, "faults"));
    assert_eq!(without["clients"].as_array().unwrap().len() + 1, whole["clients"].as_array().unwrap().len());
    assert!(number(&without, "operations") < number(&whole, "operations"));
}
