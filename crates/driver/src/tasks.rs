//! Background tasks: started by name, stopped with their owner, their panics caught and kept.
//!
//! A recurring task that panics is started again. When, is decided by the policy.

use std::any::Any;
use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use cosmonaut_policy::RestartState;
use tokio::sync::Notify;

use crate::platform::{Platform, Task, chance};
use crate::transport::BoxFuture;

/// How many panics are remembered word for word.
const REMEMBERED_PANICS: usize = 16;

/// The tasks of one owner. Dropping it stops them.
pub struct BackgroundTaskManager {
    platform: Arc<dyn Platform>,
    shared: Arc<Shared>,
    next_id: AtomicU64,
}

#[derive(Default)]
struct Shared {
    tasks: Mutex<Tasks>,
    running: AtomicUsize,
    ended: Notify,
}

#[derive(Default)]
struct Tasks {
    running: Vec<(u64, Task)>,
    /// Tasks that ended before they were noted as running.
    ended_early: Vec<u64>,
    panic_count: u64,
    /// The latest, oldest first.
    panics: VecDeque<TaskPanic>,
    is_shut_down: bool,
}

/// A background task that panicked. The others go on, and a recurring task is started again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPanic {
    /// The task.
    pub task: &'static str,
    /// What it said.
    pub message: String,
}

/// The panics of background tasks. Each of them is a bug worth reporting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskPanics {
    /// How many there were.
    pub count: u64,
    /// The latest of them, of each owner oldest first.
    pub latest: Vec<TaskPanic>,
}

impl TaskPanics {
    /// These and others together.
    #[must_use]
    pub(crate) fn and(mut self, others: Self) -> Self {
        self.count += others.count;
        self.latest.extend(others.latest);
        self
    }
}

impl BackgroundTaskManager {
    /// No tasks yet.
    pub fn new(platform: Arc<dyn Platform>) -> Self {
        Self { platform, shared: Arc::default(), next_id: AtomicU64::new(0) }
    }

    /// Runs a task until it ends or its owner does. After a shutdown nothing is started.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.try_spawn(name, Box::pin(task));
    }

    /// Runs a task until it ends or its owner does. After a shutdown the task is handed back.
    pub(crate) fn try_spawn(
        &self,
        name: &'static str,
        task: BoxFuture<'static, ()>,
    ) -> Option<BoxFuture<'static, ()>> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        if self.shared.lock().is_shut_down {
            return Some(task);
        }
        self.shared.running.fetch_add(1, Ordering::AcqRel);
        let watched = Watched { id, name, task: CatchPanic(task), shared: Arc::clone(&self.shared) };
        // Outside the lock: a runtime that is shutting down drops the task on the spot, and that takes the lock.
        let task = self.platform.spawn(Box::pin(watched));
        let stopped = {
            let mut tasks = self.shared.lock();
            let has_ended = tasks.ended_early.iter().position(|ended| *ended == id);
            match has_ended {
                Some(place) => {
                    tasks.ended_early.swap_remove(place);
                    task.detach();
                    None
                }
                // Shut down since: dropped below, which stops it.
                None if tasks.is_shut_down => Some(task),
                None => {
                    tasks.running.push((id, task));
                    None
                }
            }
        };
        drop(stopped);
        None
    }

    /// Runs what `start` makes until it ends or its owner does. If it panics, it is made anew after a while.
    pub fn spawn_recurring<F>(&self, name: &'static str, mut start: impl FnMut() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (platform, shared) = (Arc::clone(&self.platform), Arc::clone(&self.shared));
        self.spawn(name, async move {
            let mut restart = RestartState::default();
            loop {
                let began = platform.now();
                let run: BoxFuture<'_, ()> = Box::pin(async { start().await });
                let Err(message) = CatchPanic(run).await else { return };
                shared.note_panic(name, message);
                restart = restart.after_panic(platform.now().since(began));
                platform.sleep(restart.delay(chance(&*platform))).await;
            }
        });
    }

    /// Whether tasks are still started.
    pub(crate) fn is_open(&self) -> bool {
        !self.shared.lock().is_shut_down
    }

    /// How many tasks are running.
    pub fn running(&self) -> usize {
        self.shared.running.load(Ordering::Acquire)
    }

    /// The panics so far. All are counted, and the latest are kept.
    pub fn panics(&self) -> TaskPanics {
        let tasks = self.shared.lock();
        TaskPanics { count: tasks.panic_count, latest: tasks.panics.iter().cloned().collect() }
    }

    /// Stops all tasks, and returns when the last has been dropped.
    pub async fn shutdown(&self) {
        self.stop();
        loop {
            let mut ended = pin!(self.shared.ended.notified());
            ended.as_mut().enable();
            if self.running() == 0 {
                return;
            }
            ended.await;
        }
    }

    fn stop(&self) {
        let stopped = {
            let mut tasks = self.shared.lock();
            tasks.is_shut_down = true;
            std::mem::take(&mut tasks.running)
        };
        // Outside the lock: a task that is dropped on the spot takes it.
        drop(stopped);
    }
}

impl Drop for BackgroundTaskManager {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_panic(&self, task: &'static str, message: String) {
        #[cfg(feature = "tracing")]
        tracing::error!(task, panic = message, "a background task panicked");
        let mut tasks = self.lock();
        tasks.panic_count += 1;
        if tasks.panics.len() == REMEMBERED_PANICS {
            tasks.panics.pop_front();
        }
        tasks.panics.push_back(TaskPanic { task, message });
    }
}

