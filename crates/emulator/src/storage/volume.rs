//! Where the files of an account live: a directory of the machine, or what a caller brings.
//!
//! What is in the files, and in which order they are written, is not known here.

use std::fmt;
use std::io;
use std::time::Duration;

/// Where the files of an account live. One emulator at a time uses it.
pub trait Volume: fmt::Debug + Send + Sync + 'static {
    /// Opens a file to read and write it. A file that is not there is made, and is empty.
    fn open(&self, name: &str) -> io::Result<Box<dyn VolumeFile>>;

    /// How many bytes a file has; `None` if it is not there.
    fn size_of(&self, name: &str) -> io::Result<Option<u64>>;

    /// Gives a file another name, in place of the file that has that name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Makes the names of all files last, and that they are there.
    fn sync_names(&self) -> io::Result<()>;

    /// How long it still takes until what was synced so far is safe. The emulator waits for that long before it
    /// acknowledges anything, and then calls [`Volume::settle`]. No time if a sync returns only when all is safe.
    fn delay(&self) -> Duration {
        Duration::ZERO
    }

    /// The time that [`Volume::delay`] has told is over: what was synced before is safe.
    ///
    /// # Errors
    /// If it is not. Nothing is acknowledged any more then.
    fn settle(&self) -> io::Result<()> {
        Ok(())
    }
}

/// An open file of a [`Volume`]. Dropping it closes it.
pub trait VolumeFile: fmt::Debug + Send + Sync + 'static {
    /// Keeps others from locking the file until it is unlocked or closed; false if another has locked it.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if files cannot be locked there.
    fn lock(&self) -> io::Result<bool>;

    /// Lets others lock the file.
    fn unlock(&self) -> io::Result<()>;

    /// How many bytes the file has.
    fn size(&self) -> io::Result<u64>;

    /// Reads as many bytes as there is room for.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the file ends before.
    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes all bytes, and makes the file longer if it ends before.
    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file off, or adds zeros to it.
    fn set_size(&self, size: u64) -> io::Result<()>;

    /// Makes everything last that was written to the file, and its size.
    fn sync(&self) -> io::Result<()>;
}
