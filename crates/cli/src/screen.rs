//! The terminal that a command draws on, if there is one.

use std::io::{self, IsTerminal, Write};

use crate::cell::whole;
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

/// Writes to the standard output, at once.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}
