//! A value that is fetched when first needed, by one at a time; the others wait and take what it brought.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;

use crate::error::{Error, ErrorKind};

/// A value that is fetched by one at a time.
///
/// Whoever fetches may give up at any time, by being dropped: the next in line takes over.
pub(crate) struct SingleFlight<T> {
    value: ArcSwapOption<T>,
    /// Fetches that have come to an end.
    landed: AtomicU64,
    /// Held while fetching. The last failure, with its number.
    gate: tokio::sync::Mutex<Option<(u64, Error)>>,
}

impl<T> Default for SingleFlight<T> {
    fn default() -> Self {
        Self { value: ArcSwapOption::empty(), landed: AtomicU64::new(0), gate: tokio::sync::Mutex::new(None) }
    }
}

impl<T> SingleFlight<T> {
    /// What is there now.
    pub(crate) fn current(&self) -> Option<Arc<T>> {
        self.value.load_full()
    }

    /// What is there, or what `fetch` brings.
    pub(crate) async fn get(&self, fetch: impl Future<Output = Result<T, Error>>) -> Result<Arc<T>, Error> {
        match self.current() {
            Some(value) => Ok(value),
            None => self.fly(None, fetch).await,
        }
    }

    /// What `fetch` brings in place of a value that is out of date, or what another has brought by then.
    pub(crate) async fn refresh(
        &self,
        stale: Option<&Arc<T>>,
        fetch: impl Future<Output = Result<T, Error>>,
    ) -> Result<Arc<T>, Error> {
        self.fly(stale, fetch).await
    }

    async fn fly(
        &self,
        stale: Option<&Arc<T>>,
        fetch: impl Future<Output = Result<T, Error>>,
    ) -> Result<Arc<T>, Error> {
        let landed_before = self.landed.load(Ordering::Acquire);
        let mut last_failure = self.gate.lock().await;
        let is_stale = |value: &Arc<T>| stale.is_some_and(|stale| Arc::ptr_eq(stale, value));
        if let Some(value) = self.current().filter(|value| !is_stale(value)) {
            return Ok(value);
        }
        match &*last_failure {
            // It failed while this one waited: trying at once again would only be slow.
            Some((number, error)) if *number > landed_before => return Err(error.clone()),
            Some(_) | None => {}
        }
        let result = fetch.await;
        let number = self.landed.fetch_add(1, Ordering::AcqRel) + 1;
        match result {
            Ok(value) => {
                let value = Arc::new(value);
                self.value.store(Some(Arc::clone(&value)));
                *last_failure = None;
                Ok(value)
            }
            Err(error) => {
                // The deadline was the fetching operation's own.
                let is_shared = error.kind() != ErrorKind::DeadlineExceeded;
                *last_failure = is_shared.then(|| (number, error.clone()));
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::oneshot;
    use tokio::task::JoinSet;

    use super::*;

    #[tokio::test]
    async fn many_wait_for_one() {
        let (flight, fetches) = (Arc::new(SingleFlight::default()), Arc::new(AtomicUsize::new(0)));
        let mut waiting = JoinSet::new();
        for _ in 0..32 {
            let (flight, fetches) = (Arc::clone(&flight), Arc::clone(&fetches));
            waiting.spawn(async move {
                let fetch = async {
                    tokio::task::yield_now().await;
                    Ok(fetches.fetch_add(1, Ordering::Relaxed))
                };
                *flight.get(fetch).await.unwrap()
            });
        }
        assert_eq!(waiting.join_all().await, [0; 32]);
    }

    #[tokio::test]
    async fn those_who_waited_share_a_failure_and_those_who_come_later_try_again() {
        let flight = Arc::new(SingleFlight::<u8>::default());
        let (fail, failing) = oneshot::channel::<()>();
        let leader = {
            let flight = Arc::clone(&flight);
            async move {
                let fetch = async {
                    failing.await.unwrap();
                    Err(Error::new(ErrorKind::Configuration, "first"))
                };
                flight.get(fetch).await
            }
        };
        let follower = {
            let flight = Arc::clone(&flight);
            async move { flight.get(async { panic!("one failure is enough") }).await }
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
        assert_eq!(*flight.get(async { Ok(7) }).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn one_who_gives_up_leaves_it_to_the_next() {
        let flight = Arc::new(SingleFlight::<u8>::default());
        let mut first = Box::pin(flight.get(std::future::pending()));
        assert!(futures_poll_once(first.as_mut()).await.is_none());
        drop(first);
        assert_eq!(*flight.get(async { Ok(1) }).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_value_is_refreshed_once_for_all_who_found_it_stale() {
        let flight = SingleFlight::default();
        let stale = flight.get(async { Ok(1) }).await.unwrap();
        assert_eq!(*flight.refresh(Some(&stale), async { Ok(2) }).await.unwrap(), 2);
        assert_eq!(*flight.refresh(Some(&stale), async { panic!("it is fresh") }).await.unwrap(), 2);
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
