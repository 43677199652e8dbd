//! One value from all elements of an array.

use crate::harness::{check, check_calls};

#[test]
fn numbers_of_an_array_are_summed_up() {
    check(&[
        ("ARRAY_SUM([1,2,3,4,undefined])", "10"),
        ("ARRAY_AVG([1,-2.7,3,-4,undefined])", "-0.675"),
        ("ARRAY_MEDIAN([1,-2.7,3,-4,undefined])", "-0.8500000000000001"),
    ]);
    check_calls("ARRAY_SUM", &[("[1,2,3,4]", "10"), ("[-5]", "-5"), ("[0.5,0.25]", "0.75")]);
    check_calls("ARRAY_AVG", &[("[1.0,2.0,3.3,4.7]", "2.75"), ("[3]", "3")]);
    check_calls(
        "ARRAY_MEDIAN",
        &[("[1,2,3,4]", "2.5"), ("[1,-2.7,3,-4]", "-0.8500000000000001"), ("[4,1,3]", "3"), ("[7]", "7")],
    );
    for function in ["ARRAY_SUM", "ARRAY_AVG", "ARRAY_MEDIAN"] {
        check_calls(
            function,
            &[
                ("[1,\"a\"]", "undefined"),
                ("[1,null]", "undefined"),
                ("[1,true]", "undefined"),
                ("[1,[2]]", "undefined"),
                ("[]", "undefined"),
                ("{}", "undefined"),
                ("\"[1]\"", "undefined"),
                ("undefined", "undefined"),
            ],
        );
    }
}

#[test]
fn the_extremes_of_an_array_are_found_across_types() {
    check(&[
        ("ARRAY_MAX([12,'abc',true,false,null,undefined])", "\"abc\""),
        ("ARRAY_MIN([12,'abc',true,false,null,undefined])", "null"),
    ]);
    for (array, max, min) in [
        ("[\"abc\",\"ABC\",\"aBc\",\"AbC\"]", "\"abc\"", "\"ABC\""),
        ("[true,false]", "true", "false"),
        ("[null,null]", "null", "null"),
        ("[1,-2.7,3,-4]", "3", "-4"),
        ("[9007199254740993,9007199254740992]", "9007199254740993", "9007199254740992"),
        ("[\"\\uffff\",\"\\ud83d\\ude00\"]", "\"\u{ffff}\"", "\"😀\""),
        ("[1,[2]]", "undefined", "undefined"),
        ("[{}]", "undefined", "undefined"),
        ("[]", "undefined", "undefined"),
        ("1", "undefined", "undefined"),
        ("undefined", "undefined", "undefined"),
    ] {
        check_calls("ARRAY_MAX", &[(array, max)]);
        check_calls("ARRAY_MIN", &[(array, min)]);
    }
}
