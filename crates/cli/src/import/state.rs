//! What an interrupted import goes on from: how many items of the file are done, whatever came of them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::data::form::Packed;
use crate::failure::Failure;

/// How far an import is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) of: Of,
    /// Items of the file that are done.
    pub(super) items: u64,
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

/// A file as far as it can be told from others: its length, and a sum of how it begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) length: u64,
    begins: u64,
}

impl Identity {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        const LOOKED_AT: u64 = 1 << 16;
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut bytes = Vec::new();
        file.take(LOOKED_AT).read_to_end(&mut bytes)?;
        // FNV-1a: what tells two files apart that nobody made to be mistaken for each other.
        let begins = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Ok(Self { length, begins })
    }
}

impl State {
    /// That it is of the same import.
    pub(super) fn check(&self, of: &Of, path: &Path) -> Result<(), Failure> {
        let shown = path.display();
        let other = |what: &str| {
            Err(Failure::Usage(format!("{shown} is of an import {what} (use --restart, or another --state)")))
        };
        match &self.of {
            begun if begun == of => Ok(()),
            begun if begun.container != of.container => other(&format!("to {}", begun.container)),
            begun if begun.rid != of.rid => {
                other("to a container that was deleted and made anew, or of another account")
            }
            begun if begun.file != of.file => other("of a file with other content"),
            begun if begun.packed != of.packed => other("that reads the file in another format"),
            begun if begun.text != of.text => other("with other columns in --text"),
            _ => other("with other options"),
        }
    }
}
