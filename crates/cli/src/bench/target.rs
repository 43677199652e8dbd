//! The container that takes the load: found or made, filled, and left as it was found.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cosmonaut::options::CreateContainerOptions;
use cosmonaut::{
    ContainerClient, ContainerProperties, CosmosClient, CosmosStatus, Error, FeedScope, Page, Query, RawItem,
    Response, ThroughputProperties,
};
use serde_json::{Map, Value};

use super::mix::Kind;
use crate::account::failed;
use crate::container::ContainerName;
use crate::failure::Failure;
use crate::runtime;
use crate::screen::note;

/// The partition key of a container that is made.
const KEY: &str = "pk";
/// What the names of all items begin with, so that they are never mistaken for somebody's own.
const PREFIX: &str = "cosmonaut-bench-";
/// How many groups there are, of which a query finds one.
const GROUPS: u64 = 100;
/// How many items are written or deleted at once.
const AT_ONCE: usize = 32;

/// What is to be there before the load starts.
#[derive(Clone)]
pub(super) struct Wanted {
    pub(super) items: u64,
    pub(super) item_size: usize,
    pub(super) throughput: Option<u32>,
}

/// A container and the items in it.
pub(super) struct Target {
    client: CosmosClient,
    name: ContainerName,
    container: ContainerClient,
    /// The member that is the partition key.
    key: String,
    made: Made,
    wanted: Wanted,
    /// Set when no more items are to be written.
    is_enough: AtomicBool,
}

/// What was not there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Database,
    Container,
    Items,
}

/// What is done to all items.
#[derive(Clone, Copy)]
enum Step {
    Write,
    Delete,
}

/// What an operation cost, and who served it.
pub(super) struct Done {
    pub(super) charge: f64,
    pub(super) regions: Vec<String>,
}

impl Target {
    /// Finds the container or makes it, and says so.
    pub(super) async fn open(
        client: CosmosClient,
        name: ContainerName,
        wanted: Wanted,
    ) -> Result<Self, Failure> {
        let container = name.of(&client);
        let (key, made) = match container.read().await {
            Ok(found) => (key_of(&name, found.value())?, Made::Items),
            Err(error) if error.is_not_found() => {
                let made = make(&client, &name, wanted.throughput).await.map_err(|error| failed(&error))?;
                (KEY.to_owned(), made)
            }
            Err(error) => return Err(failed(&error)),
        };
        let did = if made == Made::Items { "uses" } else { "made" };
        note(&format!("{did} the container {name}"));
        Ok(Self { client, name, container, key, made, wanted, is_enough: AtomicBool::new(false) })
    }

    /// Makes [`fill`](Self::fill) end before its end, once what is under way is done.
    pub(super) fn stop_filling(&self) {
        self.is_enough.store(true, Ordering::Relaxed);
    }

    /// Writes the items that are read and replaced.
    pub(super) async fn fill(self: &Arc<Self>) -> Result<(), Failure> {
        self.for_all_items(Step::Write)
            .await
            .map_err(|error| Failure::Work(format!("the items cannot be written to {}: {error}", self.name)))
    }

    /// Leaves the container as it was found.
    pub(super) async fn remove(self: &Arc<Self>) -> Result<(), Failure> {
        let removed = match self.made {
            Made::Database => self.client.database(&self.name.database).delete().await.map(drop),
            Made::Container => self.container.delete().await.map(drop),
            Made::Items => self.for_all_items(Step::Delete).await,
        };
        removed.map_err(|error| {
            Failure::Work(format!("what was written to {} cannot be removed: {error}", self.name))
        })
    }

    /// Writes or deletes every item, some at once, until all is done or one fails.
    async fn for_all_items(self: &Arc<Self>, step: Step) -> Result<(), Error> {
        let next = Arc::new(AtomicU64::new(0));
        let worker = |_| {
            let (target, next) = (Arc::clone(self), Arc::clone(&next));
            runtime::spawn(async move {
                loop {
                    let item = next.fetch_add(1, Ordering::Relaxed);
                    if item >= target.wanted.items {
                        return Ok(());
                    }
                    match step {
                        Step::Write if target.is_enough.load(Ordering::Relaxed) => return Ok(()),
                        Step::Write => drop(target.write(item).await?),
                        Step::Delete => target.delete(item).await?,
                    }
                }
            })
        };
        let workers: Vec<_> = (0..AT_ONCE).map(worker).collect();
        let mut result = Ok(());
        for worker in workers {
            let ended = worker.await.expect("a worker does not panic and is not aborted");
            result = result.and(ended);
        }
        result
    }

