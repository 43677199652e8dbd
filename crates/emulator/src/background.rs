//! What an account does on its own: delivering what is replicated, and taking expired items out of memory.

use std::future::pending;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::engine::Engine;
use crate::server::{Task, Workers};

/// How often expired items are taken out of memory. They are invisible before that.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// The work goes on until this is dropped.
pub(crate) struct Background {
    _sweeper: Task,
    _replication: Task,
}

impl Background {
    pub(crate) fn start(engine: &Arc<Engine>, workers: Arc<Workers>) -> Self {
        Self {
            _sweeper: Task::start(sweep(Arc::downgrade(engine), workers)),
            _replication: Task::start(replicate(Arc::downgrade(engine))),
        }
    }
}

async fn sweep(engine: Weak<Engine>, workers: Arc<Workers>) {
    loop {
        crate::world::sleep(SWEEP_EVERY).await;
        let Some(engine) = engine.upgrade() else { return };
        workers.finish(move || engine.sweep()).await;
    }
}

/// Delivers between regions what is due, and sleeps until more is.
async fn replicate(engine: Weak<Engine>) {
    let Some(queued) = engine.upgrade().map(|engine| engine.queued()) else { return };
    loop {
        let mut notified = pin!(queued.notified());
        // From here on nothing that is queued goes unnoticed, whoever else is being notified.
        notified.as_mut().enable();
        let Some(next) = engine.upgrade().map(|engine| engine.pump()) else { return };
        let due = async {
            match next {
                Some(wait) => crate::world::sleep(wait).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = due => {}
            () = notified => {}
        }
    }
}
