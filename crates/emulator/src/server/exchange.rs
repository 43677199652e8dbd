//! One request and its answer, whichever version of HTTP they travel by.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use tokio::sync::Notify;

use super::activity::Activity;
use super::handler::{Answer, Handler};
use super::{MAX_BODY_BYTES, web};
use crate::Failure;
use crate::gateway::{Origin, Scheme};
use crate::world::timeout;

/// How long the body of a request may take to come.
const BODY_TIME: Duration = Duration::from_secs(60);

/// What the requests of a connection share.
pub(super) struct Shared<H> {
    pub(super) handler: Arc<H>,
    pub(super) scheme: Scheme,
    pub(super) peer: SocketAddr,
    pub(super) activity: Arc<Activity>,
    /// Told when the connection is to end at once.
    pub(super) cut: Notify,
    /// Told when the connection is to take no more requests and end with those under way.
    pub(super) finish: Notify,
}

/// Why there is no body.
pub(super) enum BodyFailure {
    TooLarge,
    Broken(Box<dyn std::error::Error + Send + Sync>),
}

/// The answer to a request; `None` if the connection ends instead, which it was told to.
pub(super) async fn answer<H: Handler>(
    shared: Arc<Shared<H>>,
    parts: Parts,
    body: impl Future<Output = Result<Bytes, BodyFailure>>,
) -> Option<Response<Bytes>> {
    let _in_flight = shared.activity.begin();
    let origin = Origin::of(&parts, shared.scheme, Some(shared.peer));
    let handler = &shared.handler;
    let pass = match handler.admit(&parts, origin) {
        Ok(pass) => pass,
        Err(refusal) => return Some(*refusal),
    };
    let refuse = |status, message| Answer::Send(handler.refuse(&parts, origin, status, message));
    let body = if handler.wants_body(&pass) { timeout(BODY_TIME, body).await } else { Ok(Ok(Bytes::new())) };
    let answer = match body {
        Ok(Ok(body)) => handler.answer(pass, &parts, body, origin).await,
        Ok(Err(BodyFailure::TooLarge)) => refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            Failure::too_large(format_args!(
                "the request body is larger than {MAX_BODY_BYTES} bytes (an item or a batch is at most 2 MB)"
            ))
            .message,
        ),
        Err(_) => refuse(
            StatusCode::REQUEST_TIMEOUT,
            format!("the request body did not come within {} seconds", BODY_TIME.as_secs()),
        ),
        Ok(Err(BodyFailure::Broken(error))) => {
            refuse(StatusCode::BAD_REQUEST, format!("the request body could not be read to its end: {error}"))
        }
    };
    match answer {
        Answer::Send(mut response) => {
            web::answer(&parts, response.headers_mut());
            Some(response)
        }
        Answer::Cut => {
            shared.cut.notify_one();
            None
        }
    }
}
