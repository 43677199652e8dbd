//! One run at a time: a file that is locked while a command writes beside it. The system lifts the lock when the process
//! ends, however it ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::checkpoint::{cannot, with_suffix};
use crate::failure::Failure;

/// How often a lock file is opened that another run removes meanwhile.
const TRIES: usize = 100;

/// The right to write a file and what belongs to it. Dropping it gives the right back.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// Held for the lock alone.
    _file: File,
}

impl Lock {
    /// Takes the lock of a file, `FILE.lock`.
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        let lock = with_suffix(path, ".lock");
        for _ in 0..TRIES {
            let open = OpenOptions::new().write(true).create(true).truncate(false).open(&lock);
            let file = open.map_err(|error| cannot("write", &lock, &error))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let shown = path.display();
                    return Err(Failure::Work(format!(
                        "{shown} is being worked on by another run (wait for its end, or choose another file)"
                    )));
                }
                // On a file system without locks it is up to the user.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => return Err(cannot("lock", &lock, &error)),
            }
            if is_at(&file, &lock) {
                return Ok(Self { path: lock, _file: file });
            }
        }
        Err(Failure::Work(format!("cannot lock {}: others come and go all the time", lock.display())))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is still locked: who has opened it meanwhile finds that it is not there any more. Elsewhere than on
        // Unix that cannot be told, and the file stays.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether the file is the one that has this path: the run that had the lock before may have removed it.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |found: io::Result<fs::Metadata>| found.map(|found| (found.dev(), found.ino())).ok();
    let here = identity(file.metadata());
    here.is_some() && here == identity(fs::metadata(path))
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn one_at_a_time_has_a_lock_and_nothing_stays_of_it() {
        let path = std::env::temp_dir().join(format!("cosmonaut-lock-{}", std::process::id()));
        let (inside, entered) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        match Lock::of(&path) {
                            Ok(_lock) => {
                                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at once");
                                entered.fetch_add(1, Ordering::SeqCst);
                                inside.fetch_sub(1, Ordering::SeqCst);
                            }
                            Err(Failure::Work(text)) => {
                                assert!(
                                    text.contains("another run") || text.contains("come and go"),
                                    "{text}"
                                );
                            }
                            Err(other) => panic!("{other:?}"),
                        }
                    }
                });
            }
        });
        assert!(entered.load(Ordering::SeqCst) > 0);
        assert!(!cfg!(unix) || !with_suffix(&path, ".lock").exists());
    }
}
