//! What goes wrong, and for whom.

use std::time::Duration;

use cosmonaut_emulator::{Control, Delay, Effect, Failover, Fault, Operations, Outage};
use cosmonaut_wire::CosmosStatus;

use super::account::{Access, Account, LINK};
use super::identity::Identity;
use super::workload::Kind;
use super::{NEAREST, REGIONS, WRITES};
use crate::Result;

/// A fault that lasts for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    RegionDown,
    RegionHangs,
    RegionSlow,
    PartitionDown,
    WriteFailover,
    DeadConnection,
    StalledIdentity,
}

/// How late a slow region's answers are.
const SLOW: Delay = Delay::Spread { p50: Duration::from_millis(300), p99: Duration::from_secs(3) };

impl Scenario {
    pub const ALL: [Self; 7] = [
        Self::RegionDown,
        Self::RegionHangs,
        Self::RegionSlow,
        Self::PartitionDown,
        Self::WriteFailover,
        Self::DeadConnection,
        Self::StalledIdentity,
    ];

    /// One by its name, or all.
    pub fn parse(name: &str) -> Result<Vec<Self>> {
        if name == "all" {
            return Ok(Self::ALL.to_vec());
        }
        match Self::ALL.into_iter().find(|scenario| scenario.name() == name) {
            Some(scenario) => Ok(vec![scenario]),
            None => {
                let names = Self::ALL.map(Self::name).join(", ");
                Err(format!("there is no scenario {name:?} (try {names} or all)").into())
            }
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::RegionDown => "region-down",
            Self::RegionHangs => "region-hangs",
            Self::RegionSlow => "region-slow",
            Self::PartitionDown => "partition-down",
            Self::WriteFailover => "write-failover",
            Self::DeadConnection => "dead-connection",
            Self::StalledIdentity => "stalled-identity",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::RegionDown => "the nearest region refuses connections",
            Self::RegionHangs => "the nearest region does not answer",
            Self::RegionSlow => "the nearest region is slow: 300 ms at P50, 3 s at P99",
            Self::PartitionDown => "reads of one partition in five get 503 in the nearest region",
            Self::WriteFailover => "the write region refuses connections, and the nearest takes its place",
            Self::DeadConnection => "connections to the nearest region fall silent; new ones work",
            Self::StalledIdentity => {
                "the identity service hangs while tokens are due for the next, and still good"
            }
        }
    }

    /// What the account must offer for it.
    pub fn access(self) -> Access {
        Access { relayed: self == Self::DeadConnection, open: self == Self::StalledIdentity }
    }

    /// The region that it strikes, if it strikes one.
    pub fn region(self) -> Option<usize> {
        match self {
            Self::RegionDown
            | Self::RegionHangs
            | Self::RegionSlow
            | Self::PartitionDown
            | Self::DeadConnection => Some(NEAREST),
            Self::WriteFailover => Some(WRITES),
            Self::StalledIdentity => None,
        }
    }

    /// Whether such an operation goes where it strikes.
    pub fn concerns(self, kind: Kind, in_partition: bool) -> bool {
        match self {
            Self::RegionDown | Self::RegionHangs | Self::RegionSlow | Self::DeadConnection => {
                kind == Kind::Read
            }
            Self::PartitionDown => kind == Kind::Read && in_partition,
            Self::WriteFailover => kind == Kind::Write,
            Self::StalledIdentity => true,
        }
    }

    pub async fn begin(self, account: &Account, identity: &Identity) -> Result<()> {
        let (control, nearest) = (account.control(), REGIONS[NEAREST]);
        match self {
            Self::RegionDown => drop(control.take_down(nearest, Outage::Refuse).await?),
            Self::RegionHangs => drop(control.take_down(nearest, Outage::Hang).await?),
            Self::RegionSlow => drop(control.slow_down(nearest, SLOW).await?),
            Self::PartitionDown => drop(fail_partition(control, nearest, account.partition()).await?),
            Self::DeadConnection => account.silence(NEAREST)?,
            Self::StalledIdentity => identity.hang(true),
            Self::WriteFailover => {
                control.take_down(REGIONS[WRITES], Outage::Refuse).await?;
                control.move_writes(REGIONS[NEAREST], Failover::Forced)?;
            }
        }
        Ok(())
    }

    pub async fn end(self, account: &Account, identity: &Identity) -> Result<()> {
        let control = account.control();
        match self {
            Self::RegionDown | Self::RegionHangs | Self::RegionSlow => {
                control.bring_back(REGIONS[NEAREST]).await?;
            }
            Self::WriteFailover => control.bring_back(REGIONS[WRITES]).await?,
            // What is silent stays so.
            Self::DeadConnection => {}
            Self::StalledIdentity => identity.hang(false),
            Self::PartitionDown => {
                let is_ours = |effect| matches!(effect, Effect::Status { .. });
                for active in control.faults().into_iter().filter(|active| is_ours(active.fault.effect)) {
                    control.remove_fault(active.id).await?;
                }
            }
        }
        Ok(())
    }
}

async fn fail_partition(control: &Control, region: &str, partition: &str) -> Result<()> {
    let fault = Fault::new(Effect::status(CosmosStatus::SERVICE_UNAVAILABLE))
        .in_region(region)
        .in_container(LINK)
        .in_partition(partition)
        .on(Operations::Read);
    control.add_fault(fault).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_found_by_name() {
        for scenario in Scenario::ALL {
            assert_eq!(Scenario::parse(scenario.name()).unwrap(), [scenario]);
        }
        assert_eq!(Scenario::parse("all").unwrap(), Scenario::ALL);
        let error = Scenario::parse("flood").unwrap_err().to_string();
        assert!(error.contains("flood") && error.contains("region-slow"), "{error}");
    }

    #[test]
    fn a_fault_concerns_what_goes_where_it_strikes() {
        for (scenario, kind, in_partition, expected) in [
            (Scenario::RegionDown, Kind::Read, false, true),
            (Scenario::RegionDown, Kind::Write, true, false),
            (Scenario::PartitionDown, Kind::Read, true, true),
            (Scenario::PartitionDown, Kind::Read, false, false),
            (Scenario::WriteFailover, Kind::Write, false, true),
            (Scenario::WriteFailover, Kind::Read, true, false),
            (Scenario::DeadConnection, Kind::Write, false, false),
            (Scenario::StalledIdentity, Kind::Write, false, true),
        ] {
            assert_eq!(
                scenario.concerns(kind, in_partition),
                expected,
                "{scenario:?} {kind:?} {in_partition}"
            );
        }
    }
}
