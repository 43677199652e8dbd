//! One connection: HTTP/1.1 or HTTP/2, whichever the client begins with, each request handed to the handler.

use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::world::timeout;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, watch};

use super::activity::Activity;
use super::handler::{Answer, Handler};
use super::listener::Phase;
use super::tasks::Streams;
use super::{MAX_BODY_BYTES, web};
use crate::Failure;
use crate::gateway::{Origin, Scheme};

/// As many requests as the service allows at once on a connection.
const MAX_CONCURRENT_STREAMS: u32 = 20;

/// The most bytes of headers in one request; a session token over many partitions is the longest there is.
const MAX_HEADER_BYTES: u32 = 128 * 1024;

/// The most headers in one HTTP/1.1 request.
const MAX_HEADERS: usize = 200;

/// What may be under way to the server before it has read any of it: enough for an item of the largest size.
const STREAM_WINDOW: u32 = 2 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 8 * 1024 * 1024;

/// How long the body of a request may take to come.
const BODY_TIME: Duration = Duration::from_secs(60);

/// What the requests of a connection share.
struct Shared<H> {
    handler: Arc<H>,
    scheme: Scheme,
    peer: SocketAddr,
    /// Told when the connection is to end at once.
    cut: Notify,
    activity: Arc<Activity>,
}

/// Whose connection it is, and how it came.
pub(super) struct Caller {
    pub(super) scheme: Scheme,
    pub(super) peer: SocketAddr,
    pub(super) activity: Arc<Activity>,
}

/// Serves until the client is done or does nothing for too long, or finishes what is under way when told to stop.
pub(super) async fn serve<S, H>(stream: S, handler: Arc<H>, caller: Caller, mut phase: watch::Receiver<Phase>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let Caller { scheme, peer, activity } = caller;
    let shared =
        Arc::new(Shared { handler, scheme, peer, cut: Notify::new(), activity: Arc::clone(&activity) });
    let of_requests = Arc::clone(&shared);
    let service = service_fn(move |request| answer(Arc::clone(&of_requests), request));
    let builder = builder();
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // A broken connection is the client's to report; nothing is lost that was acknowledged.
        _ = connection.as_mut() => return,
        // Returning drops the socket.
        () = shared.cut.notified() => return,
        has_asked = activity.unused() => {
            if !has_asked {
                return;
            }
            connection.as_mut().graceful_shutdown();
        }
        _ = phase.changed() => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = connection => {}
        () = shared.cut.notified() => {}
        // One that is left over with half a request.
        _ = activity.unused() => {}
    }
}

fn builder() -> Builder<Streams> {
    let mut builder = Builder::new(Streams);
    builder.http1().max_buf_size(MAX_HEADER_BYTES as usize).max_headers(MAX_HEADERS);
    builder
        .http2()
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
        .max_header_list_size(MAX_HEADER_BYTES)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    builder
}

async fn answer<H: Handler>(
    shared: Arc<Shared<H>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let _in_flight = shared.activity.begin();
    let (parts, body) = request.into_parts();
    let origin = Origin::of(&parts, shared.scheme, Some(shared.peer));
    let handler = &shared.handler;
    let pass = match handler.admit(&parts, origin) {
        Ok(pass) => pass,
        Err(refusal) => return Ok(refusal.map(Full::new)),
    };
    let refuse = |status, message| Answer::Send(handler.refuse(&parts, origin, status, message));
    let answer = match read(body).await {
        Ok(body) => handler.answer(pass, &parts, body, origin).await,
        Err(BodyFailure::TooLarge) => refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            Failure::too_large(format_args!(
                "the request body is larger than {MAX_BODY_BYTES} bytes (an item or a batch is at most 2 MB)"
            ))
            .message,
        ),
        Err(BodyFailure::Late) => refuse(
            StatusCode::REQUEST_TIMEOUT,
            format!("the request body did not come within {} seconds", BODY_TIME.as_secs()),
        ),
        Err(BodyFailure::Broken(error)) => {
            refuse(StatusCode::BAD_REQUEST, format!("the request body could not be read to its end: {error}"))
        }
    };
    match answer {
        Answer::Send(mut response) => {
            web::answer(&parts, response.headers_mut());
            Ok(response.map(Full::new))
        }
        Answer::Cut => {
            shared.cut.notify_one();
            // The connection is dropped, and this with it.
            pending().await
        }
    }
}

enum BodyFailure {
    TooLarge,
    Late,
    Broken(Box<dyn std::error::Error + Send + Sync>),
}

async fn read(body: Incoming) -> Result<Bytes, BodyFailure> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
        return Err(BodyFailure::TooLarge);
    }
    match timeout(BODY_TIME, Limited::new(body, MAX_BODY_BYTES).collect()).await {
        Err(_) => Err(BodyFailure::Late),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyFailure::TooLarge),
        Ok(Err(error)) => Err(BodyFailure::Broken(error)),
    }
}
