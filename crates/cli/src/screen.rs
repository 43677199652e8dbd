//! The terminal that a command draws on, if there is one.

/// How many columns the terminal has; `None` if nobody says.
pub(crate) fn width() -> Option<usize> {
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size()?;
    (columns > 0).then_some(columns.into())
}
