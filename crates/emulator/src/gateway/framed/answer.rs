//! An answer as a frame.

use bytes::Bytes;
use cosmonaut_wire::rntbd::{FrameError, FrameWriter, Guid, RESPONSE_HEADERS, response};
use cosmonaut_wire::{CosmosStatus, headers};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

/// The bytes of a frame before its payload, roughly.
const ROOM: usize = 512;

/// The same answer with all that it says in a frame. Its HTTP status is the frame's.
pub(super) fn framed(answer: Response<Bytes>) -> Response<Bytes> {
    let (mut parts, body) = answer.into_parts();
    let activity = parts.headers.get(headers::ACTIVITY_ID).cloned();
    let frame = encoded(parts.status, &parts.headers, &body).unwrap_or_else(|error| {
        // What was done was done; only what is to be said of it does not fit.
        parts.status = StatusCode::INTERNAL_SERVER_ERROR;
        unsayable(&parts.headers, error)
    });
    let mut framed = Response::new(Bytes::from(frame));
    *framed.status_mut() = parts.status;
    let headers = framed.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    if let Some(activity) = activity {
        headers.insert(headers::ACTIVITY_ID, activity);
    }
    framed
}

/// Tokens in the order of their ids, as the service has them.
fn encoded(status: StatusCode, said: &HeaderMap, body: &[u8]) -> Result<Vec<u8>, FrameError> {
    let mut bytes = Vec::with_capacity(ROOM + body.len());
    let payload = Some(body).filter(|body| !body.is_empty());
    let mut frame = FrameWriter::response(&mut bytes, status.as_u16(), activity(said), payload);
    frame.payload_present();
    let mut session = said.get(headers::SESSION_TOKEN).and_then(|token| token.to_str().ok());
    for carried in &RESPONSE_HEADERS {
        if carried.token.id > response::SESSION_TOKEN.id
            && let Some(token) = session.take()
        {
            frame.text(&response::SESSION_TOKEN, without_range(token))?;
        }
        if carried.token.id == response::TRANSPORT_REQUEST_ID.id {
            // Clients take no answer without. It counts tries behind the gateway, of which there is one.
            frame.number(&response::TRANSPORT_REQUEST_ID, 1)?;
        } else if let Some(value) = said.get(&carried.header) {
            carried.push(&mut frame, value)?;
        }
    }
    frame.finish()?;
    Ok(bytes)
}

/// The partition of a session token is in a token of its own. Only an answer about several has them with it.
fn without_range(token: &str) -> &str {
    match token.split_once(':') {
        Some((_, bare)) if !token.contains(',') => bare,
        _ => token,
    }
}

fn activity(said: &HeaderMap) -> Guid {
    let id = said.get(headers::ACTIVITY_ID).and_then(|id| id.to_str().ok()?.parse().ok());
    id.unwrap_or_default()
}

fn unsayable(said: &HeaderMap, error: FrameError) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ROOM);
    let status = CosmosStatus::INTERNAL_SERVER_ERROR.code().as_u16();
    let message =
        format!(r#"{{"code":"InternalServerError","message":"the answer fits into no frame: {error}"}}"#);
    let mut frame = FrameWriter::response(&mut bytes, status, activity(said), Some(message.as_bytes()));
    frame.payload_present();
    frame.number(&response::TRANSPORT_REQUEST_ID, 1).expect("a number of four bytes takes 1");
    frame.finish().expect("a message fits into a frame");
    bytes
}