    /// Does one operation on an item that `choice` picks.
    pub(super) async fn run(&self, kind: Kind, choice: u64) -> Result<Done, Error> {
        let item = choice % self.wanted.items;
        match kind {
            Kind::Read => self.read(item).await.map(|response| done(&response)),
            Kind::Write => self.write(item).await.map(|response| done(&response)),
            Kind::Query => self.query(choice % GROUPS).await,
        }
    }

    async fn read(&self, item: u64) -> Result<Response<RawItem>, Error> {
        let id = id(item);
        self.container.read_item::<RawItem>(&id, &id).await
    }

    async fn write(&self, item: u64) -> Result<Response<RawItem>, Error> {
        self.container.upsert_item(id(item), self.item(item)).await
    }

    async fn delete(&self, item: u64) -> Result<(), Error> {
        let id = id(item);
        match self.container.delete_item(&id, &id).await {
            Ok(_) => Ok(()),
            // A run that was stopped may not have written all.
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn query(&self, group: u64) -> Result<Done, Error> {
        let query = Query::new("SELECT TOP 10 * FROM c WHERE c.benchGroup = @group").with("@group", group);
        let rows =
            self.container.query_items::<Box<serde_json::value::RawValue>>(query, FeedScope::Container);
        let mut pages = rows.into_pages();
        let mut done = Done { charge: 0.0, regions: Vec::new() };
        while let Some(page) = pages.next().await {
            let Page { request_charge, diagnostics, .. } = page?;
            done.charge += request_charge;
            done.regions.extend(diagnostics.iter().flat_map(crate::served::regions).map(str::to_owned));
        }
        Ok(done)
    }

    fn item(&self, item: u64) -> Value {
        let mut members = Map::new();
        members.insert(self.key.clone(), id(item).into());
        members.insert("id".to_owned(), id(item).into());
        members.insert("benchGroup".to_owned(), (item % GROUPS).into());
        let used = serde_json::to_string(&members).map_or(0, |text| text.len());
        let pad = self.wanted.item_size.saturating_sub(used + r#","pad":"""#.len());
        members.insert("pad".to_owned(), "x".repeat(pad).into());
        Value::Object(members)
    }
}

fn id(item: u64) -> String {
    format!("{PREFIX}{item}")
}

fn done<T>(response: &Response<T>) -> Done {
    let region = response.region().map(|region| region.as_str().to_owned());
    Done { charge: response.request_charge(), regions: region.into_iter().collect() }
}

/// The member that is the partition key of a container that is there.
fn key_of(name: &ContainerName, properties: &ContainerProperties) -> Result<String, Failure> {
    match &properties.partition_key.paths[..] {
        [path] if path.len() > 1 && !path[1..].contains(['/', '"']) => Ok(path[1..].to_owned()),
        paths => Err(Failure::Usage(format!(
            "{name} has the partition key {}, and only one member can be filled here (name another container, or one \
             that is not there: it is then made)",
            paths.join(", ")
        ))),
    }
}

async fn make(client: &CosmosClient, name: &ContainerName, throughput: Option<u32>) -> Result<Made, Error> {
    let is_new = |status: CosmosStatus| status.code().as_u16() == 201;
    let found = client.create_database_if_not_exists(&name.database).await?;
    let database = client.database(&name.database);
    let properties = ContainerProperties::new(&*name.container, format!("/{KEY}").as_str());
    let throughput = throughput.map(ThroughputProperties::manual);
    let options = CreateContainerOptions { throughput, ..CreateContainerOptions::default() };
    match database.create_container_if_not_exists(properties).options(options).await {
        Ok(_) if is_new(found.status()) => Ok(Made::Database),
        Ok(container) if is_new(container.status()) => Ok(Made::Container),
        // Somebody was faster.
        Ok(_) => Ok(Made::Items),
        Err(error) => {
            if is_new(found.status()) {
                // Why the container could not be made matters more than a database that is left.
                let _ = database.delete().await;
            }
            Err(error)
        }
    }
}
