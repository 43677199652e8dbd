//! An account of three regions, and clients of it.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::{
    AttemptDiagnostics, AttemptOutcome, CosmosDriver, CosmosDriverRuntime, CosmosOperation, CosmosResponse,
    Credential, DiagnosticsContext, Error, OperationOptions, OperationType, PartitionInfo,
};
use cosmonaut_emulator::{Control, Emulator, EmulatorBuilder};
use cosmonaut_options::{CosmosClientOptions, HedgingOptions, HedgingThreshold, RegionOptions};
use cosmonaut_wire::{PartitionKey, RegionName, ResourcePath, SessionToken};
use serde_json::{Value, json};

use super::clock::{Clock, eventually};
use super::{EAST, LINK, NORTH, WEST};
use crate::harness::{by_gateway2, no_environment, operation, read};

/// An account of three regions with a database `d` and in it a container `c` with the partition key `/pk`.
pub(crate) struct Account {
    pub(crate) emulator: Emulator,
}

impl Account {
    /// The east takes the writes.
    pub(crate) async fn single_write() -> Self {
        Self::start(Emulator::builder()).await
    }

    /// Every region takes writes.
    pub(crate) async fn multi_write() -> Self {
        Self::start(Emulator::builder().multi_write(true)).await
    }

    pub(crate) async fn start(builder: EmulatorBuilder) -> Self {
        let emulator = builder.regions([EAST, WEST, NORTH]).gateway2(by_gateway2()).start().await.unwrap();
        let account = Self { emulator };
        let client = account.client(nearest(EAST));
        let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
        for (path, body) in [("/dbs", json!({"id": "d"})), ("/dbs/d/colls", container)] {
            client.run(operation(OperationType::Create, path).with_body(body.to_string())).await.unwrap();
        }
        if by_gateway2() {
            // Tests that went by REST all the same would prove nothing.
            let by_frame = async || {
                let error = client.read("nobody", "nobody").await.unwrap_err();
                error.diagnostics().unwrap().attempts().last().unwrap().framed
            };
            eventually("items are asked for by Gateway 2.0", by_frame).await;
        }
        account
    }

    pub(crate) fn control(&self) -> &Control {
        self.emulator.control()
    }

    /// A client that finds the account by its own address, which is the east's.
    pub(crate) fn client(&self, options: CosmosClientOptions) -> Client {
        self.client_by(self.emulator.url(), options)
    }

    pub(crate) fn client_by(&self, url: &str, mut options: CosmosClientOptions) -> Client {
        let clock = Clock::new();
        // A clock that is moved on would let every PING miss its answer.
        options.connection.http2_keepalive_interval = Some(Duration::from_secs(24 * 3600));
        let runtime = CosmosDriverRuntime::builder()
            .environment(&no_environment)
            .platform(Arc::clone(&clock) as Arc<_>)
            .build()
            .unwrap();
        let key = Credential::master_key(self.emulator.key()).unwrap();
        Client { driver: runtime.create_driver(url, key, options).unwrap(), clock }
    }

    /// How often the east, the west and the north have been asked.
    pub(crate) fn requests(&self) -> [u64; 3] {
        [EAST, WEST, NORTH].map(|region| self.emulator.requests_in(region))
    }

    /// How often each was asked while something was done.
    pub(crate) async fn requests_of<T>(&self, work: impl Future<Output = T>) -> (T, [u64; 3]) {
        let before = self.requests();
        let done = work.await;
        let after = self.requests();
        (done, std::array::from_fn(|region| after[region] - before[region]))
    }

    /// Splits the container until it has so many partitions.
    pub(crate) async fn split_into(&self, partitions: usize) {
        loop {
            let all = self.control().partitions(LINK).unwrap();
            if all.len() >= partitions {
                return;
            }
            // The first ones are the oldest, and so the largest.
            let oldest = all.iter().min_by_key(|one| one.id.as_str().parse::<u32>().unwrap()).unwrap();
            self.control().split(LINK, oldest.id.as_str()).await.unwrap();
        }
    }
}

/// A driver, and its clock.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) driver: CosmosDriver,
    pub(crate) clock: Arc<Clock>,
}

impl Client {
    pub(crate) async fn run(&self, operation: CosmosOperation) -> Result<CosmosResponse, Error> {
        self.driver.execute_operation(&operation, &OperationOptions::default()).await
    }

