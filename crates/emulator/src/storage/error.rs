//! Why a journal cannot be opened or read.
//!
//! A write that fails later is a [`Failure`](crate::Failure) of its request instead.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a journal cannot be opened or read. Nothing was changed.
#[derive(Debug)]
pub struct StorageError {
    path: Option<PathBuf>,
    problem: Problem,
}

#[derive(Debug)]
enum Problem {
    /// Another process has it open.
    InUse,
    /// It was written by a later version of this program.
    Newer { found: u64, known: u64 },
    /// What it holds makes no sense.
    Corrupt(String),
    /// The operating system or the storage engine says no.
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl StorageError {
    pub(super) fn in_use() -> Self {
        Self { path: None, problem: Problem::InUse }
    }

    pub(super) fn newer(found: u64, known: u64) -> Self {
        Self { path: None, problem: Problem::Newer { found, known } }
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self { path: None, problem: Problem::Corrupt(what.into()) }
    }

    pub(crate) fn other(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { path: None, problem: Problem::Other(source.into()) }
    }

    pub(super) fn at(mut self, path: &Path) -> Self {
        self.path = Some(path.to_owned());
        self
    }

    /// Whether another process has the journal open.
    pub fn is_in_use(&self) -> bool {
        matches!(self.problem, Problem::InUse)
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "the data in {} cannot be opened: ", path.display())?,
            None => f.write_str("the data cannot be opened: ")?,
        }
        match &self.problem {
            Problem::InUse => {
                f.write_str("another process has it open (stop that one, or choose another directory)")
            }
            Problem::Newer { found, known } => write!(
                f,
                "it has format {found}, and this version knows formats up to {known} (use the version that wrote it, \
                 or a later one)"
            ),
            Problem::Corrupt(what) => write!(f, "{what} (restore a copy, or start with an empty directory)"),
            Problem::Other(source) => write!(f, "{source}"),
        }
    }
}

impl std::error::Error for StorageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Other(source) => Some(&**source),
            Problem::InUse | Problem::Newer { .. } | Problem::Corrupt(_) => None,
        }
    }
}
