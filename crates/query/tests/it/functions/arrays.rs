//! Functions of arrays and sets.

use crate::harness::check_calls;

#[test]
fn building_arrays() {
    check_calls(
        "ARRAY_CONCAT",
        &[
            ("[1,2],[3]", "[1,2,3]"),
            ("[],[]", "[]"),
            ("[1],[],[\"é\",{\"a\":null}]", "[1,\"é\",{\"a\":null}]"),
            ("[1],2", "undefined"),
            ("[1],{}", "undefined"),
            ("[1],undefined", "undefined"),
        ],
    );
    check_calls(
        "ARRAY_SLICE",
        &[
            ("[1,2,3],1", "[2,3]"),
            ("[1,2,3],1,1", "[2]"),
            ("[1,2,3],-2", "[2,3]"),
            ("[1,2,3],-2,1", "[2]"),
            ("[1,2,3],-99", "[1,2,3]"),
            ("[1,2,3],99", "[]"),
            ("[1,2,3],0,-1", "[]"),
            ("[1,2,3],0,0", "[]"),
            ("[1,2,3],1.9,1e300", "[2,3]"),
            ("[1,2,3],\"1\"", "undefined"),
            ("[1,2,3],1,null", "undefined"),
            ("\"abc\",1", "undefined"),
        ],
    );
    check_calls(
        "ObjectToArray",
        &[
            (r#"{"a":1,"b":[2]}"#, r#"[{"k":"a","v":1},{"k":"b","v":[2]}]"#),
            (r#"{"a":1},"name""#, r#"[{"name":"a","v":1}]"#),
            (r#"{"a":1},"key","value""#, r#"[{"key":"a","value":1}]"#),
            ("{}", "[]"),
            ("[1]", "undefined"),
            (r#"{"a":1},2"#, "undefined"),
            ("null", "undefined"),
        ],
    );
    check_calls(
        "ARRAY_LENGTH",
        &[("[]", "0"), ("[1,[2,3],{}]", "3"), ("\"abc\"", "undefined"), ("{}", "undefined")],
    );
    check_calls(
        "CHOOSE",
        &[
            ("1,\"a\",\"b\"", "\"a\""),
            ("2,\"a\",\"b\"", "\"b\""),
            ("0,\"a\",\"b\"", "undefined"),
            ("3,\"a\",\"b\"", "undefined"),
            ("-1,\"a\",\"b\"", "undefined"),
            ("1.5,\"a\",\"b\"", "undefined"),
            ("\"1\",\"a\"", "undefined"),
        ],
    );
}

#[test]
fn looking_into_arrays() {
    check_calls(
        "ARRAY_CONTAINS",
        &[
            ("[1,2],2", "true"),
            ("[1,2],3", "false"),
            ("[1,2],\"2\"", "false"),
            ("[],1", "false"),
            ("[null],null", "true"),
            (r#"[{"a":1,"b":2}],{"b":2,"a":1}"#, "true"),
            (r#"[{"a":1,"b":2}],{"a":1}"#, "false"),
            (r#"[{"a":1,"b":2}],{"a":1},true"#, "true"),
            (r#"[{"a":1,"b":2}],{"a":2},true"#, "false"),
            (r#"[{"a":{"x":1,"y":2}}],{"a":{"x":1}},true"#, "true"),
            ("[1,2],2,true", "true"),
            ("[[1]],[1]", "true"),
            ("[1],1,\"true\"", "undefined"),
            ("[1],undefined", "undefined"),
            ("1,1", "undefined"),
            ("undefined,1", "undefined"),
        ],
    );
    check_calls(
        "ARRAY_CONTAINS_ALL",
        &[
            (r#"[1,true,"3",[1,2]],1,true,"3",[1,2]"#, "true"),
            ("[1,2],1,3", "false"),
            ("[1,2],1,undefined", "undefined"),
            ("[1,2],3,undefined", "false"),
            ("[],1", "false"),
            ("{},1", "undefined"),
        ],
    );
    check_calls(
        "ARRAY_CONTAINS_ANY",
        &[
            ("[1,2],3,2", "true"),
            ("[1,2],3,4", "false"),
            ("[1,2],1,undefined", "true"),
            ("[1,2],5,undefined", "undefined"),
            ("[],1", "false"),
            ("null,1", "undefined"),
        ],
    );
}

#[test]
fn arrays_as_sets() {
    check_calls(
        "SetIntersect",
        &[
            ("[1,2,2,3],[2,3,4]", "[2,3]"),
            ("[],[1]", "[]"),
            ("[1],2", "undefined"),
            ("undefined,[1]", "undefined"),
        ],
    );
    check_calls(
        "SetUnion",
        &[
            ("[1,2,2],[2,3]", "[1,2,3]"),
            ("[],[]", "[]"),
            ("[\"é\"],[\"é\"]", "[\"é\"]"),
            ("[1],null", "undefined"),
        ],
    );
    check_calls("SetDifference", &[("[1,2,2,3],[3]", "[1,2]"), ("[1],[]", "[1]"), ("1,[1]", "undefined")]);
    check_calls(
        "SetEqual",
        &[
            ("[1,2],[2,1,1]", "true"),
            ("[1],[\"1\"]", "false"),
            (r#"[{"a":1,"b":2}],[{"b":2,"a":1}]"#, "true"),
            ("[],[]", "true"),
            ("[],{}", "undefined"),
        ],
    );
}
