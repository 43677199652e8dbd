//! The account under fire: three regions at their distances, and a container of several partitions.

use std::time::Duration;

use cosmonaut::options::CreateContainerOptions;
use cosmonaut::{ContainerProperties, CosmosClient, Credential, PartitionKey, ThroughputProperties};
use cosmonaut_emulator::{Control, Delay, Effect, Emulator, Fault};
use cosmonaut_wire::EMULATOR_KEY;
use serde_json::{Value, json};

use super::relay::{self, Relay};
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

/// How clients reach the account, and what they show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Whether there is a relay in front of each region.
    pub relayed: bool,
    /// Whether requests are not signed by the key: the emulator does not check tokens.
    pub open: bool,
}

pub struct Account {
    emulator: Emulator,
    /// In front of each region, or none.
    relays: Vec<Relay>,
    /// The partition that may be failed alone.
    partition: String,
    /// Which items it holds.
    in_partition: Vec<bool>,
}

impl Account {
    pub async fn start(access: Access) -> Result<Self> {
        let builder = || Emulator::builder().regions(REGIONS).auth(!access.open);
        let (emulator, relays) = match access.relayed {
            true => relay::start(builder).await?,
            false => (builder().start().await?, Vec::new()),
        };
        let client = CosmosClient::new(emulator.url(), Credential::master_key(EMULATOR_KEY)?)?;
        client.create_database(DATABASE).await?;
        let database = client.database(DATABASE);
        let throughput = Some(ThroughputProperties::manual(THROUGHPUT));
        let options = CreateContainerOptions { throughput, ..Default::default() };
        let made =
            database.create_container(ContainerProperties::new(CONTAINER, "/pk")).options(options).await?;
        let container = database.container(CONTAINER);
        for number in 0..ITEMS {
            container.upsert_item(number.to_string(), &item(number)).await?;
        }
        client.shutdown().await;
        let partitions = emulator.control().partitions(LINK)?;
        let first = partitions.first().ok_or("a container without partitions")?;
        let definition = made.value().partition_key.clone();
        let holds = |number: usize| -> Result<bool> {
            Ok(first.keys.contains(&PartitionKey::from(number.to_string()).effective(&definition)?))
        };
        let in_partition = (0..ITEMS).map(holds).collect::<Result<_>>()?;
        let account = Self { partition: first.id.as_str().to_owned(), emulator, relays, in_partition };
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
        match self.relays.get(SPARED) {
            Some(relay) => Ok(format!("http://{}/", relay.address)),
            None => Ok(self.emulator.region_url(REGIONS[SPARED]).ok_or("a region without an address")?),
        }
    }

    /// Lets the connections to a region fall silent.
    pub fn silence(&self, region: usize) -> Result<()> {
        self.relays.get(region).ok_or("an account without relays")?.silence();
        Ok(())
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
