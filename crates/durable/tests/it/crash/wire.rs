//! The network of a process that dies at one of its requests: nothing leaves it, and nothing arrives, from then on.
//!
//! At which one that is, is counted. It can also hold back a transaction for as long as a test likes.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_driver::platform::TokioPlatform;
use cosmonaut_driver::transport::{
    Authority, BoxFuture, HttpClient, HttpClientConfig, HttpClientFactory, HttpVersion, HyperClientFactory,
    SendProgress, TransportError,
};
use http::{Request, Response};
use tokio::sync::watch;

/// Where at a request a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// It is not sent.
    Before,
    /// The service has done what it asks, and the answer does not arrive.
    During,
    /// The answer has arrived, and nothing is sent after it.
    After,
}

/// When a process dies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Death {
    /// How many requests it makes before, those for connecting included.
    pub(super) request: u64,
    pub(super) point: Point,
}

/// How far a life has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Alive,
    /// The last answer has arrived.
    Answered,
    Over,
}

/// Whether a transaction is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    None,
    /// One will be, after so many others.
    After(u64),
    Held,
}

/// A network. Clones are the same one.
#[derive(Clone)]
pub(super) struct Wire {
    death: Option<Death>,
    begun: Arc<AtomicU64>,
    life: watch::Sender<Life>,
    hold: watch::Sender<Hold>,
}

impl Wire {
    pub(super) fn new(death: Option<Death>) -> Self {
        let (life, hold) = (watch::channel(Life::Alive).0, watch::channel(Hold::None).0);
        Self { death, begun: Arc::default(), life, hold }
    }

    /// Holds back the transaction that comes after so many others.
    pub(super) fn hold_after(&self, transactions: u64) {
        self.hold.send_replace(Hold::After(transactions));
    }

    /// Waits until that transaction is there.
    pub(super) async fn holds(&self) {
        let _ = self.hold.subscribe().wait_for(|hold| *hold == Hold::Held).await;
    }

    /// Lets it go.
    pub(super) fn release(&self) {
        self.hold.send_replace(Hold::None);
    }

    /// How many requests there were.
    pub(super) fn requests(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Waits until the process has to die.
    pub(super) async fn died(&self) {
        /// How long a process has for what it does with its last answer, if that leads to no request.
        const LAST_WORDS: Duration = Duration::from_millis(50);
        let mut life = self.life.subscribe();
        // The sender lives as long as this.
        let _ = life.wait_for(|life| *life != Life::Alive).await;
        let _ = crate::waiting::timeout(LAST_WORDS, life.wait_for(|life| *life == Life::Over)).await;
        self.end();
    }

    pub(super) fn factory(&self) -> Arc<dyn HttpClientFactory> {
        let platform = Arc::new(TokioPlatform::new());
        let inner = HyperClientFactory::new(HttpClientConfig::default(), platform).unwrap();
        Arc::new(Factory { inner, wire: self.clone() })
    }

    fn end(&self) {
        self.life.send_replace(Life::Over);
    }

    async fn send(
        &self,
        inner: &dyn HttpClient,
        request: Request<Bytes>,
        progress: &SendProgress,
    ) -> Result<Response<Bytes>, TransportError> {
        let n = self.begun.fetch_add(1, Ordering::Relaxed);
        if request.headers().contains_key("x-ms-cosmos-is-batch-request")
            && self.hold.send_if_modified(count_down)
        {
            let _ = self.hold.subscribe().wait_for(|hold| *hold == Hold::None).await;
        }
        match self.death.filter(|death| n >= death.request) {
            None => {
                let answer = inner.send(request, progress).await;
                if *self.life.borrow() == Life::Over {
                    pending::<()>().await;
                }
                answer
            }
            Some(Death { request: last, point }) if n == last => match point {
                Point::Before => {
                    self.end();
                    pending().await
                }
                Point::During => {
                    let _ = inner.send(request, progress).await;
                    self.end();
                    pending().await
                }
                Point::After => {
                    let answer = inner.send(request, progress).await;
                    self.life.send_replace(Life::Answered);
                    answer
                }
            },
            Some(_) => {
                // What follows is not sent; once the last answer has arrived there is nothing more to wait for.
                if *self.life.borrow() == Life::Answered {
                    self.end();
                }
                pending().await
            }
        }
    }
}

/// Counts a transaction; true if it is the one to be held back.
fn count_down(hold: &mut Hold) -> bool {
    *hold = match *hold {
        Hold::After(0) => Hold::Held,
        Hold::After(others) => Hold::After(others - 1),
        Hold::None | Hold::Held => return false,
    };
    *hold == Hold::Held
}

struct Factory {
    inner: HyperClientFactory,
    wire: Wire,
}

impl HttpClientFactory for Factory {
    fn version<'a>(&'a self, server: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        self.inner.version(server)
    }

    fn create(&self, server: &Authority, version: HttpVersion) -> Arc<dyn HttpClient> {
        Arc::new(WireClient { inner: self.inner.create(server, version), wire: self.wire.clone() })
    }
}

struct WireClient {
    inner: Arc<dyn HttpClient>,
    wire: Wire,
}

impl HttpClient for WireClient {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        progress: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(self.wire.send(&*self.inner, request, progress))
    }

    fn warm_up(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        self.inner.warm_up()
    }

    fn close(&self) {
        self.inner.close();
    }
}
