//! Several futures at once, without tasks: they end with who waits for them.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Runs all to their end; the outputs are in the order of the futures. Meant for a few.
pub(crate) async fn all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<Pin<Box<F>>> = futures.into_iter().map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let Poll::Ready(done) = future.as_mut().poll(context)
            {
                *output = Some(done);
            }
        }
        if outputs.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn outputs_are_in_order_however_the_futures_end() {
        let (late, wait) = oneshot::channel();
        let first = async { wait.await.unwrap() };
        let second = async {
            late.send(1).unwrap();
            2
        };
        let futures: Vec<std::pin::Pin<Box<dyn Future<Output = i32>>>> =
            vec![Box::pin(first), Box::pin(second)];
        assert_eq!(super::all(futures).await, [1, 2]);
        assert!(super::all(Vec::<std::future::Ready<()>>::new()).await.is_empty());
    }
}
