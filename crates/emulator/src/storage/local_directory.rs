//! A directory of the machine as a volume.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use redb::StorageBackend;
use redb::backends::FileBackend;

use super::volume::{Volume, VolumeFile};

/// A directory of the machine.
#[derive(Debug)]
pub(super) struct LocalDirectory(PathBuf);

impl LocalDirectory {
    /// Makes the directory if it is not there.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        Ok(Self(path.to_owned()))
    }
}

/// Whether the file system says that it does not do that.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput | ErrorKind::PermissionDenied)
}

impl Volume for LocalDirectory {
    fn open(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        let mut options = OpenOptions::new();
        let options = private(options.read(true).write(true).create(true).truncate(false));
        let file = options.open(self.0.join(name))?;
        Ok(Box::new(LocalFile(FileBackend::new(file).map_err(io::Error::other)?)))
    }

    fn size_of(&self, name: &str) -> io::Result<Option<u64>> {
        match fs::metadata(self.0.join(name)) {
            Ok(found) => Ok(Some(found.len())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    fn sync_names(&self) -> io::Result<()> {
        // A directory cannot be opened everywhere, nor synced; then the file system orders its own changes.
        let Ok(directory) = File::open(&self.0) else { return Ok(()) };
        match directory.sync_all() {
            Err(error) if !is_refusal(&error) => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// A file of the machine. The storage engine's own way to it works on every platform.
#[derive(Debug)]
struct LocalFile(FileBackend);

impl VolumeFile for LocalFile {
    fn lock(&self) -> io::Result<bool> {
        Ok(self.0.try_lock_range(Bound::Unbounded, Bound::Unbounded)?)
    }

    fn unlock(&self) -> io::Result<()> {
        self.0.close()
    }

    fn size(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, into)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write(offset, bytes)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.0.set_len(size)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// Lets only the user who runs the process read what is made.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}
