//! A value that is fetched when first needed, by one at a time; the others wait and take what it brought.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use tokio::sync::{Mutex, Notify, OwnedMutexGuard};

use crate::error::{Error, ErrorKind};
use crate::tasks::BackgroundTaskManager;

/// A value that is fetched by one at a time. Cheap to clone; clones share it.
///
/// A fetch runs in the background and outlives whoever asked for it: a caller with little time leaves, and the next
/// finds what the fetch brought.
pub(crate) struct SingleFlight<T>(Arc<Inner<T>>);

struct Inner<T> {
    value: ArcSwapOption<T>,
    /// The number of the fetch that began last.
    begun: AtomicU64,
    /// The number of the fetch that came to an end last.
    landed: AtomicU64,
    /// Held while fetching. The last failure, with its number.
    gate: Arc<Mutex<LastFailure>>,
    /// Told whenever the gate is free again. Nobody queues for the gate itself: it would be handed to the first in the
    /// queue, who may be a page that was asked for ahead and that nobody looks at.
    free: Arc<Notify>,
}

/// The right to fetch.
struct Gate {
    held: Option<OwnedMutexGuard<LastFailure>>,
    free: Arc<Notify>,
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.held = None;
        self.free.notify_waiters();
    }
}

/// A caller whose fetch ends without a result begins it again, but not for ever.
const MOST_STARTS: u32 = 3;

type LastFailure = Option<(u64, Error)>;

impl<T> Default for SingleFlight<T> {
    fn default() -> Self {
        Self(Arc::new(Inner {
            value: ArcSwapOption::empty(),
            begun: AtomicU64::new(0),
            landed: AtomicU64::new(0),
            gate: Arc::default(),
            free: Arc::default(),
        }))
    }
}

impl<T> Clone for SingleFlight<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Send + Sync + 'static> SingleFlight<T> {
    /// What is there now.
    pub(crate) fn current(&self) -> Option<Arc<T>> {
        self.0.value.load_full()
    }

    /// What is there, or what the fetch brings.
    pub(crate) async fn get<F>(
        &self,
        tasks: Option<&BackgroundTaskManager>,
        fetch: impl FnMut() -> F,
    ) -> Result<Arc<T>, Error>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        match self.current() {
            Some(value) => Ok(value),
            None => self.refresh(tasks, None, fetch).await,
        }
    }

    /// What the fetch brings in place of a value that is out of date, or what another has brought by then.
    pub(crate) async fn refresh<F>(
        &self,
        tasks: Option<&BackgroundTaskManager>,
        stale: Option<&Arc<T>>,
        mut fetch: impl FnMut() -> F,
    ) -> Result<Arc<T>, Error>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let inner = &self.0;
        let landed_before = inner.landed.load(Ordering::Acquire);
        let begun_before = inner.begun.load(Ordering::Acquire);
        let mut starts = 0;
        loop {
            let gate = inner.gate().await;
            let is_stale = |value: &Arc<T>| stale.is_some_and(|stale| Arc::ptr_eq(stale, value));
            if let Some(value) = self.current().filter(|value| !is_stale(value)) {
                return Ok(value);
            }
            match gate.held.as_deref().and_then(Option::as_ref) {
                // It failed while this one waited: trying at once again would only be slow. Only a credential may have
                // been replaced since.
                Some((number, error))
                    if *number > if is_unauthorized(error) { begun_before } else { landed_before } =>
                {
                    return Err(error.clone());
                }
                Some(_) | None => {}
            }
            starts += 1;
            if starts > MOST_STARTS {
                let message = "a look-up ended again and again without a result (see `background_panics`)";
                return Err(Error::new(ErrorKind::InvalidResponse, message));
            }
            let number = inner.begun.fetch_add(1, Ordering::AcqRel) + 1;
            let (flight, fetch) = (Arc::clone(inner), fetch());
            let work = Box::pin(async move { flight.land(gate, number, fetch.await) });
            // After a shutdown nothing runs in the background, and the caller does it.
            let left_over = match tasks {
                Some(tasks) => tasks.try_spawn("metadata fetch", work),
                None => Some(work as _),
            };
            if let Some(work) = left_over {
                work.await;
            }
        }
    }
}

fn is_unauthorized(error: &Error) -> bool {
    error.kind() == ErrorKind::Unauthorized
}

#[cfg(test)]
impl<T> SingleFlight<T> {
    /// Whether both are the same one.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Inner<T> {
    async fn gate(&self) -> Gate {
        loop {
            let mut is_free = pin!(self.free.notified());
            // From here on nobody lets the gate go unnoticed.
            is_free.as_mut().enable();
            if let Ok(held) = Arc::clone(&self.gate).try_lock_owned() {
                return Gate { held: Some(held), free: Arc::clone(&self.free) };
            }
            is_free.await;
        }
    }

