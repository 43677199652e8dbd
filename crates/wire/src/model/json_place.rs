//! The way to a place in a JSON text, for errors.

/// The way to the value that is read at some place, such as `indexingPolicy.includedPaths[0].path`; `.` is the whole
/// text. The place is a line and how many bytes of it were read, as `serde_json` counts them.
///
/// The text may be anything: what is no JSON ends the way where it is.
pub(super) fn way_to(text: &[u8], (line, column): (usize, usize)) -> String {
    let begin = match line {
        0 | 1 => 0,
        _ => text
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .nth(line - 2)
            .map_or(0, |(at, _)| at + 1),
    };
    let read = &text[..begin.saturating_add(column).min(text.len())];
    let mut nestings: Vec<Nesting<'_>> = Vec::new();
    let mut at = 0;
    while let Some(byte) = read.get(at) {
        let from = at;
        at += 1;
        match byte {
            b'{' => nestings.push(Nesting::Member { name: None, is_over: true }),
            b'[' => nestings.push(Nesting::Index(0)),
            b'}' | b']' => drop(nestings.pop()),
            b',' => match nestings.last_mut() {
                Some(Nesting::Index(index)) => *index += 1,
                Some(Nesting::Member { name, is_over }) => (*name, *is_over) = (None, true),
                None => {}
            },
            b'"' => {
                at = end_of_string(read, at);
                if let Some(Nesting::Member { name, is_over }) = nestings.last_mut()
                    && *is_over
                {
                    (*name, *is_over) = (Some(&read[from..at]), false);
                }
            }
            _ => {}
        }
    }
    let mut way = String::new();
    for nesting in &nestings {
        match nesting {
            Nesting::Index(index) => way += &format!("[{index}]"),
            Nesting::Member { name: Some(name), .. } => {
                if !way.is_empty() {
                    way.push('.');
                }
                way += &serde_json::from_slice::<String>(name).unwrap_or_else(|_| "?".to_owned());
            }
            Nesting::Member { name: None, .. } => {}
        }
    }
    if way.is_empty() { ".".to_owned() } else { way }
}

/// An object or an array that is being read.
enum Nesting<'a> {
    Member {
        /// The name as it is written, quotes included.
        name: Option<&'a [u8]>,
        /// Whether the next string is a name.
        is_over: bool,
    },
    Index(usize),
}

/// Where a string ends whose first quote is just before `at`.
fn end_of_string(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => return at,
            b'\\' => at += 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_way_is_to_what_was_read_last() {
        for (text, column, expected) in [
            ("", 0, "."),
            ("7", 1, "."),
            (r#"{"a":1}"#, 6, "a"),
            // After the closing brace the whole is at fault: something is missing in it.
            (r#"{"a":1}"#, 7, "."),
            (r#"{"a":{"b":1},"c":2}"#, 12, "a"),
            (r#"{"a":{"b":1},"c":2}"#, 13, "."),
            (r#"{"a":{"b":1},"c":2}"#, 18, "c"),
            (r#"[{"a":[1,{"b":true}]}]"#, 18, "[0].a[1].b"),
            (r#"{"a":"b\"}","c":[]}"#, 17, "c[0]"),
            (r#"{"a\u0062\n":1}"#, 14, "ab\n"),
            (r#"{"a":"#, 99, "a"),
            (r#"{"a"#, 99, "?"),
            ("]]}{\"", 99, "?"),
        ] {
            assert_eq!(way_to(text.as_bytes(), (1, column)), expected, "{text} {column}");
        }
        assert_eq!(way_to(b"{\n\"a\":\n[1,\n2]}", (4, 1)), "a[1]");
    }

    proptest! {
        #[test]
        fn no_text_and_no_place_is_too_much(text in "[\\[\\]{}\",:a\\\\\\n1]{0,40}", line in 0usize..9, column in 0usize..60) {
            way_to(text.as_bytes(), (line, column));
        }
    }
}
