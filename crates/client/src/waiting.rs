//! Waiting for one of two things.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// The output of `work`; `None` if `end` comes first. What has not ended is dropped.
pub(crate) async fn unless<T>(end: impl Future<Output = ()>, work: impl Future<Output = T>) -> Option<T> {
    let (mut end, mut work) = (pin!(end), pin!(work));
    poll_fn(|context| {
        if end.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        work.as_mut().poll(context).map(Some)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn the_end_comes_before_the_work() {
        assert_eq!(unless(pending(), ready(1)).await, Some(1));
        assert_eq!(unless(ready(()), ready(1)).await, None);
        assert_eq!(unless(ready(()), pending::<u8>()).await, None);
    }
}
