//! Why a command ended without doing what it was asked, and the exit status that says so.
//!
//! Wrong arguments never get here: clap reports those itself, with status 2 as well.

use std::io::{self, Write};
use std::process::ExitCode;

use cosmonaut_options::OptionErrors;

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
        let (message, status) = match self {
            Self::Usage(message) => (message, 2),
            Self::Work(message) => (message, 1),
            // Whoever read the output has seen enough; `cosmonaut … | head` is not a mistake.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            Self::Output(error) => (format!("cannot write the output: {error}"), 1),
            Self::Stopped => return ExitCode::from(130),
        };
        // Several lines are several errors, but for those that are set in: they belong to the one before.
        let line = |line: &str| {
            let mark = if line.starts_with(' ') { "" } else { "error: " };
            writeln!(io::stderr(), "{mark}{line}")
        };
        // If even this cannot be written there is nobody left to tell; the status still says it.
        let _ = message.lines().try_for_each(line);
        ExitCode::from(status)
    }
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
