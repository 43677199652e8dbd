//! A disk that tells if more than one thread uses it.

use std::io;
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::Duration;

use cosmonaut_emulator::{Volume, VolumeFile};
use cosmonaut_sim::disk::RamDisk;

/// A disk that only one thread may use.
#[derive(Debug)]
pub(super) struct OneThread {
    volume: Arc<dyn Volume>,
    thread: ThreadId,
}

impl OneThread {
    pub(super) fn new(disk: &RamDisk) -> Self {
        Self { volume: disk.mount(), thread: thread::current().id() }
    }

    fn check(&self) {
        assert_eq!(thread::current().id(), self.thread, "there are to be no threads");
    }
}

impl Volume for OneThread {
    fn open(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        self.check();
        let file = self.volume.open(name)?;
        Ok(Box::new(OneThreadFile {
            file,
            volume: Self { volume: Arc::clone(&self.volume), thread: self.thread },
        }))
    }

    fn size_of(&self, name: &str) -> io::Result<Option<u64>> {
        self.check();
        self.volume.size_of(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.check();
        self.volume.rename(from, to)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.check();
        self.volume.sync_names()
    }

    fn delay(&self) -> Duration {
        self.check();
        self.volume.delay()
    }

    fn settle(&self) -> io::Result<()> {
        self.check();
        self.volume.settle()
    }
}

#[derive(Debug)]
struct OneThreadFile {
    file: Box<dyn VolumeFile>,
    volume: OneThread,
}

impl VolumeFile for OneThreadFile {
    fn lock(&self) -> io::Result<bool> {
        self.file.lock()
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }

    fn size(&self) -> io::Result<u64> {
        self.volume.check();
        self.file.size()
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.volume.check();
        self.file.read(offset, into)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.volume.check();
        self.file.write(offset, bytes)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.volume.check();
        self.file.set_size(size)
    }

    fn sync(&self) -> io::Result<()> {
        self.volume.check();
        self.file.sync()
    }
}
