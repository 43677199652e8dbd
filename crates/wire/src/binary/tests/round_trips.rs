//! Every text comes back from its binary form.

use proptest::prelude::*;

use super::super::Features;
use super::{ALL_FEATURES, decoded, encoded};
use crate::json_text::{write_number, write_string};

/// A value whose members have an order.
#[derive(Clone, Debug)]
enum Json {
    Word(&'static str),
    Integer(i64),
    Unsigned(u64),
    Double(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Word(word) => out.extend_from_slice(word.as_bytes()),
            Self::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Self::Unsigned(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Self::Double(number) => assert!(write_number(*number, out)),
            Self::Text(text) => write_string(text, out),
            Self::Array(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    write_string(name, out);
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }

    fn text(&self) -> String {
        let mut out = Vec::new();
        self.write(&mut out);
        String::from_utf8(out).unwrap()
    }
}

/// Strings of all forms: any text, few characters, tables, GUIDs, base64, and those that are often seen.
fn strings() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-f0-9]{0,40}",
        "[A-F0-9]{16,40}",
        "[0-9T:Z. -]{10,40}",
        "[ -~]{0,120}",
        "[a-z]{20,300}",
        "[A-Za-z0-9+/]{36,48}={0,2}",
        "[A-Za-z0-9_-]{36,48}",
        "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        "[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}",
        "\"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\"",
        prop::sample::select(vec!["id", "name", "city", "Oslo", "a", "", "_etag", "Seoul"])
            .prop_map(str::to_owned),
    ]
}

fn doubles() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("JSON has finite numbers", |number| number.is_finite())
}

fn scalars() -> impl Strategy<Value = Json> {
    prop_oneof![
        prop::sample::select(vec!["null", "true", "false"]).prop_map(Json::Word),
        any::<i64>().prop_map(Json::Integer),
        (-300i64..300).prop_map(Json::Integer),
        doubles().prop_map(Json::Double),
        strings().prop_map(Json::Text),
        strings().prop_map(Json::Text),
    ]
}

fn arrays_of_numbers() -> impl Strategy<Value = Json> {
    prop_oneof![
        prop::collection::vec((0i64..400).prop_map(Json::Integer), 0..40),
        prop::collection::vec(any::<i64>().prop_map(Json::Integer), 0..10),
        prop::collection::vec(doubles().prop_map(Json::Double), 0..300),
        prop::collection::vec(
            any::<f32>().prop_filter("finite", |n| n.is_finite()).prop_map(|n| Json::Double(n.into())),
            0..10
        ),
        (1usize..20, 1usize..20).prop_map(|(inner, outer)| {
            let row =
                |from: usize| (from..from + inner).map(|number| Json::Integer(number as i64 * 7)).collect();
            vec![Json::Array((0..outer).map(|number| Json::Array(row(number))).collect())]
        }),
    ]
    .prop_map(Json::Array)
}

fn documents() -> impl Strategy<Value = Json> {
    prop_oneof![4 => scalars(), 1 => arrays_of_numbers()].prop_recursive(6, 80, 20, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..20).prop_map(Json::Array),
            prop::collection::vec((strings(), inner), 0..20).prop_map(Json::Object),
        ]
    })
}

proptest! {
    #[test]
    fn every_document_comes_back_as_it_was(document in documents()) {
        let text = document.text();
        for features in [Features::default(), ALL_FEATURES] {
            let binary = encoded(&text, features);
            prop_assert_eq!(decoded(&binary), Ok(text.clone()));
            // What was read is written in the same way again.
            prop_assert_eq!(encoded(&text, features), binary);
        }
    }

    #[test]
    fn integers_keep_all_their_digits(signed: i64, unsigned: u64) {
        for number in [Json::Integer(signed), Json::Unsigned(unsigned)] {
            prop_assert_eq!(decoded(&encoded(&number.text(), ALL_FEATURES)), Ok(number.text()));
        }
    }
}

#[test]
fn numbers_at_the_edges_of_their_types_are_exact() {
    let integers =
        [0i128, 31, 32, 127, 128, 255, 256, 32767, 32768, 2147483647, 2147483648, 9007199254740993];
    let around = integers.iter().flat_map(|number| [*number, -*number, -*number - 1]);
    for number in around.chain([i64::MIN.into(), i64::MAX.into(), i64::MAX as i128 + 1, u64::MAX.into()]) {
        let text = number.to_string();
        assert_eq!(decoded(&encoded(&text, ALL_FEATURES)), Ok(text));
    }
    for (text, read) in [
        ("-0", "0"),
        ("-0.0", "0"),
        ("3.0", "3"),
        ("1e3", "1000"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("2.2250738585072014e-308", "2.2250738585072014e-308"),
        ("0.1", "0.1"),
        ("-1e21", "-1e+21"),
        ("18446744073709551616", "18446744073709552000"),
        ("1e-400", "0"),
    ] {
        assert_eq!(decoded(&encoded(text, ALL_FEATURES)).as_deref(), Ok(read), "{text}");
    }
    // Without the feature an integer beyond 63 bits is a double, as the service stores it.
    let double = decoded(&encoded("18446744073709551615", Features::default())).unwrap();
    assert_eq!(double.parse::<f64>(), Ok(18446744073709551615.0));
}

/// References keep their places when the heads of containers around them turn out long.
#[test]
fn references_find_their_strings_in_large_documents() {
    let member = |number: usize| format!(r#"{{"identifier":{number},"city":"Reykjavik {}"}}"#, number % 300);
    let text = format!("[{}]", (0..9000).map(member).collect::<Vec<_>>().join(","));
    let binary = encoded(&text, Features::default());
    assert_eq!(decoded(&binary).as_deref(), Ok(text.as_str()));
    assert!(binary.len() * 3 < text.len(), "{} of {}", binary.len(), text.len());
}
