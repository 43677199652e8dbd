//! [`HttpClient`] that is a pool of HTTP/1.1 connections, each with one request at a time.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_policy::Moment;
use http::{HeaderValue, Method, Request, Response, Uri, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::sync::Semaphore;

use super::body::Whole;
use super::broken::{failed, not_answered, not_sent};
use super::connector::{HttpVersion, Stream};
use super::endpoint::Authority;
use super::error::{RequestSentStatus, TransportError, TransportErrorKind};
use super::http_client::{BoxFuture, HttpClient, SendProgress};
use super::http1_pool::{Http1Connection, Http1Pool};
use super::hyper_client::{Shared, whole_response};
use super::timeline::ConnectMarks;
use super::tls::Offer;

/// Nothing is taken in that the caller, or a task in its place, does not read.
const TAKEN_IN_UNREAD: u64 = 0;

/// HTTP/1.1 connections to one server.
pub(super) struct Http1Client {
    server: Authority,
    shared: Arc<Shared>,
    pool: Arc<Http1Pool>,
    permits: Semaphore,
}

impl Http1Client {
    pub(super) fn new(server: Authority, shared: Arc<Shared>) -> Self {
        let permits = Semaphore::new(shared.config.pool_max_connections);
        let pool = Arc::new(Http1Pool::new(server.clone(), Arc::clone(&shared)));
        Self { server, shared, pool, permits }
    }
}

/// Connects, offering HTTP/1.1 alone; or takes the connection that negotiated the version.
pub(super) async fn connect(
    shared: &Arc<Shared>,
    server: &Authority,
    marks: &ConnectMarks,
) -> Result<Http1Connection, TransportError> {
    if let Some((connection, made)) = shared.take_http1(server) {
        marks.copy(&made);
        return Ok(connection);
    }
    let (stream, version) = shared.connector.connect(server, Offer::Http1, marks).await?;
    match version {
        Some(HttpVersion::Http2) => Err(not_sent(server, TransportErrorKind::OtherVersion)),
        Some(HttpVersion::Http1) | None => handshake(shared, server, stream).await,
    }
}

/// Speaks HTTP/1.1 on a stream from here on.
pub(super) async fn handshake(
    shared: &Arc<Shared>,
    server: &Authority,
    stream: Stream,
) -> Result<Http1Connection, TransportError> {
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(shared.config.max_response_head)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| failed(server, RequestSentStatus::NotSent, error))?;
    let driver = shared.platform.spawn(Box::pin(async move {
        let _ = connection.await;
    }));
    Ok(Http1Connection { sender, idle_since: shared.platform.now(), _driver: driver })
}

impl HttpClient for Http1Client {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        progress: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let _permit = self.permits.acquire().await;
            let mut connection = self.pool.connection(progress).await?;
            if let Err(error) = connection.sender.ready().await {
                return Err(failed(&self.server, RequestSentStatus::NotSent, error));
            }
            let request = in_origin_form(request, &self.server)?;
            let sent = self.shared.platform.now();
            progress.hand_over_at(sent);
            let mut silence = Silence { pool: &self.pool, sent, is_over: false };
            let answer = connection.sender.try_send_request(request.map(Whole::new)).await;
            silence.is_over = true;
            let response = answer.map_err(|error| not_answered(&self.server, error))?;
            let response =
                whole_response(&self.shared, &self.server, response, TAKEN_IN_UNREAD, progress).await?;
            self.pool.keep(connection);
            Ok(response)
        })
    }

    fn warm_up(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let connection = self.pool.connection(&SendProgress::new()).await?;
            self.pool.keep(connection);
            Ok(())
        })
    }

    fn close(&self) {
        self.pool.clear();
    }
}

/// A request without an answer. Its caller may go away without a word, as when its time is up.
struct Silence<'a> {
    pool: &'a Http1Pool,
    sent: Moment,
    is_over: bool,
}

impl Drop for Silence<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.pool.distrust(self.sent);
        }
    }
}

/// HTTP/1.1 names the host in a header and the rest in the request line. A request of a kind that usually has
/// a body says so if it has none: some servers and proxies refuse it otherwise.
fn in_origin_form(mut request: Request<Bytes>, server: &Authority) -> Result<Request<Bytes>, TransportError> {
    let malformed = || not_sent(server, TransportErrorKind::Protocol);
    let uri = std::mem::take(request.uri_mut()).into_parts();
    if let Some(authority) = &uri.authority {
        let host = HeaderValue::from_str(authority.as_str()).map_err(|error| malformed().caused_by(error))?;
        request.headers_mut().insert(header::HOST, host);
    }
    *request.uri_mut() = uri.path_and_query.map_or_else(|| Uri::from_static("/"), Uri::from);
    let usually_has_body = [Method::POST, Method::PUT, Method::PATCH].contains(request.method());
    if usually_has_body && request.body().is_empty() {
        request.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    Ok(request)
}
