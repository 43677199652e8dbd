//! Functions of numbers.

use crate::harness::{check, check_calls, value_in};

#[test]
fn rounding() {
    check_calls(
        "ROUND",
        &[
            ("2.4", "2"),
            ("2.5", "3"),
            ("-2.5", "-3"),
            ("-2.4", "-2"),
            ("1e300", "1e+300"),
            ("\"1\"", "undefined"),
        ],
    );
    check_calls("FLOOR", &[("2.9", "2"), ("-2.1", "-3"), ("null", "undefined")]);
    check_calls("CEILING", &[("2.1", "3"), ("-2.9", "-2"), ("undefined", "undefined")]);
    check_calls("TRUNC", &[("2.9", "2"), ("-2.9", "-2"), ("[]", "undefined")]);
    check_calls(
        "NumberBin",
        &[
            ("37.752", "37"),
            ("37.752,5", "35"),
            ("-1,10", "-10"),
            ("7,0", "undefined"),
            ("7,\"1\"", "undefined"),
            ("\"7\",1", "undefined"),
            ("7,undefined", "undefined"),
        ],
    );
    check_calls("ABS", &[("-1.5", "1.5"), ("0", "0"), ("\"-1\"", "undefined"), ("true", "undefined")]);
    check_calls("SIGN", &[("-7", "-1"), ("0", "0"), ("3.2", "1"), ("null", "undefined")]);
}

#[test]
fn powers_and_logarithms() {
    check_calls(
        "POWER",
        &[
            ("2,10", "1024"),
            ("4,0.5", "2"),
            ("2,\"1\"", "undefined"),
            ("-1,0.5", "undefined"),
            ("10,400", "undefined"),
        ],
    );
    check_calls("SQRT", &[("9", "3"), ("-1", "undefined"), ("\"9\"", "undefined")]);
    check_calls("SQUARE", &[("-3", "9"), ("null", "undefined")]);
    check_calls("EXP", &[("0", "1"), ("{}", "undefined")]);
    check_calls(
        "LOG",
        &[("1", "0"), ("8,2", "3"), ("1000,10", "3"), ("0", "undefined"), ("8,\"2\"", "undefined")],
    );
    check_calls("LOG10", &[("1000", "3"), ("-1", "undefined")]);
}

#[test]
fn angles() {
    check(&[
        ("PI()", "3.141592653589793"),
        ("ATN2(0, 1)", "0"),
        ("COS(0)", "1"),
        ("SIN(0)", "0"),
        ("TAN(0)", "0"),
    ]);
    check_calls("DEGREES", &[("0", "0"), ("\"a\"", "undefined")]);
    check(&[
        ("ROUND(DEGREES(PI()))", "180"),
        ("ROUND(RADIANS(180) * 1000)", "3142"),
        ("ROUND(COT(PI() / 4))", "1"),
    ]);
    for function in ["ACOS", "ASIN", "ATAN", "COS", "COT", "DEGREES", "RADIANS", "SIN", "TAN"] {
        check_calls(function, &[("\"1\"", "undefined"), ("null", "undefined"), ("undefined", "undefined")]);
    }
    check(&[
        ("ACOS(1)", "0"),
        ("ASIN(0)", "0"),
        ("ATAN(0)", "0"),
        ("ACOS(2)", "undefined"),
        ("ATN2(1, 'x')", "undefined"),
    ]);
}

#[test]
fn random_numbers_differ_and_lie_between_zero_and_one() {
    assert_eq!(value_in("RAND() >= 0 AND RAND() < 1", "{}"), "true");
    assert_eq!(value_in("RAND() = RAND()", "{}"), "false");
}

#[test]
fn what_is_not_finite_is_a_number_but_not_written() {
    check(&[
        ("1 / 0", "undefined"),
        ("[1, 1 / 0, 2]", "[1,2]"),
        ("{a: 1 % 0, b: 1}", r#"{"b":1}"#),
        ("IS_NUMBER(1 / 0)", "true"),
        ("1 / 0 > 5", "true"),
        ("SQRT(-1) = SQRT(-1)", "false"),
    ]);
}
