//! The way of results from the run to whoever takes them: bounded by number, and by the bytes of their items.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cosmonaut_wire::mutation;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::{BulkProgress, BulkResult};

/// Results that wait for whoever takes them.
const RESULTS: usize = 1024;
/// What a permit stands for.
const UNIT: usize = 1024;

/// How far a run has come.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) progress: BulkProgress,
    /// Whether every operation has had a result.
    pub(super) is_over: bool,
}

/// Where results are given.
pub(super) struct Giver {
    state: Arc<Mutex<State>>,
    room: Arc<Semaphore>,
    permits: u32,
    results: mpsc::Sender<Waiting>,
}

/// Where they are taken.
pub(super) struct Taker {
    state: Arc<Mutex<State>>,
    pub(super) results: mpsc::Receiver<Waiting>,
}

/// A result, and the room that it takes until somebody has it.
pub(super) struct Waiting {
    pub(super) result: BulkResult,
    _room: Option<OwnedSemaphorePermit>,
}

/// Whether somebody takes the results.
pub(super) type Given = Result<(), Unwanted>;

/// Nobody takes the results any more.
pub(super) struct Unwanted;

/// A way for results whose items take at most so many bytes together, or one that is larger.
pub(super) fn way(bytes: usize) -> (Giver, Taker) {
    let state = Arc::new(Mutex::new(State::default()));
    let permits = u32::try_from((bytes / UNIT).max(1)).unwrap_or(u32::MAX).min(1 << 24);
    let (send, results) = mpsc::channel(RESULTS);
    let giver = Giver {
        state: Arc::clone(&state),
        room: Arc::new(Semaphore::new(permits as usize)),
        permits,
        results: send,
    };
    (giver, Taker { state, results })
}

impl Giver {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a result, when there is room for it.
    pub(super) async fn give(&self, result: BulkResult) -> Given {
        if mutation!("bulk-forgets-a-result") && result.index % 5 == 4 {
            return Ok(());
        }
        let bytes = match &result.outcome {
            Ok(done) => {
                self.state().progress.succeeded += 1;
                done.item().as_bytes().len()
            }
            Err(_) => {
                self.state().progress.failed += 1;
                0
            }
        };
        let units = u32::try_from(bytes / UNIT + 1).unwrap_or(u32::MAX).min(self.permits);
        // Whoever takes results makes room; if nobody does any more, the whole run is dropped.
        let room = Arc::clone(&self.room).acquire_many_owned(units).await.ok();
        self.results.send(Waiting { result, _room: room }).await.map_err(|_| Unwanted)
    }
}

impl Taker {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
