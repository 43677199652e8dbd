//! Requests that are under way together, polled by whoever waits for one of them.
//!
//! Nothing runs by itself: a reader that stops polling stops the requests, and dropping it cancels them.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use crate::Result;

type Request<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Requests under way. There are as many as partitions may be read at once, so each is simply polled in turn.
pub(crate) struct InFlight<'a, T> {
    requests: Vec<Request<'a, T>>,
    answered: VecDeque<T>,
}

impl<'a, T> InFlight<'a, T> {
    pub(crate) fn new() -> Self {
        Self { requests: Vec::new(), answered: VecDeque::new() }
    }

    /// Adds a request; it is sent when the requests are next polled.
    pub(crate) fn push(&mut self, request: impl Future<Output = T> + Send + 'a) {
        self.requests.push(Box::pin(request));
    }

    /// How many are under way or answered and not yet taken.
    pub(crate) fn len(&self) -> usize {
        self.requests.len() + self.answered.len()
    }

    /// The answer that comes first; `None` if nothing is under way.
    pub(crate) async fn next(&mut self) -> Option<T> {
        poll_fn(|context| {
            self.poll_all(context);
            match self.answered.pop_front() {
                Some(answer) => Poll::Ready(Some(answer)),
                None if self.requests.is_empty() => Poll::Ready(None),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Sends what was not sent yet, and waits for nothing.
    pub(crate) async fn send(&mut self) {
        poll_fn(|context| {
            self.poll_all(context);
            Poll::Ready(())
        })
        .await;
    }

    /// Does other work while the requests go on: one of them may hold what the work waits for.
    pub(crate) async fn during<R>(&mut self, work: impl Future<Output = R>) -> R {
        let mut work = pin!(work);
        poll_fn(|context| {
            self.poll_all(context);
            work.as_mut().poll(context)
        })
        .await
    }

    fn poll_all(&mut self, context: &mut Context<'_>) {
        let answered = &mut self.answered;
        self.requests.retain_mut(|request| match request.as_mut().poll(context) {
            Poll::Ready(answer) => {
                answered.push_back(answer);
                false
            }
            Poll::Pending => true,
        });
    }
}

/// Runs requests, at most `limit` at once, until all are answered or one fails. Answers are in the order in which they
/// came.
pub(crate) async fn try_all<'a, F, T>(
    requests: impl IntoIterator<Item = F, IntoIter: Send>,
    limit: usize,
) -> Result<Vec<T>>
where
    F: Future<Output = Result<T>> + Send + 'a,
    T: Send,
{
    let mut waiting = requests.into_iter();
    let (mut in_flight, mut done) = (InFlight::new(), Vec::new());
    loop {
        let free = limit.max(1).saturating_sub(in_flight.len());
        waiting.by_ref().take(free).for_each(|request| in_flight.push(request));
        match in_flight.next().await {
            Some(answer) => done.push(answer?),
            None => return Ok(done),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;
    use crate::{Error, ErrorKind};

    #[tokio::test]
    async fn no_more_than_the_limit_run_at_once_and_all_are_done() {
        for (count, limit) in [(0, 3), (1, 3), (7, 3), (7, 1), (7, 0), (7, 100)] {
            let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let work = |number: usize| {
                let (running, most) = (&running, &most);
                async move {
                    most.fetch_max(running.fetch_add(1, Relaxed) + 1, Relaxed);
                    for _ in 0..number % 3 {
                        tokio::task::yield_now().await;
                    }
                    running.fetch_sub(1, Relaxed);
                    Ok(number)
                }
            };
            let mut done = try_all((0..count).map(work), limit).await.unwrap();
            done.sort_unstable();
            assert_eq!(done, (0..count).collect::<Vec<_>>(), "{count} at most {limit} at once");
            assert!(most.load(Relaxed) <= limit.max(1), "{most:?} of at most {limit}");
        }
    }

    #[tokio::test]
    async fn the_first_failure_ends_it() {
        let started = AtomicUsize::new(0);
        let work = |number: usize| {
            let started = &started;
            async move {
                started.fetch_add(1, Relaxed);
                if number == 1 { Err(Error::new(ErrorKind::Query, "no")) } else { Ok(number) }
            }
        };
        assert_eq!(try_all((0..10).map(work), 2).await.unwrap_err().kind(), ErrorKind::Query);
        assert!(started.load(Relaxed) <= 3);
    }

    #[tokio::test]
    async fn requests_go_on_while_other_work_waits_for_one_of_them() {
        let (send, receive) = tokio::sync::oneshot::channel();
        let mut in_flight = InFlight::new();
        in_flight.push(async move { send.send(1).is_ok() });
        assert_eq!(in_flight.during(receive).await, Ok(1));
        assert_eq!(in_flight.next().await, Some(true));
    }

    #[tokio::test]
    async fn answers_come_as_they_arrive_and_then_no_more() {
        let (send, receive) = tokio::sync::oneshot::channel();
        let mut in_flight = InFlight::new();
        in_flight.push(async move { receive.await.unwrap() });
        in_flight.push(async { 2 });
        in_flight.send().await;
        assert_eq!(in_flight.len(), 2);
        assert_eq!(in_flight.next().await, Some(2));
        send.send(1).unwrap();
        assert_eq!(in_flight.next().await, Some(1));
        assert_eq!(in_flight.next().await, None);
    }
}
