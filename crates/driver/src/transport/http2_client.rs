//! [`HttpClient`] that is one HTTP/2 connection, made when first used and again after it has closed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use cosmonaut_policy::Moment;
use http::{Request, Response};
use hyper::client::conn::http2;
use hyper_util::rt::TokioIo;

use super::body::Whole;
use super::connector::HttpVersion;
use super::endpoint::Authority;
use super::error::{RequestSentStatus, TransportError, TransportErrorKind};
use super::flight::{Flight, Maker};
use super::http_client::{BoxFuture, HttpClient, SendProgress};
use super::hyper_client::{Shared, whole_response};
use super::hyper_error::{failed, not_answered, not_sent};
use super::negotiate::Tapped;
use super::timeline::{ConnectMarks, Mark};
use super::tls::Offer;
use crate::platform::{Platform, Task};

/// Streams that are opened before the server has said how many it allows. The service allows 20.
const STREAMS_BEFORE_SETTINGS: usize = 20;
/// How much of an answer the connection takes in even if nobody reads it; well within the window that hyper
/// grants to each stream.
const TAKEN_IN_UNREAD: u64 = 64 * 1024;

/// One HTTP/2 connection.
pub(super) struct Http2Client {
    server: Authority,
    shared: Arc<Shared>,
    live: ArcSwapOption<Http2Connection>,
    /// Connections that the server has said goodbye on: they take no request, and those under way are still
    /// answered.
    leaving: Mutex<Vec<Arc<Http2Connection>>>,
    connecting: Flight<Arc<Http2Connection>, TransportError>,
}

/// A connection that takes requests until it is closed. Dropping it closes it.
pub(super) struct Http2Connection {
    sender: http2::SendRequest<Whole>,
    /// Takes requests; ends with the connection.
    _dispatch: Task,
    /// Moves the bytes. Stopping it fails what is under way.
    _pump: Arc<OnceLock<Task>>,
    /// Held by what moves the bytes, until it has moved the last.
    pumping: Weak<()>,
    /// When anything last came over it.
    heard: Arc<Mark>,
}

impl Http2Connection {
    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Whether nothing is under way on it, nor can be any more.
    fn is_over(&self) -> bool {
        self.pumping.strong_count() == 0
    }
}

impl Http2Client {
    pub(super) fn new(server: Authority, shared: Arc<Shared>) -> Self {
        let (live, leaving) = (ArcSwapOption::empty(), Mutex::default());
        Self { server, shared, live, leaving, connecting: Flight::default() }
    }

    fn open_connection(&self) -> Option<http2::SendRequest<Whole>> {
        let live = self.live.load();
        live.as_ref().filter(|live| live.is_open()).map(|live| live.sender.clone())
    }

    async fn connect(
        &self,
        progress: Option<&SendProgress>,
    ) -> Result<http2::SendRequest<Whole>, TransportError> {
        let made = self.connecting.join(self, &*self.shared.platform, progress).await;
        made.map(|connection| connection.sender.clone())
    }
}

impl Maker for Http2Client {
    type Made = Arc<Http2Connection>;
    type Failure = TransportError;

    fn present(&self) -> Option<Arc<Http2Connection>> {
        self.live.load_full().filter(|live| live.is_open())
    }

    fn keep(&self, connection: &Arc<Http2Connection>) {
        let before = self.live.swap(Some(Arc::clone(connection)));
        let before = before.filter(|before| !Arc::ptr_eq(before, connection));
        // It leaves by itself when its last stream is over, at the latest when each of these is out of time.
        let mut leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        leaving.extend(before);
        leaving.retain(|connection| !connection.is_over());
    }

    fn is_good(&self, connection: &Arc<Http2Connection>) -> bool {
        connection.is_open()
    }

