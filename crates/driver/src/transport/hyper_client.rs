//! Makes clients on hyper and rustls, and holds what they share.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use bytes::Bytes;
use cosmonaut_options::HttpProtocol;
use cosmonaut_policy::Moment;
use http::Response;
use tokio::sync::oneshot;

use super::body::{Collecting, Incomplete, Pieces};
use super::broken::cut_short;
use super::connector::{Connector, HttpVersion};
use super::dial::{Dialer, Sockets};
use super::endpoint::Authority;
use super::error::{RequestSentStatus, TransportError, TransportErrorKind};
use super::http_client::{BoxFuture, HttpClient, HttpClientConfig, HttpClientFactory, SendProgress};
use super::http1_client::Http1Client;
use super::http1_pool::Http1Connection;
use super::http2_client::Http2Client;
use super::http2_connection::Http2Connection;
use super::negotiate;
use super::proxy::Tunnels;
use super::resolver::{Lookups, Resolver, SystemResolver};
use super::timeline::ConnectMarks;
use super::tls::LazyTls;
use crate::platform::Platform;

/// Makes clients on hyper and rustls.
pub struct HyperClientFactory {
    shared: Arc<Shared>,
}

/// What all clients of a factory share.
pub(super) struct Shared {
    pub(super) connector: Connector,
    pub(super) config: HttpClientConfig,
    pub(super) platform: Arc<dyn Platform>,
    /// Connections that showed which version their server speaks, for the first client that wants one.
    negotiated: Mutex<Vec<Parked>>,
    /// Servers that said nothing when they were asked for their version.
    silent: Mutex<Vec<Authority>>,
}

/// A connection that showed which version its server speaks, and how it was made.
pub(super) enum Negotiated {
    Http1(Http1Connection, Arc<ConnectMarks>),
    Http2(Arc<Http2Connection>, Arc<ConnectMarks>),
}

/// A connection that waits for the first client that wants one. A server has one at most.
struct Parked {
    server: Authority,
    connection: Negotiated,
    since: Moment,
}

impl Negotiated {
    pub(super) fn version(&self) -> HttpVersion {
        match self {
            Self::Http1(..) => HttpVersion::Http1,
            Self::Http2(..) => HttpVersion::Http2,
        }
    }

    fn is_open(&self) -> bool {
        match self {
            Self::Http1(connection, _) => connection.is_open(),
            Self::Http2(connection, _) => connection.is_open(),
        }
    }
}

impl HyperClientFactory {
    /// Makes clients that connect in this way, to the addresses that the operating system knows.
    ///
    /// # Errors
    /// A further root that is no certificate.
    pub fn new(config: HttpClientConfig, platform: Arc<dyn Platform>) -> Result<Self, rustls::Error> {
        Self::over(config, platform, Arc::new(SystemResolver), None)
    }

    /// Makes clients that connect in this way, to the addresses that `resolver` finds, by `sockets` instead of the
    /// machine's.
    ///
    /// # Errors
    /// A further root that is no certificate.
    pub fn over(
        config: HttpClientConfig,
        platform: Arc<dyn Platform>,
        resolver: Arc<dyn Resolver>,
        sockets: Option<Arc<dyn Sockets>>,
    ) -> Result<Self, rustls::Error> {
        let connector = Connector {
            timeout: config.connect_timeout,
            tunnels: Tunnels::new(config.proxy.clone(), config.trust.clone())?,
            tls: LazyTls::new(config.trust.clone())?,
            lookups: Lookups {
                resolver,
                platform: Arc::clone(&platform),
                limit: config.connect_timeout,
                hosts: Mutex::default(),
            },
            dialer: Dialer {
                keepalive: config.tcp_keepalive,
                local_address: config.local_address,
                platform: Arc::clone(&platform),
                sockets,
            },
            platform: Arc::clone(&platform),
        };
        let (negotiated, silent) = (Mutex::default(), Mutex::default());
        Ok(Self { shared: Arc::new(Shared { connector, config, platform, negotiated, silent }) })
    }
}

impl HttpClientFactory for HyperClientFactory {
    fn version<'a>(&'a self, server: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        Box::pin(async move {
            match self.shared.config.protocol {
                HttpProtocol::Http1 => Ok(HttpVersion::Http1),
                HttpProtocol::Http2 => Ok(HttpVersion::Http2),
                HttpProtocol::Negotiated => negotiate::version_of(&self.shared, server).await,
            }
        })
    }

    fn is_guess(&self, server: &Authority) -> bool {
        self.shared.lock_silent().contains(server)
    }

    fn sweep(&self) {
        self.shared.close_unwanted();
    }

    fn create(&self, server: &Authority, version: HttpVersion) -> Arc<dyn HttpClient> {
        let (server, shared) = (server.clone(), Arc::clone(&self.shared));
        match version {
            HttpVersion::Http2 => Arc::new(Http2Client::new(server, shared)),
            HttpVersion::Http1 => Arc::new(Http1Client::new(server, shared)),
        }
    }
}

