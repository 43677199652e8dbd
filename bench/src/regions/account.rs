//! The account under fire: three regions at their distances, and a container of several partitions.

use std::time::Duration;

use cosmonaut::options::CreateContainerOptions;
use cosmonaut::{ContainerProperties, CosmosClient, Credential, PartitionKey, ThroughputProperties};
use cosmonaut_emulator::{Control, Delay, Effect, Emulator, Fault};
use cosmonaut_wire::EMULATOR_KEY;
use serde_json::{Value, json};

use super::{NEAREST, REGIONS, SPARED};
use crate::Result;

pub const DATABASE: &str = "bench";
pub const CONTAINER: &str = "regions";
/// As the control surface names it.
pub const LINK: &str = "bench/regions";
/// Distinct items, each with a partition key of its own.
pub const ITEMS: usize = 1000;

const NEAR: Duration = Duration::from_millis(10);
const FAR: Duration = Duration::from_millis(30);
/// Throughput that makes five partitions.
const THROUGHPUT: u32 = 30_000;

pub struct Account {
    emulator: Emulator,
    /// The partition that may be failed alone.
    partition: String,
    /// Which items it holds.
    in_partition: Vec<bool>,
}

impl Account {
    pub async fn start() -> Result<Self> {
        let emulator = Emulator::builder().regions(REGIONS).start().await?;
        let client = CosmosClient::new(emulator.url(), Credential::master_key(EMULATOR_KEY)?, None)?;
        client.create_database(DATABASE, None).await?;
        let database = client.database(DATABASE);
        let throughput = Some(ThroughputProperties::manual(THROUGHPUT));
        let options = CreateContainerOptions { throughput, ..Default::default() };
        let made =
            database.create_container(ContainerProperties::new(CONTAINER, "/pk"), Some(options)).await?;
        let container = database.container(CONTAINER);
        for number in 0..ITEMS {
            container.upsert_item(number.to_string(), &item(number), None).await?;
        }
        client.shutdown().await;
        let partitions = emulator.control().partitions(LINK)?;
        let first = partitions.first().ok_or("a container without partitions")?;
        let definition = made.value().partition_key.clone();
        let holds = |number: usize| -> Result<bool> {
            Ok(first.keys.contains(&PartitionKey::from(number.to_string()).effective(&definition)?))
        };
        let in_partition = (0..ITEMS).map(holds).collect::<Result<_>>()?;
        let account = Self { partition: first.id.as_str().to_owned(), emulator, in_partition };
        account.set_distances().await?;
        Ok(account)
    }

    /// For the container only, so that it is no outage that bringing a region back would end.
    async fn set_distances(&self) -> Result<()> {
        for (number, region) in REGIONS.into_iter().enumerate() {
            let delay = Delay::Fixed(if number == NEAREST { NEAR } else { FAR });
            let distance = Fault::new(Effect::Slow(delay)).in_region(region).in_container(LINK);
            self.control().add_fault(distance).await?;
        }
        Ok(())
    }

    /// An address that no scenario takes down, as the service keeps up that of an account.
    pub fn url(&self) -> Result<String> {
        Ok(self.emulator.region_url(REGIONS[SPARED]).ok_or("a region without an address")?)
    }

    pub fn control(&self) -> &Control {
        self.emulator.control()
    }

    pub fn partition(&self) -> &str {
        &self.partition
    }

    pub fn is_in_partition(&self, item: usize) -> bool {
        self.in_partition[item]
    }
}

/// An item of about 1 KB.
pub fn item(number: usize) -> Value {
    let id = number.to_string();
    json!({"id": id, "pk": id, "pad": "x".repeat(1000)})
}
