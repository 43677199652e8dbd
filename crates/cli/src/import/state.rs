//! What an interrupted import goes on from: how many items of the file are done, whatever came of them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::data::form::Packed;
use crate::data::reader::Entry;

/// How far an import is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) of: Of,
    /// Items of the file that are done.
    pub(super) items: u64,
    /// A sum of these items, by which an edited file is known.
    pub(super) sum: Sum,
    pub(super) written: u64,
    pub(super) kept: u64,
    pub(super) refused: u64,
    /// How long the file of refusals was.
    pub(super) errors: u64,
}

/// What an import is of: a run with another answer cannot go on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Of {
    pub(super) container: String,
    pub(super) rid: Option<String>,
    pub(super) file: Option<Identity>,
    pub(super) keep_existing: bool,
    /// How the file is read.
    pub(super) packed: Packed,
    pub(super) text: Vec<String>,
    /// Where refusals are kept.
    pub(super) errors: Option<PathBuf>,
}

/// A file as far as it can be told from others without reading it: its length, and a sum of how it begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) length: u64,
    begins: Sum,
}

impl Identity {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        const LOOKED_AT: u64 = 1 << 16;
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut bytes = Vec::new();
        file.take(LOOKED_AT).read_to_end(&mut bytes)?;
        let mut begins = Sum::default();
        begins.bytes(&bytes);
        Ok(Self { length, begins })
    }
}

/// FNV-1a: what tells two texts apart that nobody made to be mistaken for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sum(u64);

impl Default for Sum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Sum {
    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Adds an item of a file.
    pub(super) fn entry(&mut self, entry: &Entry) {
        let (Ok(text) | Err(text)) = &entry.text;
        self.bytes(text.as_bytes());
        // So that it matters where one item ends.
        self.bytes(b"\n");
    }
}

impl Of {
    /// What an import that was begun as this one is, if it is another one.
    pub(super) fn difference(&self, now: &Self) -> Option<String> {
        let what = match self {
            begun if begun == now => return None,
            begun if begun.container != now.container => return Some(format!("to {}", begun.container)),
            begun if begun.rid != now.rid => {
                "to a container that was deleted and made anew, or of another account"
            }
            begun if begun.file != now.file => "of a file with other content",
            begun if begun.packed != now.packed => "that reads the file in another format",
            begun if begun.text != now.text => "with other columns in --text",
            _ => "with other options",
        };
        Some(what.to_owned())
    }
}
