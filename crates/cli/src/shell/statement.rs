//! Where a statement ends: a query at `;`, a command at the end of its line.

/// Something to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// Without the `;`.
    Query(String),
    /// With its `\`.
    Command(String),
}

impl Statement {
    /// Whether Ctrl-C may be a part of it, and not a wish to end all.
    pub(super) fn may_watch(&self) -> bool {
        matches!(self, Self::Command(text) if text.starts_with("\\watch") || text.starts_with("\\i"))
    }
}

/// Lines on their way to statements.
#[derive(Default)]
pub(super) struct Reader {
    /// What is read and has not ended.
    text: String,
}

impl Reader {
    /// What ends with this line.
    pub(super) fn line(&mut self, line: &str) -> Vec<Statement> {
        let mut ended = Vec::new();
        self.text.push_str(line);
        self.text.push('\n');
        loop {
            let text = &self.text;
            let said = behind_comments(text);
            if said.starts_with('\\') {
                ended.push(Statement::Command(said.trim_end().to_owned()));
                self.text.clear();
                return ended;
            }
            let Some(end) = end(text) else { return ended };
            // Comments before a query stay with it: the service counts places from the beginning of the text.
            let (query, rest) = (text[..end].trim().to_owned(), text[end + 1..].to_owned());
            if !behind_comments(&query).is_empty() {
                ended.push(Statement::Query(query));
            }
            self.text = rest;
        }
    }

    /// What has not ended when there is nothing more to read.
    pub(super) fn rest(&mut self) -> Option<Statement> {
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        (!behind_comments(text).is_empty()).then(|| Statement::Query(text.to_owned()))
    }
}

/// Whether what is typed can be run: a command, what ends with `;`, and what is followed by an empty line.
pub(super) fn is_complete(typed: &str) -> bool {
    let text = typed.trim();
    let said = behind_comments(text);
    if said.is_empty() || said.starts_with('\\') {
        return true;
    }
    let last = typed.rsplit('\n').next().unwrap_or_default();
    if typed.contains('\n') && last.trim().is_empty() {
        return true;
    }
    let mut rest = text;
    while let Some(at) = end(rest) {
        rest = &rest[at + 1..];
        let said = behind_comments(rest);
        if said.is_empty() || said.starts_with('\\') {
            return true;
        }
    }
    false
}

/// What comes first that is neither blank nor comment. A comment that does not end is as it stands.
fn behind_comments(text: &str) -> &str {
    let mut text = text.trim_start();
    loop {
        let rest = if let Some(comment) = text.strip_prefix("--") {
            comment.find('\n').map_or("", |end| &comment[end..])
        } else if let Some(end) = text.strip_prefix("/*").and_then(|comment| comment.find("*/")) {
            &text[end + 4..]
        } else {
            return text;
        };
        text = rest.trim_start();
    }
}

/// Where the first `;` is that is in no text and no comment.
fn end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        match rest[0] {
            b';' => return Some(at),
            quote @ (b'\'' | b'"') => at = text_end(bytes, at, quote)?,
            _ if rest.starts_with(b"--") => at += rest.iter().position(|byte| *byte == b'\n')?,
            _ if rest.starts_with(b"/*") => at += 4 + rest[2..].windows(2).position(|two| two == b"*/")?,
            _ => at += 1,
        }
    }
    None
}

/// The place behind a text that begins here.
fn text_end(bytes: &[u8], begin: usize, quote: u8) -> Option<usize> {
    let mut at = begin + 1;
    loop {
        match *bytes.get(at)? {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Statement> {
        let mut reader = Reader::default();
        let mut found: Vec<_> = text.lines().flat_map(|line| reader.line(line)).collect();
        found.extend(reader.rest());
        found
    }

    #[test]
    fn queries_end_at_semicolons_that_are_in_no_text_and_no_comment() {
        let query = |text: &str| Statement::Query(text.to_owned());
        let command = |text: &str| Statement::Command(text.to_owned());
        for (text, expected) in [
            ("", vec![]),
            ("SELECT 1", vec![query("SELECT 1")]),
            ("SELECT 1;SELECT 2;", vec![query("SELECT 1"), query("SELECT 2")]),
            ("SELECT\n1\n;\n;", vec![query("SELECT\n1")]),
            ("SELECT ';', \"a\\\";\" -- x;\n/* ; */;", vec![query("SELECT ';', \"a\\\";\" -- x;\n/* ; */")]),
            ("\\d\nSELECT 1;\n  \\x on ", vec![command("\\d"), query("SELECT 1"), command("\\x on")]),
            ("SELECT 1; \\watch 2", vec![query("SELECT 1"), command("\\watch 2")]),
            ("SELECT '\\\\';", vec![query("SELECT '\\\\'")]),
            ("SELECT 'open;\nx", vec![query("SELECT 'open;\nx")]),
            ("SELECT '\\", vec![query("SELECT '\\")]),
            ("SELECT 1; -- done", vec![query("SELECT 1")]),
            (
                "-- x\n\\set n 1\nSELECT @n; /* a\nb */ \\q",
                vec![command("\\set n 1"), query("SELECT @n"), command("\\q")],
            ),
            ("-- only; this\n;/* and this */;", vec![]),
            ("-- first\nSELECT 1;", vec![query("-- first\nSELECT 1")]),
            ("SELECT 1; /* open", vec![query("SELECT 1"), query("/* open")]),
            ("SELECT 1 - -1;", vec![query("SELECT 1 - -1")]),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_typed_is_complete_with_a_semicolon_or_an_empty_line() {
        for (text, complete) in [
            ("", true),
            ("\\d", true),
            ("SELECT 1", false),
            ("SELECT 1;", true),
            ("SELECT ';", false),
            ("SELECT 1\n", true),
            ("SELECT 1\nFROM c", false),
            ("SELECT 1; SELECT", false),
            ("SELECT 1; \\x", true),
            ("SELECT 1; -- done", true),
            ("-- x", true),
            ("/* x", false),
            ("-- x\nSELECT 1", false),
        ] {
            assert_eq!(is_complete(text), complete, "{text:?}");
        }
    }
}
