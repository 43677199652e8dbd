use proptest::prelude::*;
use serde_json::json;

use super::*;

fn path(text: &str) -> PatchPath {
    PatchPath::new(text).unwrap()
}

#[test]
fn every_operation_survives_a_round_trip() {
    let cases = [
        (PatchOperation::add(path("/a/-"), 1), json!({"op": "add", "path": "/a/-", "value": 1})),
        (PatchOperation::set(path("/a"), "x"), json!({"op": "set", "path": "/a", "value": "x"})),
        (PatchOperation::set(path("/a"), Value::Null), json!({"op": "set", "path": "/a", "value": null})),
        (
            PatchOperation::replace(path("/a/0/b"), true),
            json!({"op": "replace", "path": "/a/0/b", "value": true}),
        ),
        (PatchOperation::remove(path("/a")), json!({"op": "remove", "path": "/a"})),
        (PatchOperation::increment(path("/n"), -2), json!({"op": "incr", "path": "/n", "value": -2})),
        (
            PatchOperation::increment(path("/n"), Number::from_f64(0.5).unwrap()),
            json!({"op": "incr", "path": "/n", "value": 0.5}),
        ),
        (
            PatchOperation::move_value(path("/a"), path("/b")),
            json!({"op": "move", "from": "/a", "path": "/b"}),
        ),
    ];
    for (operation, document) in cases {
        assert_eq!(serde_json::to_value(&operation).unwrap(), document);
        assert_eq!(serde_json::from_value::<PatchOperation>(document).unwrap(), operation);
    }
}

#[test]
fn operations_come_bare_or_with_a_condition() {
    let operation = r#"{"op":"remove","path":"/a"}"#;
    let patch = PatchDocument::new([PatchOperation::remove(path("/a"))]);
    let cases = [
        (format!("[{operation}]"), patch.clone()),
        (format!(r#"{{"operations":[{operation}]}}"#), patch.clone()),
        (format!(r#"{{"condition":null,"operations":[{operation}],"later":[1]}}"#), patch.clone()),
        (
            format!(r#"{{"operations":[{operation}],"condition":"FROM c"}}"#),
            patch.clone().with_condition("FROM c"),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(serde_json::from_str::<PatchDocument>(&text).unwrap(), expected, "{text}");
    }
    assert_eq!(
        serde_json::to_value(&patch).unwrap(),
        json!({"operations": [{"op": "remove", "path": "/a"}]})
    );
}

#[test]
fn a_malformed_patch_is_refused_by_name() {
    let cases = [
        (r#"{"condition":"FROM c"}"#, "missing field `operations`"),
        (r#""set""#, "expected patch operations"),
        (r#"[{"path":"/a","value":1}]"#, "missing field `op`"),
        (r#"[{"op":"copy","path":"/a"}]"#, "unknown variant `copy`"),
        (r#"[{"op":"set","path":"/a"}]"#, "at \"/a\" needs a `value`"),
        (r#"[{"op":"move","path":"/a"}]"#, "at \"/a\" needs a `from`"),
        (r#"[{"op":"incr","path":"/a","value":"1"}]"#, "at \"/a\" needs a number"),
        (r#"[{"op":"remove","path":"a"}]"#, "patch path \"a\" is not a JSON pointer"),
    ];
    for (text, expected) in cases {
        let error = serde_json::from_str::<PatchDocument>(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_patch_has_one_to_ten_operations() {
    for (operations, valid) in [(0, false), (1, true), (10, true), (11, false)] {
        let patch = PatchDocument::new((0..operations).map(|_| PatchOperation::remove(path("/a"))));
        assert_eq!(patch.validate().is_ok(), valid, "{operations}");
    }
}

#[test]
fn paths_are_json_pointers() {
    let cases: [(&str, Option<&[&str]>); 9] = [
        ("/a", Some(&["a"])),
        ("/a/0/b", Some(&["a", "0", "b"])),
        ("/a/-", Some(&["a", "-"])),
        ("/a~1b/~0~01", Some(&["a/b", "~~1"])),
        ("/", Some(&[""])),
        ("", None),
        ("a/b", None),
        ("/a~", None),
        ("/a~2", None),
    ];
    for (text, expected) in cases {
        let names =
            PatchPath::new(text).ok().map(|path| path.names().map(Cow::into_owned).collect::<Vec<_>>());
        assert_eq!(names, expected.map(|names| names.iter().map(ToString::to_string).collect()), "{text}");
    }
}

proptest! {
    #[test]
    fn names_survive_being_made_a_path(names in prop::collection::vec(".*", 1..4)) {
        let path = PatchPath::from_names(names.iter().map(String::as_str)).unwrap();
        prop_assert_eq!(PatchPath::new(path.as_str()).unwrap(), path.clone());
        prop_assert_eq!(path.names().map(Cow::into_owned).collect::<Vec<_>>(), names);
    }
}
