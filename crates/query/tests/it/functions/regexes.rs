//! Functions of regular expressions but `RegexMatch`.

use crate::harness::check_calls;

#[test]
fn the_first_match_or_a_group_of_it_is_extracted() {
    check_calls(
        "REGEXEXTRACT",
        &[
            (r#""SKU-93821-BLUE","[0-9]+""#, r#""93821""#),
            (r#""a1b2","([a-z])([0-9])","",2"#, r#""1""#),
            (r#""a1b2","([a-z])([0-9])","",0"#, r#""a1""#),
            (r#""XYab","AB","i""#, r#""ab""#),
            (r#""ab","(x)?a","",1"#, "undefined"),
            (r#""ab","a","",1"#, "undefined"),
            (r#""ab","a","",-1"#, "undefined"),
            (r#""abc","[0-9]+""#, "undefined"),
            (r#""abc","(""#, "undefined"),
            (r#""abc","a","q""#, "undefined"),
            (r#"1,"1""#, "undefined"),
            (r#""1",1"#, "undefined"),
        ],
    );
}

#[test]
fn all_matches_are_extracted() {
    check_calls(
        "REGEXEXTRACTALL",
        &[
            (r#""A12-B34-C56","[0-9]+""#, r#"["12","34","56"]"#),
            (r#""a1b2","([a-z])([0-9])","",1"#, r#"["a","b"]"#),
            (r#""aAa","A","i""#, r#"["a","A","a"]"#),
            (r#""a\"b","[\"]""#, r#"["\""]"#),
            (r#""éa","x*""#, r#"["","",""]"#),
            (r#""abc","[0-9]+""#, "[]"),
            (r#""abc","(""#, "undefined"),
            (r#"null,"a""#, "undefined"),
        ],
    );
}

#[test]
fn the_first_match_is_replaced() {
    check_calls(
        "REGEXREPLACE",
        &[
            (r##""A12-B34-C56","[0-9]+","#""##, r##""A#-B34-C56""##),
            (r#""aXb","x","-","i""#, r#""a-b""#),
            (r#""ab","(a)","$1$1""#, r#""$1$1b""#),
            (r#""abc","[0-9]","-""#, r#""abc""#),
            (r#""abc","b",1"#, "undefined"),
            (r#""abc","(","-""#, "undefined"),
            (r#""abc","b","-","q""#, "undefined"),
        ],
    );
}

#[test]
fn long_texts_are_searched_like_short_ones() {
    let filler = "-".repeat(5000);
    let text = format!("\"A12{filler}B34{filler}\"");
    check_calls("REGEXEXTRACT", &[(&format!("{text},\"B[0-9]+\""), "\"B34\"")]);
    check_calls("REGEXEXTRACT", &[(&format!("{text},\"B([0-9])+\",\"\",1"), "\"4\"")]);
    check_calls("REGEXEXTRACTALL", &[(&format!("{text},\"[0-9]+\""), "[\"12\",\"34\"]")]);
    check_calls("REGEXREPLACE", &[(&format!("{text},\"-+\",\"\""), &format!("\"A12B34{filler}\""))]);
}
