//! Reading in place agrees with reading a tree, over tables and generated documents, and garbage breaks nothing.

use super::*;
use crate::ast::PathSegment;
use crate::value::tests::any_value;
use proptest::prelude::*;

#[test]
fn validation_accepts_json_and_says_where_other_text_stops_being_it() {
    let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
    let rows: &[(&str, Option<usize>)] = &[
        ("1", None),
        (" {\"a\" : [1, -2.5e+3, \"x\\u00e9\\n\", true, false, null, {}] } ", None),
        ("[]", None),
        ("\"[\"", None),
        (&deep(128), None),
        (&deep(129), Some(128)),
        ("", Some(0)),
        ("{\"a\":1,}", Some(7)),
        ("[1,]", Some(3)),
        ("[1 2]", Some(3)),
        ("{\"a\" 1}", Some(5)),
        ("{a:1}", Some(1)),
        ("{'a':1}", Some(1)),
        ("01", Some(1)),
        ("1.", Some(2)),
        ("-", Some(1)),
        ("+1", Some(0)),
        ("1e", Some(2)),
        ("tru", Some(0)),
        ("\"a", Some(2)),
        ("\"a\nb\"", Some(2)),
        ("\"\\x\"", Some(1)),
        ("\"\\u12g4\"", Some(1)),
        ("1 2", Some(2)),
        ("NaN", Some(0)),
        ("[}", Some(1)),
        ("]", Some(0)),
    ];
    for (text, offset) in rows {
        assert_eq!(validate(text.as_bytes()).err().map(|e| e.offset), *offset, "{text:.40}");
    }
    assert_eq!(validate(b"\"\xff\"").unwrap_err(), JsonError { offset: 1, expected: "UTF-8" });
}

