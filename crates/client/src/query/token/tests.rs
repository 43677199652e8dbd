use proptest::prelude::*;

use super::*;
use crate::ErrorKind;

fn binding(text: &str) -> Binding {
    let scope = ResolvedScope { key: None, range: EpkRange::FULL };
    Binding::new(&QuerySpec::new(text), &scope, ResourceId::container(1, 1))
}

fn range(min: &str, max: &str) -> EpkRange {
    EpkRange { min: min.parse().unwrap(), max: max.parse().unwrap() }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Undefined),
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::from),
        ".*".prop_map(|text: String| Value::from(text.as_str())),
    ]
}

fn any_standing() -> impl Strategy<Value = Standing> {
    prop_oneof![
        Just(Standing::All),
        Just(Standing::None),
        (".{0,8}", 0..5usize, any::<Option<bool>>()).prop_map(|(rid, given, falling)| Standing::UpTo {
            rid,
            given,
            falling
        }),
    ]
}

fn any_at() -> impl Strategy<Value = At> {
    let ranges = [range("", "10"), range("20", "30"), range("40", "FF")];
    let (pieces, parts) = (ranges.clone(), ranges);
    prop_oneof![
        prop::collection::vec(any::<Option<String>>(), 3)
            .prop_map(move |at| At::Pieces(pieces.iter().cloned().zip(at).collect())),
        (
            prop::collection::vec(any_value(), 1..3),
            prop::collection::vec(any_standing(), 3),
            prop::option::of(prop::collection::vec(any::<u8>(), 0..40)),
        )
            .prop_map(move |(order, standings, row)| At::Ordered {
                order,
                parts: parts.iter().cloned().zip(standings).collect(),
                row: row.map(Mark::from_bytes),
            }),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|mark| At::Marked(Mark::from_bytes(mark))),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(at in any_at(), skip in any::<u64>(), take in any::<u64>()) {
        let progress = Progress { window: Window { skip, take }, at };
        let text = write(&binding("q"), &progress).unwrap();
        prop_assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        prop_assert_eq!(read(&binding("q"), &text).unwrap(), progress);
    }

    #[test]
    fn texts_that_are_no_tokens_are_refused(text in ".*") {
        prop_assert_eq!(read(&binding("q"), &text).unwrap_err().kind(), ErrorKind::Query);
    }
}

#[test]
fn a_token_continues_only_what_it_is_of() {
    let progress =
        Progress { window: Window { skip: 0, take: 1 }, at: At::Pieces(vec![(range("", "10"), None)]) };
    let text = write(&binding("q"), &progress).unwrap();
    let key = ResolvedScope { key: Some("a".into()), range: EpkRange::FULL };
    let full = ResolvedScope { key: None, range: EpkRange::FULL };
    let with = QuerySpec::new("q").with_parameter("@a", &1).unwrap();
    let container = ResourceId::container(1, 1);
    for (other, problem) in [
        (binding("r"), "another query"),
        (Binding::new(&with, &full, container), "another query"),
        (Binding::new(&QuerySpec::new("q"), &key, container), "another scope"),
        (Binding::new(&QuerySpec::new("q"), &full, ResourceId::container(1, 2)), "another container"),
    ] {
        let error = read(&other, &text).unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
    }
    let later = URL_SAFE_NO_PAD.encode(r#"{"v":2,"of":"query"}"#);
    assert!(read(&binding("q"), &later).unwrap_err().to_string().contains("version 2"));
    let other = URL_SAFE_NO_PAD.encode(r#"{"v":1,"of":"change feed"}"#);
    assert!(read(&binding("q"), &other).unwrap_err().to_string().contains("change feed"));
}

#[test]
fn neighbours_of_which_the_same_is_known_are_written_once() {
    let parts = vec![
        (range("", "10"), Standing::All),
        (range("10", "20"), Standing::All),
        (range("20", "30"), Standing::UpTo { rid: "r".into(), given: 1, falling: None }),
        (range("30", "40"), Standing::None),
        (range("40", "FF"), Standing::None),
    ];
    let at = At::Ordered { order: vec![Value::Null], parts, row: None };
    let progress = Progress { window: Window { skip: 0, take: u64::MAX }, at };
    let read = read(&binding("q"), &write(&binding("q"), &progress).unwrap()).unwrap();
    let At::Ordered { parts, .. } = read.at else { panic!("{read:?}") };
    assert_eq!(parts.len(), 3);
    assert_eq!(parts[2], (range("30", "FF"), Standing::None));
}