/// A future whose panic is its outcome.
struct CatchPanic<'a>(BoxFuture<'a, ()>);

impl Future for CatchPanic<'_> {
    type Output = Result<(), String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // After a panic the future is never polled again, so no broken state is seen.
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(payload) => Poll::Ready(Err(message_of(&*payload))),
        }
    }
}

/// A task whose end is noticed, whichever way it comes.
struct Watched {
    id: u64,
    name: &'static str,
    task: CatchPanic<'static>,
    shared: Arc<Shared>,
}

impl Future for Watched {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.task).poll(context).map(|outcome| {
            if let Err(message) = outcome {
                self.shared.note_panic(self.name, message);
            }
        })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let finished = {
            let mut tasks = self.shared.lock();
            let place = tasks.running.iter().position(|(id, _)| *id == self.id);
            if place.is_none() && !tasks.is_shut_down {
                tasks.ended_early.push(self.id);
            }
            place.map(|place| tasks.running.swap_remove(place))
        };
        if let Some((_, task)) = finished {
            task.detach();
        }
        self.shared.running.fetch_sub(1, Ordering::AcqRel);
        self.shared.ended.notify_waiters();
    }
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::TokioPlatform;

    fn manager() -> BackgroundTaskManager {
        BackgroundTaskManager::new(Arc::new(TokioPlatform::new()))
    }

    #[tokio::test]
    async fn a_task_that_ends_is_forgotten_and_one_that_panics_is_kept_in_mind() {
        let manager = manager();
        let (done, ended) = tokio::sync::oneshot::channel();
        manager.spawn("good", async move { done.send(()).unwrap() });
        manager.spawn("bad", async { panic!("no {}", "luck") });
        ended.await.unwrap();
        manager.shutdown().await;
        assert_eq!(manager.running(), 0);
        let panics = manager.panics().latest;
        assert!(panics.is_empty() || panics[0].message == "no luck");
    }

    #[tokio::test]
    async fn a_panic_is_caught_and_the_others_go_on() {
        let manager = manager();
        let (done, ended) = tokio::sync::oneshot::channel();
        let (go, started) = tokio::sync::oneshot::channel::<()>();
        manager.spawn("bad", async move {
            let _armed = go;
            panic!("no luck");
        });
        // The sender is dropped by the panic.
        assert!(started.await.is_err());
        manager.spawn("good", async move { done.send(()).unwrap() });
        ended.await.unwrap();
        let expected = TaskPanic { task: "bad", message: "no luck".to_owned() };
        manager.shutdown().await;
        assert_eq!(manager.panics(), TaskPanics { count: 1, latest: vec![expected] });
    }

    #[tokio::test(start_paused = true)]
    async fn a_recurring_task_is_started_again_after_each_panic_until_it_ends() {
        let manager = manager();
        let (done, ended) = tokio::sync::oneshot::channel();
        let (mut runs, mut done) = (0, Some(done));
        manager.spawn_recurring("sweep", move || {
            runs += 1;
            let done = if runs > 20 { done.take() } else { None };
            // One panics before it is a future at all.
            assert!(runs != 3, "run {runs}");
            async move {
                tokio::task::yield_now().await;
                match done {
                    Some(done) => done.send(()).unwrap(),
                    None => panic!("run {runs}"),
                }
            }
        });
        ended.await.unwrap();
        let panics = manager.panics();
        assert_eq!((panics.count, panics.latest.len()), (20, REMEMBERED_PANICS));
        let last = TaskPanic { task: "sweep", message: "run 20".to_owned() };
        assert_eq!(panics.latest.last(), Some(&last), "the oldest are forgotten");
        assert_eq!(panics.latest[0].message, "run 5");
        manager.shutdown().await;
        assert_eq!(manager.running(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_recurring_task_that_waits_for_its_restart_can_be_stopped() {
        let manager = manager();
        let (panicking, panicked) = tokio::sync::oneshot::channel::<()>();
        let mut panicking = Some(panicking);
        manager.spawn_recurring("sweep", move || {
            let armed = panicking.take();
            async move {
                let _armed = armed;
                panic!("no luck");
            }
        });
        assert!(panicked.await.is_err());
        manager.shutdown().await;
        assert_eq!(manager.running(), 0);
    }

    #[test]
    fn a_runtime_that_is_gone_blocks_nobody() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let handle = runtime.handle().clone();
        drop(runtime);
        let _entered = handle.enter();
        let manager = manager();
        manager.spawn("dropped at once", async {});
        assert_eq!(manager.running(), 0);
    }

    #[tokio::test]
    async fn shutdown_returns_when_every_task_is_gone() {
        let manager = manager();
        let held = Arc::new(());
        for _ in 0..16 {
            let held = Arc::clone(&held);
            manager.spawn("waits", async move {
                let _held = held;
                std::future::pending::<()>().await;
            });
        }
        assert_eq!(manager.running(), 16);
        manager.shutdown().await;
        assert_eq!(Arc::strong_count(&held), 1);
        manager.spawn("too late", async {});
        assert_eq!(manager.running(), 0);
    }

    #[tokio::test]
    async fn dropping_the_owner_stops_its_tasks() {
        let manager = manager();
        let (alive, gone) = tokio::sync::oneshot::channel::<()>();
        manager.spawn("waits", async move {
            let _alive = alive;
            std::future::pending::<()>().await;
        });
        drop(manager);
        assert!(gone.await.is_err());
    }
}
