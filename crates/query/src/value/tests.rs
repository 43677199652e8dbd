//! Tables and properties of values: text in, text out, equality, order and hashing.

use super::*;
use proptest::prelude::*;

pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        prop_oneof![(-20i32..20).prop_map(f64::from), any::<f64>().prop_filter("finite", |n| n.is_finite())]
            .prop_map(Value::Number),
        any::<i64>().prop_map(Value::integer),
        "[a-c\"\\\\é\u{1F600}\u{FB01}\n\u{1}]{0,6}".prop_map(|s| Value::String(s.into())),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map("[a-d\"é]{0,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().map(|(k, v)| (k.into(), v)).collect())),
        ]
    })
}

fn text(value: &Value) -> String {
    value.to_json().map_or("undefined".into(), |bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn numbers_print_as_javascript_prints_them() {
    let rows: &[(f64, &str)] = &[
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-17.0, "-17"),
        (0.1, "0.1"),
        (0.1 + 0.2, "0.30000000000000004"),
        (9007199254740991.0, "9007199254740991"),
        (9007199254740993.0, "9007199254740992"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
        (-2.5e-9, "-2.5e-9"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (f64::NAN, "undefined"),
        (f64::INFINITY, "undefined"),
    ];
    for (number, expected) in rows {
        assert_eq!(text(&Value::Number(*number)), *expected, "{number:e}");
    }
}

#[test]
fn strings_escape_only_what_they_must() {
    for (plain, expected) in [
        ("a/b", r#""a/b""#),
        ("é\u{1F600}", "\"é\u{1F600}\""),
        ("\"\\\n\t\r\u{8}\u{c}\u{1}", r#""\"\\\n\t\r\b\f\u0001""#),
    ] {
        assert_eq!(text(&plain.into()), expected);
    }
}

#[test]
fn what_json_cannot_hold_vanishes_from_arrays_and_objects() {
    let bad = [Value::Undefined, Value::Number(f64::NAN)];
    for bad in bad {
        let array = Value::Array(vec![bad.clone(), Value::Null, bad.clone(), Value::Bool(true), bad.clone()]);
        assert_eq!(text(&array), "[null,true]");
        let object =
            Value::Object(vec![("a".into(), bad.clone()), ("b".into(), Value::Null), ("c".into(), bad)]);
        assert_eq!(text(&object), r#"{"b":null}"#);
    }
}

#[test]
fn equality_ignores_member_order_and_the_sign_of_zero() {
    let rows = [
        (r#"{"a":1,"b":[2,{"c":3,"d":4}]}"#, r#"{"b":[2,{"d":4,"c":3}],"a":1}"#, true),
        ("[1,2]", "[2,1]", false),
        ("0", "-0", true),
        ("1", "1.0", true),
        ("\"1\"", "1", false),
        (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false),
        (r#"{"a":1,"a":2}"#, r#"{"a":2}"#, true),
    ];
    for (a, b, equal) in rows {
        let (a, b) = (Value::from_json(a.as_bytes()).unwrap(), Value::from_json(b.as_bytes()).unwrap());
        assert_eq!(a == b, equal, "{a:?} {b:?}");
        assert_eq!(a.canonical() == b.canonical(), equal, "{a:?} {b:?}");
    }
}

#[test]
fn kinds_order_as_order_by_wants_them() {
    let rising = [
        "null",
        "false",
        "true",
        "-9223372036854775808",
        "-9223372036854775807",
        "-9007199254740993",
        "-9007199254740992",
        "-1",
        "0",
        "2",
        "9007199254740992",
        "9007199254740993",
        "9007199254740994",
        "9223372036854775806",
        "9223372036854775807",
        "9223372036854775808",
        "1e300",
        "\"\"",
        "\"a\"",
        "\"b\"",
        "\"\u{1F600}\"",
        "\"\u{FB01}\"",
        // By the bytes of their hashes: 82…, f9…; d8…, e7….
        "[]",
        "[1,\"a\"]",
        "{}",
        "{\"a\":1}",
    ];
    let mut values = vec![Value::Undefined];
    values.extend(rising.iter().map(|text| Value::from_json(text.as_bytes()).unwrap()));
    for (i, a) in values.iter().enumerate() {
        for (j, b) in values.iter().enumerate() {
            assert_eq!(a.total_cmp(b), i.cmp(&j), "{a:?} {b:?}");
        }
    }
}

proptest! {
    #[test]
    fn a_written_value_reads_back_equal(value in any_value()) {
        let json = value.to_json().unwrap();
        prop_assert_eq!(Value::from_json(&json).unwrap(), value.clone());
        // The text is JSON to others too.
        prop_assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok());
    }

    #[test]
    fn canonical_bytes_agree_with_equality(a in any_value(), b in any_value()) {
        prop_assert_eq!(a == b, a.canonical() == b.canonical());
    }

    #[test]
    fn the_order_is_total(a in any_value(), b in any_value(), c in any_value()) {
        prop_assert_eq!(a.total_cmp(&b), b.total_cmp(&a).reverse());
        if a.total_cmp(&b).is_le() && b.total_cmp(&c).is_le() {
            prop_assert!(a.total_cmp(&c).is_le());
        }
    }
}
