//! Requests that are under way together, polled by whoever waits for one of them.
//!
//! Nothing runs by itself: a reader that stops polling stops the requests, and dropping it cancels them.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

type Request<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Requests under way. There are as many as partitions may be read at once, so each is simply polled in turn.
pub(crate) struct InFlight<T> {
    requests: Vec<Request<T>>,
    answered: VecDeque<T>,
}

impl<T> InFlight<T> {
    pub(crate) fn new() -> Self {
        Self { requests: Vec::new(), answered: VecDeque::new() }
    }

    /// Adds a request; it is sent when the requests are next polled.
    pub(crate) fn push(&mut self, request: impl Future<Output = T> + Send + 'static) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
