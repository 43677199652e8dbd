//! Why a command ended without doing what it was asked, and the exit status that says so.
//!
//! Wrong arguments never get here: clap reports those itself, with status 2 as well.

use std::io::{self, Write};
use std::process::ExitCode;

use cosmonaut_options::OptionErrors;

use crate::cell::cell;

/// The end of a command that did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for, or the configuration, cannot be used: status 2.
    Usage(String),
    /// The command could not do its work: status 1.
    Work(String),
    /// The output could not be written: status 1.
    Output(io::Error),
    /// It was told to stop before it was done, and has said so itself: status 130, as shells have it for Ctrl-C.
    Stopped,
}

impl Failure {
    /// Tells the user, and the shell.
    pub(crate) fn report(self) -> ExitCode {
        ExitCode::from(self.tell())
    }

    /// Tells the user; gives the status.
    pub(crate) fn tell(self) -> u8 {
        let (message, status) = match self {
            Self::Usage(message) => (message, 2),
            Self::Work(message) => (message, 1),
            // Whoever read the output has seen enough; `cosmonaut … | head` is not a mistake.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return 0,
            Self::Output(error) => (format!("cannot write the output: {error}"), 1),
            Self::Stopped => return 130,
        };
        // If even this cannot be written there is nobody left to tell; the status still says it.
        let _ = io::stderr().write_all(shown(&message).as_bytes());
        status
    }
}

/// The most lines of a message, and the most characters of a line: what a server says may be longer than anybody reads.
const MOST_LINES: usize = 50;
const MOST_CHARACTERS: usize = 2_000;

/// A message as it goes to the terminal. Parts of it may come from a server, which is not to steer the terminal.
fn shown(message: &str) -> String {
    // Several lines are several errors, but for those that are set in: they belong to the one before.
    let line = |line: &str| {
        let mark = if line.starts_with(' ') { "" } else { "error: " };
        format!("{mark}{}\n", cell(line, MOST_CHARACTERS))
    };
    let mut text: String = message.lines().take(MOST_LINES).map(line).collect();
    let left = message.lines().skip(MOST_LINES).count();
    if left > 0 {
        text += &format!("  … and {left} more lines\n");
    }
    text
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<OptionErrors> for Failure {
    fn from(errors: OptionErrors) -> Self {
        Self::Usage(errors.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_escaped_and_cut() {
        for (message, expected) in [
            ("one\n  set in\ntwo", "error: one\n  set in\nerror: two\n".to_owned()),
            ("\u{1b}[2J\u{202e}x\r\n", "error: \\u{1b}[2J\\u{202e}x\n".to_owned()),
            (&"x".repeat(3_000_000), format!("error: {}…\n", "x".repeat(MOST_CHARACTERS - 1))),
        ] {
            assert_eq!(shown(message), expected);
        }
        let many = shown(&"  y\n".repeat(60));
        assert!(many.ends_with("  y\n  … and 10 more lines\n") && many.lines().count() == 51, "{many}");
    }
}
