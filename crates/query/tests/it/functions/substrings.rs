//! Functions that look for several texts, for the last one, or for a delimiter.

use crate::harness::check_calls;

#[test]
fn the_last_occurrence_ends_at_or_before_the_start() {
    check_calls(
        "LASTINDEXOF",
        &[
            (r#""abcdeabc","abc",6"#, "0"),
            (r#""abcdeabc","abc",7"#, "5"),
            (r#""abcdeabc","abc""#, "5"),
            (r#""abcdeabc","abc",100"#, "5"),
            (r#""abcdeabc","abc",-1"#, "-1"),
            (r#""abcdeabc","fg""#, "-1"),
            (r#""éaéa","a",2"#, "1"),
            (r#""abc",1"#, "undefined"),
            (r#"null,"a""#, "undefined"),
            (r#""abc","a","1""#, "undefined"),
        ],
    );
}

#[test]
fn several_texts_are_looked_for_at_once() {
    let text = "\"A lazy Dog\"";
    for (function, others, expected) in [
        ("ALL_CS", r#""lazy","Dog""#, "true"),
        ("ALL_CS", r#""lazy","dog""#, "false"),
        ("ALL_CI", r#""LAZY","dog""#, "true"),
        ("ALL_CI", r#""lazy","cat""#, "false"),
        ("ANY_CS", r#""cat","Dog""#, "true"),
        ("ANY_CS", r#""cat","dog""#, "false"),
        ("ANY_CI", r#""cat","dog""#, "true"),
        ("ANY_CI", r#""cat""#, "false"),
        // What is undefined leaves the answer open, unless another text decides.
        ("ALL_CS", r#"undefined,"cat""#, "false"),
        ("ALL_CS", r#"undefined,"Dog""#, "undefined"),
        ("ANY_CS", r#"undefined,"Dog""#, "true"),
        ("ANY_CS", r#"undefined,"cat""#, "undefined"),
        ("ALL_CI", r#"1,"dog""#, "undefined"),
        ("ANY_CI", r#"1,"dog""#, "true"),
    ] {
        let arguments = format!("{text},{others}");
        check_calls(&format!("CONTAINS_{function}"), &[(&arguments, expected)]);
        check_calls(&format!("Contains{}", function.replace('_', "")), &[(&arguments, expected)]);
    }
    check_calls("CONTAINS_ANY_CI", &[(r#"1,"1""#, "undefined"), (r#"undefined,"a""#, "undefined")]);
}

#[test]
fn texts_are_cut_at_a_delimiter() {
    for (arguments, after, before, after_last, before_last) in [
        (r#""a/b/c","/""#, "\"b/c\"", "\"a\"", "\"c\"", "\"a/b\""),
        (r#""A-B-C","-""#, "\"B-C\"", "\"A\"", "\"C\"", "\"A-B\""),
        (
            r#""bike::touring::frame","::""#,
            "\"touring::frame\"",
            "\"bike\"",
            "\"frame\"",
            "\"bike::touring\"",
        ),
        (r#""héé","é""#, "\"é\"", "\"h\"", "\"\"", "\"hé\""),
        (r#""abc","/""#, "\"\"", "\"\"", "\"\"", "\"\""),
        (r#""abc",1"#, "undefined", "undefined", "undefined", "undefined"),
        (r#"undefined,"a""#, "undefined", "undefined", "undefined", "undefined"),
    ] {
        check_calls("SUBSTRINGAFTER", &[(arguments, after)]);
        check_calls("SUBSTRINGBEFORE", &[(arguments, before)]);
        check_calls("LASTSUBSTRINGAFTER", &[(arguments, after_last)]);
        check_calls("LASTSUBSTRINGBEFORE", &[(arguments, before_last)]);
    }
}
