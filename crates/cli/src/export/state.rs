//! What an interrupted export goes on from: how long the file was, and where each part of the container goes on behind
//! what is in it.

use std::path::{Path, PathBuf};

use cosmonaut::FeedRange;
use serde::{Deserialize, Serialize};

use crate::data::checkpoint::with_suffix;
use crate::data::form::Packed;
use crate::failure::Failure;

/// A part of the container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) range: FeedRange,
    pub(super) at: At,
}

/// How far a part is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum At {
    Beginning,
    /// Behind a page.
    Behind(String),
    End,
}

/// How far an export is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// What is exported, and how: a run with another answer cannot go on.
    pub(super) of: Of,
    /// How long the file was.
    pub(super) length: u64,
    pub(super) items: u64,
    pub(super) parts: Vec<Part>,
    /// The columns that were seen so far, for a table.
    pub(super) columns: Vec<String>,
    /// Whether the file is whole and only its name is missing.
    pub(super) is_whole: bool,
}

/// What an export is of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Of {
    pub(super) container: String,
    /// The resource id: a container that was made anew is another one.
    pub(super) rid: Option<String>,
    pub(super) packed: Packed,
    pub(super) with_system: bool,
    pub(super) columns: Vec<String>,
}

impl State {
    pub(super) fn new(of: Of, ranges: Vec<FeedRange>) -> Self {
        let parts = ranges.into_iter().map(|range| Part { range, at: At::Beginning }).collect();
        Self { of, length: 0, items: 0, parts, columns: Vec::new(), is_whole: false }
    }
}

impl Of {
    /// That an export that was begun as this one is the same.
    pub(super) fn check(&self, now: &Self, path: &Path) -> Result<(), Failure> {
        let shown = path.display();
        let other = |what: &str| {
            Err(Failure::Usage(format!(
                "{shown} is of an export {what} (go on as it was begun, or use --restart)"
            )))
        };
        match self {
            begun if begun == now => Ok(()),
            begun if begun.container != now.container => other(&format!("of {}", begun.container)),
            begun if begun.rid != now.rid => {
                let name = &begun.container;
                other(&format!("of a container {name} that was deleted and made anew, or of another account"))
            }
            _ => other("with another format, other columns or other members"),
        }
    }
}

/// The files of an export.
pub(super) struct Files {
    /// The file that is there at the end.
    pub(super) whole: PathBuf,
    pub(super) part: PathBuf,
    /// The table that is made of the part, where its columns are found later.
    pub(super) table: PathBuf,
    pub(super) state: PathBuf,
}

impl Files {
    pub(super) fn of(path: &Path) -> Self {
        Self {
            whole: path.to_owned(),
            part: with_suffix(path, ".part"),
            table: with_suffix(path, ".table"),
            state: with_suffix(path, ".state"),
        }
    }
}
