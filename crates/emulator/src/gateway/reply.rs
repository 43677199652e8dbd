//! What a handler answers, and the headers that every answer carries.

use bytes::Bytes;
use cosmonaut_wire::binary::{Features, from_text};
use cosmonaut_wire::model::ErrorBody;
use cosmonaut_wire::{CosmosStatus, headers};
use http::{HeaderMap, HeaderName, HeaderValue, Response, header};

use crate::engine::Hold;
use crate::storage::Commit;
use crate::{Failure, World};

/// The headers that a reply about an item has, rounded up: one allocation holds them.
const HEADERS: usize = 24;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const SERVICE_VERSION: HeaderValue =
    HeaderValue::from_static(concat!("version=cosmonaut/", env!("CARGO_PKG_VERSION")));
const GATEWAY_VERSION: HeaderValue = HeaderValue::from_static("2.0.0");

/// An answer before it has the headers that all have in common.
pub(crate) struct Reply {
    status: CosmosStatus,
    headers: HeaderMap,
    body: Bytes,
    charge: f64,
    commit: Commit,
    more_commits: Vec<Commit>,
    hold: Hold,
    /// Whether the message in the body ends with the activity id.
    names_activity: bool,
}

impl Reply {
    /// An answer with a body, which is JSON or empty.
    pub(super) fn new(status: CosmosStatus, body: impl Into<Bytes>) -> Self {
        let headers = HeaderMap::with_capacity(HEADERS);
        Self {
            status,
            headers,
            body: body.into(),
            charge: 0.0,
            commit: Commit::done(),
            more_commits: Vec::new(),
            hold: Hold::none(),
            names_activity: false,
        }
    }

    /// The answer to a request that cannot be done.
    pub(super) fn failure(failure: &Failure) -> Self {
        let mut reply = Self::new(failure.status, error_body(failure)).charged(failure.charge);
        if let Some(delay) = failure.retry_after_ms {
            reply.number(headers::RETRY_AFTER_MS, delay);
        }
        if let Some(seen) = &failure.seen {
            reply.of_range(&seen.range, seen.standing.clone());
            reply.commit = seen.commit.clone();
        }
        // So it is with what the service's query engine refuses.
        reply.names_activity = failure.message.starts_with("Message: {");
        reply
    }

    pub(super) fn charged(mut self, charge: f64) -> Self {
        self.charge = charge;
        self
    }

    pub(super) fn charge(&self) -> f64 {
        self.charge
    }

    pub(super) fn after(mut self, commit: Commit) -> Self {
        self.commit = commit;
        self
    }

    pub(super) fn after_all(mut self, commits: Vec<Commit>) -> Self {
        self.more_commits = commits;
        self
    }

    pub(super) fn held(mut self, hold: Hold) -> Self {
        self.hold = hold;
        self
    }

    /// The answer that may go out: this one, once all that it tells of is safe and where it has to be.
    pub(super) async fn safe(mut self) -> Self {
        let first = std::mem::take(&mut self.commit);
        for commit in std::iter::once(first).chain(std::mem::take(&mut self.more_commits)) {
            if let Err(failure) = commit.await {
                return Self::failure(&failure);
            }
        }
        match std::mem::take(&mut self.hold).wait().await {
            Ok(()) => self,
            Err(failure) => Self::failure(&failure),
        }
    }

    /// The same answer with its body as binary JSON, if it is what was asked for and no refusal.
    ///
    /// A body that is nested too deeply for that stays text, which every client reads too.
    pub(super) fn in_binary(mut self, features: Features) -> Self {
        if self.status.is_success()
            && !self.body.is_empty()
            && let Ok(binary) = from_text(&self.body, features)
        {
            self.body = binary.into();
        }
        self
    }

    /// Leaves the body out: `Prefer: return=minimal`.
    pub(super) fn without_body(mut self) -> Self {
        self.body = Bytes::new();
        self
    }

    /// Sets a header to a text; text that no header can hold is left out.
    pub(super) fn text(&mut self, name: HeaderName, value: &str) {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
    }

    /// The same without a copy.
    pub(super) fn owned(&mut self, name: HeaderName, value: String) {
        if let Ok(value) = HeaderValue::try_from(value) {
            self.headers.insert(name, value);
        }
    }

    /// Sets a header to a number.
    pub(super) fn number(&mut self, name: HeaderName, value: u64) {
        self.headers.insert(name, HeaderValue::from(value));
    }

    pub(super) fn set(&mut self, name: HeaderName, value: HeaderValue) {
        self.headers.insert(name, value);
    }

    /// Answers under the activity id of the request, if it has one.
    pub(super) fn traced(mut self, request: &HeaderMap) -> Self {
        if let Some(id) = request.get(headers::ACTIVITY_ID).filter(|id| is_uuid(id.as_bytes())) {
            self.set(headers::ACTIVITY_ID, unique(id.clone()));
        }
        self
    }

