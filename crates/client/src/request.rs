//! Calls that are described first and sent when they are awaited.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use cosmonaut_driver::transport::BoxFuture;

use crate::{Error, ErrorKind, Result};

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
/// A request is a future and borrows nothing, so that it can be kept, spawned, raced or joined as well. Once it was polled it is on its way, and
/// options do not change it any more.
#[must_use = "nothing is sent until it is awaited"]
pub struct Request<O, T> {
    options: Option<O>,
    state: State<O, T>,
}

enum State<O, T> {
    New(Begin<O, T>),
    Sent(BoxFuture<'static, Result<T>>),
    Over,
}

type Begin<O, T> = Box<dyn FnOnce(Option<O>) -> BoxFuture<'static, Result<T>> + Send>;

impl<O, T> Request<O, T> {
    /// A call that `send` makes with the options that were given, if any.
    pub(crate) fn new<F>(send: impl FnOnce(Option<O>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        Self { options: None, state: State::New(Box::new(|options| Box::pin(send(options)))) }
    }

    /// Options by themselves, instead of all that were given before.
    pub fn options(mut self, options: impl Into<Option<O>>) -> Self {
        self.options = options.into();
        self
    }
}

impl<O: Default, T> Request<O, T> {
    /// The options, for the setters of each kind of call.
    pub(crate) fn options_mut(&mut self) -> &mut O {
        self.options.get_or_insert_default()
    }
}

// Options are only ever moved, so where a request stands in memory does not matter to them.
impl<O, T> Unpin for Request<O, T> {}

impl<O, T> Future for Request<O, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut sent = match mem::replace(&mut self.state, State::Over) {
            State::New(send) => send(self.options.take()),
            State::Sent(sent) => sent,
            State::Over => {
                let message = "a request is awaited once (make another one)";
                return Poll::Ready(Err(Error::new(ErrorKind::Configuration, message)));
            }
        };
        let answered = sent.as_mut().poll(context);
        if answered.is_pending() {
            self.state = State::Sent(sent);
        }
        answered
    }
}

impl<O: fmt::Debug, T> fmt::Debug for Request<O, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("options", &self.options).finish_non_exhaustive()
    }
}
