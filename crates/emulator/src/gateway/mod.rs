//! HTTP requests in, HTTP responses out: who may ask, what is asked, and how the answer is written.
//!
//! One file per kind of resource; [`action`] lists what they do, and [`mod@route`] leads to it. Handlers are synchronous: a request
//! is done when its handler returns; only making it durable, and what other regions must have before or after it, is
//! awaited. What the operations do is the engine's.

mod account;
mod action;
mod addresses;
mod admission;
mod auth;
mod batch;
mod call;
mod change_feed;
mod conflicts;
mod consistency;
mod containers;
mod databases;
mod items;
mod located;
mod metadata;
mod offers;
mod origin;
mod queries;
mod ranges;
mod reply;
mod route;
mod target;
mod unsupported;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use cosmonaut_wire::CosmosStatus;
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};

pub(crate) use addresses::{Addresses, reachable};
pub(crate) use auth::Access;
pub(crate) use origin::{Origin, Scheme};

use crate::engine::{Engine, RegionId};
use crate::faults::{Faults, Strike, Verdict};
use crate::server::{Answer, Handler};
use crate::{Failure, World};
use call::Call;
use reply::Reply;
use route::route;
use target::Aim;

/// The account as one region answers for it.
pub(crate) struct Gateway {
    pub(crate) engine: Arc<Engine>,
    pub(crate) world: Arc<dyn World>,
    pub(crate) access: Arc<Access>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) addresses: Arc<Addresses>,
    pub(crate) region: RegionId,
    /// How many requests came in.
    pub(crate) requests: AtomicU64,
    /// What was charged for them, in hundredths of a request unit.
    pub(crate) charged: AtomicU64,
}

impl Handler for Gateway {
    /// Answers a request, once what it wrote is safe, unless a fault does something else to it.
    async fn answer(&self, request: &Parts, body: Bytes, origin: Origin<'_>) -> Answer {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if self.faults.is_empty() {
            return Answer::Send(self.respond(request, body, origin).await);
        }
        // Boxed, so that requests which no fault looks at do not carry the room for it.
        Box::pin(self.answer_under_faults(request, body, origin)).await
    }

    fn refuse(&self, status: StatusCode, message: String) -> Response<Bytes> {
        Reply::failure(&Failure::new(status.into(), message)).finish(&*self.world, 0)
    }
}

impl Gateway {
    async fn answer_under_faults(&self, request: &Parts, body: Bytes, origin: Origin<'_>) -> Answer {
        match self.judge(request, &body).await {
            Verdict::Pass => Answer::Send(self.respond(request, body, origin).await),
            Verdict::Fail(failure) => {
                Answer::Send(Reply::failure(&failure).traced(&request.headers).finish(&*self.world, 0))
            }
            Verdict::Cut => Answer::Cut,
            Verdict::DropResponse => {
                self.respond(request, body, origin).await;
                Answer::Cut
            }
            Verdict::Duplicate => {
                self.respond(request, body.clone(), origin).await;
                Answer::Send(self.respond(request, body, origin).await)
            }
        }
    }

    /// Lets a request wait as long as the faults want it to, and says how it is to end.
    async fn judge(&self, request: &Parts, body: &Bytes) -> Verdict {
        loop {
            let strike = self.faults.strike(self.region, &Aim::new(self, request, body));
            match strike {
                Strike::Hang(id) => self.faults.lifted(&[id]).await,
                Strike::Slow(delay, ids, verdict) => {
                    tokio::select! {
                        () = tokio::time::sleep(delay) => {}
                        () = self.faults.lifted(&ids) => {}
                    }
                    return verdict;
                }
                Strike::Now(verdict) => return verdict,
            }
        }
    }

    async fn respond(&self, request: &Parts, body: Bytes, origin: Origin<'_>) -> Response<Bytes> {
        let started = self.world.now();
        let reply = self.handle(request, body, origin).await.safe().await.traced(&request.headers);
        self.charged.fetch_add((reply.charge() * 100.0).round() as u64, Ordering::Relaxed);
        reply.finish(&*self.world, self.world.now().micros_since(started))
    }

    async fn handle(&self, request: &Parts, body: Bytes, origin: Origin<'_>) -> Reply {
        if request.method == Method::OPTIONS {
            return options();
        }
        self.try_handle(request, body, origin).await.unwrap_or_else(|failure| Reply::failure(&failure))
    }

    async fn try_handle(&self, request: &Parts, body: Bytes, origin: Origin<'_>) -> Result<Reply, Failure> {
        let path = self.admit(request)?;
        let action = route(&request.method, &path, &request.headers)?;
        let call = Call { path, headers: &request.headers, body, origin };
        self.ready(action, &call).await?;
        action.run(self, &call)
    }
}

/// What may be asked at all. Clients of an account never ask; browsers and probes do.
fn options() -> Reply {
    let mut reply = Reply::new(CosmosStatus::NO_CONTENT, Bytes::new());
    reply.set(header::ALLOW, HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
    reply
}
