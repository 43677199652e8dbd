//! One attempt at a time to make something that many wait for, such as a connection.
//!
//! The attempt belongs to whoever holds the [`Flight`] and runs as a task of its own: a caller that goes away
//! harms neither the attempt nor the others, and what was made for it waits for the next caller.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::http_client::{BoxFuture, SendProgress};
use super::timeline::ConnectMarks;
use crate::platform::{Platform, Task};

/// What an attempt makes, and where that is kept.
pub(super) trait Maker {
    /// What is made.
    type Made: Clone + Send + Sync + 'static;
    /// Why it could not be made.
    type Failure: Clone + Send + Sync + 'static;
    /// Whether what was made while nobody waited is given to the next caller. If not, it is made anew.
    const OUTLIVES_CALLERS: bool = true;

    /// What has been made and is still good.
    fn present(&self) -> Option<Self::Made>;

    /// Keeps what was made for [`present`](Self::present).
    fn keep(&self, made: &Self::Made);

    /// Whether what was made while nobody waited is still good.
    fn is_good(&self, made: &Self::Made) -> bool;

    /// Makes it.
    fn make(&self, marks: Arc<ConnectMarks>) -> BoxFuture<'static, Result<Self::Made, Self::Failure>>;

    /// What callers are told if the attempt ended without a result.
    fn interrupted(&self) -> Self::Failure;
}

/// One attempt at a time. Dropping it stops the attempt.
pub(super) struct Flight<M, F>(Mutex<Option<Attempt<M, F>>>);

struct Attempt<M, F> {
    outcome: watch::Receiver<Option<Result<M, F>>>,
    marks: Arc<ConnectMarks>,
    _task: Task,
}

impl<M, F> Default for Flight<M, F> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<M, F> Flight<M, F>
where
    M: Clone + Send + Sync + 'static,
    F: Clone + Send + Sync + 'static,
{
    /// Waits for the attempt under way, or for a new one. A failure is told to those who waited for it; who
    /// comes later begins anew. How far connecting came is noted in `progress`, also for a caller that goes
    /// away.
    pub(super) async fn join(
        &self,
        maker: &impl Maker<Made = M, Failure = F>,
        platform: &dyn Platform,
        progress: Option<&SendProgress>,
    ) -> Result<M, F> {
        let (mut outcome, marks) = match self.board(maker, platform) {
            Boarded::Made(made, marks) => {
                note(progress, &marks);
                return Ok(made);
            }
            Boarded::Waiting(outcome, marks) => (outcome, marks),
        };
        let _noted = Noted { progress, marks: &marks };
        let result = match outcome.wait_for(Option::is_some).await {
            Ok(result) => result.clone().unwrap_or_else(|| Err(maker.interrupted())),
            Err(_) => Err(maker.interrupted()),
        };
        if let Ok(made) = &result {
            let mut current = self.lock();
            if current.as_ref().is_some_and(|attempt| Arc::ptr_eq(&attempt.marks, &marks)) {
                maker.keep(made);
                *current = None;
            }
        }
        result
    }

    fn board<K: Maker<Made = M, Failure = F>>(&self, maker: &K, platform: &dyn Platform) -> Boarded<M, F> {
        let mut current = self.lock();
        if let Some(attempt) = &*current {
            // In this order: an attempt that ends in between has left its outcome.
            let has_ended = attempt.outcome.has_changed().is_err();
            let outcome = attempt.outcome.borrow().clone();
            match outcome {
                None if !has_ended => {
                    return Boarded::Waiting(attempt.outcome.clone(), Arc::clone(&attempt.marks));
                }
                Some(Ok(made)) if K::OUTLIVES_CALLERS && maker.is_good(&made) => {
                    maker.keep(&made);
                    let marks = Arc::clone(&attempt.marks);
                    *current = None;
                    return Boarded::Made(made, marks);
                }
                None | Some(_) => {}
            }
        }
        // Another caller may have kept it since this one looked.
        if let Some(made) = maker.present() {
            return Boarded::Made(made, Arc::default());
        }
        let marks = Arc::<ConnectMarks>::default();
        let (tell, outcome) = watch::channel(None);
        let making = maker.make(Arc::clone(&marks));
        let task = platform.spawn(Box::pin(async move {
            tell.send_replace(Some(making.await));
        }));
        *current = Some(Attempt { outcome: outcome.clone(), marks: Arc::clone(&marks), _task: task });
        Boarded::Waiting(outcome, marks)
    }

    /// Stops the attempt under way, and drops what was made while nobody waited.
    pub(super) fn clear(&self) {
        let stopped = self.lock().take();
        drop(stopped);
    }

    /// Whether an attempt is under way.
    pub(super) fn is_under_way(&self) -> bool {
        self.lock().as_ref().is_some_and(|attempt| attempt.outcome.has_changed().is_ok())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Attempt<M, F>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Boarded<M, F> {
    Made(M, Arc<ConnectMarks>),
    Waiting(watch::Receiver<Option<Result<M, F>>>, Arc<ConnectMarks>),
}

/// Notes how far connecting has come when the wait is over, whichever way it ends.
struct Noted<'a> {
    progress: Option<&'a SendProgress>,
    marks: &'a ConnectMarks,
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        note(self.progress, self.marks);
    }
}

fn note(progress: Option<&SendProgress>, marks: &ConnectMarks) {
    if let Some(progress) = progress {
        progress.connecting().copy(marks);
    }
}
