//! HTTP requests in, HTTP responses out: who may ask, what is asked, and how the answer is written.
//!
//! One file per kind of resource, and [`route`] is the table that leads to them. Handlers are synchronous: a request
//! is done when its handler returns, and only making it durable is awaited. What the operations do is the engine's.

mod account;
mod auth;
mod batch;
mod call;
mod change_feed;
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
mod unsupported;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use cosmonaut_wire::{CosmosStatus, RegionName, ResourcePath};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};

pub(crate) use auth::Access;
pub(crate) use origin::{Origin, Scheme};

use crate::engine::{Engine, RegionId};
use crate::{Failure, World};
use call::Call;
use reply::Reply;
use route::{Action, route};

/// The account as one region answers for it.
pub(crate) struct Gateway {
    pub(crate) engine: Arc<Engine>,
    pub(crate) world: Arc<dyn World>,
    pub(crate) access: Access,
    pub(crate) region: RegionId,
    pub(crate) region_name: RegionName,
    /// The address to advertise to a client that names none.
    pub(crate) endpoint: String,
    /// How many requests were answered.
    pub(crate) requests: AtomicU64,
}

impl Gateway {
    /// Answers a request, once what it wrote is safe.
    pub(crate) async fn answer(&self, request: &Parts, body: Bytes, origin: Origin<'_>) -> Response<Bytes> {
        let started = self.world.now();
        self.requests.fetch_add(1, Ordering::Relaxed);
        let reply = self.handle(request, body, origin).safe().await;
        reply.finish(&*self.world, self.world.now().micros_since(started))
    }

    /// The answer to a request that never became one.
    pub(crate) fn refuse(&self, status: StatusCode, message: String) -> Response<Bytes> {
        Reply::failure(&Failure::new(status.into(), message)).finish(&*self.world, 0)
    }

    fn handle(&self, request: &Parts, body: Bytes, origin: Origin<'_>) -> Reply {
        if request.method == Method::OPTIONS {
            return options();
        }
        self.try_handle(request, body, origin).unwrap_or_else(|failure| Reply::failure(&failure))
    }

    fn try_handle(&self, request: &Parts, body: Bytes, origin: Origin<'_>) -> Result<Reply, Failure> {
        let path = ResourcePath::parse(request.uri.path())
            .map_err(|error| Failure::bad_request(error.to_string()))?;
        self.access.check(&request.method, &path, &request.headers)?;
        let action = route(&request.method, &path, &request.headers)?;
        self.run(action, &Call { path, headers: &request.headers, body, origin })
    }

    fn run(&self, action: Action, call: &Call<'_>) -> Result<Reply, Failure> {
        match action {
            Action::ReadAccount => self.read_account(call),
            Action::CreateDatabase => self.create_database(call),
            Action::ListDatabases => self.list_databases(call),
            Action::QueryDatabases => self.query_databases(call),
            Action::ReadDatabase => self.read_database(call),
            Action::DeleteDatabase => self.delete_database(call),
            Action::CreateContainer => self.create_container(call),
            Action::ListContainers => self.list_containers(call),
            Action::QueryContainers => self.query_containers(call),
            Action::ReadContainer => self.read_container(call),
            Action::ReplaceContainer => self.replace_container(call),
            Action::DeleteContainer => self.delete_container(call),
            Action::CreateItem => self.create_item(call),
            Action::UpsertItem => self.upsert_item(call),
            Action::ReadItem => self.read_item(call),
            Action::ReplaceItem => self.replace_item(call),
            Action::PatchItem => self.patch_item(call),
            Action::DeleteItem => self.delete_item(call),
            Action::ListItems => self.list_items(call),
            Action::QueryItems => self.query_items(call),
            Action::PlanQuery => self.plan_query(call),
            Action::Batch => self.run_batch(call),
            Action::ReadChanges => self.read_changes(call),
            Action::DeleteByPartitionKey => self.delete_by_partition_key(call),
            Action::ListRanges => self.list_ranges(call),
            Action::ListOffers => self.list_offers(call),
            Action::QueryOffers => self.query_offers(call),
            Action::ReadOffer => self.read_offer(call),
            Action::ReplaceOffer => self.replace_offer(call),
            Action::ListNone(kind) => self.list_none(kind, call),
            Action::ReadNone(kind) => self.read_none(kind, call),
            Action::Unsupported(kind) => Err(unsupported::refuse(kind)),
        }
    }
}

/// What may be asked at all. Clients of an account never ask; browsers and probes do.
fn options() -> Reply {
    let mut reply = Reply::new(CosmosStatus::NO_CONTENT, Bytes::new());
    reply.set(header::ALLOW, HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
    reply
}
