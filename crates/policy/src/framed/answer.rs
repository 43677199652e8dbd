//! What a Gateway 2.0 answers.

use bytes::Bytes;
use cosmonaut_wire::headers;
use cosmonaut_wire::rntbd::{RESPONSE_HEADERS, ResponseFrame, response};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

/// What was answered to a frame.
#[derive(Debug)]
pub enum FramedAnswer {
    /// The answer in the frame, as it would have come by REST.
    Answer(Response<Bytes>),
    /// Something else: whether the request was carried out is not known.
    NoFrame(StatusCode),
}

/// Reads an answer: what its frame says counts. Without a frame it is not the service's, whatever its status: a gateway that
/// cannot ask, or something before it.
pub fn read_framed_answer(answer: Response<Bytes>) -> FramedAnswer {
    let (mut parts, body) = answer.into_parts();
    let Ok(frame) = ResponseFrame::parse(&body) else {
        return FramedAnswer::NoFrame(parts.status);
    };
    let Ok(status) = StatusCode::from_u16(frame.status) else {
        return FramedAnswer::NoFrame(parts.status);
    };
    parts.status = status;
    parts.headers.remove(CONTENT_TYPE);
    parts.headers.remove(CONTENT_LENGTH);
    read_headers(&frame, &mut parts.headers);
    let payload = frame.payload.map_or_else(Bytes::new, |payload| body.slice_ref(payload));
    FramedAnswer::Answer(Response::from_parts(parts, payload))
}

/// The tokens of an answer, each as its header.
fn read_headers(frame: &ResponseFrame<'_>, into: &mut HeaderMap) {
    into.reserve(16);
    let (mut session, mut range) = (None, None);
    // Both are in the order of the tokens' numbers, if the answer is the service's.
    let mut carried = RESPONSE_HEADERS.iter().cycle();
    for (token, value) in frame.tokens() {
        if token.id == response::SESSION_TOKEN.id {
            session = value.text();
            continue;
        }
        if token.id == response::PARTITION_KEY_RANGE_ID.id {
            range = value.text();
        }
        let found =
            carried.by_ref().take(RESPONSE_HEADERS.len()).find(|carried| carried.token.id == token.id);
        if let Some((carried, value)) =
            found.and_then(|carried| Some((carried, carried.header_value(value)?)))
        {
            into.insert(&carried.header, value);
        }
    }
    // The partition of a session token is said apart.
    let session = session.map(|session| match range {
        Some(range) if !session.contains(':') => HeaderValue::try_from(format!("{range}:{session}")),
        Some(_) | None => HeaderValue::try_from(session),
    });
    if let Some(Ok(session)) = session {
        into.insert(headers::SESSION_TOKEN, session);
    }
}
