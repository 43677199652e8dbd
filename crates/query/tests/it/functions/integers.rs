//! Functions of 64-bit integers.

use crate::harness::check_calls;

#[test]
fn integer_functions_wrap_and_refuse_fractions() {
    let rows: &[(&str, &[(&str, &str)])] = &[
        ("IntAdd", &[("20,10", "30"), ("-1,1", "0"), ("9223372036854774784,9223372036854774784", "-2048")]),
        ("IntSub", &[("20,10", "10"), ("1,2", "-1")]),
        ("IntMul", &[("20,10", "200"), ("4294967296,4294967296", "0")]),
        (
            "IntDiv",
            &[
                ("7,2", "3"),
                ("-7,2", "-3"),
                ("1,0", "undefined"),
                ("-9223372036854775808,-1", "-9223372036854776000"),
            ],
        ),
        ("IntMod", &[("7,3", "1"), ("-7,3", "-1"), ("1,0", "undefined")]),
        ("IntBitAnd", &[("15,25", "9"), ("4294967296,4294967297", "4294967296")]),
        ("IntBitOr", &[("56,100", "124")]),
        ("IntBitXor", &[("56,100", "92")]),
        ("IntBitLeftShift", &[("16,4", "256"), ("1,32", "4294967296"), ("1,64", "1")]),
        ("IntBitRightShift", &[("16,4", "1"), ("-16,2", "-4")]),
    ];
    for (function, rows) in rows {
        check_calls(function, rows);
        // The names that SDKs know.
        if let Some(operation) = function.strip_prefix("IntBit") {
            check_calls(&format!("IntBitwise{operation}"), rows);
        }
        for wrong in ["1.5,1", "1,0.5", "\"1\",1", "1,null", "undefined,1", "1e300,1"] {
            check_calls(function, &[(wrong, "undefined")]);
        }
    }
    for function in ["IntBitNot", "IntBitwiseNot"] {
        check_calls(
            function,
            &[("65535", "-65536"), ("0", "-1"), ("1.5", "undefined"), ("null", "undefined")],
        );
    }
}
