//! A change of a part of an item, as an argument has it: `set:/state="sent"`.

use std::str::FromStr;

use cosmonaut::Patch;
use serde_json::Value;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    Add(String, Value),
    Set(String, Value),
    Replace(String, Value),
    Increment(String, Value),
    Remove(String),
    /// From where to where.
    Move(String, String),
}

/// The changes in order, and what has to hold before.
pub(super) fn patch(changes: &[Change], condition: Option<&str>) -> Patch {
    let patch = changes.iter().fold(Patch::new(), |patch, change| match change {
        Change::Add(path, value) => patch.add(path, value),
        Change::Set(path, value) => patch.set(path, value),
        Change::Replace(path, value) => patch.replace(path, value),
        Change::Increment(path, value) => patch.increment(path, value),
        Change::Remove(path) => patch.remove(path),
        Change::Move(from, to) => patch.move_value(from, to),
    });
    match condition {
        Some(condition) => patch.condition(format!("FROM c WHERE {condition}")),
        None => patch,
    }
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            "expected set:/PATH=JSON, add:/PATH=JSON, replace:/PATH=JSON, increment:/PATH=NUMBER, remove:/PATH or \
             move:/FROM=/TO, for example set:/state='\"sent\"'"
                .to_owned()
        };
        let (kind, rest) = text.split_once(':').ok_or_else(expected)?;
        if kind == "remove" {
            return Ok(Self::Remove(rest.to_owned()));
        }
        let (path, value) = rest.split_once('=').ok_or_else(expected)?;
        if kind == "move" {
            return Ok(Self::Move(path.to_owned(), value.to_owned()));
        }
        let make = match kind {
            "add" => Self::Add,
            "set" => Self::Set,
            "replace" => Self::Replace,
            "increment" => Self::Increment,
            _ => return Err(expected()),
        };
        let value = serde_json::from_str(value).map_err(|_| {
            format!("{value} is not JSON (a text needs quotes that reach this program: '\"{value}\"')")
        })?;
        Ok(make(path.to_owned(), value))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_are_read_as_they_are_written() {
        for (text, change) in [
            ("set:/a=\"x=y\"", Change::Set("/a".into(), json!("x=y"))),
            ("add:/tags/-={\"n\":1}", Change::Add("/tags/-".into(), json!({"n": 1}))),
            ("replace:/a=null", Change::Replace("/a".into(), Value::Null)),
            ("increment:/n=-2.5", Change::Increment("/n".into(), json!(-2.5))),
            ("remove:/a", Change::Remove("/a".into())),
            ("move:/a=/b", Change::Move("/a".into(), "/b".into())),
        ] {
            assert_eq!(text.parse(), Ok(change), "{text}");
        }
        for (text, part) in [
            ("/a=1", "set:/PATH"),
            ("put:/a=1", "set:/PATH"),
            ("set:/a", "set:/PATH"),
            ("set:/a=x", "'\"x\"'"),
        ] {
            assert!(text.parse::<Change>().unwrap_err().contains(part), "{text}");
        }
    }
}
