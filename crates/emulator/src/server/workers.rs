//! Threads for work that may take long, so that those that move bytes never wait for it.
//!
//! As many pieces of work go on at once as there are processors, but for one that is left to others; the rest wait for
//! their turn, and those that take long give theirs up every few milliseconds. How they notice is in
//! [`pace`](crate::pace). A turn is asked for on the thread that needs it: who had one and waited for a thread would keep
//! those who have threads from their turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use cosmonaut_wire::CosmosStatus;
use tokio::runtime::Handle;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::pace::{Pace, Turn};
use crate::{Failure, World};

/// How many pieces of work that wait for turns have threads. It is fewer than a runtime has, so that what waits for no
/// turn finds one.
const THREADS: usize = 384;

/// How long work waits for a thread. Clients try again when they are told that there is none, and give up after a minute
/// when they are told nothing.
const WAITS_FOR_THREAD: Duration = Duration::from_secs(1);

/// How many scripts are under way at once. Each may take as much memory as scripts may.
const SCRIPTS: usize = 64;

/// How long a script waits for its turn. All places together need a part of it, unless a script is in a step that takes
/// long: nothing ends that, and the others do not wait for it.
const WAITS_FOR_SCRIPTS: Duration = Duration::from_secs(1);

/// The sub-status of a script that finds no place among the others.
const TOO_MANY_SCRIPTS: u32 = 3084;

/// How long work may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkTimes {
    /// One page of a query.
    pub(crate) page: Duration,
    /// One run of a script.
    #[cfg_attr(not(feature = "scripts"), expect(dead_code, reason = "a build without scripts runs none"))]
    pub(crate) script: Duration,
}

/// Where work that may take long is done.
pub(crate) struct Workers {
    world: Arc<dyn World>,
    times: WorkTimes,
    /// None: it is done where it is asked for.
    threads: Option<Threads>,
    under_way: Arc<AtomicUsize>,
}

/// What work waits for.
struct Threads {
    free: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    /// Scripts have places and turns of their own: a step of one may take long, and only other scripts wait for it, and not
    /// for ever.
    script_places: Arc<Semaphore>,
    script_turns: Arc<Semaphore>,
}

impl Workers {
    pub(crate) fn new(world: Arc<dyn World>, times: WorkTimes, use_threads: bool) -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        let at_once = processors.saturating_sub(1).max(1);
        let threads = use_threads.then(|| Threads {
            free: Arc::new(Semaphore::new(THREADS)),
            turns: Arc::new(Semaphore::new(at_once)),
            script_places: Arc::new(Semaphore::new(SCRIPTS)),
            script_turns: Arc::new(Semaphore::new(at_once)),
        });
        Self { world, times, threads, under_way: Arc::default() }
    }

    /// How long a script may run.
    #[cfg(feature = "scripts")]
    pub(crate) fn script_time(&self) -> Duration {
        self.times.script
    }

    /// How many pieces of work are begun and not at their end.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Does work for somebody who waits for its result. If this is dropped, the work is told to stop.
    ///
    /// 429 if there is too much work that takes long.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(Pace) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let begun = Begun::new(&self.under_way);
        let Some(threads) = &self.threads else { return Ok(work(Pace::default())) };
        let (free, turns) = (Arc::clone(&threads.free), Arc::clone(&threads.turns));
        let Ok(place) = crate::world::timeout(WAITS_FOR_THREAD, free.acquire_owned()).await else {
            return Err(busy(CosmosStatus::REQUEST_RATE_TOO_LARGE, THREADS, "queries that take long"));
        };
        self.run_in(begun, place, (turns, None), work).await
    }

    /// The same for work that runs a script.
    pub(crate) async fn run_script<T: Send + 'static>(
        &self,
        work: impl FnOnce(Pace) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let begun = Begun::new(&self.under_way);
        let Some(threads) = &self.threads else { return Ok(work(Pace::default())) };
        let (free, turns) = (Arc::clone(&threads.script_places), Arc::clone(&threads.script_turns));
        let Ok(place) = crate::world::timeout(WAITS_FOR_THREAD, free.acquire_owned()).await else {
            let status = CosmosStatus::new(CosmosStatus::REQUEST_RATE_TOO_LARGE.code(), TOO_MANY_SCRIPTS);
            return Err(busy(status, SCRIPTS, "scripts"));
        };
        self.run_in(begun, place, (turns, Some(WAITS_FOR_SCRIPTS)), work).await
    }

    async fn run_in<T: Send + 'static>(
        &self,
        begun: Begun,
        place: Result<OwnedSemaphorePermit, AcquireError>,
        (turns, patience): (Arc<Semaphore>, Option<Duration>),
        work: impl FnOnce(Pace) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let turn = Turn { turns, held: None, runtime: Handle::current(), patience };
        let pace = Pace::new(Arc::clone(&self.world), self.times.page, Some(turn));
        let own = pace.clone();
        let thread = spawn_blocking(move || {
            let _begun = (begun, place);
            own.begin();
            let result = work(own.clone());
            own.finish();
            result
        });
        Ok(Waiting { thread, pace: Some(pace) }.result().await)
    }

    /// Does work to its end, whoever waits for it. It is seldom, and waits for no turn.
    pub(crate) async fn finish<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let begun = Begun::new(&self.under_way);
        if self.threads.is_none() {
            return work();
        }
        let thread = spawn_blocking(move || {
            let _begun = begun;
            work()
        });
        Waiting { thread, pace: None }.result().await
    }
}

