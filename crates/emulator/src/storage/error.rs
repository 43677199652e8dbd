//! Why a journal cannot be opened or read.
//!
//! A write that fails later is a [`Failure`](crate::Failure) of its request instead.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::mark;

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
    /// It is not as it was written.
    Damaged { what: String, remedy: Remedy },
    /// The operating system or the storage engine says no.
    Other(Box<dyn std::error::Error + Send + Sync>),
}

/// What can be done about damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Nothing but to go back to a copy.
    RestoreCopy,
    /// The data is whole, but may lack its end; without the mark it is taken as it is.
    DeleteMark,
}

impl StorageError {
    pub(super) fn in_use() -> Self {
        Self { path: None, problem: Problem::InUse }
    }

    pub(super) fn newer(found: u64, known: u64) -> Self {
        Self { path: None, problem: Problem::Newer { found, known } }
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::damaged(what, Remedy::RestoreCopy)
    }

    pub(super) fn damaged(what: impl Into<String>, remedy: Remedy) -> Self {
        Self { path: None, problem: Problem::Damaged { what: what.into(), remedy } }
    }

    /// What the storage engine says while it opens or reads a file.
    pub(super) fn engine(error: impl Into<redb::Error>) -> Self {
        match error.into() {
            redb::Error::DatabaseAlreadyOpen => Self::in_use(),
            redb::Error::Io(error)
                if !matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) =>
            {
                Self::other(error)
            }
            // A file that is as this program wrote it gives no other error.
            damage => Self::corrupt(damage.to_string()),
        }
    }

    pub(crate) fn other(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { path: None, problem: Problem::Other(source.into()) }
    }

    pub(super) fn at(mut self, path: &Path) -> Self {
        self.path.get_or_insert_with(|| path.to_owned());
        self
    }

    /// Whether the file is not as it was written.
    pub fn is_damaged(&self) -> bool {
        matches!(self.problem, Problem::Damaged { .. })
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
            Problem::Damaged { what, remedy: Remedy::RestoreCopy } => {
                write!(
                    f,
                    "it is damaged: {what} (restore a copy of the directory, or start with an empty one)"
                )
            }
            Problem::Damaged { what, remedy: Remedy::DeleteMark } => write!(
                f,
                "it is damaged: {what} (restore a copy of the directory, or delete {} to go on with what is there)",
                mark::FILE
            ),
            Problem::Other(source) => write!(f, "{source}"),
        }
    }
}

impl std::error::Error for StorageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Other(source) => Some(&**source),
            Problem::InUse | Problem::Newer { .. } | Problem::Damaged { .. } => None,
        }
    }
}
