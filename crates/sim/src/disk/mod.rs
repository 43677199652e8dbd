//! A disk of memory that forgets, when its power fails, whatever a real one may forget.
//!
//! What an emulator writes to it is first in a cache, as an operating system has one, and lasts only when it is synced.
//! A batch takes a while: if the power fails or the process ends meanwhile, any part of the batch may have been done.
//! What the files mean is not known here.

mod cache;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmonaut_emulator::{Volume, VolumeFile};
use tokio::sync::Notify;

use cache::{Cache, Names, Step};

/// A disk of memory. Clones are the same disk.
#[derive(Clone)]
pub struct RamDisk(Arc<Mutex<State>>);

/// What goes wrong on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// There is no room: nothing more can be written.
    Full,
    /// Syncs fail, and what they were to make last may be lost though later ones succeed.
    Sync,
}

struct State {
    chance: Chance,
    delays: RangeInclusive<Duration>,
    /// What goes wrong, after so many more operations of that kind.
    fault: Option<(DiskFault, u64)>,
    /// Everything up to where the disk had time for it.
    settled: Cache,
    /// What was asked for since, in order.
    under_way: Vec<Step>,
    /// Something is under way now.
    began: Arc<Notify>,
    /// The files as the process sees them.
    names: Names,
    files: Vec<Vec<u8>>,
    locked: BTreeSet<usize>,
    /// How often the process or the machine has ended.
    starts: u64,
}

/// Numbers by chance.
type Chance = Box<dyn FnMut() -> u64 + Send>;

impl RamDisk {
    /// An empty disk. All that is left to chance is decided by the numbers that `chance` gives.
    pub fn new(chance: impl FnMut() -> u64 + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(State {
            chance: Box::new(chance),
            delays: Duration::ZERO..=Duration::ZERO,
            fault: None,
            settled: Cache::default(),
            under_way: Vec::new(),
            began: Arc::default(),
            names: BTreeMap::new(),
            files: Vec::new(),
            locked: BTreeSet::new(),
            starts: 0,
        })))
    }

    /// A disk that has all that this one has, as after a stop, and goes its own way by other numbers.
    pub fn copy(&self, chance: impl FnMut() -> u64 + Send + 'static) -> Self {
        let state = self.state();
        let copy = Self::new(chance);
        {
            let other = &mut *copy.state();
            other.delays = state.delays.clone();
            other.settled = Cache::lasting(&state.names, &state.files);
            other.restart();
        }
        copy
    }

    /// The disk for one process. When the process or the machine ends, nothing can be done with it any more.
    pub fn mount(&self) -> Arc<dyn Volume> {
        let start = self.state().starts;
        Arc::new(Mount { disk: self.clone(), start })
    }

    /// How long a batch takes from now on.
    pub fn delays(&self, delays: RangeInclusive<Duration>) {
        self.state().delays = delays;
    }

    /// Lets something go wrong from now on, after so many more writes or syncs; `None` mends the disk.
    pub fn fail(&self, fault: Option<(DiskFault, u64)>) {
        self.state().fault = fault;
    }

    /// Waits until something is being written, and not safe yet.
    pub async fn busy(&self) {
        let began = Arc::clone(&self.state().began);
        loop {
            let begins = began.notified();
            if !self.state().under_way.is_empty() {
                return;
            }
            begins.await;
        }
    }

    /// The power fails. What was synced lasts; of everything else any part is lost, kept or torn. Crash the disk first,
    /// and drop the emulator then: it acknowledges nothing more.
    pub fn crash(&self) {
        let state = &mut *self.state();
        state.cut();
        state.settled.lose(&mut state.chance);
        state.restart();
    }

    /// The process ends, the machine goes on: what was written is there, synced or not. A batch that is under way may
    /// have come to any point.
    pub fn kill(&self) {
        let state = &mut *self.state();
        state.cut();
        state.restart();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends what is under way at any point of it.
    fn cut(&mut self) {
        let done = below(&mut self.chance, self.under_way.len() as u64 + 1) as usize;
        self.under_way.drain(..).take(done).for_each(|step| self.settled.take(&step));
    }

    fn restart(&mut self) {
        (self.names, self.files) = self.settled.contents();
        self.locked.clear();
        self.starts += 1;
    }

    /// Counts an operation of a kind; fails if it is the time for that.
    fn strike(&mut self, kind: DiskFault) -> io::Result<()> {
        match &mut self.fault {
            Some((fault, left)) if *fault == kind => match left.checked_sub(1) {
                Some(less) => *left = less,
                None => return Err(kind.error()),
            },
            Some(_) | None => {}
        }
        Ok(())
    }

    fn write(&mut self, file: usize, offset: usize, bytes: &[u8]) {
        let content = &mut self.files[file];
        let end = offset + bytes.len();
        if end > content.len() {
            content.resize(end, 0);
        }
        content[offset..end].copy_from_slice(bytes);
        self.under_way.push(Step::Write { file, offset, bytes: bytes.to_vec() });
        self.began.notify_waiters();
    }
}

