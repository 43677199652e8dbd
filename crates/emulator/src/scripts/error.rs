//! How a script failed, and the service's words for it.

use cosmonaut_wire::{CosmosStatus, ResourceType};
use http::StatusCode;
use rquickjs::CaughtError;
use serde_json::json;

use super::sandbox::{OWN_FILES, Thrown};
use super::watch::Stopped;
use crate::Failure;

/// The sub-status of a script that is no JavaScript.
const NO_SCRIPT: u32 = 65535;

/// How a script failed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScriptError {
    /// Its source is no JavaScript; the text says where.
    Syntax(String),
    /// It threw something.
    Thrown {
        /// The number of the error that it threw.
        number: Option<u32>,
        /// The error, and where it was made.
        text: String,
    },
    /// It was stopped.
    Stopped(Stopped),
    /// It used more memory than it may.
    Memory,
    /// It has used too much several times, and was not run.
    Blocked {
        /// Its id.
        id: String,
        /// What it is: a stored procedure, a trigger or a function.
        kind: ResourceType,
    },
}

impl ScriptError {
    pub(super) fn syntax(error: CaughtError<'_>, source: &str, file: &str) -> Self {
        let (message, stack) = match &error {
            CaughtError::Exception(exception) => {
                (exception.message().unwrap_or_default(), exception.stack().unwrap_or_default())
            }
            CaughtError::Error(_) | CaughtError::Value(_) => {
                ("the source has a null character".to_owned(), String::new())
            }
        };
        let (line, column) = place_in(&stack, file).unwrap_or((1, 1));
        let shown: String = source.lines().nth(line - 1).unwrap_or_default().chars().take(200).collect();
        Self::Syntax(format!(
            "Exception = SyntaxError: {message}\r\nSource information: line: {line}, column: {column}, source line:\n{shown}"
        ))
    }

    /// What the script's side tells of an error.
    pub(super) fn told(told: String, file: &str) -> Self {
        let Ok(Thrown { title, number, stack }) = serde_json::from_str(&told) else {
            return Self::Memory;
        };
        let is_whole = |number: &f64| number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(number);
        let number = number.filter(is_whole).map(|number| number as u32);
        let trace = match trace(&stack, file) {
            Some(frames) => format!("{title}{frames}"),
            None => "undefined".to_owned(),
        };
        Self::Thrown { number, text: format!("Exception = {title}\r\nStack trace: {trace}") }
    }

    /// The answer to a request whose script failed.
    pub(crate) fn failure(&self) -> Failure {
        let bad = StatusCode::BAD_REQUEST;
        match self {
            Self::Syntax(text) => refused(
                CosmosStatus::new(bad, NO_SCRIPT),
                &format!("Encountered exception while compiling Javascript. {text}"),
            ),
            Self::Thrown { number, text } => refused(
                CosmosStatus::new(bad, number.unwrap_or(0)),
                &format!("Encountered exception while executing function. {text}"),
            ),
            Self::Memory => refused(
                CosmosStatus::BAD_REQUEST,
                "Encountered exception while executing function. Exception = Error: Out of memory\r\nStack trace: undefined",
            ),
            Self::Blocked { id, kind } => {
                // The service says it in two ways.
                let limit = if *kind == ResourceType::UserDefinedFunction {
                    "resources limit"
                } else {
                    "resource limit"
                };
                refused(
                    CosmosStatus::FORBIDDEN,
                    &format!(
                        "The script with id '{id}' is blocked for execution because it has violated its allowed {limit} \
                         several times."
                    ),
                )
            }
            Self::Stopped(Stopped::Aborted(told)) => Self::told(told.clone(), "").failure(),
            Self::Stopped(Stopped::TimedOut | Stopped::Delayed | Stopped::Unwanted) => refused(
                StatusCode::REQUEST_TIMEOUT.into(),
                "The requested operation exceeded maximum alloted time. Learn more: \
                 https://aka.ms/cosmosdb-tsg-service-request-timeout",
            ),
            Self::Stopped(Stopped::Stale) => refused(
                StatusCode::from_u16(449).unwrap_or(StatusCode::CONFLICT).into(),
                "Conflicting request to resource has been attempted. Retry to avoid conflicts.",
            ),
        }
    }
}

fn refused(status: CosmosStatus, text: &str) -> Failure {
    Failure::new(status, format!("Message: {}", json!({ "Errors": [text] })))
}

/// The frames of a trace as the service writes them; none if there is no trace.
fn trace(stack: &str, file: &str) -> Option<String> {
    if stack.is_empty() {
        return None;
    }
    let mut frames = String::new();
    for line in stack.lines() {
        let Some(frame) = line.trim().strip_prefix("at ") else { continue };
        if frame.ends_with("(native)") || OWN_FILES.iter().any(|own| frame.contains(own)) {
            continue;
        }
        let frame = frame
            .strip_prefix("<anonymous>")
            .map_or(frame.to_owned(), |rest| format!("Anonymous function{rest}"));
        frames.push_str("\n   at ");
        frames.push_str(&frame);
    }
    let global = if file.is_empty() { String::new() } else { format!("\n   at Global code ({file}:1:2)") };
    Some(frames + &global)
}

/// The line and column of the first frame of a file.
fn place_in(stack: &str, file: &str) -> Option<(usize, usize)> {
    let line = stack.lines().find_map(|line| line.trim().trim_end_matches(')').rsplit_once(file))?.1;
    let mut numbers = line.trim_start_matches(':').split(':').map(|number| number.parse::<usize>().ok());
    Some((numbers.next()??.max(1), numbers.next().flatten().unwrap_or(1)))
}
