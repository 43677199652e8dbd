//! Documents whose bytes and text are known from elsewhere.

use super::super::Features;
use super::{ALL_FEATURES, bytes, decoded, encoded};

const BOTH: &[(&str, &str)] = &[
    ("80 E8", "{}"),
    ("80 E0", "[]"),
    ("80 80", r#""""#),
    ("80 D0", "null"),
    ("80 D1", "false"),
    ("80 D2", "true"),
    ("80 E9 2C 81 61", r#"{"id":"a"}"#),
    ("80 EA 0C 2C 81 31 81 6E C9 2C 01 82 6F 6B D2", r#"{"id":"1","n":300,"ok":true}"#),
    ("80 E2 14 1F C8 20 C9 FF FF CA 00 00 01 00 CC 00 00 00 00 00 00 E0 3F", "[31,32,-1,65536,0.5]"),
    ("80 CB 01 00 00 00 00 00 20 00", "9007199254740993"),
    ("80 E2 05 E1 00 E9 2C 01", r#"[[0],{"id":1}]"#),
    ("80 E2 08 85 68 65 6C 6C 6F C3 03", r#"["hello","hello"]"#),
    ("80 EA 0F 84 63 69 74 79 84 4F 73 6C 6F 82 74 6F C3 08", r#"{"city":"Oslo","to":"Oslo"}"#),
    ("80 75 10 32 54 76 98 BA DC FE 10 32 54 76 98 BA DC FE", r#""01234567-89ab-cdef-0123-456789abcdef""#),
    ("80 76 10 32 54 76 98 BA DC FE 10 32 54 76 98 BA DC FE", r#""01234567-89AB-CDEF-0123-456789ABCDEF""#),
    (
        "80 77 00 00 8D 62 70 00 30 00 00 00 A6 B1 C2 D3 00 00",
        r#""\"0000d826-0700-0300-0000-6a1b2c3d0000\"""#,
    ),
    (
        "80 77 00 00 84 21 00 00 20 00 00 00 A6 F7 9A A8 00 00",
        r#""\"00004812-0000-0200-0000-6a7fa98a0000\"""#,
    ),
    ("80 7A 14 13 53 1C C2 31 1E B4 51 1B F6", r#""2024-01-02T03:04:05Z""#),
    ("80 78 11 10 32 54 76 98 BA DC FE 00", r#""0123456789abcdef0""#),
    (
        "80 7C 20 61 20 88 41 8A 39 28 A9 C5 9A 7B 30 CA 49 AB BD 38 83 20 06 29",
        r#""abcdefghijklmnopqrstuvwxyzabcdef""#,
    ),
    (
        "80 EA 28 2C 85 69 74 65 6D 31 82 70 6B 83 61 62 63 24 77 00 00 8D 62 70 00 30 00 00 00 A6 B1 C2 D3 00 00 \
         23 28 27 CA 00 F1 53 65",
        r#"{"id":"item1","pk":"abc","_etag":"\"0000d826-0700-0300-0000-6a1b2c3d0000\"","_attachments":"attachments/","_ts":1700000000}"#,
    ),
];

const WITH_FEATURES: &[(&str, &str)] = &[
    ("80 C7 FE FF FF FF FF FF FF FF", "18446744073709551614"),
    ("80 71 06 02 DA 7C 37 00 A6 D2 DD 09 01 00 00 00 00 00 00 00", r#""2nw3AKbS3QkBAAAAAAAAAA==""#),
    ("80 F0 D9 05 2C 01 2D 01 2E 01 2F 01 30 01", "[300,301,302,303,304]"),
    ("80 F0 D8 05 FF FE FD 01 02", "[-1,-2,-3,1,2]"),
];

/// What other writers write, and this one writes otherwise.
const TO_TEXT: &[(&str, &str)] = &[
    ("80 ED 0C 03 2C 81 31 81 6E C9 2C 01 82 6F 6B D2", r#"{"id":"1","n":300,"ok":true}"#),
    (
        "80 ED 14 03 82 69 64 81 31 81 6E CB 2C 01 00 00 00 00 00 00 82 6F 6B D2",
        r#"{"id":"1","n":300,"ok":true}"#,
    ),
    ("80 7B 05 61 10 32 04", r#""abcde""#),
    ("80 7B 05 61 10 32 F4", r#""abcde""#),
    ("80 7D 04 41 40 06 E6", r#""AZaz""#),
    ("80 7E 05 C8 32 9B FD 06", r#""Hello""#),
    ("80 71 01 FE 41 42", r#""QUI""#),
    ("80 73 01 00 FB FF BF", r#""-_-_""#),
    ("80 F0 D9 03 01 00 02 00 2C 01", "[1,2,300]"),
    ("80 F2 F0 D7 02 02 01 02 03 04", "[[1,2],[3,4]]"),
    ("80 F3 F1 D7 01 00 02 00 01 02", "[[1],[2]]"),
    ("80 F0 CD 01 00 00 00 3F", "[0.5]"),
    ("80 F0 DC 01 FF FF FF FF", "[4294967295]"),
    ("80 F0 D7 00", "[]"),
    ("80 79 02 DA", r#""AD""#),
    ("80 C0 01 61", r#""a""#),
    ("80 C1 01 00 61", r#""a""#),
    ("80 C2 01 00 00 00 61", r#""a""#),
    ("80 E2 07 81 61 C6 03 00 00 00", r#"["a","a"]"#),
    ("80 E2 06 81 61 C5 03 00 00", r#"["a","a"]"#),
    ("80 E2 05 81 61 C4 03 00", r#"["a","a"]"#),
    ("80 E4 01 00 00 00 00", "[0]"),
    ("80 E7 01 00 00 00 01 00 00 00 00", "[0]"),
    ("80 EE 00 00 00 00", "{}"),
    ("80 E2 00", "[]"),
    ("80 CC 00 00 00 00 00 00 08 40", "3"),
    ("80 CC 00 00 00 00 00 00 00 80", "0"),
    ("80 D3 33 22 11 00 55 44 77 66 88 99 AA BB CC DD EE FF", r#""00112233-4455-6677-8899-aabbccddeeff""#),
    ("80 DD 02 41 42", r#""QUI=""#),
    ("80 DE 02 00 41 42", r#""QUI=""#),
    ("80 DF 02 00 00 00 41 42", r#""QUI=""#),
    ("80 D8 FF", "-1"),
    ("80 CE 00 00 00 00 00 00 E0 3F", "0.5"),
];

const INVALID: &[(&str, &str)] = &[
    ("", "nothing"),
    ("80", "no value"),
    ("7B 7D", "text"),
    ("81 E8", "HybridRow"),
    ("80 81", "a length past the end"),
    ("80 C2 FF FF FF FF 61", "a long length past the end"),
    ("80 EF FF FF FF FF FF FF FF FF", "a container past the end"),
    ("80 E2 01 81 61", "an item that overruns its array"),
    ("80 E2 02 00 81 61", "an item that overruns its array, in the document"),
    ("80 E2 02 E2 02 00 00", "an array that overruns its array"),
    ("80 E2 02 E1", "an array that falls short"),
    ("80 E5 02 01 00 00", "more items than the count"),
    ("80 E5 01 02 00", "fewer items than the count"),
    ("80 ED 02 02 2C 00", "fewer members than the count"),
    ("80 EA 01 2C", "a name without a value"),
    ("80 E9 00 00", "a name that is a number"),
    ("80 E9 D0 00", "a name that is null"),
    ("80 E2 03 81 61 C3 FF", "a reference past the end"),
    ("80 E2 04 81 61 C3 05", "a reference to itself"),
    ("80 E2 04 C3 05 81 61", "a reference to a later string"),
    ("80 E2 04 00 00 C3 03", "a reference to a number"),
    ("80 E2 06 81 61 C3 03 C3 05", "a reference to a reference"),
    ("80 C3 00", "a reference to the first byte"),
    ("80 E2 04 83 C3 03 61", "a string that ends behind the reference to it"),
    ("80 40", "a user string"),
    ("80 60 00", "a long user string"),
    ("80 67 FF", "the last user string"),
    ("80 68", "an unused marker"),
    ("80 70", "an unused marker"),
    ("80 CF 00 00", "Float16"),
    ("80 D4", "an unused marker"),
    ("80 D6", "an unused marker"),
    ("80 F4", "an unused marker"),
    ("80 F8", "a reserved marker"),
    ("80 FF", "the invalid marker"),
    ("80 81 FF", "invalid UTF-8"),
    ("80 83 ED A0 80", "half of a surrogate pair"),
    ("80 E8 00", "bytes after the value"),
    ("80 CC 00 00 00 00 00 00 F0 7F", "infinity"),
    ("80 CC 00 00 00 00 00 00 F8 7F", "not a number"),
    ("80 CD 00 00 80 7F", "infinity"),
    ("80 78 11 10 32 54 76 98 BA DC FE 10", "a digit behind the last"),
    ("80 7B 01 7F 0F", "a packed character above ASCII"),
    ("80 7D 04 41 40 06", "a packed string that ends early"),
    ("80 71 00 01", "padding without groups"),
    ("80 71 01 03 41", "padding that there is not"),
    ("80 F0 C8 01 00", "an array of a type that is none of numbers"),
    ("80 F0 D9 02 00 00 00", "an array of numbers that ends early"),
    ("80 F2 F1 D7 01 01 00", "an array of arrays with counts of two widths"),
    ("80 F2 E2 D7 01 01 00", "an array of other arrays"),
];

#[test]
fn known_documents_are_read_and_written() {
    for (hex, text) in BOTH {
        assert_eq!(decoded(&bytes(hex)).as_deref(), Ok(*text), "{hex}");
        assert_eq!(encoded(text, Features::default()), bytes(hex), "{text}");
    }
    for (hex, text) in WITH_FEATURES {
        assert_eq!(decoded(&bytes(hex)).as_deref(), Ok(*text), "{hex}");
        assert_eq!(encoded(text, ALL_FEATURES), bytes(hex), "{text}");
        let plain = encoded(text, Features::default());
        assert_ne!(plain, bytes(hex), "{text} needs a feature");
    }
}

#[test]
fn documents_of_other_writers_are_read() {
    for (hex, text) in TO_TEXT {
        assert_eq!(decoded(&bytes(hex)).as_deref(), Ok(*text), "{hex}");
    }
}

#[test]
fn what_is_no_document_is_refused() {
    for (hex, what) in INVALID {
        let result = decoded(&bytes(hex));
        assert!(result.as_ref().is_err_and(|error| !error.is_too_long()), "{what}: {hex}: {result:?}");
    }
}

#[test]
fn nesting_ends_at_256_levels() {
    for (depth, is_fine) in [(256, true), (257, false)] {
        let document = [vec![0x80], vec![0xE1; depth - 1], vec![0xE0]].concat();
        assert_eq!(decoded(&document).is_ok(), is_fine, "{depth}");
    }
}

/// The form of a string of each length, by its marker and the length behind it.
#[test]
fn strings_are_written_in_the_shortest_form_that_other_readers_expect() {
    let text = |character: &str, length: usize| format!("\"{}\"", character.repeat(length));
    for (text, head) in [
        (text("ä", 31), "80 BE"),
        (text("ä", 32), "80 C0 40"),
        (text("ä", 127), "80 C0 FE"),
        (text("ä", 128), "80 C1 00 01"),
        (text("ä", 32767), "80 C1 FE FF"),
        (text("ä", 32768), "80 C2 00 00 01 00"),
        (text("1", 15), "80 8F"),
        (text("1", 16), "80 7A 10"),
        (text("f", 16), "80 78 10"),
        (text("F", 255), "80 79 FF"),
        (text("x", 23), "80 97"),
        (text("x", 24), "80 7B 18 78"),
        (text("az", 16), "80 7C 20 61"),
        (text("Az", 20), "80 7D 28 41"),
        (text("!z", 20), "80 A8"),
        (text("!z", 44), "80 7E 58"),
        (text("!z", 128), "80 7F 00 01"),
        (text("z", 65535), "80 7F FF FF"),
        (text("z", 65536), "80 C2 00 00 01 00"),
    ] {
        let document = encoded(&text, Features::default());
        assert!(document.starts_with(&bytes(head)), "{head}: {:02X?}", &document[..8]);
        assert_eq!(decoded(&document).as_deref(), Ok(text.as_str()), "{head}");
    }
}

#[test]
fn the_heads_of_containers_are_as_short_as_they_can_be() {
    let array = |count: usize, item: &str| format!("[{}]", vec![item; count].join(","));
    let object = |count: usize| {
        let members: Vec<_> = (0..count).map(|at| format!("\"{at:03}\":0")).collect();
        format!("{{{}}}", members.join(","))
    };
    for (text, head) in [
        (array(1, "0"), "80 E1"),
        (array(2, "0"), "80 E2 02"),
        (array(16, "0"), "80 E2 10"),
        (array(17, "0"), "80 E5 11 11"),
        (array(16, "\"a value of twenty by\""), "80 E2 33"),
        (array(255, "0"), "80 E5 FF FF"),
        (array(256, "0"), "80 E6 00 01 00 01"),
        (array(65536, "0"), "80 E7 00 00 01 00 00 00 01 00"),
        (object(51), "80 EA FF"),
        (object(52), "80 EB 04 01"),
    ] {
        let document = encoded(&text, Features::default());
        assert!(document.starts_with(&bytes(head)), "{head}: {:02X?}", &document[..10]);
        assert_eq!(decoded(&document).as_deref(), Ok(text.as_str()), "{head}");
    }
}

#[test]
fn text_without_a_binary_form_is_refused() {
    let deep = "[".repeat(128) + &"]".repeat(128);
    for text in ["", "{", "1 2", r#""\ud800""#, "1e400", "nul", "\u{80}", &deep] {
        assert!(super::super::from_text(text.as_bytes(), ALL_FEATURES).is_err(), "{text}");
    }
}
