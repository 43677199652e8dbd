//! Questions about types: every function against a value of every type.

use crate::harness::check_calls;

#[test]
fn each_question_is_answered_for_each_type() {
    let values = ["undefined", "null", "true", "1", "1.5", "\"a\"", "[1]", "{\"a\":1}"];
    let rows = [
        ("IS_DEFINED", [0, 1, 1, 1, 1, 1, 1, 1]),
        ("IS_NULL", [0, 1, 0, 0, 0, 0, 0, 0]),
        ("IS_BOOL", [0, 0, 1, 0, 0, 0, 0, 0]),
        ("IS_NUMBER", [0, 0, 0, 1, 1, 0, 0, 0]),
        ("IS_FINITE_NUMBER", [0, 0, 0, 1, 1, 0, 0, 0]),
        ("IS_INTEGER", [0, 0, 0, 1, 0, 0, 0, 0]),
        ("IS_STRING", [0, 0, 0, 0, 0, 1, 0, 0]),
        ("IS_ARRAY", [0, 0, 0, 0, 0, 0, 1, 0]),
        ("IS_OBJECT", [0, 0, 0, 0, 0, 0, 0, 1]),
        ("IS_PRIMITIVE", [0, 1, 1, 1, 1, 1, 0, 0]),
    ];
    for (function, answers) in rows {
        for (value, answer) in values.iter().zip(answers) {
            check_calls(function, &[(value, if answer == 1 { "true" } else { "false" })]);
        }
    }
}

#[test]
fn integers_fit_64_bits_and_infinities_are_not_finite() {
    check_calls(
        "IS_INTEGER",
        &[
            ("9223372036854774784", "true"),
            ("9223372036854775807", "true"),
            ("18446744073709551615", "false"),
            ("9223372036854775808", "false"),
            ("-9223372036854775808", "true"),
            ("-0", "true"),
            ("1e300", "false"),
        ],
    );
    crate::harness::check(&[("IS_FINITE_NUMBER(1 / 0)", "false"), ("IS_FINITE_NUMBER(SQRT(-1))", "false")]);
}
