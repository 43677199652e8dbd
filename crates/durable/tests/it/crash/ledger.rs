//! What the activities themselves say of their runs: written down before their result is known to anybody.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use duroxide::ActivityContext;
use tokio::sync::watch;

use super::audit::PATIENCE;

/// An activity that was scheduled: the instance, the execution and the input, which is different for each.
pub(super) type Task = (String, u64, String);

/// All runs of all activities. Clones are the same one.
#[derive(Clone, Default)]
pub(super) struct Ledger {
    runs: Arc<Mutex<BTreeMap<Task, BTreeSet<String>>>>,
    count: Arc<watch::Sender<u64>>,
}

impl Ledger {
    /// Writes down a run, and gives it a number.
    pub(super) fn run(&self, context: &ActivityContext, input: &str) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let run = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        self.add((context.instance_id().to_owned(), context.execution_id(), input.to_owned()), run.clone());
        run
    }

    pub(super) fn add(&self, task: Task, run: String) {
        self.runs.lock().unwrap().entry(task).or_default().insert(run);
        self.count.send_modify(|count| *count += 1);
    }

    /// Waits until there are so many runs more.
    pub(super) async fn grows_by(&self, runs: u64) {
        let target = *self.count.borrow() + runs;
        let mut count = self.count.subscribe();
        let grown = crate::waiting::timeout(PATIENCE, count.wait_for(|count| *count >= target)).await;
        assert!(grown.is_ok(), "nothing runs any more");
    }

    /// The activities that have run.
    pub(super) fn tasks(&self) -> BTreeSet<Task> {
        self.runs.lock().unwrap().keys().cloned().collect()
    }

    pub(super) fn has_run(&self, task: &Task, run: &str) -> bool {
        self.runs.lock().unwrap().get(task).is_some_and(|runs| runs.contains(run))
    }
}
