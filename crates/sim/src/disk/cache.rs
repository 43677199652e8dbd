//! What a disk has, and what is only in the operating system's cache.
//!
//! A disk writes sectors, one after the other and in any order. Each has one of the contents that it had since the last
//! sync; the one that was being written may be there up to any byte.

use std::collections::{BTreeMap, BTreeSet};

use super::{Chance, below};

/// How many bytes a disk writes at once.
const SECTOR: usize = 512;

/// Files by name.
pub(super) type Names = BTreeMap<String, usize>;

type Sector = [u8; SECTOR];

/// Something that was done to the files.
pub(super) enum Step {
    Write {
        file: usize,
        offset: usize,
        bytes: Vec<u8>,
    },
    SetSize {
        file: usize,
        size: usize,
    },
    Sync(usize),
    FailedSync(usize),
    /// Files were made or renamed, and have these names now.
    Names(Names),
    SyncNames,
}

/// The files on the disk and in the cache.
#[derive(Default)]
pub(super) struct Cache {
    names: Names,
    /// The names as they were since they were synced, the latest at the end.
    later_names: Vec<Names>,
    files: Vec<CachedFile>,
}

#[derive(Default)]
struct CachedFile {
    /// On the disk.
    lasting: Vec<u8>,
    /// For the process that reads it.
    cached: Vec<u8>,
    /// The sizes that the file had since it was synced.
    sizes: Vec<usize>,
    /// The contents that sectors had since they were synced, the latest at the end.
    sectors: BTreeMap<usize, Vec<Sector>>,
    /// The sectors that a sync failed to write. No sync tries them again before they are written to again.
    given_up: BTreeSet<usize>,
}

impl Cache {
    /// Files that are all synced.
    pub(super) fn lasting(names: &Names, files: &[Vec<u8>]) -> Self {
        let lasting = |file: &Vec<u8>| CachedFile {
            lasting: file.clone(),
            cached: file.clone(),
            ..CachedFile::default()
        };
        Self { names: names.clone(), later_names: Vec::new(), files: files.iter().map(lasting).collect() }
    }

    pub(super) fn take(&mut self, step: &Step) {
        match step {
            Step::Write { file, offset, bytes } => self.file(*file).write(*offset, bytes),
            Step::SetSize { file, size } => self.file(*file).set_size(*size),
            Step::Sync(file) => self.file(*file).sync(),
            Step::FailedSync(file) => self.file(*file).fail_sync(),
            Step::Names(names) => {
                // A file that was only made is empty.
                for file in names.values() {
                    self.file(*file);
                }
                self.later_names.push(names.clone());
            }
            Step::SyncNames => {
                if let Some(names) = self.later_names.pop() {
                    self.names = names;
                    self.later_names.clear();
                }
            }
        }
    }

    /// The files as a process sees them.
    pub(super) fn contents(&self) -> (Names, Vec<Vec<u8>>) {
        let names = self.later_names.last().unwrap_or(&self.names).clone();
        (names, self.files.iter().map(|file| file.cached.clone()).collect())
    }

    /// Loses any part of what was not synced.
    pub(super) fn lose(&mut self, chance: &mut Chance) {
        let fate = Fate::by_chance(chance);
        let version = fate.version(self.later_names.len(), chance);
        if let Some(nth) = version.checked_sub(1) {
            self.names = self.later_names.swap_remove(nth);
        }
        self.later_names.clear();
        for file in &mut self.files {
            file.lose(fate, chance);
        }
    }

    fn file(&mut self, file: usize) -> &mut CachedFile {
        if self.files.len() <= file {
            self.files.resize_with(file + 1, CachedFile::default);
        }
        &mut self.files[file]
    }
}

/// What becomes of what was not synced.
#[derive(Clone, Copy)]
enum Fate {
    Lost,
    Kept,
    Mixed,
}

impl Fate {
    fn by_chance(chance: &mut Chance) -> Self {
        match below(chance, 8) {
            0 => Self::Lost,
            1 => Self::Kept,
            _ => Self::Mixed,
        }
    }

    /// Which of so many later versions is there; 0 for the one that was synced.
    fn version(self, later: usize, chance: &mut Chance) -> usize {
        match self {
            Self::Lost => 0,
            Self::Kept => later,
            Self::Mixed => below(chance, later as u64 + 1) as usize,
        }
    }
}

impl CachedFile {
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        if end > self.cached.len() {
            self.cached.resize(end, 0);
            self.sizes.push(end);
        }
        self.cached[offset..end].copy_from_slice(bytes);
        self.note(offset, end);
    }

    fn set_size(&mut self, size: usize) {
        let before = self.cached.len();
        self.cached.resize(size, 0);
        self.sizes.push(size);
        // What was cut off is zero if the file grows again.
        self.note(size, before);
    }

    /// Notes what the sectors from one place to another hold now.
    fn note(&mut self, start: usize, end: usize) {
        for nth in start / SECTOR..end.max(start).div_ceil(SECTOR) {
            let now = sector(&self.cached, nth);
            self.sectors.entry(nth).or_default().push(now);
            self.given_up.remove(&nth);
        }
    }

    fn sync(&mut self) {
        self.lasting.resize(self.cached.len(), 0);
        self.sizes.clear();
        for (nth, mut versions) in std::mem::take(&mut self.sectors) {
            if self.given_up.contains(&nth) {
                self.sectors.insert(nth, versions);
            } else if let Some(last) = versions.pop() {
                put(&mut self.lasting, nth, &last);
            }
        }
    }

    fn fail_sync(&mut self) {
        self.given_up.extend(self.sectors.keys());
    }

    fn lose(&mut self, fate: Fate, chance: &mut Chance) {
        let size = match fate.version(self.sizes.len(), chance).checked_sub(1) {
            Some(nth) => self.sizes[nth],
            None => self.lasting.len(),
        };
        let longest = self.sizes.iter().copied().chain([self.lasting.len()]).max().unwrap_or_default();
        self.lasting.resize(longest, 0);
        for (nth, versions) in std::mem::take(&mut self.sectors) {
            let mut all = vec![sector(&self.lasting, nth)];
            all.extend(versions);
            let there = fate.version(all.len() - 1, chance);
            let mut found = all[there];
            if matches!(fate, Fate::Mixed) && below(chance, 4) == 0 {
                let next = there + below(chance, (all.len() - there) as u64) as usize;
                let cut = below(chance, SECTOR as u64) as usize;
                found[..cut].copy_from_slice(&all[next][..cut]);
            }
            put(&mut self.lasting, nth, &found);
        }
        self.lasting.resize(size, 0);
        *self = Self {
            cached: self.lasting.clone(),
            lasting: std::mem::take(&mut self.lasting),
            ..Self::default()
        };
    }
}

/// What a sector holds, with zeros after the end of the file.
fn sector(file: &[u8], nth: usize) -> Sector {
    let mut found = [0; SECTOR];
    let there = file.get(nth * SECTOR..).unwrap_or_default();
    let len = there.len().min(SECTOR);
    found[..len].copy_from_slice(&there[..len]);
    found
}

/// Writes what a sector holds, as far as the file goes.
fn put(file: &mut [u8], nth: usize, found: &Sector) {
    let there = file.get_mut(nth * SECTOR..).unwrap_or_default();
    let len = there.len().min(SECTOR);
    there[..len].copy_from_slice(&found[..len]);
}