#[test]
fn strings_are_borrowed_unless_they_hold_an_escape() {
    let rows = [
        (r#""plain é""#, "plain é", true),
        (r#""""#, "", true),
        (r#""a\"b\\\/\b\f\n\r\t""#, "a\"b\\/\u{8}\u{c}\n\r\t", false),
        (r#""\u00e9\ud83d\ude00""#, "é\u{1F600}", false),
        (r#""\ud83d-\ude00""#, "\u{FFFD}-\u{FFFD}", false),
    ];
    for (text, expected, borrowed) in rows {
        let read = RawJson::new(text.as_bytes()).as_str().unwrap();
        assert_eq!(read, expected);
        assert_eq!(matches!(read, Cow::Borrowed(_)), borrowed, "{text}");
    }
}

#[test]
fn paths_read_what_stands_at_them() {
    let document =
        br#" { "a" : {"b":[10,{"c":"x"},[]], "b2": 1}, "n":null, "e\u0073c": 2, "d":1, "d":{"e":5} } "#;
    let rows: &[(&[&str], Option<&str>)] = &[
        (&["a", "b", "0"], Some("10")),
        (&["a", "b", "1", "c"], Some("\"x\"")),
        (&["a", "b", "2"], Some("[]")),
        (&["a", "b", "3"], None),
        (&["a", "b", "c"], None),
        (&["a", "0"], None),
        (&["a", "b2"], Some("1")),
        (&["n"], Some("null")),
        (&["n", "x"], None),
        (&["esc"], Some("2")),
        (&["d"], Some("{\"e\":5}")),
        (&["d", "e"], Some("5")),
        (&["missing"], None),
    ];
    let segments = |path: &[&str]| -> Vec<PathSegment> {
        path.iter()
            .map(|s| s.parse().map_or_else(|_| PathSegment::Member((*s).into()), PathSegment::Index))
            .collect()
    };
    let mut set = PathSet::default();
    let slots: Vec<usize> = rows.iter().map(|(path, _)| set.add(&segments(path))).collect();
    assert_eq!(set.add(&segments(rows[0].0)), slots[0]);
    let found = set.clone().into_scan().extract(RawJson::new(document));
    for ((path, expected), slot) in rows.iter().zip(slots) {
        let read = found.get(slot).map(|raw| std::str::from_utf8(raw.as_bytes()).unwrap());
        assert_eq!(read, *expected, "{path:?}");
    }
}

#[test]
fn a_repeated_name_overrules_what_was_read_below_the_first() {
    let mut set = PathSet::default();
    let slot = set.add(&[PathSegment::Member("a".into()), PathSegment::Member("b".into())]);
    for (text, expected) in [(r#"{"a":{"b":1},"a":{}}"#, None), (r#"{"a":{"b":1},"a":{"b":2}}"#, Some(2.0))] {
        let found = set.clone().into_scan().extract(RawJson::new(text.as_bytes()));
        assert_eq!(found.get(slot).and_then(RawJson::as_number), expected, "{text}");
    }
}

/// What a path finds in a tree, for comparison.
fn walk<'v>(value: &'v Value, path: &[PathSegment]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, segment| match (segment, value) {
        (PathSegment::Member(name), Value::Object(_)) => value.get(name),
        (PathSegment::Index(index), Value::Array(elements)) => elements.get(*index as usize),
        _ => None,
    })
}

fn any_path() -> impl Strategy<Value = Vec<PathSegment>> {
    let segment =
        prop_oneof!["[a-d\"é]{0,2}".prop_map(PathSegment::Member), (0u64..4).prop_map(PathSegment::Index)];
    prop::collection::vec(segment, 0..4)
}

proptest! {
    #[test]
    fn paths_agree_with_a_tree(value in any_value(), paths in prop::collection::vec(any_path(), 0..20)) {
        let json = value.to_json().unwrap();
        let mut set = PathSet::default();
        let slots: Vec<usize> = paths.iter().map(|path| set.add(path)).collect();
        let found = set.clone().into_scan().extract(RawJson::new(&json));
        for (path, slot) in paths.iter().zip(slots) {
            prop_assert_eq!(found.get(slot).map(RawJson::to_value), walk(&value, path).cloned());
        }
    }

    #[test]
    fn long_strings_are_read_as_short_ones_are(
        text in prop::collection::vec(prop_oneof![20 => Just('x'), 1 => any::<char>(), 1 => Just('\\'), 1 => Just('"'), 1 => Just('\u{1f}'), 1 => Just('\u{7f}')], 0..150),
    ) {
        let text: String = std::iter::once('"').chain(text).chain(['"']).collect();
        let escaped = text[1..].find(['"', '\\']).is_some_and(|at| text[1 + at..].starts_with('\\'));
        let ends = (1..=text.len()).filter(|end| text.is_char_boundary(*end));
        let mut values = ends.filter(|end| serde_json::from_str::<String>(&text[..*end]).is_ok());
        match values.next() {
            Some(end) => {
                prop_assert!(super::validate(&text.as_bytes()[..end]).is_ok());
                let (found, has_escape) = super::read_string(text.as_bytes(), 0);
                prop_assert_eq!((found, has_escape), (end, escaped || has_escape));
            }
            None => prop_assert!(super::validate(text.as_bytes()).is_err()),
        }
    }

    #[test]
    fn validation_agrees_with_serde_json(text in "[\\[\\]{}\",:0-2 ntrue.eE+\\\\-]{0,12}") {
        prop_assert_eq!(validate(text.as_bytes()).is_ok(), serde_json::from_str::<serde_json::Value>(&text).is_ok()
            || serde_json::from_str::<serde_json::Value>(&text).is_err_and(|e| e.to_string().contains("out of range")));
    }

    #[test]
    fn garbage_neither_panics_nor_hangs(bytes in prop::collection::vec(prop_oneof![
        prop::sample::select(b"{}[]\",:\\u1 ".to_vec()), any::<u8>()
    ], 0..40)) {
        let raw = RawJson::new(&bytes);
        let _ = raw.to_value();
        let mut set = PathSet::default();
        set.add(&[PathSegment::Member("a".into()), PathSegment::Index(0)]);
        set.add(&[PathSegment::Index(1), PathSegment::Member(String::new())]);
        let _ = set.clone().into_scan().extract(raw);
        let _ = Value::from_json(&bytes);
    }
}