impl Shared {
    /// Keeps a connection for the first client that wants one.
    pub(super) fn park(&self, server: &Authority, connection: Negotiated) {
        self.close_unwanted();
        let parked = Parked { server: server.clone(), connection, since: self.platform.now() };
        let mut negotiated = self.lock_negotiated();
        let before = unpark(&mut negotiated, server);
        negotiated.push(parked);
        drop(negotiated);
        drop(before);
    }

    /// Closes connections that nobody wanted for long.
    fn close_unwanted(&self) {
        let now = self.platform.now();
        self.lock_negotiated().retain(|parked| {
            parked.connection.is_open() && now.since(parked.since) < self.config.pool_idle_timeout
        });
    }

    /// Notes whether a server said anything when it was asked for its version.
    pub(super) fn note_silence(&self, server: &Authority, is_silent: bool) {
        let mut silent = self.lock_silent();
        silent.retain(|known| known != server);
        if is_silent {
            silent.push(server.clone());
        }
    }

    fn lock_silent(&self) -> MutexGuard<'_, Vec<Authority>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take_http1(&self, server: &Authority) -> Option<(Http1Connection, Arc<ConnectMarks>)> {
        match self.take(server)? {
            Negotiated::Http1(connection, marks) => Some((connection, marks)),
            Negotiated::Http2(..) => None,
        }
    }

    pub(super) fn take_http2(&self, server: &Authority) -> Option<(Arc<Http2Connection>, Arc<ConnectMarks>)> {
        match self.take(server)? {
            Negotiated::Http2(connection, marks) => Some((connection, marks)),
            Negotiated::Http1(..) => None,
        }
    }

    fn take(&self, server: &Authority) -> Option<Negotiated> {
        let Parked { connection, since, .. } = unpark(&mut self.lock_negotiated(), server)?;
        let is_fresh = self.platform.now().since(since) < self.config.pool_idle_timeout;
        (is_fresh && connection.is_open()).then_some(connection)
    }

    fn lock_negotiated(&self) -> MutexGuard<'_, Vec<Parked>> {
        self.negotiated.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unpark(negotiated: &mut Vec<Parked>, server: &Authority) -> Option<Parked> {
    let place = negotiated.iter().position(|parked| parked.server == *server)?;
    Some(negotiated.remove(place))
}

/// An answer whose head is there: whatever fails now, the server has seen the request.
///
/// A body that is not complete yet is drained by a task, unless it is so small (`taken_in_unread`) that the
/// connection takes it in anyway: a caller that pauses neither stalls the connection nor runs out of time.
pub(super) async fn whole_response(
    shared: &Arc<Shared>,
    server: &Authority,
    response: Response<impl Pieces>,
    taken_in_unread: u64,
    progress: &SendProgress,
) -> Result<Response<Bytes>, TransportError> {
    let came = shared.platform.now();
    progress.head_at(came);
    let (head, body) = response.into_parts();
    let mut collecting = Collecting::new(body, shared.config.max_response);
    let now = poll_fn(|context| Poll::Ready(Pin::new(&mut collecting).poll(context))).await;
    let collected = match now {
        Poll::Ready(collected) => {
            progress.ended_at(came);
            collected
        }
        Poll::Pending if collecting.missing().is_some_and(|missing| missing <= taken_in_unread) => {
            collecting.await
        }
        Poll::Pending => Box::pin(drained(shared, collecting, progress)).await,
    };
    match collected {
        Ok(body) => Ok(Response::from_parts(head, body)),
        Err(Incomplete::Failed(error)) => Err(cut_short(server, error)),
        Err(Incomplete::TooLarge) => Err(TransportError::new(
            TransportErrorKind::TooLarge,
            RequestSentStatus::Sent,
            Arc::clone(server.shown()),
        )),
        Err(Incomplete::BrokenOff) => Err(TransportError::new(
            TransportErrorKind::Disconnected,
            RequestSentStatus::Sent,
            Arc::clone(server.shown()),
        )),
    }
}

/// Collects a body in a task of its own, which ends with its caller.
async fn drained<P: Pieces>(
    shared: &Arc<Shared>,
    collecting: Collecting<P>,
    progress: &SendProgress,
) -> Result<Bytes, Incomplete<P::Error>> {
    let (tell, collected) = oneshot::channel();
    let platform = Arc::clone(&shared.platform);
    let _draining = shared.platform.spawn(Box::pin(async move {
        let collected = collecting.await;
        // A caller that is gone has stopped this task.
        let _ = tell.send((collected, platform.now()));
    }));
    match collected.await {
        Ok((collected, ended)) => {
            progress.ended_at(ended);
            collected
        }
        Err(_) => Err(Incomplete::BrokenOff),
    }
}
