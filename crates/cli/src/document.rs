//! JSON documents from arguments, files and the standard input, and as they are shown.
//!
//! What the service sent keeps its text: no number changes on its way to the screen.

use std::convert::Infallible;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use cosmonaut::Etag;
use serde_json::Value;

use crate::cell::steers;
use crate::failure::Failure;

/// The members that the service adds to every resource.
pub(crate) const SYSTEM: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// A document as an argument has it.
#[derive(Clone, Debug)]
pub(crate) enum Document {
    Text(String),
    /// `-`
    StandardInput,
}

impl FromStr for Document {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == "-" { Self::StandardInput } else { Self::Text(text.to_owned()) })
    }
}

/// The text of a document from where the arguments say; `-` as a file is the standard input, too.
pub(crate) fn read(document: Option<&Document>, file: Option<&Path>) -> Result<String, Failure> {
    let text = match (document, file) {
        (_, Some(path)) if path != Path::new("-") => std::fs::read_to_string(path)
            .map_err(|error| Failure::Usage(format!("{} cannot be read: {error}", path.display())))?,
        (Some(Document::Text(text)), _) => text.clone(),
        _ => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).map_err(|error| {
                Failure::Usage(format!("the document cannot be read from the standard input: {error}"))
            })?;
            text
        }
    };
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// A version as a person writes it: the quotes, which belong to it, may be missing.
pub(crate) fn etag(text: &str) -> Etag {
    let is_whole = text == "*" || text.starts_with('"') || text.starts_with("W/");
    if is_whole { Etag::from(text) } else { Etag::from(format!("\"{text}\"")) }
}

/// What the service sent, which is text.
pub(crate) fn text(bytes: &[u8]) -> Result<String, Failure> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned).map_err(|error| Failure::Work(format!("the answer is not text: {error}")))
}

/// A document on one line, as programs read it. On a terminal, what would steer it is written as JSON can write it.
pub(crate) fn on_one_line(json: &str, for_terminal: bool) -> String {
    let line = json.replace(['\n', '\r'], " ");
    format!("{}\n", if for_terminal { safe(&line) } else { line })
}

/// A document in lines, as people read it; without what the service has added, unless that is asked for.
pub(crate) fn for_people(json: &str, with_system: bool) -> String {
    let lines = in_lines(&safe(json));
    if with_system {
        return lines;
    }
    // Members of the document itself are set in by two, and end with their line: those of the service are no objects.
    let is_system = |line: &str| {
        SYSTEM.iter().any(|name| line.starts_with(&format!("  \"{name}\": ")) && !line.ends_with(['{', '[']))
    };
    let mut kept: Vec<&str> = lines.lines().filter(|line| !is_system(line)).collect();
    let last = kept.len().saturating_sub(2);
    let trimmed = kept.get(last).map(|line| line.trim_end_matches(',').to_owned());
    if let (Some(trimmed), true) = (&trimmed, kept.len() > 2) {
        kept[last] = trimmed;
    }
    kept.join("\n") + "\n"
}

/// JSON with a line for each member and element. Numbers and texts stay as they are written.
fn in_lines(json: &str) -> String {
    let (mut lines, mut depth, mut in_text, mut escaped) = (String::new(), 0_usize, false, false);
    let mut rest = json.chars().peekable();
    let line = |lines: &mut String, depth: usize| {
        lines.push('\n');
        lines.push_str(&"  ".repeat(depth));
    };
    while let Some(c) = rest.next() {
        if in_text {
            lines.push(c);
            (in_text, escaped) = (escaped || c != '"', !escaped && c == '\\');
            continue;
        }
        match c {
            ' ' | '\t' | '\n' | '\r' => {}
            '{' | '[' => {
                lines.push(c);
                while rest.next_if(char::is_ascii_whitespace).is_some() {}
                if matches!(rest.peek(), Some('}' | ']')) {
                    lines.extend(rest.next());
                } else {
                    depth += 1;
                    line(&mut lines, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut lines, depth);
                lines.push(c);
            }
            ',' => {
                lines.push(c);
                line(&mut lines, depth);
            }
            ':' => lines.push_str(": "),
            _ => {
                in_text = c == '"';
                lines.push(c);
            }
        }
    }
    lines.push('\n');
    lines
}

/// JSON in which nothing steers a terminal. Between its parts JSON has no such characters but blanks.
pub(crate) fn safe(json: &str) -> String {
    if !json.contains(steers) {
        return json.to_owned();
    }
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' | '\r' | '\t' => safe.push(' '),
            c if steers(c) => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| safe += &format!("\\u{unit:04x}"));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// A resource as JSON for people, in the order in which `serde` has it.
pub(crate) fn resource(value: &impl serde::Serialize, with_system: bool) -> String {
    let text = serde_json::to_string(value).unwrap_or_else(|_| Value::Null.to_string());
    for_people(&text, with_system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_for_people_keeps_every_number_and_leaves_out_what_the_service_adds() {
        let json = r#"{"id":"a,\"{b","n":1.50,"big":12345678901234567890,"e":[],"o":{"_ts":1,"l":[1,{}]},"_rid":"x","_ts":7}"#;
        let expected = "{\n  \"id\": \"a,\\\"{b\",\n  \"n\": 1.50,\n  \"big\": 12345678901234567890,\n  \"e\": [],\n  \
                        \"o\": {\n    \"_ts\": 1,\n    \"l\": [\n      1,\n      {}\n    ]\n  }\n}\n";
        assert_eq!(for_people(json, false), expected);
        assert!(for_people(json, true).ends_with("  },\n  \"_rid\": \"x\",\n  \"_ts\": 7\n}\n"));
        assert_eq!(for_people("{}", false), "{}\n");
        assert_eq!(for_people("{\"_ts\":1}", false), "{\n}\n");
        assert_eq!(for_people("[1]", false), "[\n  1\n]\n");
    }

    #[test]
    fn nothing_in_a_document_steers_a_terminal() {
        assert_eq!(safe("{\"a\":\n\"\u{202e}\u{9b}🎉\"}"), "{\"a\": \"\\u202e\\u009b🎉\"}");
        assert_eq!(on_one_line("{\n}", false), "{ }\n");
    }

    #[test]
    fn an_etag_needs_no_quotes() {
        for (text, expected) in [("00-1", "\"00-1\""), ("\"00-1\"", "\"00-1\""), ("*", "*")] {
            assert_eq!(etag(text).as_str(), expected);
        }
    }
}