    /// As a session that is not the driver's own.
    pub(crate) async fn run_in(
        &self,
        session: &SessionToken,
        operation: CosmosOperation,
    ) -> Result<CosmosResponse, Error> {
        let options = OperationOptions { session_token: Some(session.clone()), ..Default::default() };
        self.driver.execute_operation(&operation, &options).await
    }

    pub(crate) async fn read(&self, id: &str, key: &str) -> Result<CosmosResponse, Error> {
        self.run(read(id, key)).await
    }

    pub(crate) async fn create(&self, id: &str, key: &str) -> Result<CosmosResponse, Error> {
        self.run(create(id, key)).await
    }

    /// The partitions, in the order of the key space, each with a key that it holds.
    pub(crate) async fn partitions(&self) -> Vec<(PartitionInfo, String)> {
        let path = ResourcePath::parse("/dbs/d/colls/c").unwrap();
        let definition = self.driver.container(&path).await.unwrap().partition_key;
        let holding = |partition: &PartitionInfo| {
            let holds = |key: &String| {
                partition.range.contains(&PartitionKey::from(key.as_str()).effective(&definition).unwrap())
            };
            (0..).map(|number| format!("key {number}")).find(holds).unwrap()
        };
        let all = self.driver.partitions(&path, true).await.unwrap();
        all.into_iter()
            .map(|partition| {
                let key = holding(&partition);
                (partition, key)
            })
            .collect()
    }

    /// Lets an endpoint's and a partition's term pass, and looks over both.
    pub(crate) fn end_terms(&self) {
        self.clock.skip(Duration::from_secs(61));
        self.driver.sweep_partitions();
    }
}

/// This region first, and no second one asked in parallel.
pub(crate) fn nearest(region: &str) -> CosmosClientOptions {
    let application_region = Some(RegionName::from(region));
    CosmosClientOptions {
        regions: RegionOptions { application_region, ..Default::default() },
        hedging: HedgingOptions { hedging_enabled: Some(false), ..Default::default() },
        ..Default::default()
    }
}

/// This region first, and a second one after a while.
pub(crate) fn hedging_from(region: &str, after: Duration) -> CosmosClientOptions {
    let hedging_threshold = Some(HedgingThreshold::Static(after));
    CosmosClientOptions {
        hedging: HedgingOptions { hedging_enabled: Some(true), hedging_threshold, ..Default::default() },
        ..nearest(region)
    }
}

pub(crate) fn create(id: &str, key: &str) -> CosmosOperation {
    write(OperationType::Create, json!({"id": id, "pk": key}))
}

/// An upsert, which does no harm if it is applied twice.
pub(crate) fn put(id: &str, key: &str, value: u64) -> CosmosOperation {
    write(OperationType::Upsert, json!({"id": id, "pk": key, "value": value})).with_repeats_allowed()
}

fn write(kind: OperationType, body: Value) -> CosmosOperation {
    let key = PartitionKey::from(body["pk"].as_str().unwrap());
    operation(kind, "/dbs/d/colls/c/docs").with_body(body.to_string()).with_target(key)
}

/// Where the attempts of an operation went.
pub(crate) fn regions(diagnostics: &DiagnosticsContext) -> Vec<&str> {
    diagnostics.attempts().iter().map(region).collect()
}

pub(crate) fn region(attempt: &AttemptDiagnostics) -> &str {
    attempt.endpoint.region().map_or("the account's own", RegionName::as_str)
}

/// Where they went and what they were answered, such as `West US 503`.
pub(crate) fn trail(diagnostics: &DiagnosticsContext) -> Vec<String> {
    let step = |attempt: &AttemptDiagnostics| match attempt.outcome {
        AttemptOutcome::Answered(status) => format!("{} {status}", region(attempt)),
        AttemptOutcome::Failed { .. } => format!("{} failed", region(attempt)),
        AttemptOutcome::DeadlineExceeded => format!("{} late", region(attempt)),
        AttemptOutcome::Cancelled => format!("{} cancelled", region(attempt)),
        AttemptOutcome::LeftRunning => format!("{} left running", region(attempt)),
    };
    diagnostics.attempts().iter().map(step).collect()
}

/// What a session has seen after an answer.
pub(crate) fn token(response: &CosmosResponse) -> SessionToken {
    response.session_token().unwrap().parse().unwrap()
}
