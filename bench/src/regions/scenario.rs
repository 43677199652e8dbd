//! What goes wrong, and for whom.

use std::time::Duration;

use cosmonaut_emulator::{Control, Delay, Effect, Failover, Fault, Operations, Outage};
use cosmonaut_wire::CosmosStatus;

use super::account::{Account, LINK};
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
}

/// How late a slow region's answers are.
const SLOW: Delay = Delay::Spread { p50: Duration::from_millis(300), p99: Duration::from_secs(3) };

impl Scenario {
    pub const ALL: [Self; 5] =
        [Self::RegionDown, Self::RegionHangs, Self::RegionSlow, Self::PartitionDown, Self::WriteFailover];

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
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::RegionDown => "the nearest region refuses connections",
            Self::RegionHangs => "the nearest region does not answer",
            Self::RegionSlow => "the nearest region is slow: 300 ms at P50, 3 s at P99",
            Self::PartitionDown => "reads of one partition in five get 503 in the nearest region",
            Self::WriteFailover => "the write region refuses connections, and the nearest takes its place",
        }
    }

    /// The region that it strikes.
    pub fn region(self) -> usize {
        match self {
            Self::RegionDown | Self::RegionHangs | Self::RegionSlow | Self::PartitionDown => NEAREST,
            Self::WriteFailover => WRITES,
        }
    }

    /// Whether such an operation goes where it strikes.
    pub fn concerns(self, kind: Kind, in_partition: bool) -> bool {
        match self {
            Self::RegionDown | Self::RegionHangs | Self::RegionSlow => kind == Kind::Read,
            Self::PartitionDown => kind == Kind::Read && in_partition,
            Self::WriteFailover => kind == Kind::Write,
        }
    }

    pub async fn begin(self, account: &Account) -> Result<()> {
        let (control, region) = (account.control(), REGIONS[self.region()]);
        match self {
            Self::RegionDown => drop(control.take_down(region, Outage::Refuse).await?),
            Self::RegionHangs => drop(control.take_down(region, Outage::Hang).await?),
            Self::RegionSlow => drop(control.slow_down(region, SLOW).await?),
            Self::PartitionDown => drop(fail_partition(control, region, account.partition()).await?),
            Self::WriteFailover => {
                control.take_down(region, Outage::Refuse).await?;
                control.move_writes(REGIONS[NEAREST], Failover::Forced)?;
            }
        }
        Ok(())
    }

    pub async fn end(self, account: &Account) -> Result<()> {
        let (control, region) = (account.control(), REGIONS[self.region()]);
        match self {
            Self::RegionDown | Self::RegionHangs | Self::RegionSlow | Self::WriteFailover => {
                control.bring_back(region).await?;
            }
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
        ] {
            assert_eq!(
                scenario.concerns(kind, in_partition),
                expected,
                "{scenario:?} {kind:?} {in_partition}"
            );
        }
    }
}