    fn make(&self, marks: Arc<ConnectMarks>) -> BoxFuture<'static, Result<Self::Made, TransportError>> {
        let (server, shared) = (self.server.clone(), Arc::clone(&self.shared));
        Box::pin(async move {
            if let Some((connection, made)) = shared.take_http2(&server) {
                marks.copy(&made);
                return Ok(connection);
            }
            let (stream, version) = shared.connector.connect(&server, Offer::Any, &marks).await?;
            if version == Some(HttpVersion::Http1) {
                return Err(not_sent(&server, TransportErrorKind::OtherVersion));
            }
            handshake(&shared, &server, Tapped::plain(stream)).await
        })
    }

    fn interrupted(&self) -> TransportError {
        not_sent(&self.server, TransportErrorKind::Unreachable)
    }
}

/// Speaks HTTP/2 on a stream from here on, and sends PINGs whenever the peer is silent.
pub(super) async fn handshake(
    shared: &Arc<Shared>,
    server: &Authority,
    stream: Tapped,
) -> Result<Arc<Http2Connection>, TransportError> {
    let pump = Arc::new(OnceLock::new());
    let executor = Executor::new(Arc::clone(&shared.platform), Arc::downgrade(&pump));
    let pumping = executor.pumping();
    let heard = Arc::<Mark>::default();
    let stream = stream.noting(&heard, &shared.platform);
    let head = u32::try_from(shared.config.max_response_head).unwrap_or(u32::MAX);
    let (sender, connection) = http2::Builder::new(executor)
        .timer(shared.timer.clone())
        .keep_alive_interval(shared.config.http2_keepalive_interval)
        .keep_alive_timeout(shared.config.http2_keepalive_timeout)
        .keep_alive_while_idle(true)
        .initial_max_send_streams(STREAMS_BEFORE_SETTINGS)
        .max_header_list_size(head)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| failed(server, RequestSentStatus::NotSent, error))?;
    let dispatch = shared.platform.spawn(Box::pin(async move {
        // How a connection ended is told to each request that was on it.
        let _ = connection.await;
    }));
    Ok(Arc::new(Http2Connection { sender, _dispatch: dispatch, _pump: pump, pumping, heard }))
}

impl HttpClient for Http2Client {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        progress: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let mut sender = match self.open_connection() {
                Some(sender) => sender,
                None => Box::pin(self.connect(Some(progress))).await?,
            };
            progress.hand_over_at(self.shared.platform.now());
            let answer = sender.try_send_request(request.map(Whole::new)).await;
            let response = answer.map_err(|error| not_answered(&self.server, error))?;
            whole_response(&self.shared, &self.server, response, TAKEN_IN_UNREAD, progress).await
        })
    }

    fn warm_up(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            match self.open_connection() {
                Some(_) => Ok(()),
                None => self.connect(None).await.map(drop),
            }
        })
    }

    fn last_heard(&self) -> Option<Moment> {
        self.live.load().as_ref().and_then(|live| live.heard.get())
    }

    fn close(&self) {
        self.live.store(None);
        let leaving = std::mem::take(&mut *self.leaving.lock().unwrap_or_else(PoisonError::into_inner));
        drop(leaving);
        self.connecting.clear();
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
    /// Taken by the pump.
    pumping: Mutex<Option<Arc<()>>>,
}

impl Executor {
    fn new(platform: Arc<dyn Platform>, pump: Weak<OnceLock<Task>>) -> Self {
        let pumping = Mutex::new(Some(Arc::default()));
        Self(Arc::new(ConnectionTasks { platform, pump, is_pump_started: AtomicBool::new(false), pumping }))
    }

    /// Lives as long as the pump does.
    fn pumping(&self) -> Weak<()> {
        let pumping = self.0.pumping.lock().unwrap_or_else(PoisonError::into_inner);
        pumping.as_ref().map(Arc::downgrade).unwrap_or_default()
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Executor {
    fn execute(&self, future: F) {
        let ConnectionTasks { platform, pump, is_pump_started, pumping } = &*self.0;
        if is_pump_started.load(Ordering::Relaxed) || is_pump_started.swap(true, Ordering::Relaxed) {
            return platform.spawn_detached(Box::pin(future));
        }
        // Whoever has given up connecting wants no pump.
        let pumping = pumping.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(pump) = pump.upgrade() {
            let pumping = async move {
                future.await;
                drop(pumping);
            };
            pump.set(platform.spawn(Box::pin(pumping))).unwrap_or_else(Task::detach);
        }
    }
}
