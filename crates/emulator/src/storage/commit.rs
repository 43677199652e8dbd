//! The promise that a write is, or will be, safe.
//!
//! A write takes effect in memory at once; its [`Commit`] says when it may be acknowledged.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Waker};

use cosmonaut_wire::CosmosStatus;

use crate::Failure;
use crate::engine::locks::lock;

/// Resolves once everything up to a point of the journal is safe. Ready at once in memory.
#[derive(Clone, Default)]
#[must_use = "a write may be acknowledged only once its commit has resolved"]
pub struct Commit {
    waits_for: Option<(Arc<Progress>, u64)>,
}

impl Commit {
    /// A commit with nothing to wait for.
    pub const fn done() -> Self {
        Self { waits_for: None }
    }

    pub(super) fn at(progress: &Arc<Progress>, position: u64) -> Self {
        Self { waits_for: Some((Arc::clone(progress), position)) }
    }

    /// Whether it is safe already.
    pub fn is_done(&self) -> bool {
        self.waits_for
            .as_ref()
            .is_none_or(|(progress, position)| progress.safe.load(Ordering::Acquire) >= *position)
    }

    /// The one of two that resolves later.
    pub(crate) fn later<'a>(&'a self, other: &'a Commit) -> &'a Commit {
        let position = |commit: &Commit| commit.waits_for.as_ref().map(|(_, position)| *position);
        if position(self) > position(other) { self } else { other }
    }

    /// Blocks the thread until the write is safe. For callers outside of any async task. Where no thread writes, it is
    /// written here.
    pub fn wait(&self) -> Result<(), Failure> {
        match &self.waits_for {
            None => Ok(()),
            Some((progress, position)) => progress.wait(*position),
        }
    }
}

impl Future for Commit {
    type Output = Result<(), Failure>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &self.waits_for {
            None => Poll::Ready(Ok(())),
            Some((progress, position)) => progress.poll(*position, context.waker()),
        }
    }
}

impl fmt::Debug for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commit").field("done", &self.is_done()).finish()
    }
}

/// How far the journal is safe.
#[derive(Default)]
pub(super) struct Progress {
    /// The same as in `waiting`, to be read without the lock.
    safe: AtomicU64,
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// Writes all that is queued, if no thread does that for those who wait.
    write_now: Option<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct Waiting {
    safe: u64,
    /// Why nothing after `safe` ever will be.
    failure: Option<String>,
    wakers: Vec<Waker>,
}

impl Progress {
    /// Whoever waits without a task calls this: there is no thread that writes.
    pub(super) fn with(write_now: impl Fn() + Send + Sync + 'static) -> Self {
        Self { write_now: Some(Box::new(write_now)), ..Self::default() }
    }

    /// Everything up to `position` is safe.
    pub(super) fn reach(&self, position: u64) {
        self.update(|waiting| {
            waiting.safe = position;
            self.safe.store(position, Ordering::Release);
        });
    }

    /// Nothing more will become safe.
    pub(super) fn fail(&self, why: String) {
        self.update(|waiting| waiting.failure = Some(why));
    }

    /// Whether [`Progress::fail`] was called.
    pub(super) fn has_failed(&self) -> bool {
        lock(&self.waiting).failure.is_some()
    }

    fn update(&self, change: impl FnOnce(&mut Waiting)) {
        let wakers = {
            let mut waiting = lock(&self.waiting);
            change(&mut waiting);
            std::mem::take(&mut waiting.wakers)
        };
        self.changed.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    fn poll(&self, position: u64, waker: &Waker) -> Poll<Result<(), Failure>> {
        if self.safe.load(Ordering::Acquire) >= position {
            return Poll::Ready(Ok(()));
        }
        let mut waiting = lock(&self.waiting);
        match waiting.outcome(position) {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                waiting.wakers.push(waker.clone());
                Poll::Pending
            }
        }
    }

    fn wait(&self, position: u64) -> Result<(), Failure> {
        if let Some(write_now) = &self.write_now {
            write_now();
        }
        let mut waiting = lock(&self.waiting);
        loop {
            if let Some(outcome) = waiting.outcome(position) {
                return outcome;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}

impl Waiting {
    fn outcome(&self, position: u64) -> Option<Result<(), Failure>> {
        if self.safe >= position {
            return Some(Ok(()));
        }
        let why = self.failure.as_ref()?;
        Some(Err(Failure::new(
            CosmosStatus::INTERNAL_SERVER_ERROR,
            format!(
                "the write could not be stored: {why} (nothing is acknowledged any more; free the disk and start again)"
            ),
        )))
    }
}
