//! [`HttpClient`] on hyper: a client is one HTTP/2 connection, or a pool of HTTP/1.1 connections.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use cosmonaut_options::HttpProtocol;
use cosmonaut_policy::Moment;
use http::{HeaderValue, Request, Response, Uri, header};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::TokioIo;
use tokio::sync::Semaphore;

use super::body::{Incomplete, Whole, collect};
use super::connector::{Connector, HttpVersion, Stream};
use super::endpoint::Authority;
use super::error::{RequestSentStatus, TransportError, TransportErrorKind};
use super::http_client::{BoxFuture, HttpClient, HttpClientConfig, HttpClientFactory, SendProgress};
use super::hyper_error::{failed, not_answered, not_sent};
use super::negotiate;
use super::proxy::Tunnels;
use super::tls::LazyTls;
use crate::platform::{Platform, Task};

/// Streams that are opened before the server has said how many it allows. The service allows 20.
const STREAMS_BEFORE_SETTINGS: usize = 20;

/// Makes clients on hyper and rustls.
pub struct HyperClientFactory {
    shared: Arc<Shared>,
}

struct Shared {
    connector: Connector,
    config: HttpClientConfig,
    platform: Arc<dyn Platform>,
}

impl HyperClientFactory {
    /// Makes clients that connect in this way.
    ///
    /// # Errors
    /// A further root that is no certificate.
    pub fn new(config: HttpClientConfig, platform: Arc<dyn Platform>) -> Result<Self, rustls::Error> {
        let connector = Connector {
            timeout: config.connect_timeout,
            keepalive: config.tcp_keepalive,
            local_address: config.local_address,
            tunnels: Tunnels::new(config.proxy.clone(), config.trust.clone())?,
            tls: LazyTls::new(config.trust.clone(), config.protocol != HttpProtocol::Http1)?,
        };
        Ok(Self { shared: Arc::new(Shared { connector, config, platform }) })
    }
}

impl HttpClientFactory for HyperClientFactory {
    fn version<'a>(&'a self, server: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        Box::pin(async move {
            match (self.shared.config.protocol, server.is_tls()) {
                (HttpProtocol::Http1, _) => Ok(HttpVersion::Http1),
                (HttpProtocol::Http2, _) => Ok(HttpVersion::Http2),
                (HttpProtocol::Negotiated, false) => {
                    negotiate::version_of(&self.shared.connector, server).await
                }
                (HttpProtocol::Negotiated, true) => {
                    let (_, version) = self.shared.connector.connect(server).await?;
                    Ok(version.unwrap_or(HttpVersion::Http1))
                }
            }
        })
    }

    fn create(&self, server: &Authority, version: HttpVersion) -> Arc<dyn HttpClient> {
        let (server, shared) = (server.clone(), Arc::clone(&self.shared));
        match version {
            HttpVersion::Http2 => Arc::new(Http2Client {
                server,
                shared,
                live: ArcSwapOption::empty(),
                connecting: tokio::sync::Mutex::new(()),
            }),
            HttpVersion::Http1 => {
                let permits = Semaphore::new(shared.config.pool_max_connections);
                Arc::new(Http1Client { server, shared, idle: Mutex::new(Vec::new()), permits })
            }
        }
    }
}

/// One HTTP/2 connection, made when first used and again after it has closed.
struct Http2Client {
    server: Authority,
    shared: Arc<Shared>,
    live: ArcSwapOption<Http2Connection>,
    connecting: tokio::sync::Mutex<()>,
}

struct Http2Connection {
    sender: http2::SendRequest<Whole>,
    /// Takes requests; ends with the connection.
    _dispatch: Task,
    /// Moves the bytes. Stopping it fails what is under way.
    _pump: Arc<OnceLock<Task>>,
}

impl Http2Client {
    async fn connection(&self) -> Result<http2::SendRequest<Whole>, TransportError> {
        if let Some(sender) = self.open_connection() {
            return Ok(sender);
        }
        let _one_at_a_time = self.connecting.lock().await;
        if let Some(sender) = self.open_connection() {
            return Ok(sender);
        }
        let (stream, version) = self.shared.connector.connect(&self.server).await?;
        if version == Some(HttpVersion::Http1) {
            return Err(not_sent(&self.server, TransportErrorKind::OtherVersion));
        }
        let pump = Arc::new(OnceLock::new());
        let executor = Executor::new(Arc::clone(&self.shared.platform), Arc::downgrade(&pump));
        let head = u32::try_from(self.shared.config.max_response_head).unwrap_or(u32::MAX);
        let (sender, connection) = http2::Builder::new(executor)
            .initial_max_send_streams(STREAMS_BEFORE_SETTINGS)
            .max_header_list_size(head)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(&self.server, RequestSentStatus::NotSent, error))?;
        let dispatch = self.shared.platform.spawn(Box::pin(async move {
            // How a connection ended is told to each request that was on it.
            let _ = connection.await;
        }));
        let live = Http2Connection { sender: sender.clone(), _dispatch: dispatch, _pump: pump };
        self.live.store(Some(Arc::new(live)));
        Ok(sender)
    }

    fn open_connection(&self) -> Option<http2::SendRequest<Whole>> {
        let live = self.live.load();
        live.as_ref().filter(|live| !live.sender.is_closed()).map(|live| live.sender.clone())
    }
}

