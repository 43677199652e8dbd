//! Writing what the engine tells: whatever has been queued while the disk was busy goes to it as one transaction.
//!
//! A thread does that or, where there are to be none, a task of the runtime. After the first failure nothing more is
//! written, so that no later write can be acknowledged over a lost one.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cosmonaut_wire::mutation;
use tokio::sync::Notify;

use super::commit::{Commit, Progress};
use super::disk::Disk;
use super::{Record, Saved, StorageError};
use crate::engine::locks::lock;
use crate::server::Task;

/// A journal file with whoever writes to it. Dropped, it writes what is queued and stops.
pub(super) struct Writer {
    shared: Arc<Shared>,
    runner: Runner,
}

/// Who writes.
enum Runner {
    /// There until the writer is dropped.
    Thread(Option<JoinHandle<()>>),
    Task {
        filled: Arc<Notify>,
        _task: Task,
    },
}

struct Shared {
    disk: Disk,
    queue: Mutex<Queue>,
    filled: Condvar,
    /// Where the batch ends that is written and not acknowledged. Held while a batch is written.
    written: Mutex<Option<u64>>,
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
    /// A writer with a thread.
    pub(super) fn start(disk: Disk) -> Result<Self, StorageError> {
        let shared = Arc::new(Shared::new(disk, Progress::default()));
        let writing = Arc::clone(&shared);
        let thread = thread::Builder::new().name("journal".to_owned()).spawn(move || writing.run());
        let thread = thread.map_err(StorageError::other)?;
        Ok(Self { shared, runner: Runner::Thread(Some(thread)) })
    }

    /// A writer with a task of the current runtime, and no thread.
    pub(super) fn start_task(disk: Disk) -> Self {
        let shared = Arc::new_cyclic(|shared: &Weak<Shared>| {
            let shared = shared.clone();
            let write_now = move || shared.upgrade().iter().for_each(|shared| shared.write_now());
            Shared::new(disk, Progress::with(write_now))
        });
        let filled = Arc::new(Notify::new());
        let task = Task::start(run_task(Arc::downgrade(&shared), Arc::clone(&filled)));
        Self { shared, runner: Runner::Task { filled, _task: task } }
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
        match &self.runner {
            Runner::Thread(_) => self.shared.filled.notify_one(),
            Runner::Task { filled, .. } => filled.notify_one(),
        }
        if mutation!("acknowledged-before-it-is-safe") {
            return Commit::done();
        }
        Commit::at(&self.shared.progress, position)
    }

    /// Resolves only when nothing will be written any more.
    pub(super) fn end(&self) -> Commit {
        Commit::at(&self.shared.progress, u64::MAX)
    }

    /// What was written in earlier runs.
    pub(super) fn load(&self) -> Result<Saved, StorageError> {
        self.disk().load(matches!(self.runner, Runner::Thread(_)))
    }

    pub(super) fn disk(&self) -> &Disk {
        &self.shared.disk
    }
}

impl Shared {
    fn new(disk: Disk, progress: Progress) -> Self {
        Self {
            disk,
            queue: Mutex::default(),
            filled: Condvar::new(),
            written: Mutex::default(),
            progress: Arc::new(progress),
        }
    }

    fn run(&self) {
        while self.wait_for_records() {
            let Some(delay) = self.write() else { return };
            if !delay.is_zero() {
                thread::sleep(delay);
            }
            self.acknowledge();
        }
    }

    /// Waits for records; false once the journal is closed and all are written.
    fn wait_for_records(&self) -> bool {
        let mut queue = lock(&self.queue);
        loop {
            if !queue.records.is_empty() {
                return true;
            }
            if queue.closed {
                return false;
            }
            queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Writes what is queued, and tells how long it takes until that is safe; `None` if there is nothing, or if it
    /// failed.
    fn write(&self) -> Option<Duration> {
        let mut written = lock(&self.written);
        let (records, position) = {
            let mut queue = lock(&self.queue);
            (std::mem::take(&mut queue.records), queue.appended)
        };
        if records.is_empty() || self.progress.has_failed() {
            return None;
        }
        match self.disk.write(records.iter()) {
            Ok(()) => {
                *written = Some(position);
                Some(self.disk.delay())
            }
            Err(error) => {
                self.progress.fail(error.to_string());
                None
            }
        }
    }

    /// Acknowledges what was written last. The time that it takes to be safe is over.
    fn acknowledge(&self) {
        let mut written = lock(&self.written);
        let Some(position) = written.take() else { return };
        match self.disk.settle() {
            Ok(()) => self.progress.reach(position),
            Err(error) => self.progress.fail(error.to_string()),
        }
    }

    /// Writes and acknowledges all that is queued, without waiting.
    fn write_now(&self) {
        self.acknowledge();
        while self.write().is_some() {
            self.acknowledge();
        }
    }
}

/// Writes whatever is queued. It does not keep the file open while it waits.
async fn run_task(shared: Weak<Shared>, filled: Arc<Notify>) {
    loop {
        filled.notified().await;
        while let Some(delay) = shared.upgrade().and_then(|shared| shared.write()) {
            if !delay.is_zero() {
                crate::world::sleep(delay).await;
            }
            let Some(shared) = shared.upgrade() else { return };
            shared.acknowledge();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        match &mut self.runner {
            Runner::Thread(thread) => {
                lock(&self.shared.queue).closed = true;
                self.shared.filled.notify_one();
                if let Some(thread) = thread.take() {
                    // A panic of the thread has nobody left to tell.
                    let _ = thread.join();
                }
            }
            Runner::Task { .. } => self.shared.write_now(),
        }
    }
}
