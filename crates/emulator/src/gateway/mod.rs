//! HTTP requests in, HTTP responses out: who may ask, what is asked, and how the answer is written.
//!
//! One file per kind of resource; [`action`] lists what they do, and [`mod@route`] leads to it. Handlers are
//! synchronous: a request is done when its handler returns; only making it durable, and what other regions must have before
//! or after it, is awaited. Handlers that may take long run on threads of their own ([`mod@length`]). What the operations
//! do is the engine's.

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
mod credentials;
mod databases;
mod entra;
mod framed;
mod global;
mod item_format;
mod items;
mod length;
mod located;
mod metadata;
mod offers;
mod opening;
mod origin;
mod queries;
mod ranges;
mod reply;
mod resource_token;
mod resources;
mod route;
#[cfg(feature = "scripts")]
mod scripts;
mod target;
#[cfg(not(feature = "scripts"))]
mod unsupported;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use cosmonaut_wire::CosmosStatus;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};

pub(crate) use addresses::{Addresses, reachable};
pub(crate) use auth::Access;
pub use credentials::AccountKey;
pub(crate) use credentials::{Credentials, TokenRule};
pub use entra::{EntraKeys, EntraKeysError, EntraTokens};
pub(crate) use framed::FramedGateway;
pub(crate) use global::Global;
pub(crate) use origin::{Origin, Scheme};

use crate::engine::{Engine, RegionId};
use crate::faults::{Faults, Strike, Struck, Verdict};
use crate::request_log::{self, Asked};
use crate::server::{Answer, Handler, Visitors, Workers};
use crate::{Failure, Pace, World};
use admission::Admitted;
use call::{Call, OwnedCall};
use item_format::text_of;
use length::Length;
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
    pub(crate) workers: Arc<Workers>,
    pub(crate) visitors: Arc<Visitors>,
    /// Hears of every request.
    pub(crate) log: Option<request_log::Listener>,
    pub(crate) region: RegionId,
    /// Whether it answers for the account and stands for no region.
    pub(crate) is_global: bool,
    /// Which scripts have used too much.
    #[cfg(feature = "scripts")]
    pub(crate) breaches: Arc<crate::scripts::Breaches>,
    /// How many requests came in.
    pub(crate) requests: AtomicU64,
    /// What was charged for them, in hundredths of a request unit.
    pub(crate) charged: AtomicU64,
}

impl Handler for Gateway {
    type Pass = Pass;

    /// Whatever would be refused anyway is refused before its body is read. Where a fault wants to see it first, it hears
    /// of that after the fault.
    fn admit(&self, request: &Parts, origin: Origin<'_>) -> Result<Pass, Box<Response<Bytes>>> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let admitted = self.visitors.check(origin.authority, &request.headers).and_then(|()| {
            if request.method == Method::OPTIONS {
                return Ok(Pass::Asking);
            }
            match self.check(request) {
                Ok(admitted) => Ok(Pass::Checked(admitted)),
                Err(failure) if self.faults.is_empty() => Err(failure),
                Err(failure) => Ok(Pass::Refused(Box::new(failure))),
            }
        });
        admitted.map_err(|failure| {
            let refusal = Reply::failure(&failure).traced(&request.headers).finish(&*self.world, 0);
            self.tell(self.asked(request, origin), Some(&refusal), Vec::new());
            Box::new(refusal)
        })
    }

    fn wants_body(&self, pass: &Pass) -> bool {
        match pass {
            Pass::Checked(_) => true,
            Pass::Asking | Pass::Refused(_) => false,
        }
    }

    /// Answers a request, once what it wrote is safe, unless a fault does something else to it.
    async fn answer(
        self: &Arc<Self>,
        pass: Pass,
        request: &Parts,
        body: Bytes,
        origin: Origin<'_>,
    ) -> Answer {
        let mut heard = Heard { gateway: self, asked: self.asked(request, origin), struck: Vec::new() };
        let answer = if self.faults.is_empty() {
            self.unless_down(self.respond(pass, request, body, origin).await)
        } else {
            // Boxed, so that requests which no fault looks at do not carry the room for it.
            Box::pin(self.answer_under_faults(pass, request, body, origin, &mut heard.struck)).await
        };
        match &answer {
            Answer::Send(response) => heard.answered(response),
            Answer::Cut => drop(heard),
        }
        answer
    }

    fn refuse(
        &self,
        request: &Parts,
        origin: Origin<'_>,
        status: StatusCode,
        message: String,
    ) -> Response<Bytes> {
        let refusal = self.refusal(&request.headers, status.into(), message);
        self.tell(self.asked(request, origin), Some(&refusal), Vec::new());
        refusal
    }
}

/// A request that is being answered. If its client leaves or is cut off before, that is told.
struct Heard<'g> {
    gateway: &'g Gateway,
    asked: Option<Asked>,
    /// The faults that have struck it so far.
    struck: Vec<Struck>,
}

impl Heard<'_> {
    fn answered(mut self, response: &Response<Bytes>) {
        let struck = std::mem::take(&mut self.struck);
        self.gateway.tell(self.asked.take(), Some(response), struck);
    }
}

impl Drop for Heard<'_> {
    fn drop(&mut self) {
        // Told already, unless it ends here.
        if let Some(asked) = self.asked.take() {
            let mut struck = std::mem::take(&mut self.struck);
            struck.extend(self.gateway.outage().filter(|outage| !struck.contains(outage)));
            self.gateway.tell(Some(asked), None, struck);
        }
    }
}

/// A request that was let in.
#[derive(Clone)]
pub(crate) enum Pass {
    /// It may be answered.
    Checked(Admitted),
    /// It asks what may be asked, as anybody may.
    Asking,
    /// It may not be answered; a fault is to see it before it hears of that.
    Refused(Box<Failure>),
}