    fn land(&self, mut gate: Gate, number: u64, result: Result<T, Error>) {
        self.landed.store(number, Ordering::Release);
        let failure = match result {
            Ok(value) => {
                self.value.store(Some(Arc::new(value)));
                None
            }
            Err(error) => Some((number, error)),
        };
        if let Some(last) = &mut gate.held {
            **last = failure;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::{Context, Waker};

    use tokio::sync::oneshot;
    use tokio::task::JoinSet;

    use super::*;
    use crate::platform::{Platform as _, TokioPlatform};
    use crate::race::{Either, race};

    fn tasks() -> BackgroundTaskManager {
        BackgroundTaskManager::new(Arc::new(TokioPlatform::new()))
    }

    #[tokio::test]
    async fn many_wait_for_one() {
        let (flight, fetches) = (SingleFlight::default(), Arc::new(AtomicUsize::new(0)));
        let tasks = Arc::new(tasks());
        let mut waiting = JoinSet::new();
        for _ in 0..32 {
            let (flight, fetches, tasks) = (flight.clone(), Arc::clone(&fetches), Arc::clone(&tasks));
            waiting.spawn(async move {
                let fetch = || {
                    let fetches = Arc::clone(&fetches);
                    async move {
                        tokio::task::yield_now().await;
                        Ok(fetches.fetch_add(1, Ordering::Relaxed))
                    }
                };
                *flight.get(Some(&tasks), fetch).await.unwrap()
            });
        }
        assert_eq!(waiting.join_all().await, [0; 32]);
    }

    #[tokio::test]
    async fn whoever_came_after_a_fetch_was_signed_is_not_refused_with_it() {
        let flight = SingleFlight::<u8>::default();
        let shared = Arc::new(tasks());
        let (fail, failing) = oneshot::channel::<()>();
        let mut failing = Some(failing);
        let fetch = move || {
            let failing = failing.take().unwrap();
            async {
                failing.await.unwrap();
                Err(Error::new(ErrorKind::Unauthorized, "signed with the key of before"))
            }
        };
        let mut leader = pin!(flight.get(Some(&shared), fetch));
        let nobody = &mut Context::from_waker(Waker::noop());
        assert!(leader.as_mut().poll(nobody).is_pending());
        tokio::task::yield_now().await;
        let mut follower = pin!(flight.get(Some(&shared), || async { Ok(7) }));
        assert!(follower.as_mut().poll(nobody).is_pending());
        fail.send(()).unwrap();
        assert_eq!(leader.await.unwrap_err().kind(), ErrorKind::Unauthorized);
        assert_eq!(*follower.await.unwrap(), 7);
    }

    #[tokio::test]
    async fn those_who_waited_share_a_failure_and_those_who_come_later_try_again() {
        let flight = SingleFlight::<u8>::default();
        let shared = Arc::new(tasks());
        let (fail, failing) = oneshot::channel::<()>();
        let leader = {
            let (flight, tasks) = (flight.clone(), Arc::clone(&shared));
            let mut failing = Some(failing);
            async move {
                let fetch = || {
                    let failing = failing.take().unwrap();
                    async {
                        failing.await.unwrap();
                        Err(Error::new(ErrorKind::Configuration, "first"))
                    }
                };
                flight.get(Some(&tasks), fetch).await
            }
        };
        let follower = {
            let (flight, tasks) = (flight.clone(), Arc::clone(&shared));
            async move { flight.get(Some(&tasks), || async { panic!("one failure is enough") }).await }
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(leader);
        tokio::task::yield_now().await;
        tasks.spawn(follower);
        tokio::task::yield_now().await;
        fail.send(()).unwrap();
        for result in tasks.join_all().await {
            assert_eq!(result.unwrap_err().to_string(), "first");
        }
        assert_eq!(*flight.get(Some(&shared), || async { Ok(7) }).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_fetch_outlives_the_one_who_asked_for_it() {
        let (flight, tasks) = (SingleFlight::<u8>::default(), tasks());
        let (bring, brought) = oneshot::channel();
        let mut brought = Some(brought);
        let fetch = || {
            let brought = brought.take().unwrap();
            async { Ok(brought.await.unwrap()) }
        };
        let mut first = Box::pin(flight.get(Some(&tasks), fetch));
        assert!(futures_poll_once(first.as_mut()).await.is_none());
        drop(first);
        bring.send(1).unwrap();
        assert_eq!(*flight.get(Some(&tasks), || async { panic!("it is on its way") }).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn one_who_waits_but_is_not_looked_at_keeps_nobody_waiting() {
        let (flight, tasks) = (SingleFlight::<u8>::default(), tasks());
        let (bring, brought) = oneshot::channel();
        let mut brought = Some(brought);
        let fetch = || {
            let brought = brought.take().unwrap();
            async { Ok(brought.await.unwrap()) }
        };
        let mut first = Box::pin(flight.get(Some(&tasks), fetch));
        assert!(futures_poll_once(first.as_mut()).await.is_none());
        // As a page that was asked for ahead, while its query waits for another one.
        let mut asleep = Box::pin(flight.get(Some(&tasks), || async { panic!("it is on its way") }));
        assert!(futures_poll_once(asleep.as_mut()).await.is_none());
        bring.send(1).unwrap();
        let stale = first.await.unwrap();
        let next = flight.refresh(Some(&tasks), Some(&stale), || async { Ok(2) });
        let mut patience = TokioPlatform::new().sleep(std::time::Duration::from_secs(30));
        match race(std::pin::pin!(next), patience.as_mut()).await {
            Either::First(next) => assert_eq!(*next.unwrap(), 2),
            Either::Second(()) => panic!("nobody holds what is free"),
        }
        drop(asleep);
    }

    #[tokio::test]
    async fn after_a_shutdown_the_caller_fetches() {
        let (flight, tasks) = (SingleFlight::<u8>::default(), tasks());
        tasks.shutdown().await;
        assert_eq!(*flight.get(Some(&tasks), || async { Ok(1) }).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_value_is_refreshed_once_for_all_who_found_it_stale() {
        let flight = SingleFlight::default();
        let stale = flight.get(None, || async { Ok(1) }).await.unwrap();
        assert_eq!(*flight.refresh(None, Some(&stale), || async { Ok(2) }).await.unwrap(), 2);
        let again = flight.refresh(None, Some(&stale), || async { panic!("it is fresh") });
        assert_eq!(*again.await.unwrap(), 2);
    }

    async fn futures_poll_once<F: Future + ?Sized>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(match future.as_mut().poll(context) {
                std::task::Poll::Ready(output) => Some(output),
                std::task::Poll::Pending => None,
            })
        })
        .await
    }
}