impl HttpClient for Http2Client {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        progress: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let mut sender = self.connection().await?;
            progress.hand_over();
            let answer = sender.try_send_request(request.map(Whole::new)).await;
            let response = answer.map_err(|error| not_answered(&self.server, error))?;
            whole_response(&self.server, response, self.shared.config.max_response).await
        })
    }

    fn warm_up(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // The first request will find the same failure, and report it.
            let _ = self.connection().await;
        })
    }

    fn close(&self) {
        self.live.store(None);
    }
}

/// HTTP/1.1 connections, each with one request at a time.
struct Http1Client {
    server: Authority,
    shared: Arc<Shared>,
    idle: Mutex<Vec<Http1Connection>>,
    permits: Semaphore,
}

struct Http1Connection {
    sender: http1::SendRequest<Whole>,
    idle_since: Moment,
    _driver: Task,
}

impl Http1Client {
    async fn connection(&self) -> Result<Http1Connection, TransportError> {
        let now = self.shared.platform.now();
        {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            let timeout = self.shared.config.pool_idle_timeout;
            idle.retain(|connection| {
                !connection.sender.is_closed() && now.since(connection.idle_since) < timeout
            });
            if let Some(connection) = idle.pop() {
                return Ok(connection);
            }
        }
        let (stream, _): (Stream, _) = self.shared.connector.connect(&self.server).await?;
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(self.shared.config.max_response_head)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(&self.server, RequestSentStatus::NotSent, error))?;
        let driver = self.shared.platform.spawn(Box::pin(async move {
            let _ = connection.await;
        }));
        Ok(Http1Connection { sender, idle_since: now, _driver: driver })
    }

    fn keep(&self, mut connection: Http1Connection) {
        connection.idle_since = self.shared.platform.now();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.shared.config.pool_max_idle_per_host {
            idle.push(connection);
        }
    }
}

impl HttpClient for Http1Client {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        progress: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let _permit = self.permits.acquire().await;
            let mut connection = self.connection().await?;
            if let Err(error) = connection.sender.ready().await {
                return Err(failed(&self.server, RequestSentStatus::NotSent, error));
            }
            let request = in_origin_form(request, &self.server)?;
            progress.hand_over();
            let answer = connection.sender.try_send_request(request.map(Whole::new)).await;
            let response = answer.map_err(|error| not_answered(&self.server, error))?;
            let response = whole_response(&self.server, response, self.shared.config.max_response).await?;
            self.keep(connection);
            Ok(response)
        })
    }
}

/// HTTP/1.1 names the host in a header and the rest in the request line.
fn in_origin_form(mut request: Request<Bytes>, server: &Authority) -> Result<Request<Bytes>, TransportError> {
    let malformed = || not_sent(server, TransportErrorKind::Protocol);
    let uri = std::mem::take(request.uri_mut()).into_parts();
    if let Some(authority) = &uri.authority {
        let host = HeaderValue::from_str(authority.as_str()).map_err(|error| malformed().caused_by(error))?;
        request.headers_mut().insert(header::HOST, host);
    }
    *request.uri_mut() = uri.path_and_query.map_or_else(|| Uri::from_static("/"), Uri::from);
    Ok(request)
}

/// An answer whose head is there: whatever fails now, the server has seen the request.
async fn whole_response(
    server: &Authority,
    response: Response<Incoming>,
    most: usize,
) -> Result<Response<Bytes>, TransportError> {
    let (head, body) = response.into_parts();
    match collect(body, most).await {
        Ok(body) => Ok(Response::from_parts(head, body)),
        Err(Incomplete::Failed(error)) => Err(failed(server, RequestSentStatus::Sent, error)),
        Err(Incomplete::TooLarge) => Err(TransportError::new(
            TransportErrorKind::TooLarge,
            RequestSentStatus::Sent,
            Arc::clone(server.shown()),
        )),
    }
}

/// Runs what hyper spawns for a connection through the platform. The first of these is what moves the bytes;
/// all others end when it does.
#[derive(Clone)]
struct Executor(Arc<ConnectionTasks>);

struct ConnectionTasks {
    platform: Arc<dyn Platform>,
    /// Weak, as hyper keeps a clone of this for each request: those must not keep alive what would end them.
    pump: Weak<OnceLock<Task>>,
    is_pump_started: AtomicBool,
}

impl Executor {
    fn new(platform: Arc<dyn Platform>, pump: Weak<OnceLock<Task>>) -> Self {
        Self(Arc::new(ConnectionTasks { platform, pump, is_pump_started: AtomicBool::new(false) }))
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Executor {
    fn execute(&self, future: F) {
        let ConnectionTasks { platform, pump, is_pump_started } = &*self.0;
        if is_pump_started.load(Ordering::Relaxed) || is_pump_started.swap(true, Ordering::Relaxed) {
            return platform.spawn_detached(Box::pin(future));
        }
        // Whoever has given up connecting wants no pump.
        if let Some(pump) = pump.upgrade() {
            pump.set(platform.spawn(Box::pin(future))).unwrap_or_else(Task::detach);
        }
    }
}