    /// The response, with the headers that all have.
    pub(super) fn finish(mut self, world: &dyn World, micros: u64) -> Response<Bytes> {
        if !self.body.is_empty() {
            self.headers.insert(header::CONTENT_TYPE, JSON);
        }
        if self.status.sub_status() != 0 {
            self.headers.insert(headers::SUBSTATUS, HeaderValue::from(self.status.sub_status()));
        }
        self.headers.insert(headers::REQUEST_CHARGE, charge(self.charge));
        let activity = self.headers.entry(headers::ACTIVITY_ID).or_insert_with(|| unique(activity_id(world)));
        if self.names_activity {
            self.body = with_activity(&self.body, activity.to_str().unwrap_or_default());
        }
        self.headers.insert(headers::SERVICE_VERSION, SERVICE_VERSION);
        self.headers.insert(headers::GATEWAY_VERSION, GATEWAY_VERSION);
        self.headers.insert(headers::REQUEST_DURATION_MS, unique(milliseconds(micros)));
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status.code();
        *response.headers_mut() = self.headers;
        response
    }
}

fn error_body(failure: &Failure) -> Bytes {
    // Clients treat 304 as success without a body; every other failure explains itself.
    if failure.status == CosmosStatus::NOT_MODIFIED {
        return Bytes::new();
    }
    let mut body = ErrorBody::new(error_code(failure.status), failure.message.as_str());
    body.additional_error_info = failure.additional_info.clone().map(Into::into);
    serde_json::to_vec(&body).expect("strings have a JSON form").into()
}

/// The error with the activity id after its message.
fn with_activity(body: &[u8], activity: &str) -> Bytes {
    let Ok(mut error) = ErrorBody::parse(body) else { return Bytes::copy_from_slice(body) };
    error.message.push_str("\r\nActivityId: ");
    error.message.push_str(activity);
    serde_json::to_vec(&error).expect("strings have a JSON form").into()
}

/// The word by which the service calls a status: the standard phrase without blanks.
fn error_code(status: CosmosStatus) -> String {
    match status.code().as_u16() {
        // The two whose words differ from the phrases.
        413 => "RequestEntityTooLarge".to_owned(),
        449 => "RetryWith".to_owned(),
        code => match status.code().canonical_reason() {
            Some(phrase) => phrase.split([' ', '-']).collect(),
            None => code.to_string(),
        },
    }
}

/// Keeps a value that hardly ever comes again out of HTTP/2's compression table, where it would only drive out those
/// that do. That is what marking a value as sensitive does; nothing here is secret.
fn unique(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

fn charge(charge: f64) -> HeaderValue {
    const POINT_READ: HeaderValue = HeaderValue::from_static("1");
    if charge == 1.0 {
        return POINT_READ;
    }
    let rounded = (charge * 100.0).round() / 100.0;
    HeaderValue::try_from(rounded.to_string()).unwrap_or(POINT_READ)
}

fn milliseconds(micros: u64) -> HeaderValue {
    let text = format!("{}.{:03}", micros / 1000, micros % 1000);
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("0"))
}

fn is_uuid(text: &[u8]) -> bool {
    let fits = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.iter().enumerate().all(fits)
}

/// A random version 4 UUID.
fn activity_id(world: &dyn World) -> HeaderValue {
    const VERSION: u128 = 0x4 << 76;
    const VARIANT: u128 = 0x8 << 60;
    let random = u128::from(world.random()) << 64 | u128::from(world.random());
    let bits = random & !(0xF << 76) & !(0xC << 60) | VERSION | VARIANT;
    let mut text = [b'-'; 36];
    let mut shift = 128;
    for (at, place) in text.iter_mut().enumerate() {
        if !matches!(at, 8 | 13 | 18 | 23) {
            shift -= 4;
            *place = b"0123456789abcdef"[(bits >> shift & 0xF) as usize];
        }
    }
    HeaderValue::from_bytes(&text).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemWorld;

    #[test]
    fn a_failure_has_the_services_word_and_a_message() {
        for (status, code) in [
            (CosmosStatus::BAD_REQUEST, "BadRequest"),
            (CosmosStatus::READ_SESSION_NOT_AVAILABLE, "NotFound"),
            (CosmosStatus::PRECONDITION_FAILED, "PreconditionFailed"),
            (CosmosStatus::REQUEST_ENTITY_TOO_LARGE, "RequestEntityTooLarge"),
            (CosmosStatus::REQUEST_RATE_TOO_LARGE, "TooManyRequests"),
            (CosmosStatus::retry_with(), "RetryWith"),
        ] {
            let response = Reply::failure(&Failure::new(status, "why")).finish(&SystemWorld::new(), 0);
            let body = ErrorBody::parse(response.body()).unwrap();
            assert_eq!((body.code.as_str(), body.message.as_str()), (code, "why"));
            assert_eq!(CosmosStatus::from_response(response.status(), response.headers()), status);
        }
    }

    #[test]
    fn what_has_not_changed_has_no_body() {
        let failure = Failure::new(CosmosStatus::NOT_MODIFIED, "the same");
        assert!(Reply::failure(&failure).finish(&SystemWorld::new(), 0).body().is_empty());
    }

    #[test]
    fn numbers_are_written_as_clients_read_them() {
        for (given, written) in [(1.0, "1"), (5.714_285, "5.71"), (0.0, "0"), (1234.5, "1234.5")] {
            assert_eq!(charge(given), written);
        }
        for (micros, written) in [(0, "0.000"), (1_234, "1.234"), (61_000_050, "61000.050")] {
            assert_eq!(milliseconds(micros), written);
        }
    }

    #[test]
    fn activity_ids_are_uuids_of_version_4() {
        let id = activity_id(&SystemWorld::new());
        let text = id.to_str().unwrap();
        let lengths: Vec<_> = text.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{text}");
        assert!(text[14..].starts_with('4') && "89ab".contains(&text[19..20]), "{text}");
    }
}
