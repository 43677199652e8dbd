//! The account's regions: which there are, in which order writes would move, and what they promise their readers.
//!
//! A topology never changes; moving writes, adding and removing a region make a new one. How writes travel between
//! regions is in `replication`.

use std::time::Duration;

use cosmonaut_wire::{ConsistencyLevel, CosmosStatus, RegionName};

use super::RegionId;
use crate::Failure;

/// What an account is started with.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountConfig {
    /// The regions; the first takes the writes, unless all do.
    pub regions: Vec<RegionName>,
    /// Whether every region takes writes.
    pub multi_write: bool,
    /// What readers are promised.
    pub consistency: Consistency,
    /// Whether the writes of a single partition may move to another region.
    pub partition_failover: bool,
}

impl Default for AccountConfig {
    fn default() -> Self {
        Self {
            regions: vec![RegionName::from("East US")],
            multi_write: false,
            consistency: Consistency::Session,
            partition_failover: false,
        }
    }
}

/// The most regions that an account may ever have had: their ids are never used again.
pub(crate) const MOST_REGIONS: usize = 200;

impl AccountConfig {
    /// 400 unless there can be such an account.
    pub fn validate(&self) -> Result<(), Failure> {
        let refuse = |why: String| Err(Failure::bad_request(why));
        if self.regions.is_empty() || self.regions.len() > MOST_REGIONS {
            return refuse(format!("an account has 1 to {MOST_REGIONS} regions, not {}", self.regions.len()));
        }
        for (nth, name) in self.regions.iter().enumerate() {
            check_name(name, &self.regions[..nth])?;
        }
        if self.multi_write && self.consistency == Consistency::Strong {
            return refuse(
                "an account with several write regions cannot promise Strong consistency (choose BoundedStaleness, \
                 or one write region)"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

/// 400 unless a region may have this name beside the others.
pub(crate) fn check_name(name: &RegionName, others: &[RegionName]) -> Result<(), Failure> {
    if name.as_str().trim().is_empty() {
        return Err(Failure::bad_request("a region has a name that is not empty (try \"West US 2\")"));
    }
    if others.contains(name) {
        return Err(Failure::bad_request(format!("the account has a region {name} already")));
    }
    Ok(())
}

/// What readers are promised, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Consistency {
    /// Every region shows the latest write that was acknowledged.
    Strong,
    /// No region is further behind than this.
    BoundedStaleness {
        /// So many commits of a partition.
        max_prefix: u64,
        /// So much time.
        max_interval: Duration,
    },
    /// A session sees what it has seen and written.
    #[default]
    Session,
    /// Writes are seen in order.
    ConsistentPrefix,
    /// Writes are seen at some time.
    Eventual,
}

impl Consistency {
    /// Bounded staleness as the service has it for several regions if it is not told otherwise.
    pub const BOUNDED: Self =
        Self::BoundedStaleness { max_prefix: 100_000, max_interval: Duration::from_secs(300) };
}

impl From<&Consistency> for ConsistencyLevel {
    fn from(consistency: &Consistency) -> Self {
        match consistency {
            Consistency::Strong => Self::Strong,
            Consistency::BoundedStaleness { .. } => Self::BoundedStaleness,
            Consistency::Session => Self::Session,
            Consistency::ConsistentPrefix => Self::ConsistentPrefix,
            Consistency::Eventual => Self::Eventual,
        }
    }
}

/// The account's regions at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// In the order in which writes would move; the first takes the writes of an account with one write region.
    pub regions: Vec<Region>,
    /// Whether every region takes writes.
    pub multi_write: bool,
    /// What readers are promised.
    pub consistency: Consistency,
    /// Whether the writes of a single partition may move to another region.
    pub partition_failover: bool,
}

/// A region of the account.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// Its id, never used again after the region has left.
    pub id: RegionId,
    /// Its name.
    pub name: RegionName,
}

impl Topology {
    pub(crate) fn new(config: &AccountConfig) -> Self {
        let region = |(id, name): (u8, &RegionName)| Region { id: RegionId(id), name: name.clone() };
        Self {
            regions: (0..).zip(&config.regions).map(region).collect(),
            multi_write: config.multi_write,
            consistency: config.consistency,
            partition_failover: config.partition_failover,
        }
    }

