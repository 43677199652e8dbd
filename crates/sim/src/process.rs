//! A process of a world: a client with its own clock, chance, connections and tasks, which can be killed.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cosmonaut::options::CosmosClientOptions;
use cosmonaut::{CosmosClient, CosmosDriverRuntime, Credential};
use cosmonaut_driver::Moment;
use cosmonaut_driver::platform::{Platform, Task};
use cosmonaut_driver::transport::BoxFuture;
use tokio::task::AbortHandle;

use crate::host;
use crate::network::{Network, ProcessId};
use crate::random::Random;

/// A process. Dropping it does not kill it.
pub(crate) struct Process {
    /// Its number.
    pub(crate) id: ProcessId,
    network: Network,
    tasks: Arc<Tasks>,
    platform: Arc<ProcessPlatform>,
}

/// Everything that runs in a process.
#[derive(Default)]
struct Tasks {
    handles: Mutex<Vec<AbortHandle>>,
    is_dead: AtomicBool,
    is_paused: AtomicBool,
    /// Those that wanted to go on while the process was paused.
    waiting: Mutex<Vec<Waker>>,
}

/// A task that does nothing while its process is paused.
struct Paused<F> {
    work: Pin<Box<F>>,
    tasks: Arc<Tasks>,
}

/// Time, chance and tasks of one process.
struct ProcessPlatform {
    random: Random,
    /// By how much the process's clock is wrong, in milliseconds.
    skew_ms: AtomicI64,
    tasks: Arc<Tasks>,
}

impl Process {
    /// A process whose clock is wrong by so many milliseconds.
    pub(crate) fn new(id: ProcessId, network: &Network, random: &Random, skew_ms: i64) -> Self {
        let tasks = Arc::<Tasks>::default();
        let random = random.fork(&format!("process {id}"));
        let platform =
            Arc::new(ProcessPlatform { random, skew_ms: AtomicI64::new(skew_ms), tasks: Arc::clone(&tasks) });
        Self { id, network: network.clone(), tasks, platform }
    }

    /// A client in this process.
    ///
    /// # Errors
    /// Options that cannot be used.
    pub(crate) fn client(
        &self,
        endpoint: &str,
        credential: Credential,
        options: CosmosClientOptions,
    ) -> cosmonaut::Result<CosmosClient> {
        let platform: Arc<dyn Platform> = self.platform.clone();
        let runtime = CosmosDriverRuntime::builder()
            .environment(&|_: &str| None::<std::ffi::OsString>)
            .platform(platform)
            .sockets(self.network.sockets_of(self.id))
            .build()?;
        CosmosClient::builder()
            .runtime(&runtime)
            .endpoint(endpoint)
            .credential(credential)
            .options(options)
            .build()
    }

    /// Runs something in this process, until it is killed.
    pub(crate) fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Whether it was killed.
    pub(crate) fn is_dead(&self) -> bool {
        self.tasks.is_dead.load(Ordering::Relaxed)
    }

    /// From now on its clock is wrong by so many milliseconds.
    pub(crate) fn set_clock(&self, skew_ms: i64) {
        self.platform.skew_ms.store(skew_ms, Ordering::Relaxed);
    }

    /// Nothing that was started here goes on until [`Process::resume`]; clocks and the network do.
    pub(crate) fn pause(&self) {
        self.tasks.is_paused.store(true, Ordering::Relaxed);
    }

    /// Ends [`Process::pause`].
    pub(crate) fn resume(&self) {
        self.tasks.is_paused.store(false, Ordering::Relaxed);
        let waiting = std::mem::take(&mut *self.tasks.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Ends the process at this instant. Its connections are reset, or forgotten if its machine is gone with it.
    pub(crate) fn kill(&self, with_machine: bool) {
        self.tasks.is_dead.store(true, Ordering::Relaxed);
        for route in self.network.routes_of(self.id) {
            if with_machine {
                route.silence_all();
            } else {
                route.cut_all();
            }
            // What is still there of it reaches nobody.
            route.stall();
        }
        let handles = std::mem::take(&mut *self.tasks.lock());
        handles.iter().for_each(AbortHandle::abort);
    }
}

impl Tasks {
    #[expect(clippy::disallowed_methods, reason = "this is the door: what it starts ends with the process")]
    fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) -> Option<AbortHandle> {
        if self.is_dead.load(Ordering::Relaxed) {
            return None;
        }
        let task = Paused { work: Box::pin(task), tasks: Arc::clone(self) };
        let handle = tokio::spawn(task).abort_handle();
        let mut handles = self.lock();
        if handles.len() % 256 == 255 {
            handles.retain(|handle| !handle.is_finished());
        }
        handles.push(handle.clone());
        Some(handle)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<AbortHandle>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Future<Output = ()>> Future for Paused<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.tasks.is_paused.load(Ordering::Relaxed) {
            let mut waiting = self.tasks.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.push(context.waker().clone());
            return Poll::Pending;
        }
        self.work.as_mut().poll(context)
    }
}

impl Platform for ProcessPlatform {
    fn now(&self) -> Moment {
        Moment::after_start(Duration::from_micros(host::now()))
    }

    fn time_of_day(&self) -> Duration {
        Duration::from_micros(
            host::time_of_day().saturating_add_signed(self.skew_ms.load(Ordering::Relaxed) * 1000),
        )
    }

    #[expect(clippy::disallowed_methods, reason = "time is the world's")]
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) -> Task {
        let handle = self.tasks.spawn(task);
        Task::new(move || {
            if let Some(handle) = handle {
                handle.abort();
            }
        })
    }

    fn random(&self) -> u64 {
        self.random.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process() -> Process {
        let random = Random::new(1);
        Process::new(1, &Network::new(&random), &random, 0)
    }

    #[tokio::test]
    async fn a_paused_process_does_nothing_until_it_is_resumed() {
        let (process, steps) = (process(), Arc::new(AtomicI64::new(0)));
        let inside = Arc::clone(&steps);
        process.run(async move {
            loop {
                inside.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        tokio::task::yield_now().await;
        process.pause();
        let before = steps.load(Ordering::Relaxed);
        assert!(before > 0);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(steps.load(Ordering::Relaxed), before);
        process.resume();
        tokio::task::yield_now().await;
        assert!(steps.load(Ordering::Relaxed) > before);
        process.kill(false);
    }

    #[test]
    fn a_clock_jumps() {
        let process = process();
        let before = process.platform.time_of_day();
        process.set_clock(-5_000);
        assert_eq!(before - process.platform.time_of_day(), Duration::from_secs(5));
    }
}
