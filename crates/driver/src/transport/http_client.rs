//! The one seam to the network: a request in, an answer or a [`TransportError`] out.
//!
//! Everything above it decides; everything below it moves bytes. Tests and simulators stand in here.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_options::{ConnectionOptionsView, HttpProtocol};
use cosmonaut_policy::{Moment, RequestSentStatus};
use http::{Request, Response};

use super::connector::HttpVersion;
use super::endpoint::Authority;
use super::error::TransportError;
use super::proxy::ProxyRoute;
use super::proxy_variables::ProxySources;
use super::timeline::{ConnectMarks, Mark, Timeline};
use super::tls::Trust;
use crate::error::Error;

/// A future on the heap.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How far a request has come, for whoever stops waiting for it.
#[derive(Debug, Default)]
pub struct SendProgress {
    is_handed_over: AtomicBool,
    connecting: ConnectMarks,
    sent: Mark,
    head: Mark,
    ended: Mark,
}

impl SendProgress {
    /// Nothing has been sent.
    pub const fn new() -> Self {
        Self {
            is_handed_over: AtomicBool::new(false),
            connecting: ConnectMarks::new(),
            sent: Mark::new(),
            head: Mark::new(),
            ended: Mark::new(),
        }
    }

    /// From here on the server may see the request. A client says so before it hands the request to a
    /// connection.
    pub fn hand_over(&self) {
        self.is_handed_over.store(true, Ordering::Relaxed);
    }

    /// As [`hand_over`](Self::hand_over), for a client that knows the time.
    pub fn hand_over_at(&self, now: Moment) {
        self.sent.set(now);
        self.hand_over();
    }

    /// The head of the answer has come.
    pub fn head_at(&self, now: Moment) {
        self.head.set(now);
    }

    /// The whole answer had come, which the caller may notice later.
    pub(super) fn ended_at(&self, moment: Moment) {
        self.ended.set(moment);
    }

    pub(super) fn ended(&self) -> Option<Moment> {
        self.ended.get()
    }

    pub(super) fn connecting(&self) -> &ConnectMarks {
        &self.connecting
    }

    /// Whether the server may have seen a request that is given up now.
    pub fn sent(&self) -> RequestSentStatus {
        if self.is_handed_over.load(Ordering::Relaxed) {
            RequestSentStatus::Unknown
        } else {
            RequestSentStatus::NotSent
        }
    }

    /// When the request was sent; `began` if its client did not say when.
    pub(super) fn sent_at(&self, began: Moment) -> Option<Moment> {
        match self.sent() {
            RequestSentStatus::NotSent => None,
            RequestSentStatus::Sent | RequestSentStatus::Unknown => Some(self.sent.get().unwrap_or(began)),
        }
    }

    /// What is known of a try that began at `started`, and was answered at `done` if it was.
    pub(super) fn timeline(&self, started: Moment, done: Option<Moment>) -> Timeline {
        Timeline {
            resolved: self.connecting.resolved.after(started),
            connected: self.connecting.connected.after(started),
            secured: self.connecting.secured.after(started),
            sent: self.sent.after(started),
            first_byte: self.head.after(started),
            done: done.map(|done| done.since(started)),
        }
    }
}

/// Sends requests to one server.
///
/// Dropping the future cancels the request and frees whatever it held on the connection.
pub trait HttpClient: Send + Sync + 'static {
    /// Sends a request with an absolute URI, and collects the answer.
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        progress: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>>;

    /// Connects ahead of the first request.
    fn warm_up(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// When anything last came over the connection, if there is one and that is known.
    fn last_heard(&self) -> Option<Moment> {
        None
    }

    /// Closes the connection. What is under way on it fails.
    fn close(&self) {}
}

/// Makes clients: each with connections of its own, so that a bad connection is contained.
pub trait HttpClientFactory: Send + Sync + 'static {
    /// Which version of HTTP a server speaks. Asked once per server and remembered.
    fn version<'a>(&'a self, server: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>>;

    /// Whether the version that a server was last found to speak is a guess, as the server said nothing. Such a server
    /// is asked again.
    fn is_guess(&self, _: &Authority) -> bool {
        false
    }

    /// Closes what nobody came for. Called now and then.
    fn sweep(&self) {}

    /// A client for a server that speaks this version. Connects when first used.
    fn create(&self, server: &Authority, version: HttpVersion) -> Arc<dyn HttpClient>;
}

/// How clients connect and what they accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpClientConfig {
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How often an idle connection is checked by TCP.
    pub tcp_keepalive: Duration,
    /// After how much silence of the peer an HTTP/2 connection sends a PING.
    pub http2_keepalive_interval: Duration,
    /// How long the answer to a PING may take.
    pub http2_keepalive_timeout: Duration,
    /// How long an idle HTTP/1.1 connection is kept.
    pub pool_idle_timeout: Duration,
    /// How many idle HTTP/1.1 connections are kept per server.
    pub pool_max_idle_per_host: usize,
    /// How many HTTP/1.1 connections there may be per server.
    pub pool_max_connections: usize,
    /// Which proxy leads to a server.
    pub proxy: ProxyRoute,
    /// The address that connections are made from.
    pub local_address: Option<IpAddr>,
    /// What is trusted.
    pub trust: Trust,
    /// Which version of HTTP is spoken.
    pub protocol: HttpProtocol,
    /// The largest answer that is accepted, in bytes.
    pub max_response: usize,
    /// The largest head of an answer that is accepted, in bytes.
    pub max_response_head: usize,
}

/// The largest answer that is accepted unless a client is told otherwise, in bytes.
pub(crate) const MAX_RESPONSE: usize = 64 * 1024 * 1024;

impl Default for HttpClientConfig {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            tcp_keepalive: Duration::from_secs(30),
            http2_keepalive_interval: Duration::from_secs(1),
            http2_keepalive_timeout: Duration::from_secs(2),
            pool_idle_timeout: Duration::from_secs(60),
            pool_max_idle_per_host: 100,
            pool_max_connections: 1000,
            proxy: ProxyRoute::Direct,
            local_address: None,
            trust: Trust::default(),
            protocol: HttpProtocol::Negotiated,
            max_response: MAX_RESPONSE,
            max_response_head: 256 * 1024,
        }
    }
}

impl HttpClientConfig {
    /// What the options say.
    ///
    /// # Errors
    /// A proxy that is no server.
    pub(crate) fn from_options(
        options: &ConnectionOptionsView<'_>,
        mut trust: Trust,
        proxies: &ProxySources,
    ) -> Result<Self, Error> {
        let pool = options.connection_pool();
        trust.accept_invalid |= options.accept_invalid_certs();
        Ok(Self {
            connect_timeout: options.connect_timeout(),
            tcp_keepalive: options.tcp_keepalive(),
            http2_keepalive_interval: options.http2_keepalive_interval(),
            http2_keepalive_timeout: options.http2_keepalive_timeout(),
            pool_idle_timeout: pool.idle_timeout(),
            pool_max_idle_per_host: pool.max_idle_per_host(),
            pool_max_connections: pool.max_connections(),
            proxy: proxies.route(options)?,
            local_address: options.local_address(),
            trust,
            protocol: options.http_protocol(),
            ..Self::default()
        })
    }
}
