//! Where orchestrations are kept: a provider, and what stands behind it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use duroxide::providers::Provider;
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig};

use super::account::Account;
use super::peers;
use super::report::Cost;
use crate::Result;

/// What an emulator keeps its data in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    Memory,
    /// What is acknowledged is on the disk.
    Disk,
}

/// A provider, and where its data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Ours(Medium),
    Cdb(Medium),
    Sqlite,
}

impl Kind {
    pub const ALL: [Self; 5] = [
        Self::Ours(Medium::Memory),
        Self::Cdb(Medium::Memory),
        Self::Ours(Medium::Disk),
        Self::Cdb(Medium::Disk),
        Self::Sqlite,
    ];

    pub fn parse(name: &str) -> Result<Self> {
        let known = || Self::ALL.map(Self::short_name).join(", ");
        let found = Self::ALL.into_iter().find(|kind| kind.short_name() == name);
        Ok(found.ok_or_else(|| format!("--only takes one of {}, not {name:?}", known()))?)
    }

    fn short_name(self) -> &'static str {
        match self {
            Self::Ours(Medium::Memory) => "memory",
            Self::Ours(Medium::Disk) => "disk",
            Self::Cdb(Medium::Memory) => "cdb-memory",
            Self::Cdb(Medium::Disk) => "cdb-disk",
            Self::Sqlite => "sqlite",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Ours(_) => "duroxide-cosmonaut",
            Self::Cdb(_) => "duroxide-cdb",
            Self::Sqlite => "SQLite",
        }
    }

    pub fn place(self) -> &'static str {
        match self {
            Self::Ours(Medium::Memory) | Self::Cdb(Medium::Memory) => "emulator in memory",
            Self::Ours(Medium::Disk) | Self::Cdb(Medium::Disk) => "emulator on disk",
            Self::Sqlite => "file",
        }
    }

    pub fn is_ours(self) -> bool {
        matches!(self, Self::Ours(_))
    }

    /// The row of ours that a row is compared with: the one whose data is in the same place.
    pub fn rival(self) -> Self {
        match self {
            Self::Ours(medium) | Self::Cdb(medium) => Self::Ours(medium),
            Self::Sqlite => Self::Ours(Medium::Disk),
        }
    }
}

/// An open store, empty at first.
pub struct Store {
    pub provider: Arc<dyn Provider>,
    /// Where its requests go, if it sends any. Before the folder: what writes into it ends first.
    pub account: Option<Account>,
    _folder: Option<Folder>,
}

impl Store {
    /// Opens a store for a runtime with so many dispatchers of each sort.
    pub async fn open(kind: Kind, dispatchers: usize) -> Result<Self> {
        match kind {
            Kind::Ours(medium) => {
                let (account, folder) = start(medium).await?;
                let provider = Arc::new(CosmosProvider::connect(config(&account)).await?);
                Ok(Self { provider, account: Some(account), _folder: folder })
            }
            Kind::Cdb(medium) => {
                let (account, folder) = start(medium).await?;
                let provider = peers::cdb(&account, dispatchers).await?;
                Ok(Self { provider, account: Some(account), _folder: folder })
            }
            Kind::Sqlite => {
                let folder = Folder::new()?;
                let provider = peers::sqlite(&folder.path().join("store.db")).await?;
                Ok(Self { provider, account: None, _folder: Some(folder) })
            }
        }
    }

    /// What the store's requests have cost so far, if it sends any.
    pub fn cost(&self) -> Option<Cost> {
        self.account.as_ref().map(Account::cost)
    }
}

/// Where this provider keeps its documents in an account.
pub fn config(account: &Account) -> CosmosProviderConfig {
    CosmosProviderConfig::new(account.url(), account.key())
}

async fn start(medium: Medium) -> Result<(Account, Option<Folder>)> {
    match medium {
        Medium::Memory => Ok((Account::start(None).await?, None)),
        Medium::Disk => {
            let folder = Folder::new()?;
            Ok((Account::start(Some(folder.path().to_owned())).await?, Some(folder)))
        }
    }
}

/// A new folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cosmonaut-bench-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It is in the folder for temporary files: whoever empties that removes it, too.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_of_its_own_and_a_rival_of_ours() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.short_name()).unwrap(), kind);
            assert!(kind.rival().is_ours() && (!kind.is_ours() || kind.rival() == kind));
        }
    }
}
