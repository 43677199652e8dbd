//! [`HttpClient`] that is one HTTP/2 connection, made when first used and again after it has closed.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use cosmonaut_policy::Moment;
use http::{Request, Response};

use super::body::StreamBody;
use super::broken::{failed, not_sent, stream_failed};
use super::connector::HttpVersion;
use super::endpoint::Authority;
use super::error::{RequestSentStatus, TransportError, TransportErrorKind};
use super::flight::{Flight, Maker};
use super::http_client::{BoxFuture, HttpClient, SendProgress};
use super::http2_connection::{Http2Connection, Pump, Requests};
use super::hyper_client::{Shared, whole_response};
use super::negotiate::Tapped;
use super::timeline::ConnectMarks;
use super::tls::Offer;

/// How much of an answer the connection takes in even if nobody reads it; well within the window of a stream.
const TAKEN_IN_UNREAD: u64 = 64 * 1024;

/// One HTTP/2 connection.
pub(super) struct Http2Client {
    server: Authority,
    shared: Arc<Shared>,
    live: ArcSwapOption<Http2Connection>,
    /// Connections that the server has said goodbye on: they take no request, and those under way are still
    /// answered.
    leaving: Mutex<Vec<Arc<Pump>>>,
    connecting: Flight<Arc<Http2Connection>, TransportError>,
}

impl Http2Client {
    pub(super) fn new(server: Authority, shared: Arc<Shared>) -> Self {
        let (live, leaving) = (ArcSwapOption::empty(), Mutex::default());
        Self { server, shared, live, leaving, connecting: Flight::default() }
    }

    fn open_connection(&self) -> Option<Requests> {
        self.live.load().as_ref()?.requests()
    }

    async fn connect(&self, progress: Option<&SendProgress>) -> Result<Requests, TransportError> {
        let connection = self.connecting.join(self, &*self.shared.platform, progress).await?;
        connection.requests().ok_or_else(|| not_sent(&self.server, TransportErrorKind::Disconnected))
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
        leaving.extend(before.map(|before| Arc::clone(before.pump())));
        leaving.retain(|pump| !pump.is_over());
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
            Http2Connection::begin(&shared, &server, Tapped::plain(stream)).await
        })
    }

    fn interrupted(&self) -> TransportError {
        not_sent(&self.server, TransportErrorKind::Unreachable)
    }
}

impl HttpClient for Http2Client {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        progress: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let requests = match self.open_connection() {
                Some(requests) => requests,
                None => Box::pin(self.connect(Some(progress))).await?,
            };
            let given = requests
                .give(request)
                .map_err(|error| failed(&self.server, RequestSentStatus::NotSent, error))?;
            progress.hand_over_at(self.shared.platform.now());
            let answer = given.answer().await;
            let response =
                answer.map_err(|(error, has_gone_out)| stream_failed(&self.server, error, has_gone_out))?;
            let (head, stream) = response.into_parts();
            let body = StreamBody::new(stream, &head.headers);
            let response = Response::from_parts(head, body);
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
        self.live.load().as_ref().and_then(|live| live.last_heard())
    }

    fn close(&self) {
        self.live.store(None);
        let leaving = std::mem::take(&mut *self.leaving.lock().unwrap_or_else(PoisonError::into_inner));
        drop(leaving);
        self.connecting.clear();
    }
}
