//! Where a statement ends: a query at `;`, a command at the end of its line.

/// Something to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// Without the `;`.
    Query(String),
    /// With its `\`.
    Command(String),
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
            let text = self.text.trim_start();
            if text.starts_with('\\') {
                ended.push(Statement::Command(text.trim_end().to_owned()));
                self.text.clear();
                return ended;
            }
            let Some(end) = end(text) else { return ended };
            let (query, rest) = (text[..end].trim().to_owned(), text[end + 1..].to_owned());
            if !query.is_empty() {
                ended.push(Statement::Query(query));
            }
            self.text = rest;
        }
    }

    /// What has not ended when there is nothing more to read.
    pub(super) fn rest(&mut self) -> Option<Statement> {
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        (!text.is_empty()).then(|| Statement::Query(text.to_owned()))
    }
}

/// Whether what is typed can be run: a command, what ends with `;`, and what is followed by an empty line.
pub(super) fn is_complete(typed: &str) -> bool {
    let text = typed.trim();
    if text.is_empty() || text.starts_with('\\') {
        return true;
    }
    let last = typed.rsplit('\n').next().unwrap_or_default();
    if typed.contains('\n') && last.trim().is_empty() {
        return true;
    }
    let mut rest = text;
    while let Some(at) = end(rest) {
        rest = &rest[at + 1..];
        if rest.trim().is_empty() || rest.trim_start().starts_with('\\') {
            return true;
        }
    }
    false
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
        ] {
            assert_eq!(is_complete(text), complete, "{text:?}");
        }
    }
}
