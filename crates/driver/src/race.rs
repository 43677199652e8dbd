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

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::pin::pin;

    use super::*;
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
}
