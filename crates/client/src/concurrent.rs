//! Several futures at once, polled by whoever awaits them: nothing is spawned, so dropping the whole drops all.

use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::task::Poll;

use crate::Result;

/// Runs futures, at most `limit` at once, until all are done or one fails. Results come as they are ready.
pub(crate) async fn try_all<F, T>(futures: impl IntoIterator<Item = F>, limit: usize) -> Result<Vec<T>>
where
    F: Future<Output = Result<T>>,
{
    let mut waiting = futures.into_iter();
    let mut running: Vec<Pin<Box<F>>> = Vec::new();
    let mut done = Vec::new();
    poll_fn(move |context| {
        loop {
            let free = limit.max(1).saturating_sub(running.len());
            running.extend(waiting.by_ref().take(free).map(Box::pin));
            if running.is_empty() {
                return Poll::Ready(Ok(mem::take(&mut done)));
            }
            let (before, mut index) = (running.len(), 0);
            while let Some(future) = running.get_mut(index) {
                match future.as_mut().poll(context) {
                    Poll::Pending => index += 1,
                    Poll::Ready(result) => {
                        drop(running.swap_remove(index));
                        match result {
                            Ok(value) => done.push(value),
                            Err(error) => return Poll::Ready(Err(error)),
                        }
                    }
                }
            }
            if running.len() == before {
                return Poll::Pending;
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{Error, ErrorKind};

    #[tokio::test]
    async fn no_more_than_the_limit_run_at_once_and_all_are_done() {
        for (count, limit) in [(0, 3), (1, 3), (7, 3), (7, 1), (7, 0), (7, 100)] {
            let (running, most) = (Cell::new(0), Cell::new(0));
            let work = |number: usize| {
                let (running, most) = (&running, &most);
                async move {
                    running.set(running.get() + 1);
                    most.set(most.get().max(running.get()));
                    for _ in 0..number % 3 {
                        tokio::task::yield_now().await;
                    }
                    running.set(running.get() - 1);
                    Ok(number)
                }
            };
            let mut done = try_all((0..count).map(work), limit).await.unwrap();
            done.sort_unstable();
            assert_eq!(done, (0..count).collect::<Vec<_>>(), "{count} at most {limit} at once");
            assert!(most.get() <= limit.max(1), "{} of at most {limit}", most.get());
        }
    }

    #[tokio::test]
    async fn the_first_failure_ends_it() {
        let started = Cell::new(0);
        let work = |number: usize| {
            let started = &started;
            async move {
                started.set(started.get() + 1);
                if number == 1 { Err(Error::new(ErrorKind::Query, "no")) } else { Ok(number) }
            }
        };
        assert_eq!(try_all((0..10).map(work), 2).await.unwrap_err().kind(), ErrorKind::Query);
        assert_eq!(started.get(), 2);
    }
}
