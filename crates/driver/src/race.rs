//! Two futures at once: whichever is ready first. The other is left as it is, for the caller to poll on or
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

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::pin::pin;

    use super::*;

    #[tokio::test]
    async fn the_first_that_is_ready_wins() {
        assert!(matches!(race(pin!(ready(1)), pin!(ready(2))).await, Either::First(1)));
        assert!(matches!(race(pin!(pending::<()>()), pin!(ready(2))).await, Either::Second(2)));
    }
}
