//! A connection that speaks HTTP/2: streams are taken from `h2` itself.
//!
//! A request without a body that can be answered at once, as a read of an item can, is answered where it is found,
//! without a task of its own. Every other has one, which ends when its client leaves.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream};
use http::header::{CONTENT_LENGTH, DATE};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use tokio::io::{AsyncRead, AsyncWrite};

use super::exchange::{BodyFailure, Shared, answer};
use super::handler::Handler;
use super::tasks::start_stream;
use super::{MAX_BODY_BYTES, MAX_HEADER_BYTES, date};

/// As many requests as the service allows at once on a connection.
const MAX_CONCURRENT_STREAMS: u32 = 20;

/// What may be under way to the server before it has read any of it: enough for an item of the largest size.
const STREAM_WINDOW: u32 = 2 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 8 * 1024 * 1024;

/// An answer that is being made.
type Making = Pin<Box<dyn Future<Output = Option<Response<Bytes>>> + Send>>;

/// Serves until the client is done, or finishes what is under way when told to.
pub(super) async fn serve<S, H>(stream: S, shared: Arc<Shared<H>>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
        .max_header_list_size(MAX_HEADER_BYTES)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    // A broken connection is the client's to report; nothing is lost that was acknowledged.
    let Ok(mut connection) = builder.handshake::<_, Bytes>(stream).await else { return };
    let mut finish = pin!(shared.finish.notified());
    let mut is_finishing = false;
    loop {
        let accepted = poll_fn(|context| {
            if !is_finishing && finish.as_mut().poll(context).is_ready() {
                is_finishing = true;
                connection.graceful_shutdown();
            }
            connection.poll_accept(context)
        });
        match accepted.await {
            Some(Ok((request, respond))) => begin(&shared, request, respond).await,
            Some(Err(_)) | None => return,
        }
    }
}

/// Answers a request at once if that can be, and otherwise in a task.
async fn begin<H: Handler>(
    shared: &Arc<Shared<H>>,
    request: Request<RecvStream>,
    respond: SendResponse<Bytes>,
) {
    let (parts, body) = request.into_parts();
    let is_head = parts.method == Method::HEAD;
    let has_body = !body.is_end_stream();
    let length = declared_length(&parts.headers);
    let making: Making = Box::pin(answer(Arc::clone(shared), parts, read(body, length)));
    let mut exchange = Exchange { making: Some(making), respond, is_head };
    if has_body || !is_done_at_once(&mut exchange).await {
        start_stream(exchange);
    }
}

async fn is_done_at_once<E: Future<Output = ()> + Unpin>(exchange: &mut E) -> bool {
    poll_fn(|context| Poll::Ready(Pin::new(&mut *exchange).poll(context).is_ready())).await
}

/// A request under way. It ends when its client leaves.
struct Exchange {
    /// `None` once the connection is to end instead.
    making: Option<Making>,
    respond: SendResponse<Bytes>,
    is_head: bool,
}

impl Future for Exchange {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let made = self.making.as_mut().map(|making| making.as_mut().poll(context));
        match made {
            Some(Poll::Ready(Some(response))) => {
                self.send(response);
                return Poll::Ready(());
            }
            // The client hears nothing of this stream, not even that it was given up.
            Some(Poll::Ready(None)) => self.making = None,
            Some(Poll::Pending) | None => {}
        }
        self.respond.poll_reset(context).map(|_| ())
    }
}

impl Exchange {
    fn send(&mut self, response: Response<Bytes>) {
        let (mut parts, body) = response.into_parts();
        parts.headers.entry(DATE).or_insert_with(date::now);
        let is_empty = body.is_empty() || self.is_head;
        if !body.is_empty() {
            parts.headers.entry(CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(body.len()));
        }
        // A client that has left does not want to know.
        match self.respond.send_response(Response::from_parts(parts, ()), is_empty) {
            Ok(mut stream) if !is_empty => {
                let _ = stream.send_data(body, true);
            }
            Ok(_) => {}
            Err(_) => self.respond.send_reset(Reason::INTERNAL_ERROR),
        }
    }
}

fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn read(mut body: RecvStream, declared: Option<usize>) -> Result<Bytes, BodyFailure> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if declared.is_some_and(|length| length > MAX_BODY_BYTES) {
        return Err(BodyFailure::TooLarge);
    }
    let mut whole = BytesMut::new();
    let mut first = None;
    while let Some(piece) = body.data().await {
        let piece = piece.map_err(|error| BodyFailure::Broken(Box::new(error)))?;
        let held = whole.len() + first.as_ref().map_or(0, Bytes::len);
        if held + piece.len() > MAX_BODY_BYTES {
            return Err(BodyFailure::TooLarge);
        }
        // What was taken makes room for as much.
        let released = body.flow_control().release_capacity(piece.len());
        released.map_err(|error| BodyFailure::Broken(Box::new(error)))?;
        match first.take() {
            // The usual body is one piece, and is not copied.
            None if whole.is_empty() => first = Some(piece),
            None => whole.extend_from_slice(&piece),
            Some(before) => {
                whole.reserve(declared.unwrap_or(0).max(before.len() + piece.len()));
                whole.extend_from_slice(&before);
                whole.extend_from_slice(&piece);
            }
        }
    }
    Ok(first.unwrap_or_else(|| whole.freeze()))
}