fn busy(status: CosmosStatus, most: usize, what: &str) -> Failure {
    let mut failure = Failure::new(
        status,
        format!("Request rate is large. {most} {what} are under way (try again, or ask for less)"),
    );
    failure.retry_after_ms = Some(WAITS_FOR_THREAD.as_millis() as u64);
    failure
}

/// Counts a piece of work as long as it lasts.
struct Begun(Arc<AtomicUsize>);

impl Begun {
    fn new(under_way: &Arc<AtomicUsize>) -> Self {
        under_way.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(under_way))
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Somebody who waits for a result; when they leave, the work may stop.
struct Waiting<T> {
    thread: JoinHandle<T>,
    pace: Option<Pace>,
}

impl<T> Waiting<T> {
    async fn result(mut self) -> T {
        match (&mut self.thread).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                // As if it had happened here.
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends, and with it whoever waits.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

impl<T> Drop for Waiting<T> {
    fn drop(&mut self) {
        if let Some(pace) = &self.pace {
            pace.stop();
            // Work that has not begun need not.
            self.thread.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemWorld;

    #[tokio::test(start_paused = true)]
    async fn work_that_finds_no_thread_is_refused_and_may_come_again() {
        let times = WorkTimes { page: Duration::from_secs(5), script: Duration::from_secs(5) };
        let workers = Workers::new(Arc::new(SystemWorld::new()), times, true);
        let free = &workers.threads.as_ref().unwrap().free;
        let others = Arc::clone(free).acquire_many_owned(THREADS as u32).await.unwrap();
        let refused = workers.run(|_| 7).await.unwrap_err();
        assert_eq!(
            (refused.status, refused.retry_after_ms),
            (CosmosStatus::REQUEST_RATE_TOO_LARGE, Some(1000))
        );
        assert_eq!(workers.under_way(), 0);
        drop(others);
        assert_eq!(workers.run(|_| 7).await.unwrap(), 7);
    }

    /// All turns are with scripts that never give way, as in a step that nothing ends.
    #[tokio::test]
    async fn work_goes_on_beside_scripts_that_do_not_give_way() {
        let times = WorkTimes { page: Duration::from_secs(5), script: Duration::from_secs(5) };
        let workers = Workers::new(Arc::new(SystemWorld::new()), times, true);
        let turns = Arc::clone(&workers.threads.as_ref().unwrap().script_turns);
        let all = turns.available_permits() as u32;
        let held = turns.acquire_many_owned(all).await.unwrap();
        assert_eq!(workers.run_script(|_| 7).await.unwrap(), 7);
        let paced = |pace: Pace| (0..3).map(|_| pace.next()).collect::<Vec<_>>();
        assert_eq!(workers.run_script(paced).await.unwrap().len(), 3);
        assert_eq!(workers.run(|_| 7).await.unwrap(), 7);
        assert_eq!(workers.under_way(), 0);
        drop(held);
    }
}
