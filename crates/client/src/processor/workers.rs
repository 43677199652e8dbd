//! The tasks of a processor: one for each lease, and the one that balances. Nothing is started once they are to end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cosmonaut_driver::platform::Task;
use tokio::sync::watch;

/// The tasks that run. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Workers(Arc<Inner>);

#[derive(Default)]
struct Inner {
    seats: Mutex<Seats>,
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct Seats {
    is_closed: bool,
    /// By the id of the lease; without a task until that has started.
    taken: HashMap<String, Option<Task>>,
}

/// The place of one task; free again when this is dropped.
pub(super) struct Seat {
    id: String,
    workers: Workers,
}

impl Workers {
    /// A seat for a task; `None` if it has one already, or all are to end.
    pub(super) fn seat(&self, id: &str) -> Option<Seat> {
        let mut seats = self.seats();
        if seats.is_closed || seats.taken.contains_key(id) {
            return None;
        }
        seats.taken.insert(id.to_owned(), None);
        self.0.count.send_replace(seats.taken.len());
        Some(Seat { id: id.to_owned(), workers: self.clone() })
    }

    /// Keeps a task, so that it can be ended. A task that is over, or comes too late, is not kept.
    pub(super) fn keep(&self, id: &str, task: Task) {
        let mut seats = self.seats();
        if let Some(seat) = seats.taken.get_mut(id) {
            *seat = Some(task);
        }
    }

    /// Whether a lease has a seat.
    pub(super) fn has(&self, id: &str) -> bool {
        self.seats().taken.contains_key(id)
    }

    /// The ids of all that have a seat.
    pub(super) fn ids(&self) -> Vec<String> {
        self.seats().taken.keys().cloned().collect()
    }

    /// Gives out no more seats.
    pub(super) fn close(&self) {
        self.seats().is_closed = true;
    }

    /// Ends when nobody has a seat.
    pub(super) async fn all_left(&self) {
        drop(self.0.count.subscribe().wait_for(|count| *count == 0).await);
    }

    /// Ends all tasks where they are.
    pub(super) fn abort(&self) {
        let tasks = {
            let mut seats = self.seats();
            seats.is_closed = true;
            std::mem::take(&mut seats.taken)
        };
        self.0.count.send_replace(0);
        drop(tasks);
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.0.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.workers.seats();
        let task = seats.taken.remove(&self.id);
        self.workers.0.count.send_replace(seats.taken.len());
        drop(seats);
        // The task is at its end, or was ended: it needs no ending.
        if let Some(Some(task)) = task {
            task.detach();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lease_has_one_task_and_none_begins_at_the_end() {
        let workers = Workers::default();
        let seat = workers.seat("a").unwrap();
        assert!(workers.seat("a").is_none() && workers.has("a"));
        drop(seat);
        let seat = workers.seat("a").unwrap();
        workers.close();
        assert!(workers.seat("b").is_none());
        drop(seat);
        workers.all_left().await;
        assert!(workers.ids().is_empty());
    }

    #[tokio::test]
    async fn all_tasks_are_ended_and_one_that_comes_late_too() {
        let ended = Arc::new(Mutex::new(0));
        let task = || {
            let ended = Arc::clone(&ended);
            Task::new(move || *ended.lock().unwrap() += 1)
        };
        let workers = Workers::default();
        let (first, second) = (workers.seat("a").unwrap(), workers.seat("b").unwrap());
        workers.keep("a", task());
        workers.abort();
        workers.keep("b", task());
        assert_eq!(*ended.lock().unwrap(), 2);
        drop((first, second));
        workers.all_left().await;
    }
}
