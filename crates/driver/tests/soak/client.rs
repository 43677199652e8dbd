//! The drivers under test, and the operations on their items.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::transport::Resolver;
use cosmonaut_driver::{
    CosmosDriver, CosmosDriverRuntime, CosmosOperation, CosmosResponse, Credential, Error, OperationOptions,
    OperationType, TokenProvider,
};
use cosmonaut_options::{
    ConnectionOptions, CosmosClientOptions, PartitionFailoverOptions, RegionOptions, RequestOptions,
    RetryOptions, ShardingOptions,
};
use cosmonaut_wire::{EMULATOR_KEY, PartitionKey, RegionName, ResourcePath};
use serde_json::{Value, json};

use crate::world::{PREFERRED, REGIONS, World};

/// Items that are there from the beginning; they are read, and lists in them grow.
pub(crate) const ITEMS: usize = 64;

/// Long enough for a driver that does something about it: no fault lasts for longer than 3 seconds.
const GENEROUS: Duration = Duration::from_secs(30);
/// How soon a driver comes back to what it has left. The defaults are made for longer outages.
const AGAIN: Duration = Duration::from_secs(1);
/// How long a connection may have nothing to do.
const IDLE: Duration = Duration::from_secs(5);

/// All drivers, each with a session of its own.
pub(crate) struct Clients {
    pub(crate) runtime: CosmosDriverRuntime,
    /// Reads, with tokens.
    pub(crate) direct: Client,
    /// Reads through the proxy, with a key.
    pub(crate) proxied: Client,
    /// Writes, with tokens.
    pub(crate) writer: Client,
}

impl Clients {
    pub(crate) async fn connect(world: &World) -> Self {
        let no_environment = |_: &str| None;
        let builder = CosmosDriverRuntime::builder().environment(&no_environment);
        let dns = Arc::clone(&world.dns) as Arc<dyn Resolver>;
        let runtime = builder.resolver(dns).build().unwrap();
        let tokens = || Credential::tokens(Arc::clone(&world.identity) as Arc<dyn TokenProvider>);
        let key = Credential::master_key(EMULATOR_KEY).unwrap();
        let connect = |credential, proxy: Option<&str>| {
            Client(runtime.create_driver(&world.url(), credential, options(proxy)).unwrap())
        };
        let (direct, writer) = (connect(tokens(), None), connect(tokens(), None));
        let proxied = connect(key, Some(&world.proxy.url));
        for client in [&direct, &proxied, &writer] {
            client.0.initialize().await.unwrap();
        }
        Self { runtime, direct, proxied, writer }
    }

    pub(crate) fn readers(&self) -> [&Client; 2] {
        [&self.direct, &self.proxied]
    }
}

fn options(proxy: Option<&str>) -> CosmosClientOptions {
    let partition_failover = PartitionFailoverOptions {
        failback_sweep_interval: Some(AGAIN),
        partition_unavailability_duration: Some(AGAIN),
        ..Default::default()
    };
    let sharding = ShardingOptions {
        health_check_interval: Some(AGAIN),
        idle_client_timeout: Some(IDLE),
        ..Default::default()
    };
    CosmosClientOptions {
        regions: RegionOptions {
            application_region: Some(RegionName::from(REGIONS[PREFERRED])),
            ..Default::default()
        },
        retry: RetryOptions { partition_failover: Some(partition_failover), ..Default::default() },
        connection: ConnectionOptions {
            proxy: proxy.map(|url| url.parse().unwrap()),
            sharding: Some(sharding),
            ..Default::default()
        },
        request: RequestOptions { end_to_end_timeout: Some(GENEROUS), ..Default::default() },
        ..Default::default()
    }
}

/// One driver. Clones share it.
#[derive(Clone)]
pub(crate) struct Client(pub(crate) CosmosDriver);

impl Client {
    /// Makes the database, the container and its first items.
    pub(crate) async fn fill(&self) {
        let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
        for (path, body) in [("/dbs", json!({"id": "d"})), ("/dbs/d/colls", container)] {
            self.run(OperationType::Create, path, None, Some(body)).await.unwrap();
        }
        for number in 0..ITEMS {
            let id = item(number);
            let body = json!({"id": id, "pk": id, "applied": []});
            self.run(OperationType::Create, "/dbs/d/colls/c/docs", Some(&id), Some(body)).await.unwrap();
        }
    }

    pub(crate) async fn read(&self, id: &str) -> Result<CosmosResponse, Error> {
        self.run(OperationType::Read, &format!("/dbs/d/colls/c/docs/{id}"), Some(id), None).await
    }

    /// Reads in one region and no other.
    pub(crate) async fn read_in(&self, region: usize, id: &str) -> Result<CosmosResponse, Error> {
        let path = ResourcePath::parse(&format!("/dbs/d/colls/c/docs/{id}")).unwrap();
        let read = CosmosOperation::new(OperationType::Read, path).with_target(PartitionKey::from(id));
        let others = REGIONS.into_iter().filter(|other| *other != REGIONS[region]).map(RegionName::from);
        let request = RequestOptions { excluded_regions: Some(others.collect()), ..Default::default() };
        self.0.execute_operation(&read, &OperationOptions { request, ..Default::default() }).await
    }

    /// A new item that shows its number.
    pub(crate) async fn create(&self, number: u64) -> Result<CosmosResponse, Error> {
        let id = created(number);
        let body = json!({"id": id, "pk": id, "number": number});
        self.run(OperationType::Create, "/dbs/d/colls/c/docs", Some(&id), Some(body)).await
    }

    /// An addition to the list of an item; repeated, it shows twice.
    pub(crate) async fn append(&self, number: u64) -> Result<CosmosResponse, Error> {
        let id = item(number as usize % ITEMS);
        let body = json!({"operations": [{"op": "add", "path": "/applied/-", "value": number}]});
        self.run(OperationType::Patch, &format!("/dbs/d/colls/c/docs/{id}"), Some(&id), Some(body)).await
    }

    async fn run(
        &self,
        kind: OperationType,
        path: &str,
        key: Option<&str>,
        body: Option<Value>,
    ) -> Result<CosmosResponse, Error> {
        let mut operation = CosmosOperation::new(kind, ResourcePath::parse(path).unwrap());
        if let Some(key) = key {
            operation = operation.with_target(PartitionKey::from(key));
        }
        if let Some(body) = body {
            operation = operation.with_body(body.to_string());
        }
        self.0.execute_operation(&operation, &OperationOptions::default()).await
    }

    /// How often each number shows in the lists of the first items.
    pub(crate) async fn appended(&self) -> HashMap<u64, u32> {
        let mut found = HashMap::new();
        for number in 0..ITEMS {
            let read = self.read(&item(number)).await.unwrap();
            let read: Value = serde_json::from_slice(read.body()).unwrap();
            for number in read["applied"].as_array().unwrap() {
                *found.entry(number.as_u64().unwrap()).or_default() += 1;
            }
        }
        found
    }
}

/// The id of an item that is there from the beginning.
pub(crate) fn item(number: usize) -> String {
    format!("item-{number}")
}

/// The id of an item that a write with this number creates.
pub(crate) fn created(number: u64) -> String {
    format!("created-{number}")
}

/// The region that answered.
pub(crate) fn region_of(response: &CosmosResponse) -> Option<String> {
    let last = response.diagnostics().attempts().iter().rev().find(|attempt| {
        matches!(attempt.outcome, cosmonaut_driver::AttemptOutcome::Answered(status) if status.code().is_success())
    })?;
    Some(last.endpoint.region()?.as_str().to_owned())
}
