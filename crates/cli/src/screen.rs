//! The terminal that a command draws on, if there is one.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use crate::cell::{steers, whole};
use crate::document::safe;
use crate::failure::Failure;

/// How many columns the terminal has; `None` if nobody says.
pub(crate) fn width() -> Option<usize> {
    size().map(|(columns, _)| columns)
}

/// How many columns there are for what goes to the standard output; `None` if that is no terminal.
pub(crate) fn output_width() -> Option<usize> {
    io::stdout().is_terminal().then(width).flatten()
}

/// Columns and rows.
pub(crate) fn size() -> Option<(usize, usize)> {
    let (terminal_size::Width(columns), terminal_size::Height(rows)) = terminal_size::terminal_size()?;
    (columns > 0 && rows > 0).then_some((columns.into(), rows.into()))
}

/// Says something on the standard error, line by line, with what steers a terminal written out. Nothing depends on whether
/// anybody reads it: a reader who goes away must not look like the end of the work.
pub(crate) fn note(text: &str) {
    let shown: String = text.lines().map(|line| format!("{}\n", whole(line))).collect();
    let _ = io::stderr().write_all(shown.as_bytes());
}

/// Writes to the standard output, at once. On a terminal, what would steer it is written as JSON can write it.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    let shown = if output.is_terminal() { in_safe_lines(text) } else { Cow::Borrowed(text) };
    output.write_all(shown.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// A text of which nothing but its line breaks steers a terminal.
pub(crate) fn in_safe_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| c != '\n' && steers(c)) {
        return Cow::Borrowed(text);
    }
    text.split('\n').map(safe).collect::<Vec<_>>().join("\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_lines_and_nothing_else_that_steers_it() {
        for (text, shown) in [
            ("{\n  \"a\": 1\n}\n", "{\n  \"a\": 1\n}\n"),
            ("[\n\"\u{9b}2J\u{202e}\"\n]\n", "[\n\"\\u009b2J\\u202e\"\n]\n"),
            ("a\tb\u{1b}[2J\r\n", "a b\\u001b[2J \n"),
            ("", ""),
        ] {
            assert_eq!(in_safe_lines(text), shown);
        }
    }
}
