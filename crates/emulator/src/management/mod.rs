//! The management API: what [`Control`] can do, as JSON over HTTP on a port of its own.
//!
//! It decides nothing. It asks for no key, so it listens on this machine only unless it is told otherwise, and it turns
//! away what a web page sends.

mod bodies;
mod routes;

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;
use serde_json::json;

use crate::control::Control;
use crate::gateway::Origin;
use crate::server::{Answer, Handler, Visitors};

/// The management API of an account.
pub(crate) struct Management {
    control: Arc<Control>,
    visitors: Visitors,
}

/// What was asked for, done.
struct Done {
    status: StatusCode,
    body: Vec<u8>,
}

impl Done {
    fn ok(body: &impl Serialize) -> Self {
        Self::with(StatusCode::OK, body)
    }

    fn made(body: &impl Serialize) -> Self {
        Self::with(StatusCode::CREATED, body)
    }

    fn with(status: StatusCode, body: &impl Serialize) -> Self {
        let mut body = serde_json::to_vec(body).expect("what is answered here has text for keys");
        // A shell's prompt belongs on the next line.
        body.push(b'\n');
        Self { status, body }
    }
}

impl Management {
    pub(crate) fn new(control: Arc<Control>, visitors: Visitors) -> Self {
        Self { control, visitors }
    }
}

impl Handler for Management {
    type Pass = ();

    fn admit(&self, request: &Parts, origin: Origin<'_>) -> Result<(), Box<Response<Bytes>>> {
        let allowed = self.visitors.check(origin.authority, &request.headers);
        allowed.map_err(|failure| Box::new(refusal(failure.status.code(), failure.message)))
    }

    async fn answer(self: &Arc<Self>, (): (), request: &Parts, body: Bytes, _origin: Origin<'_>) -> Answer {
        let response = match self.dispatch(&request.method, request.uri.path(), &body).await {
            Ok(done) => respond(done.status, done.body),
            Err(failure) => refusal(failure.status.code(), failure.message),
        };
        Answer::Send(response)
    }

    fn refuse(&self, _: &Parts, _: Origin<'_>, status: StatusCode, message: String) -> Response<Bytes> {
        refusal(status, message)
    }
}

fn refusal(status: StatusCode, message: String) -> Response<Bytes> {
    let code: String = status.canonical_reason().unwrap_or("Failure").split(' ').collect();
    let Done { status, body } = Done::with(status, &json!({ "code": code, "message": message }));
    respond(status, body)
}

fn respond(status: StatusCode, body: Vec<u8>) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
