//! What each operation does to an item, what it refuses, and that nothing makes it panic.

use cosmonaut_wire::model::PartitionKeyDefinition;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn operations(text: &str) -> Vec<PatchOperation> {
    serde_json::from_str(text).unwrap()
}

fn patched(body: &str, patch: &str) -> Result<String, String> {
    match apply(body.as_bytes(), &operations(patch)) {
        Ok(text) => Ok(String::from_utf8(text).unwrap()),
        Err(failure) => {
            assert_eq!(failure.status, CosmosStatus::BAD_REQUEST);
            Err(failure.message)
        }
    }
}

/// Comparing each member with all before it takes minutes here.
#[test]
fn an_item_of_very_many_members_is_patched() {
    let members: Vec<String> = (0..150_000).map(|n| format!("\"{n}\":0")).collect();
    let body = format!("{{{},\"7\":1}}", members.join(","));
    let text = patched(&body, r#"[{"op":"incr","path":"/7","value":1}]"#).unwrap();
    assert!(text.ends_with("\"149999\":0,\"7\":2}"), "the last of the members of a name counts");
    assert_eq!(text.matches("\"7\":").count(), 1);
}

#[test]
fn operations_do_what_the_service_documents() {
    for (body, patch, expected) in [
        (r#"{"a":1}"#, r#"[{"op":"add","path":"/b","value":2}]"#, r#"{"a":1,"b":2}"#),
        (r#"{"a":1}"#, r#"[{"op":"add","path":"/a","value":2}]"#, r#"{"a":2}"#),
        (r#"{"a":[1,2]}"#, r#"[{"op":"add","path":"/a/1","value":9}]"#, r#"{"a":[1,9,2]}"#),
        (r#"{"a":[1,2]}"#, r#"[{"op":"add","path":"/a/2","value":9}]"#, r#"{"a":[1,2,9]}"#),
        (r#"{"a":[1,2]}"#, r#"[{"op":"add","path":"/a/-","value":9}]"#, r#"{"a":[1,2,9]}"#),
        (r#"{"a":[1,2]}"#, r#"[{"op":"set","path":"/a/1","value":9}]"#, r#"{"a":[1,9]}"#),
        (r#"{"a":[1,2]}"#, r#"[{"op":"set","path":"/a/-","value":9}]"#, r#"{"a":[1,2,9]}"#),
        (r#"{"a":1}"#, r#"[{"op":"set","path":"/b","value":{"c":[]}}]"#, r#"{"a":1,"b":{"c":[]}}"#),
        (r#"{"a":{"b":1}}"#, r#"[{"op":"replace","path":"/a/b","value":null}]"#, r#"{"a":{"b":null}}"#),
        (r#"{"a":[{"b":1}]}"#, r#"[{"op":"replace","path":"/a/0/b","value":2}]"#, r#"{"a":[{"b":2}]}"#),
        (r#"{"a":1,"b":2}"#, r#"[{"op":"remove","path":"/a"}]"#, r#"{"b":2}"#),
        (r#"{"a":[1,2,3]}"#, r#"[{"op":"remove","path":"/a/1"}]"#, r#"{"a":[1,3]}"#),
        (r#"{"a":1}"#, r#"[{"op":"incr","path":"/a","value":2}]"#, r#"{"a":3}"#),
        (r#"{"a":1}"#, r#"[{"op":"incr","path":"/a","value":-0.5}]"#, r#"{"a":0.5}"#),
        (r#"{"a":1}"#, r#"[{"op":"incr","path":"/n","value":4}]"#, r#"{"a":1,"n":4}"#),
        (r#"{"a":[1]}"#, r#"[{"op":"incr","path":"/a/0","value":4}]"#, r#"{"a":[5]}"#),
        (
            r#"{"a":9007199254740993}"#,
            r#"[{"op":"incr","path":"/a","value":1}]"#,
            r#"{"a":9007199254740994}"#,
        ),
        (r#"{"a":1,"b":2}"#, r#"[{"op":"move","from":"/a","path":"/c"}]"#, r#"{"b":2,"c":1}"#),
        (r#"{"a":1,"b":2}"#, r#"[{"op":"move","from":"/a","path":"/b"}]"#, r#"{"b":1}"#),
        (r#"{"a":[1,2,3]}"#, r#"[{"op":"move","from":"/a/0","path":"/a/2"}]"#, r#"{"a":[2,3,1]}"#),
        (r#"{"a/b":{"~":1}}"#, r#"[{"op":"set","path":"/a~1b/~0","value":2}]"#, r#"{"a/b":{"~":2}}"#),
        (
            r#"{"x":1.50,"a":1,"y":"A"}"#,
            r#"[{"op":"set","path":"/a","value":2}]"#,
            r#"{"x":1.50,"a":2,"y":"A"}"#,
        ),
        (
            r#"{"a":[]}"#,
            r#"[{"op":"add","path":"/a/-","value":{"n":1}},{"op":"incr","path":"/a/0/n","value":1}]"#,
            r#"{"a":[{"n":2}]}"#,
        ),
    ] {
        assert_eq!(patched(body, patch).as_deref(), Ok(expected), "{body} {patch}");
    }
}

#[test]
fn what_cannot_be_applied_is_refused_by_its_operation() {
    for (patch, part) in [
        (r#"[{"op":"replace","path":"/x","value":1}]"#, "no member \"x\""),
        (r#"[{"op":"remove","path":"/x"}]"#, "no member \"x\""),
        (r#"[{"op":"remove","path":"/a/7"}]"#, "2 elements"),
        (r#"[{"op":"add","path":"/a/3","value":1}]"#, "2 elements"),
        (r#"[{"op":"set","path":"/a/2","value":1}]"#, "2 elements"),
        (r#"[{"op":"replace","path":"/a/-","value":1}]"#, "2 elements"),
        (r#"[{"op":"add","path":"/a/01","value":1}]"#, "not an index"),
        (r#"[{"op":"add","path":"/a/x","value":1}]"#, "not an index"),
        (r#"[{"op":"add","path":"/x/y","value":1}]"#, "no path found beyond: 'x'"),
        (r#"[{"op":"add","path":"/s/y","value":1}]"#, "no members"),
        (r#"[{"op":"incr","path":"/s","value":1}]"#, "not a number"),
        (r#"[{"op":"incr","path":"/a","value":1}]"#, "not a number"),
        (r#"[{"op":"move","from":"/x","path":"/y"}]"#, "no member \"x\""),
        (r#"[{"op":"move","from":"/o","path":"/o/p"}]"#, "into itself"),
        (r#"[{"op":"set","path":"/n","value":1},{"op":"remove","path":"/x"}]"#, "Operation(2)"),
    ] {
        let message = patched(r#"{"id":"1","a":[1,2],"s":"t","o":{}}"#, patch).unwrap_err();
        assert!(message.contains(part), "{patch}: {message}");
    }
}

#[test]
fn id_key_and_system_members_are_out_of_reach() {
    let keys = KeyReader::new(&PartitionKeyDefinition::from("/k/p")).unwrap();
    for (patch, allowed) in [
        (r#"[{"op":"set","path":"/id","value":"2"}]"#, false),
        (r#"[{"op":"set","path":"/_ts","value":2}]"#, false),
        (r#"[{"op":"remove","path":"/_etag"}]"#, false),
        (r#"[{"op":"set","path":"/k/p","value":2}]"#, false),
        (r#"[{"op":"remove","path":"/k"}]"#, false),
        (r#"[{"op":"set","path":"/k/p/deeper","value":2}]"#, false),
        (r#"[{"op":"move","from":"/k/p","path":"/x"}]"#, false),
        (r#"[{"op":"move","from":"/x","path":"/id"}]"#, false),
        (r#"[{"op":"set","path":"/k/q","value":2}]"#, true),
        (r#"[{"op":"set","path":"/ttl","value":2}]"#, true),
    ] {
        assert_eq!(check_paths(&operations(patch)[0], &keys).is_ok(), allowed, "{patch}");
    }
}

#[test]
fn a_patch_cannot_nest_deeper_or_grow_larger_than_an_item_may() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(126), "]".repeat(126));
    let path = format!("/a{}/0", "/0".repeat(125));
    let patch = json!([{"op": "add", "path": path, "value": [[]]}]).to_string();
    assert!(patched(&deep, &patch).unwrap_err().contains("not acceptable"));
    let patch = json!([{"op": "add", "path": "/b", "value": "x".repeat(crate::engine::MAX_ITEM_BYTES)}]);
    let failure = apply(b"{}", &operations(&patch.to_string())).unwrap_err();
    assert_eq!(failure.status, CosmosStatus::REQUEST_ENTITY_TOO_LARGE);
}

#[test]
fn conditions_are_queries_without_a_select() {
    let now = Timestamp(0);
    for (condition, body, holds) in [
        ("FROM c WHERE c.n > 1", r#"{"n":2}"#, true),
        ("from c where c.n > 1", r#"{"n":1}"#, false),
        ("FROM c WHERE IS_DEFINED(c.x) AND c.x = 'y'", r#"{"x":"y"}"#, true),
        ("FROM c WHERE c.missing = 1", "{}", false),
    ] {
        assert_eq!(
            compile(condition, &Setting::default(), now).unwrap().matches(body.as_bytes()),
            Ok(holds),
            "{condition}"
        );
    }
    for condition in ["c.n > 1", "FROM c WHERE", "FROM c WHERE @p = 1", "; DROP"] {
        assert!(compile(condition, &Setting::default(), now).is_err(), "{condition}");
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(|number: f64| Value::from(number)),
        "[ab\"\\\\é]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ab0]{1,2}", inner, 0..4).prop_map(|members| json!(members)),
        ]
    })
}

fn operation() -> impl Strategy<Value = Value> {
    let path = prop::collection::vec(prop_oneof!["[ab0]{1,2}", "[0-3]", Just("-".to_owned())], 1..4)
        .prop_map(|names| format!("/{}", names.join("/")));
    let name = prop::sample::select(vec!["add", "set", "replace", "remove", "incr", "move"]);
    (name, path.clone(), path, json_value(), any::<i32>()).prop_map(|(op, path, from, value, by)| match op {
        "remove" => json!({"op": op, "path": path}),
        "incr" => json!({"op": op, "path": path, "value": by}),
        "move" => json!({"op": op, "path": path, "from": from}),
        _ => json!({"op": op, "path": path, "value": value}),
    })
}

proptest! {
    #[test]
    fn any_patch_of_any_item_leaves_json_or_a_reason(
        item in json_value(),
        patch in prop::collection::vec(operation(), 1..5),
    ) {
        let patch: Vec<PatchOperation> = serde_json::from_value(Value::from(patch)).unwrap();
        if let Ok(text) = apply(item.to_string().as_bytes(), &patch) {
            prop_assert!(serde_json::from_slice::<Value>(&text).is_ok());
        }
    }

    #[test]
    fn what_was_set_is_found_there_and_nothing_else_changed(
        item in prop::collection::btree_map("[ab]{1,2}", json_value(), 1..5),
        value in json_value(),
    ) {
        let name = item.keys().next().unwrap().clone();
        let before = json!(item);
        let patch = json!([{"op": "set", "path": format!("/{name}"), "value": value}]);
        let text = apply(before.to_string().as_bytes(), &operations(&patch.to_string())).unwrap();
        let mut expected = before;
        expected[name.as_str()] = value;
        prop_assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), expected);
    }

    #[test]
    fn no_bytes_panic(body: Vec<u8>, patch in prop::collection::vec(operation(), 1..3)) {
        let patch: Vec<PatchOperation> = serde_json::from_value(Value::from(patch)).unwrap();
        let _ = apply(&body, &patch);
    }
}
