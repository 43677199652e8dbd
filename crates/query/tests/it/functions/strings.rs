//! String functions.

use crate::harness::{check, check_calls, value_in};

#[test]
fn joining_strings() {
    check_calls(
        "CONCAT",
        &[
            (r#""a","b""#, r#""ab""#),
            (r#""a","é","😀","""#, r#""aé😀""#),
            (r#""a",1"#, "undefined"),
            (r#""a",null"#, "undefined"),
            (r#""a",undefined"#, "undefined"),
            (r#""1","2","3","4","5","6""#, r#""123456""#),
        ],
    );
    check_calls(
        "StringJoin",
        &[
            (r#"["a","b","c"],"-""#, r#""a-b-c""#),
            (r#"["a"],"-""#, r#""a""#),
            (r#"[],"-""#, r#""""#),
            (r#"["a",1],"-""#, "undefined"),
            (r#"["a","b"],undefined"#, "undefined"),
            (r#""ab","-""#, "undefined"),
        ],
    );
    check(&[
        (r#""a" || "b" || "c""#, r#""abc""#),
        (r#""a" || 1"#, "undefined"),
        (r#""a" || undefined"#, "undefined"),
    ]);
}

#[test]
fn splitting_strings() {
    check_calls(
        "StringSplit",
        &[
            (r#""a-b-c","-""#, r#"["a","b","c"]"#),
            (r#""xmounyymoun","moun""#, r#"["x","yy",""]"#),
            (r#""abc","""#, r#"["abc"]"#),
            (r#""","""#, r#"[""]"#),
            (r#""","-""#, r#"[""]"#),
            (r#""a","b""#, r#"["a"]"#),
            (r#""aéb","é""#, r#"["a","b"]"#),
            (r#""a",1"#, "undefined"),
            (r#"undefined,"a""#, "undefined"),
        ],
    );
}

#[test]
fn finding_in_strings() {
    check_calls(
        "CONTAINS",
        &[
            (r#""abc","b""#, "true"),
            (r#""abc","B""#, "false"),
            (r#""abc","B",true"#, "true"),
            (r#""abc","B",false"#, "false"),
            (r#""ÄÖ","ö",true"#, "true"),
            (r#""abc","""#, "true"),
            (r#""","a""#, "false"),
            (r#""abc",1"#, "undefined"),
            (r#"null,"a""#, "undefined"),
            (r#""abc","b",1"#, "undefined"),
            (r#"undefined,"a""#, "undefined"),
        ],
    );
    check_calls(
        "STARTSWITH",
        &[
            (r#""abc","ab""#, "true"),
            (r#""abc","AB""#, "false"),
            (r#""abc","AB",true"#, "true"),
            (r#""abc","""#, "true"),
            (r#""abc","abcd""#, "false"),
            (r#"1,"a""#, "undefined"),
        ],
    );
    check_calls(
        "ENDSWITH",
        &[
            (r#""abc","bc""#, "true"),
            (r#""abc","BC""#, "false"),
            (r#""abc","BC",true"#, "true"),
            (r#""abc","""#, "true"),
            (r#"[],"a""#, "undefined"),
        ],
    );
    check_calls(
        "StringEquals",
        &[
            (r#""abc","abc""#, "true"),
            (r#""abc","ABC""#, "false"),
            (r#""abc","ABC",true"#, "true"),
            (r#""abc",undefined"#, "undefined"),
            (r#""1",1"#, "undefined"),
        ],
    );
    check_calls(
        "INDEX_OF",
        &[
            (r#""abcabc","c""#, "2"),
            (r#""abcabc","c",3"#, "5"),
            (r#""abcabc","c",-4"#, "2"),
            (r#""abc","x""#, "-1"),
            (r#""abc","a",99"#, "-1"),
            (r#""aé😀b","b""#, "3"),
            (r#""abc","""#, "0"),
            (r#""abc","b","1""#, "undefined"),
            (r#"true,"b""#, "undefined"),
        ],
    );
}

#[test]
fn cutting_strings() {
    check_calls(
        "LEFT",
        &[
            (r#""abc",2"#, r#""ab""#),
            (r#""abc",0"#, r#""""#),
            (r#""abc",-1"#, r#""""#),
            (r#""abc",99"#, r#""abc""#),
            (r#""abc",1e300"#, r#""abc""#),
            (r#""é😀x",2"#, r#""é😀""#),
            (r#""abc","1""#, "undefined"),
            (r#"undefined,1"#, "undefined"),
        ],
    );
    check_calls(
        "RIGHT",
        &[
            (r#""abc",2"#, r#""bc""#),
            (r#""abc",0"#, r#""""#),
            (r#""abc",-1"#, r#""""#),
            (r#""abc",99"#, r#""abc""#),
            (r#""xé😀",2"#, r#""é😀""#),
            (r#"1,1"#, "undefined"),
        ],
    );
    check_calls(
        "SUBSTRING",
        &[
            (r#""abcde",1,3"#, r#""bcd""#),
            (r#""abcde",0,-1"#, r#""""#),
            (r#""abcde",-2,3"#, r#""abc""#),
            (r#""abcde",3,99"#, r#""de""#),
            (r#""abcde",99,1"#, r#""""#),
            (r#""aé😀b",1,2"#, r#""é😀""#),
            (r#""abc",null,1"#, "undefined"),
            (r#"null,0,1"#, "undefined"),
        ],
    );
    check_calls(
        "TRIM",
        &[
            (r#""  a b \t""#, r#""a b""#),
            (r#""-_-a-_-","-_""#, r#""a""#),
            (r#""-- a --","-""#, r#"" a ""#),
            (r#""aaa","a""#, r#""""#),
            (r#""a","""#, r#""a""#),
            (r#""a",1"#, "undefined"),
            (r#"1"#, "undefined"),
        ],
    );
    check_calls(
        "LTRIM",
        &[(r#""  a ""#, r#""a ""#), (r#""xxaxx","x""#, r#""axx""#), (r#"null"#, "undefined")],
    );
    check_calls(
        "RTRIM",
        &[(r#""  a ""#, r#""  a""#), (r#""xxaxx","x""#, r#""xxa""#), (r#"{}"#, "undefined")],
    );
}

#[test]
fn changing_strings() {
    check_calls(
        "LOWER",
        &[(r#""ABc""#, r#""abc""#), (r#""ÄÉ""#, r#""äé""#), (r#""""#, r#""""#), ("1", "undefined")],
    );
    check_calls("UPPER", &[(r#""abC""#, r#""ABC""#), (r#""äß""#, r#""ÄSS""#), ("undefined", "undefined")]);
    check_calls("REVERSE", &[(r#""abc""#, r#""cba""#), (r#""é😀""#, r#""😀é""#), ("[1]", "undefined")]);
    check_calls(
        "LENGTH",
        &[(r#""""#, "0"), (r#""abc""#, "3"), (r#""é😀""#, "2"), (r#""a\n\"""#, "3"), ("1", "undefined")],
    );
    check_calls(
        "REPLACE",
        &[
            (r#""abcabc","b","XX""#, r#""aXXcaXXc""#),
            (r#""abc","x","y""#, r#""abc""#),
            (r#""abc","","y""#, r#""abc""#),
            (r#""aéa","é","""#, r#""aa""#),
            (r#""abc","b",1"#, "undefined"),
        ],
    );
    check_calls(
        "REPLICATE",
        &[
            (r#""ab",3"#, r#""ababab""#),
            (r#""ab",0"#, r#""""#),
            (r#""ab",1.9"#, r#""ab""#),
            (r#""ab",-1"#, "undefined"),
            (r#""a",10001"#, "undefined"),
            (r#""",1e15"#, r#""""#),
            (r#""a",null"#, "undefined"),
        ],
    );
    assert_eq!(value_in(r#"LENGTH(REPLICATE("é", 10000))"#, "{}"), "10000");
}

#[test]
fn regular_expressions() {
    check_calls(
        "RegexMatch",
        &[
            (r#""abcd","b""#, "true"),
            (r#""abcd","^b""#, "false"),
            (r#""abcd","ABC""#, "false"),
            (r#""abcd","ABC","i""#, "true"),
            (r#""éa","É","i""#, "true"),
            (r#""abcd","ab c","x""#, "true"),
            (r#""a\nb","a.b""#, "false"),
            (r#""a\nb","a.b","s""#, "true"),
            (r#""a\nb","^b$","m""#, "true"),
            (r#""abcd","ABC","""#, "false"),
            (r#""abcd","A B","ix""#, "true"),
            (r#""abcd","abc","q""#, "undefined"),
            (r#""abcd","(""#, "undefined"),
            (r#""abcd",1"#, "undefined"),
            (r#"1,"a""#, "undefined"),
            (r#"undefined,"a""#, "undefined"),
            (r#""a","a",undefined"#, "undefined"),
        ],
    );
}

#[test]
fn like_patterns() {
    check(&[
        (r#""abc" LIKE "a%""#, "true"),
        (r#""abc" LIKE "a_c""#, "true"),
        (r#""abc" NOT LIKE "a_c""#, "false"),
        (r#""abc" LIKE "[a-f]bc""#, "true"),
        (r#""abc" LIKE "[^a-f]bc""#, "false"),
        (r#""10%" LIKE "10!%" ESCAPE "!""#, "true"),
        (r#""10x" LIKE "10!%" ESCAPE "!""#, "false"),
        (r#"1 LIKE "1""#, "undefined"),
        (r#"undefined LIKE "1""#, "undefined"),
        (r#""a" LIKE 1"#, "undefined"),
        (r#""a" LIKE undefined"#, "undefined"),
    ]);
    let document = r#"{"s":"abc","p":"%b%","e":"!"}"#;
    for (expression, expected) in [
        ("c.s LIKE c.p", "true"),
        (r#"c.s LIKE "x%""#, "false"),
        ("c.s NOT LIKE c.p", "false"),
        ("c.p LIKE '!%b!%' ESCAPE c.e", "true"),
        ("c.s LIKE c.missing", "undefined"),
    ] {
        assert_eq!(value_in(expression, document), expected, "{expression}");
    }
}
