//! The thread that writes: whatever has been queued while it was busy goes to disk as one transaction.
//!
//! After the first failure it writes nothing more, so that no later write can be acknowledged over a lost one.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::commit::{Commit, Progress};
use super::disk::Disk;
use super::{Record, StorageError};
use crate::engine::locks::lock;

/// A journal file with its thread. Dropped, it writes what is queued and stops.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    disk: Disk,
    queue: Mutex<Queue>,
    filled: Condvar,
    progress: Arc<Progress>,
}

#[derive(Default)]
struct Queue {
    records: Vec<Record>,
    /// How many appends there have been; the last one's position.
    appended: u64,
    closed: bool,
}

impl Writer {
    pub(super) fn start(disk: Disk) -> Result<Self, StorageError> {
        let shared = Arc::new(Shared {
            disk,
            queue: Mutex::default(),
            filled: Condvar::new(),
            progress: Arc::new(Progress::default()),
        });
        let writing = Arc::clone(&shared);
        let thread = thread::Builder::new().name("journal".to_owned()).spawn(move || writing.run());
        Ok(Self { shared, thread: Some(thread.map_err(StorageError::other)?) })
    }

    pub(super) fn append(&self, records: Vec<Record>) -> Commit {
        let mut queue = lock(&self.shared.queue);
        if !records.is_empty() {
            queue.appended += 1;
        }
        // After a failure nobody would take them out again.
        if !self.shared.progress.has_failed() {
            queue.records.extend(records);
        }
        let position = queue.appended;
        drop(queue);
        self.shared.filled.notify_one();
        Commit::at(&self.shared.progress, position)
    }

    /// Resolves only when nothing will be written any more.
    pub(super) fn end(&self) -> Commit {
        Commit::at(&self.shared.progress, u64::MAX)
    }

    pub(super) fn disk(&self) -> &Disk {
        &self.shared.disk
    }
}

impl Shared {
    fn run(&self) {
        while let Some((records, position)) = self.next_batch() {
            match self.disk.write(records.iter()) {
                Ok(()) => self.progress.reach(position),
                Err(error) => {
                    self.progress.fail(error.to_string());
                    return;
                }
            }
        }
    }

    /// Waits for records; `None` once the journal is closed and all are written.
    fn next_batch(&self) -> Option<(Vec<Record>, u64)> {
        let mut queue = lock(&self.queue);
        loop {
            if !queue.records.is_empty() {
                return Some((std::mem::take(&mut queue.records), queue.appended));
            }
            if queue.closed {
                return None;
            }
            queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        lock(&self.shared.queue).closed = true;
        self.shared.filled.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has nobody left to tell.
            let _ = thread.join();
        }
    }
}
