//! A future that is compiled once for all that wait for it.
//!
//! The compiler copies an `async fn` into each part of a crate that it compiles by itself and that awaits it. That is
//! much for what does as much as sending a request.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future behind a call, of which there is one for each type of future.
pub(crate) struct OutOfLine<'a, F>(pub(crate) Pin<&'a mut F>);

impl<F: Future> Future for OutOfLine<'_, F> {
    type Output = F::Output;

    #[inline(never)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.0.as_mut().poll(context)
    }
}
