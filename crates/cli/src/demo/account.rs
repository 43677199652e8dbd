//! The account of the demo: three regions in this process at their distances, and a shop in them.

use std::time::Duration;

use cosmonaut::options::{
    CosmosClientOptions, CreateContainerOptions, PartitionFailoverOptions, RegionOptions, RetryOptions,
    SessionRetryOptions,
};
use cosmonaut::{
    ContainerClient, ContainerProperties, CosmosClient, Credential, Error, ThroughputProperties,
};
use cosmonaut_emulator::{Control, Delay, Effect, Emulator, Fault, Lag};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig};
use serde_json::json;

use crate::failure::Failure;
use crate::runtime;

/// The account's regions by priority: the first takes the writes.
pub(crate) const REGIONS: [&str; 3] = ["East US", "West US", "North Europe"];
pub(crate) const WRITES: usize = 0;
/// Where the application runs, and so where it reads.
pub(crate) const NEAREST: usize = 1;
/// Where nothing ever goes wrong.
const SPARED: usize = 2;

/// How late answers are because of the way, by region.
pub(crate) const DISTANCES: [Duration; REGIONS.len()] =
    [Duration::from_millis(30), Duration::from_millis(10), Duration::from_millis(30)];
/// How late commits arrive in other regions.
pub(crate) const LAG: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(60));

const DATABASE: &str = "demo";
const SHOP: &str = "shop";
const ORCHESTRATIONS: &str = "orchestrations";
/// Containers as the control surface names them.
pub(crate) const SHOP_LINK: &str = "demo/shop";
pub(crate) const ORCHESTRATIONS_LINK: &str = "demo/orchestrations";
/// Throughput that makes five partitions.
const THROUGHPUT: u32 = 30_000;

/// How many items are read and counted in, each with a partition key of its own.
pub(crate) const COUNTERS: u64 = 200;

pub(crate) struct Account {
    emulator: Emulator,
    /// The application that reads. It has a session of its own, as another process would.
    readers: CosmosClient,
    /// The application that writes and orchestrates.
    writers: CosmosClient,
    /// The orchestrations' store.
    provider: CosmosProvider,
    /// The partition that may be failed alone.
    partition: String,
}

impl Account {
    /// Starts the regions and fills the shop.
    pub(crate) async fn start(seconds: u32) -> Result<Self, Failure> {
        let lag = Lag::Between(LAG.0, LAG.1);
        let emulator = Emulator::builder().regions(REGIONS).lag(lag).start().await.map_err(failed)?;
        // An address that no scenario takes down, as the service keeps up that of an account.
        let url = emulator.region_url(REGIONS[SPARED]).expect("a region that was asked for");
        let client = || connect(&url, emulator.key(), seconds).map_err(failed);
        let (readers, writers) = (client()?, client()?);
        fill(&writers).await.map_err(failed)?;
        let config = CosmosProviderConfig {
            database: DATABASE.to_owned(),
            container: ORCHESTRATIONS.to_owned(),
            ..CosmosProviderConfig::with_client(writers.clone())
        };
        let provider = CosmosProvider::connect(config).await.map_err(failed)?;
        readers.connect().await.map_err(failed)?;
        let partitions = emulator.control().partitions(SHOP_LINK).map_err(failed)?;
        let partition = partitions.first().expect("a container has a partition").id.as_str().to_owned();
        let account = Self { emulator, readers, writers, provider, partition };
        account.caught_up().await?;
        account.set_distances().await?;
        Ok(account)
    }

    /// Waits until all regions have everything.
    async fn caught_up(&self) -> Result<(), Failure> {
        loop {
            let partitions = self.control().partitions(SHOP_LINK).map_err(failed)?;
            let same = |lsns: &[(_, i64)]| lsns.iter().all(|(_, lsn)| *lsn == lsns[0].1);
            if partitions.iter().all(|partition| same(&partition.lsns)) {
                return Ok(());
            }
            runtime::sleep(LAG.0).await;
        }
    }

    /// For the containers only, so that it is no outage that bringing a region back would end.
    async fn set_distances(&self) -> Result<(), Failure> {
        for (region, distance) in REGIONS.into_iter().zip(DISTANCES) {
            for container in [SHOP_LINK, ORCHESTRATIONS_LINK] {
                let late = Effect::Slow(Delay::Fixed(distance));
                let fault = Fault::new(late).in_region(region).in_container(container);
                self.control().add_fault(fault).await.map_err(failed)?;
            }
        }
        Ok(())
    }

    pub(crate) fn control(&self) -> &Control {
        self.emulator.control()
    }

    pub(crate) fn partition(&self) -> &str {
        &self.partition
    }

    pub(crate) fn provider(&self) -> CosmosProvider {
        self.provider.clone()
    }

    /// The shop as those see it who only read.
    pub(crate) fn shop_to_read(&self) -> ContainerClient {
        self.readers.database(DATABASE).container(SHOP)
    }

    /// The shop as those see it who write.
    pub(crate) fn shop_to_write(&self) -> ContainerClient {
        self.writers.database(DATABASE).container(SHOP)
    }

    pub(crate) async fn shut_down(self) {
        self.readers.shutdown().await;
        self.writers.shutdown().await;
        self.emulator.shutdown().await;
    }
}

/// A client near [`NEAREST`]. How soon it tries again what was lost is scaled to the run, which does not last for the
/// minutes that the defaults are made for.
fn connect(url: &str, key: &str, seconds: u32) -> cosmonaut::Result<CosmosClient> {
    let again = Duration::from_secs(u64::from(seconds / 10).clamp(1, 5));
    let failover = PartitionFailoverOptions {
        failback_sweep_interval: Some(again),
        partition_unavailability_duration: Some(again),
        ..Default::default()
    };
    // Who reads what it has just written finds it where it was written, sooner than it gets to the nearest region.
    let session = SessionRetryOptions { remote_region_preferred: Some(true), ..Default::default() };
    let options = CosmosClientOptions {
        regions: RegionOptions { application_region: Some(REGIONS[NEAREST].into()), ..Default::default() },
        retry: RetryOptions {
            partition_failover: Some(failover),
            session_retry: Some(session),
            ..Default::default()
        },
        ..Default::default()
    };
    CosmosClient::builder().endpoint(url).credential(Credential::master_key(key)?).options(options).build()
}

async fn fill(client: &CosmosClient) -> Result<(), Error> {
    client.create_database(DATABASE).await?;
    let database = client.database(DATABASE);
    let throughput = Some(ThroughputProperties::manual(THROUGHPUT));
    let options = CreateContainerOptions { throughput, ..Default::default() };
    database.create_container(ContainerProperties::new(SHOP, "/key")).options(options).await?;
    let shop = database.container(SHOP);
    for number in 0..COUNTERS {
        let id = counter(number);
        let item = json!({"id": id, "key": id, "applied": []});
        shop.create_item(&*id, item).await?;
    }
    Ok(())
}

/// The id, and partition key, of an item that counts.
pub(crate) fn counter(number: u64) -> String {
    format!("counter-{}", number % COUNTERS)
}

/// Why the account of the demo did not do as told.
pub(crate) fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Work(format!("the demo's account: {error}"))
}
