//! Calls that are described first and sent when they are awaited.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::Result;

/// A call that is sent when it is awaited. Until then it can be given options.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// use std::time::Duration;
///
/// let order: serde_json::Value = orders.read_item("contoso", "7").await?.into_value();
/// let order: serde_json::Value =
///     orders.read_item("contoso", "7").timeout(Duration::from_secs(2)).await?.into_value();
/// # Ok(())
/// # }
/// ```
///
/// A request is a future, so that it can be spawned, raced or joined as well. Once it was polled it is on its way, and
/// options do not change it any more.
#[must_use = "nothing is sent until it is awaited"]
pub struct Request<'a, O, T> {
    options: Option<O>,
    state: State<'a, O, T>,
}

enum State<'a, O, T> {
    New(Send<'a, O, T>),
    Sent(Answer<'a, T>),
    Over,
}

type Send<'a, O, T> = Box<dyn FnOnce(Option<O>) -> Answer<'a, T> + std::marker::Send + 'a>;
type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + std::marker::Send + 'a>>;

impl<'a, O, T> Request<'a, O, T> {
    /// A call that `send` makes with the options that were given, if any.
    pub(crate) fn new<F>(send: impl FnOnce(Option<O>) -> F + std::marker::Send + 'a) -> Self
    where
        F: Future<Output = Result<T>> + std::marker::Send + 'a,
    {
        Self { options: None, state: State::New(Box::new(|options| Box::pin(send(options)))) }
    }

    /// Options by themselves, instead of all that were given before.
    pub fn options(mut self, options: impl Into<Option<O>>) -> Self {
        self.options = options.into();
        self
    }
}

impl<O: Default, T> Request<'_, O, T> {
    /// The options, for the setters of each kind of call.
    pub(crate) fn options_mut(&mut self) -> &mut O {
        self.options.get_or_insert_default()
    }
}

// Options are only ever moved, so where a request stands in memory does not matter to them.
impl<O, T> Unpin for Request<'_, O, T> {}

impl<O, T> Future for Request<'_, O, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut sent = match mem::replace(&mut self.state, State::Over) {
            State::New(send) => send(self.options.take()),
            State::Sent(sent) => sent,
            // A future is not polled after its end; one that is has nothing to give.
            State::Over => return Poll::Pending,
        };
        let answered = sent.as_mut().poll(context);
        if answered.is_pending() {
            self.state = State::Sent(sent);
        }
        answered
    }
}

impl<O: fmt::Debug, T> fmt::Debug for Request<'_, O, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("options", &self.options).finish_non_exhaustive()
    }
}
