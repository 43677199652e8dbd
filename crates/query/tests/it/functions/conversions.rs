//! Conversions between strings and values, and the ids of documents.

use crate::harness::{check, check_calls, value_in};

#[test]
fn values_to_strings() {
    check_calls(
        "ToString",
        &[
            ("1", "\"1\""),
            ("1.5e300", "\"1.5e+300\""),
            ("-0", "\"0\""),
            ("true", "\"true\""),
            ("null", "\"null\""),
            ("\"é\"", "\"é\""),
            ("undefined", "undefined"),
            ("[1,\"a\"]", r#""[1,\"a\"]""#),
        ],
    );
    assert_eq!(value_in("ToString(c.o)", r#"{"o": { "a" : [ 1, 2 ] }}"#), r#""{\"a\":[1,2]}""#);
    check(&[
        ("ToString(NaN)", "\"NaN\""),
        ("ToString(Infinity)", "\"Infinity\""),
        ("ToString(-Infinity)", "\"-Infinity\""),
        ("ToString(9007199254740993)", "\"9007199254740993\""),
        ("StringToNumber(NaN)", "undefined"),
    ]);
}

#[test]
fn strings_to_values() {
    check_calls(
        "StringToNumber",
        &[
            ("\"1.50\"", "1.5"),
            ("\"  60 \"", "60"),
            ("\"-1.79769e+308\"", "-1.79769e+308"),
            ("\"\"", "undefined"),
            ("\"0xF\"", "undefined"),
            ("\"+1\"", "undefined"),
            ("\"1 2\"", "undefined"),
            ("\"Infinity\"", "undefined"),
            ("\"1e400\"", "undefined"),
            ("\"null\"", "undefined"),
            ("1", "undefined"),
        ],
    );
    check_calls(
        "StringToBoolean",
        &[
            ("\"true\"", "true"),
            ("\" false \"", "false"),
            ("\"TRUE\"", "undefined"),
            ("\"1\"", "undefined"),
            ("true", "undefined"),
        ],
    );
    check_calls(
        "StringToNull",
        &[("\"null\"", "null"), ("\" null \"", "null"), ("\"NULL\"", "undefined"), ("null", "undefined")],
    );
    check_calls(
        "StringToArray",
        &[
            (r#""[1, \"a\", {\"b\": 2}]""#, r#"[1,"a",{"b":2}]"#),
            ("\"[]\"", "[]"),
            ("\"{}\"", "undefined"),
            ("\"['a']\"", "undefined"),
            ("\"[1,]\"", "undefined"),
            ("[]", "undefined"),
        ],
    );
    check_calls(
        "StringToObject",
        &[
            (r#""{\"a\": {\"b\": \"é\"}}""#, r#"{"a":{"b":"é"}}"#),
            ("\"{}\"", "{}"),
            ("\"[]\"", "undefined"),
            ("\"{a:1}\"", "undefined"),
            (r#""{\"a\":1e400}""#, "undefined"),
            (r#""{\"a\":[{\"b\":-1e400}]}""#, "undefined"),
            ("undefined", "undefined"),
        ],
    );
    check(&[("StringToArray(REPLICATE('[', 5000))", "undefined")]);
}

#[test]
fn the_number_of_a_document_is_read_from_its_rid() {
    for (document, expected) in [
        (r#"{"_rid":"AAAAAAAAAAAFAAAAAAAAAA=="}"#, "5"),
        (r#"{"_rid":"kdY4AIn4g7sBAAAAAAAAAA=="}"#, "1"),
        (r#"{"_rid":"36ZyAPW+uN8NAAAAAAAAAA=="}"#, "13"),
        (r#"{"_rid":"kdY4AA=="}"#, "undefined"),
        (r#"{"_rid":"***"}"#, "undefined"),
        (r#"{"_rid":1}"#, "undefined"),
        ("{}", "undefined"),
    ] {
        assert_eq!(value_in("DOCUMENTID(c)", document), expected, "{document}");
    }
}