    /// The region of that name.
    pub fn region(&self, name: &RegionName) -> Option<RegionId> {
        self.regions.iter().find(|region| region.name == *name).map(|region| region.id)
    }

    /// The name of a region; `None` if it is not the account's.
    pub fn name(&self, id: RegionId) -> Option<&RegionName> {
        self.regions.iter().find(|region| region.id == id).map(|region| &region.name)
    }

    /// The region that takes writes or, if all do, the first.
    pub fn write_region(&self) -> &Region {
        // An account starts with a region, and the last one cannot be removed.
        &self.regions[0]
    }

    /// Whether a region takes writes. The writes of single partitions may have moved elsewhere.
    pub fn takes_writes(&self, id: RegionId) -> bool {
        match self.multi_write {
            true => self.name(id).is_some(),
            false => self.write_region().id == id,
        }
    }

    /// The ids of all regions, ascending.
    pub(crate) fn ids(&self) -> Vec<RegionId> {
        let mut ids: Vec<_> = self.regions.iter().map(|region| region.id).collect();
        ids.sort_unstable();
        ids
    }

    /// The name of a region, for a message.
    pub(crate) fn called(&self, id: RegionId) -> String {
        self.name(id).map_or_else(|| format!("region {}", id.0), ToString::to_string)
    }

    /// 400 unless the account has the region.
    pub(crate) fn check(&self, id: RegionId) -> Result<(), Failure> {
        match self.name(id) {
            Some(_) => Ok(()),
            None => Err(Failure::bad_request(format!(
                "the account has no region of the id {} (it has {})",
                id.0,
                self.regions
                    .iter()
                    .map(|one| format!("{} {}", one.id.0, one.name))
                    .collect::<Vec<_>>()
                    .join(", ")
            ))),
        }
    }

    /// 403/1008 if a request came by a region that has left the account.
    pub fn check_present(&self, id: RegionId) -> Result<(), Failure> {
        match self.name(id) {
            Some(_) => Ok(()),
            None => Err(region_left()),
        }
    }

    /// The same regions with one of them first.
    pub(crate) fn led_by(&self, id: RegionId) -> Self {
        let mut led = self.clone();
        // The sort is stable, so the others keep their order.
        led.regions.sort_by_key(|region| region.id != id);
        led
    }
}

/// 403/1008
pub(crate) fn region_left() -> Failure {
    Failure::new(
        CosmosStatus::DATABASE_ACCOUNT_NOT_FOUND,
        "the account is not in this region any more (read the account again from another)",
    )
}

/// 403/3, naming the region to go to.
pub(crate) fn write_forbidden(what: &str, here: &str, writer: &str) -> Failure {
    Failure::new(
        CosmosStatus::WRITE_FORBIDDEN,
        format!(
            "The requested operation cannot be performed at this region. {what} cannot be written in {here}: its writes \
             go to {writer} (read the account again)"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(regions: &[&str], multi_write: bool, consistency: Consistency) -> AccountConfig {
        let regions = regions.iter().map(|name| RegionName::from(*name)).collect();
        AccountConfig { regions, multi_write, consistency, ..AccountConfig::default() }
    }

    #[test]
    fn accounts_that_cannot_be_are_refused() {
        for (config, fits) in [
            (AccountConfig::default(), true),
            (config(&["a", "b"], true, Consistency::BOUNDED), true),
            (config(&["a", "b"], false, Consistency::Strong), true),
            (config(&["a", "b"], true, Consistency::Strong), false),
            (config(&[], false, Consistency::Session), false),
            (config(&["West US", "westus"], false, Consistency::Session), false),
            (config(&[" "], false, Consistency::Session), false),
        ] {
            assert_eq!(config.validate().is_ok(), fits, "{config:?}");
        }
    }

    #[test]
    fn moving_writes_keeps_the_order_of_the_others() {
        let topology = Topology::new(&config(&["a", "b", "c"], false, Consistency::Session));
        let moved = topology.led_by(RegionId(2));
        let names: Vec<_> = moved.regions.iter().map(|region| region.name.as_str()).collect();
        assert_eq!(names, ["c", "a", "b"]);
        assert!(moved.takes_writes(RegionId(2)) && !moved.takes_writes(RegionId(0)));
        assert_eq!(moved.region(&"B".into()), Some(RegionId(1)));
        assert!(moved.check(RegionId(3)).unwrap_err().message.contains("0 a"));
    }
}