impl DiskFault {
    fn error(self) -> io::Error {
        match self {
            Self::Full => io::Error::new(io::ErrorKind::StorageFull, "no space left on device"),
            Self::Sync => io::Error::other("input/output error"),
        }
    }
}

/// The disk for one process.
#[derive(Clone, Debug)]
struct Mount {
    disk: RamDisk,
    /// Which process.
    start: u64,
}

impl Mount {
    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.disk.state();
        match state.starts == self.start {
            true => Ok(state),
            false => Err(io::Error::other("the process has ended")),
        }
    }
}

impl Volume for Mount {
    fn open(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        let state = &mut *self.state()?;
        let file = match state.names.get(name) {
            Some(file) => *file,
            None => {
                state.files.push(Vec::new());
                state.names.insert(name.to_owned(), state.files.len() - 1);
                state.under_way.push(Step::Names(state.names.clone()));
                state.files.len() - 1
            }
        };
        Ok(Box::new(RamFile { mount: self.clone(), file, has_lock: Mutex::new(false) }))
    }

    fn size_of(&self, name: &str) -> io::Result<Option<u64>> {
        let state = self.state()?;
        Ok(state.names.get(name).map(|file| state.files[*file].len() as u64))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let state = &mut *self.state()?;
        let file = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), file);
        state.under_way.push(Step::Names(state.names.clone()));
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let state = &mut *self.state()?;
        state.strike(DiskFault::Sync)?;
        state.under_way.push(Step::SyncNames);
        Ok(())
    }

    fn delay(&self) -> Duration {
        let state = &mut *self.disk.state();
        let (shortest, longest) = (*state.delays.start(), *state.delays.end());
        let spread = longest.saturating_sub(shortest).as_micros() as u64;
        shortest + Duration::from_micros(below(&mut state.chance, spread + 1))
    }

    fn settle(&self) -> io::Result<()> {
        let state = &mut *self.state()?;
        state.under_way.drain(..).for_each(|step| state.settled.take(&step));
        Ok(())
    }
}

/// An open file of a disk of memory.
struct RamFile {
    mount: Mount,
    file: usize,
    has_lock: Mutex<bool>,
}

impl RamFile {
    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        self.mount.state()
    }
}

impl VolumeFile for RamFile {
    fn lock(&self) -> io::Result<bool> {
        let locked = self.state()?.locked.insert(self.file);
        *self.has_lock.lock().unwrap_or_else(PoisonError::into_inner) |= locked;
        Ok(locked)
    }

    fn unlock(&self) -> io::Result<()> {
        let mut has_lock = self.has_lock.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *has_lock) {
            self.state()?.locked.remove(&self.file);
        }
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.state()?.files[self.file].len() as u64)
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let state = self.state()?;
        let end = offset.checked_add(into.len() as u64).ok_or(io::ErrorKind::InvalidInput)?;
        let found = state.files[self.file].get(offset as usize..end as usize);
        into.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state()?;
        state.strike(DiskFault::Full)?;
        state.write(self.file, offset as usize, bytes);
        Ok(())
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        let state = &mut *self.state()?;
        if size as usize > state.files[self.file].len() {
            state.strike(DiskFault::Full)?;
        }
        state.files[self.file].resize(size as usize, 0);
        state.under_way.push(Step::SetSize { file: self.file, size: size as usize });
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state()?;
        let struck = state.strike(DiskFault::Sync);
        state.under_way.push(match struck {
            Ok(()) => Step::Sync(self.file),
            Err(_) => Step::FailedSync(self.file),
        });
        struck
    }
}

impl Drop for RamFile {
    fn drop(&mut self) {
        // A file that was open when the process ended has no lock any more.
        let _ = self.unlock();
    }
}

impl fmt::Debug for RamFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RamFile").field("file", &self.file).finish_non_exhaustive()
    }
}

impl fmt::Debug for RamDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RamDisk").field("names", &self.state().names).finish_non_exhaustive()
    }
}

/// A number from 0 on that is below `end`.
fn below(chance: &mut Chance, end: u64) -> u64 {
    chance() % end.max(1)
}