impl Gateway {
    /// Notes a request, if anybody wants to hear of it.
    fn asked(&self, request: &Parts, origin: Origin<'_>) -> Option<Asked> {
        self.log.as_ref().map(|log| Asked::new(log, &*self.world, request, origin.peer))
    }

    pub(crate) fn refusal(
        &self,
        asked: &HeaderMap,
        status: CosmosStatus,
        message: String,
    ) -> Response<Bytes> {
        Reply::failure(&Failure::new(status, message)).traced(asked).finish(&*self.world, 0)
    }

    /// The outage that this region is in.
    fn outage(&self) -> Option<Struck> {
        if self.is_global { None } else { self.faults.outage_that_struck(self.region) }
    }

    fn tell(&self, asked: Option<Asked>, answer: Option<&Response<Bytes>>, struck: Vec<Struck>) {
        if let (Some(log), Some(asked)) = (&self.log, asked) {
            let topology = self.engine.topology();
            let region = topology.name(self.region).filter(|_| !self.is_global).cloned();
            log.hear(&asked.answered(&*self.world, region, answer, struck));
        }
    }

    async fn answer_under_faults(
        self: &Arc<Self>,
        pass: Pass,
        request: &Parts,
        body: Bytes,
        origin: Origin<'_>,
        struck: &mut Vec<Struck>,
    ) -> Answer {
        match self.judge(request, &body, struck).await {
            Verdict::Pass => self.unless_down(self.respond(pass, request, body, origin).await),
            Verdict::Fail(failure) => {
                Answer::Send(Reply::failure(&failure).traced(&request.headers).finish(&*self.world, 0))
            }
            Verdict::Cut => Answer::Cut,
            Verdict::DropResponse => {
                self.respond(pass, request, body, origin).await;
                Answer::Cut
            }
            Verdict::Duplicate => {
                self.respond(pass.clone(), request, body.clone(), origin).await;
                Answer::Send(self.respond(pass, request, body, origin).await)
            }
        }
    }

    /// Lets a request wait as long as the faults want it to, and says how it is to end. The faults that strike it are added
    /// to `struck` before it waits, so that they are known if the client leaves.
    async fn judge(&self, request: &Parts, body: &Bytes, struck: &mut Vec<Struck>) -> Verdict {
        let body = text_of(body.clone()).unwrap_or_default();
        loop {
            let strike = self.faults.strike(self.region, &Aim::new(self, request, &body), struck);
            match strike {
                Strike::Hang(id) => self.faults.lifted(&[id]).await,
                Strike::Slow(delay, ids, verdict) => {
                    tokio::select! {
                        () = crate::world::sleep(delay) => {}
                        () = self.faults.lifted(&ids) => {}
                    }
                    return verdict;
                }
                Strike::Now(verdict) => return verdict,
            }
        }
    }

    /// What a region sends. One that has gone down meanwhile says nothing more: what it wrote may have come to no other region.
    fn unless_down(&self, response: Response<Bytes>) -> Answer {
        let may_be_down = !self.is_global && !self.faults.is_empty();
        if may_be_down && self.faults.outage_of(self.region).is_some() {
            Answer::Cut
        } else {
            Answer::Send(response)
        }
    }

    async fn respond(
        self: &Arc<Self>,
        pass: Pass,
        request: &Parts,
        body: Bytes,
        origin: Origin<'_>,
    ) -> Response<Bytes> {
        let started = self.world.now();
        let reply = self.handle(pass, request, body, origin).await.safe().await.traced(&request.headers);
        self.charged.fetch_add((reply.charge() * 100.0).round() as u64, Ordering::Relaxed);
        reply.finish(&*self.world, self.world.now().micros_since(started))
    }

    async fn handle(self: &Arc<Self>, pass: Pass, request: &Parts, body: Bytes, origin: Origin<'_>) -> Reply {
        let handled = match pass {
            Pass::Checked(admitted) => self.try_handle(admitted, request, body, origin).await,
            Pass::Asking => Ok(options()),
            Pass::Refused(failure) => Err(*failure),
        };
        handled.unwrap_or_else(|failure| Reply::failure(&failure))
    }

    async fn try_handle(
        self: &Arc<Self>,
        Admitted { path, only }: Admitted,
        request: &Parts,
        body: Bytes,
        origin: Origin<'_>,
    ) -> Result<Reply, Failure> {
        let action = route(&request.method, &path, &request.headers)?;
        let body = text_of(body)?;
        let call = Call { path, headers: &request.headers, body, origin, pace: Pace::default(), only };
        self.ready(action, &call).await?;
        if call.only.is_some() {
            // Since the head of the request was looked at, what its token is for may have been made anew: a client can
            // hold the body back.
            self.check(request)?;
        }
        match action.length(&call) {
            Length::Short => action.answer(self, &call),
            Length::Read => {
                let (gateway, call) = (Arc::clone(self), OwnedCall::of(call));
                self.workers.run(move |pace| action.answer(&gateway, &call.paced(pace))).await?
            }
            Length::Script => {
                let (gateway, call) = (Arc::clone(self), OwnedCall::of(call));
                self.workers.run_script(move |pace| action.answer(&gateway, &call.paced(pace))).await?
            }
            Length::Write => {
                let (gateway, call) = (Arc::clone(self), OwnedCall::of(call));
                self.workers.finish(move || action.answer(&gateway, &call.paced(Pace::default()))).await
            }
        }
    }
}

/// What may be asked at all. Clients of an account never ask; browsers and probes do.
fn options() -> Reply {
    let mut reply = Reply::new(CosmosStatus::NO_CONTENT, Bytes::new());
    reply.set(header::ALLOW, HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
    reply
}
