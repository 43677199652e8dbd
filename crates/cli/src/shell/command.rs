//! The commands of the shell, which begin with `\`.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::value::RawValue;

use crate::cell::{width, wrapped};
use crate::query::Format;

/// How often a query is repeated that is watched, if nothing is said.
const WATCHED: Duration = Duration::from_secs(2);

/// What there is: names with their arguments, and what they do.
pub(super) const COMMANDS: [(&str, &str, &str); 16] = [
    ("\\?", "", "show this"),
    ("\\c", "DATABASE/CONTAINER", "ask this container; alone, say which one is asked"),
    ("\\d", "[DATABASE/CONTAINER]", "list containers, or show one's definition; . is this"),
    ("\\explain", "[QUERY]", "show how a query is run, or how the last one was"),
    ("\\f", "FORMAT", "write rows as table, vertical, json, jsonl or csv"),
    ("\\i", "FILE", "run what is in a file"),
    ("\\key", "[JSON]", "ask only for one partition key; alone, for all"),
    ("\\o", "[FILE]", "write what follows to a file; alone, to the screen"),
    ("\\q", "", "end"),
    ("\\region", "[NAME]", "show the regions, or prefer one; - is none"),
    ("\\set", "[NAME JSON]", "set what @NAME is in queries; alone, show all"),
    ("\\stats", "[on|off]", "show every request"),
    ("\\system", "[on|off]", "show _rid, _self, _etag, _attachments, _ts in tables"),
    ("\\timing", "[on|off]", "show what a query has cost"),
    ("\\watch", "[SECONDS [TIMES]]", "repeat the last query until Ctrl-C, every 2 seconds"),
    ("\\x", "[on|off]", "write a line for each member"),
];

/// What there is, on a screen of so many columns, if it is one.
pub(super) fn help(screen: Option<usize>) -> String {
    let names = COMMANDS.map(|(name, arguments, _)| format!("{name} {arguments}"));
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let most = screen.unwrap_or(usize::MAX);
    let is_narrow = COMMANDS.iter().any(|(_, _, what)| widest + 2 + width(what) > most);
    let line = |(name, (_, _, what)): (&String, &(&str, &str, &str))| match is_narrow {
        false => format!("{name:widest$}  {what}\n"),
        true => format!(
            "{}\n    {}\n",
            name.trim_end(),
            wrapped(what, most.saturating_sub(4), 0).replace('\n', "\n    ")
        ),
    };
    names.iter().zip(&COMMANDS).map(line).collect()
}

/// A command that can be carried out.
#[derive(Debug)]
pub(super) enum Command {
    Help,
    Quit,
    /// The container that is asked from now on, or which one is.
    Connect(Option<String>),
    Describe(Option<String>),
    Explain(Option<String>),
    Format(Format),
    Include(PathBuf),
    Key(Option<String>),
    Output(Option<PathBuf>),
    Region(Option<String>),
    Parameters,
    Parameter(String, Box<RawValue>),
    Stats(Switch),
    System(Switch),
    Timing(Switch),
    Watch {
        every: Duration,
        times: Option<u64>,
    },
    Vertical(Switch),
}

/// How something that is on or off changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    On,
    Off,
    Other,
}

impl Switch {
    pub(super) fn of(self, now: bool) -> bool {
        match self {
            Self::On => true,
            Self::Off => false,
            Self::Other => !now,
        }
    }
}

/// Reads a command with its `\`.
pub(super) fn parse(text: &str) -> Result<Command, String> {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    // A query may be explained with its `;`.
    let rest = rest.trim().trim_end_matches(';').trim_end();
    let some = || (!rest.is_empty()).then(|| rest.to_owned());
    let nothing = |command| if rest.is_empty() { Ok(command) } else { Err(usage(name)) };
    match name {
        "\\?" | "\\h" | "\\help" => Ok(Command::Help),
        "\\q" | "\\quit" => nothing(Command::Quit),
        "\\c" => Ok(Command::Connect(some())),
        "\\d" => Ok(Command::Describe(some())),
        "\\explain" => Ok(Command::Explain(some())),
        "\\f" => Format::from_str(rest, true).map(Command::Format).map_err(|_| usage(name)),
        "\\i" => some().map(|file| Command::Include(file.into())).ok_or_else(|| usage(name)),
        "\\key" => Ok(Command::Key(some())),
        "\\o" => Ok(Command::Output(some().map(Into::into))),
        "\\region" => Ok(Command::Region(some())),
        "\\set" => set(name, rest),
        "\\stats" => switch(name, rest).map(Command::Stats),
        "\\system" => switch(name, rest).map(Command::System),
        "\\timing" => switch(name, rest).map(Command::Timing),
        "\\watch" => watch(name, rest),
        "\\x" => switch(name, rest).map(Command::Vertical),
        _ => Err(format!("there is no command {name} (\\? lists them)")),
    }
}

fn set(name: &str, rest: &str) -> Result<Command, String> {
    if rest.is_empty() {
        return Ok(Command::Parameters);
    }
    let (parameter, value) = rest.split_once(char::is_whitespace).ok_or_else(|| usage(name))?;
    let value = value.trim();
    let json = serde_json::from_str(value)
        .map_err(|_| format!("{value} is not JSON (a text needs quotes: \"{value}\")"))?;
    Ok(Command::Parameter(parameter.trim_start_matches('@').to_owned(), json))
}

fn switch(name: &str, rest: &str) -> Result<Switch, String> {
    match rest {
        "" => Ok(Switch::Other),
        "on" => Ok(Switch::On),
        "off" => Ok(Switch::Off),
        _ => Err(usage(name)),
    }
}

fn watch(name: &str, rest: &str) -> Result<Command, String> {
    let mut numbers = rest.split_whitespace();
    let every = match numbers.next() {
        None => WATCHED,
        Some(text) => {
            let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
            let every = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            every.ok_or_else(|| usage(name))?
        }
    };
    let times = numbers.next().map(|text| text.parse().map_err(|_| usage(name))).transpose()?;
    if numbers.next().is_some() { Err(usage(name)) } else { Ok(Command::Watch { every, times }) }
}

fn usage(name: &str) -> String {
    let known = COMMANDS.iter().find(|(known, ..)| *known == name);
    let arguments = known.map_or("", |(_, arguments, _)| arguments);
    format!("{name} is not used like this (it is: {})", format!("{name} {arguments}").trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_listed_is_known() {
        for (name, arguments, _) in COMMANDS {
            let example = match arguments {
                "FILE" => "file",
                "FORMAT" => "csv",
                _ => "",
            };
            assert!(parse(&format!("{name} {example}")).is_ok(), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_how_it_is_used() {
        for (text, part) in [
            ("\\nope", "\\?"),
            ("\\x maybe", "\\x [on|off]"),
            ("\\f yaml", "\\f FORMAT"),
            ("\\i", "\\i FILE"),
            ("\\watch soon", "\\watch [SECONDS [TIMES]]"),
            ("\\watch 1 2 3", "\\watch"),
            ("\\watch -1", "\\watch"),
            ("\\set a", "\\set [NAME JSON]"),
            ("\\set a Oslo", "\"Oslo\""),
            ("\\q now", "\\q"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(matches!(parse("\\x off"), Ok(Command::Vertical(Switch::Off))));
        assert!(
            matches!(parse("\\explain SELECT 1;"), Ok(Command::Explain(Some(text))) if text == "SELECT 1")
        );
    }
}
