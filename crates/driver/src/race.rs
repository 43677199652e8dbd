//! Several futures at once: whichever is ready first. The others are left as they are, for the caller to poll on or
//! drop.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Which of two was first.
pub(crate) enum Either<A, B> {
    First(A),
    Second(B),
}

/// Waits for whichever is ready first; the first if both are.
pub(crate) async fn race<A, B>(mut a: Pin<&mut A>, mut b: Pin<&mut B>) -> Either<A::Output, B::Output>
where
    A: Future + ?Sized,
    B: Future + ?Sized,
{
    poll_fn(|context| {
        if let Poll::Ready(output) = a.as_mut().poll(context) {
            return Poll::Ready(Either::First(output));
        }
        b.as_mut().poll(context).map(Either::Second)
    })
    .await
}

/// Waits for whichever of several is ready first, and takes it out of the list. Waits for ever if there is none.
pub(crate) async fn first_of<F: Future + Unpin>(futures: &mut Vec<F>) -> (F, F::Output) {
    poll_fn(|context| {
        for place in 0..futures.len() {
            if let Poll::Ready(output) = Pin::new(&mut futures[place]).poll(context) {
                return Poll::Ready((futures.remove(place), output));
            }
        }
        Poll::Pending
    })
    .await
}

/// The first success of several attempts; the others are dropped. The next attempt starts when the last one
/// has failed, or when it has not succeeded after a pause. The first failure if all fail; nothing if there is
/// no attempt.
pub(crate) async fn first_success<T, E, F, P>(
    attempts: impl IntoIterator<Item = F>,
    pause: impl Fn() -> P,
) -> Result<T, Option<E>>
where
    F: Future<Output = Result<T, E>>,
    P: Future<Output = ()>,
{
    let mut attempts = attempts.into_iter();
    let mut running: Vec<Pin<Box<F>>> = Vec::new();
    let mut pausing: Option<Pin<Box<P>>> = None;
    let mut failure = None;
    poll_fn(move |context| {
        loop {
            let mut place = 0;
            while place < running.len() {
                match running[place].as_mut().poll(context) {
                    Poll::Ready(Ok(output)) => return Poll::Ready(Ok(output)),
                    Poll::Ready(Err(error)) => {
                        failure = failure.take().or(Some(error));
                        drop(running.remove(place));
                        pausing = None;
                    }
                    Poll::Pending => place += 1,
                }
            }
            if pausing.as_mut().is_some_and(|pause| pause.as_mut().poll(context).is_pending()) {
                return Poll::Pending;
            }
            match attempts.next() {
                Some(attempt) => {
                    running.push(Box::pin(attempt));
                    pausing = Some(Box::pin(pause()));
                }
                None if running.is_empty() => return Poll::Ready(Err(failure.take())),
                None => {
                    pausing = None;
                    return Poll::Pending;
                }
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::{pending, ready};
    use std::pin::pin;
    use std::time::Duration;

    use super::*;
    use crate::platform::{Platform as _, TokioPlatform};
    use crate::transport::BoxFuture;

    #[tokio::test]
    async fn the_first_that_is_ready_wins() {
        assert!(matches!(race(pin!(ready(1)), pin!(ready(2))).await, Either::First(1)));
        assert!(matches!(race(pin!(pending::<()>()), pin!(ready(2))).await, Either::Second(2)));
    }

    #[tokio::test]
    async fn of_many_the_first_that_is_ready_is_taken_out() {
        let mut futures: Vec<BoxFuture<'_, u8>> =
            vec![Box::pin(pending()), Box::pin(ready(2)), Box::pin(ready(3))];
        assert_eq!(first_of(&mut futures).await.1, 2);
        assert_eq!((first_of(&mut futures).await.1, futures.len()), (3, 1));
    }

    /// When each attempt starts, and what it comes to after how long, in milliseconds.
    async fn outcome(attempts: &[(u64, Result<u32, u32>)]) -> (Result<u32, Option<u32>>, usize) {
        let (platform, started) = (TokioPlatform::new(), Cell::new(0));
        let (platform, started) = (&platform, &started);
        let attempts = attempts.iter().map(|(millis, result)| async move {
            started.set(started.get() + 1);
            platform.sleep(Duration::from_millis(*millis)).await;
            *result
        });
        let result = first_success(attempts, || platform.sleep(Duration::from_millis(250))).await;
        (result, started.get())
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_are_staggered_and_the_first_success_wins() {
        const NEVER: u64 = u32::MAX as u64;
        for (case, attempts, expected) in [
            ("none", &[][..], (Err(None), 0)),
            ("the first is quick", &[(249, Ok(1)), (0, Ok(2))], (Ok(1), 1)),
            ("the first is slow", &[(NEVER, Ok(1)), (10, Ok(2)), (0, Ok(3))], (Ok(2), 2)),
            ("the first fails at once", &[(0, Err(1)), (10, Ok(2)), (0, Ok(3))], (Ok(2), 2)),
            ("the first is slow, and still first", &[(400, Ok(1)), (200, Ok(2))], (Ok(1), 2)),
            ("all fail", &[(300, Err(1)), (0, Err(2)), (10, Err(3))], (Err(Some(2)), 3)),
        ] {
            assert_eq!(outcome(attempts).await, expected, "{case}");
        }
    }
}
