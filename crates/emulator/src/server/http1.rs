//! A connection that speaks HTTP/1.1.

use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::exchange::{BodyFailure, Shared, answer};
use super::handler::Handler;
use super::{MAX_BODY_BYTES, MAX_HEADER_BYTES};

/// The most headers in one request.
const MAX_HEADERS: usize = 200;

/// Serves until the client is done, or finishes what is under way when told to.
pub(super) async fn serve<S, H>(stream: S, shared: Arc<Shared<H>>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let of_requests = Arc::clone(&shared);
    let service = service_fn(move |request: Request<Incoming>| {
        let shared = Arc::clone(&of_requests);
        async move {
            let (parts, body) = request.into_parts();
            match answer(shared, parts, read(body)).await {
                Some(response) => Ok::<_, Infallible>(Response::map(response, Full::new)),
                // The connection is dropped, and this with it.
                None => pending().await,
            }
        }
    });
    let mut builder = Builder::new();
    builder.max_buf_size(MAX_HEADER_BYTES as usize).max_headers(MAX_HEADERS);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // A broken connection is the client's to report; nothing is lost that was acknowledged.
        _ = connection.as_mut() => return,
        () = shared.finish.notified() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn read(body: Incoming) -> Result<Bytes, BodyFailure> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
        return Err(BodyFailure::TooLarge);
    }
    match Limited::new(body, MAX_BODY_BYTES).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(BodyFailure::TooLarge),
        Err(error) => Err(BodyFailure::Broken(error)),
    }
}
