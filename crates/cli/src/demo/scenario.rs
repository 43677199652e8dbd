//! What goes wrong, for whom, and how it is mended.

use std::time::Duration;

use cosmonaut::CosmosStatus;
use cosmonaut_emulator::{Delay, Effect, Failover, Failure as Refused, Fault, FaultId, Outage};

use super::account::{Account, NEAREST, ORCHESTRATIONS_LINK, REGIONS, SHOP_LINK, WRITES, failed};
use super::meter::Kind;
use crate::failure::Failure;
use crate::runtime;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scenario {
    /// The nearest region refuses connections
    RegionDown,
    /// The nearest region answers late: 300 ms at P50, 3 s at P99
    RegionSlow,
    /// One partition in five answers 503 in the nearest region
    PartitionDown,
    /// Writes move to the nearest region, and the one that they leave goes down
    WriteFailover,
    /// One request in five gets 429, with a time to wait
    Throttling,
    /// The partitions split under load, again and again
    Split,
}

/// How late a slow region's answers are.
const SLOW: Delay = Delay::Spread { p50: Duration::from_millis(300), p99: Duration::from_secs(3) };
/// How many requests are throttled, and how long they are to wait.
const THROTTLED: f64 = 0.2;
const WAIT: Duration = Duration::from_millis(20);
/// How many splits a run sees.
const SPLITS: u32 = 6;

impl Scenario {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RegionDown => "region-down",
            Self::RegionSlow => "region-slow",
            Self::PartitionDown => "partition-down",
            Self::WriteFailover => "write-failover",
            Self::Throttling => "throttling",
            Self::Split => "split",
        }
    }

    /// What is done, in a sentence.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::RegionDown => "West US, the nearest region, refuses connections.",
            Self::RegionSlow => "West US, the nearest region, answers late: 300 ms at P50, 3 s at P99.",
            Self::PartitionDown => {
                "One of the shop's five partitions answers 503 in West US, the nearest region."
            }
            Self::WriteFailover => {
                "Writes move from East US to West US, gracefully: West US catches up first, so nothing is lost. \
                 Then East US refuses connections; once it is back, the writes go home in the same way."
            }
            Self::Throttling => "One request in five gets 429 and has to wait 20 ms, in every region.",
            Self::Split => "Partitions split in two while they are used, six times.",
        }
    }

    /// The fault in a word or two.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::RegionDown => "West US down",
            Self::RegionSlow => "West US slow",
            Self::PartitionDown => "partition down",
            Self::WriteFailover => "writes moved, East US down",
            Self::Throttling => "throttling",
            Self::Split => "splits",
        }
    }

    /// What is told when it begins.
    pub(crate) fn begins(self) -> &'static str {
        match self {
            Self::RegionDown => "West US goes down",
            Self::RegionSlow => "West US becomes slow",
            Self::PartitionDown => "a partition fails in West US",
            Self::WriteFailover => "writes move to West US, and East US goes down",
            Self::Throttling => "one request in five is throttled",
            Self::Split => "partitions begin to split",
        }
    }

    /// What is told when it ends.
    pub(crate) fn ends(self) -> &'static str {
        match self {
            Self::RegionDown => "West US is back",
            Self::RegionSlow => "West US is as fast as ever",
            Self::PartitionDown => "the partition answers again",
            Self::WriteFailover => "East US is back, and takes the writes again",
            Self::Throttling => "no request is throttled any more",
            Self::Split => "the last partition has split",
        }
    }

    /// The region that it strikes, if it strikes one.
    pub(crate) fn region(self) -> Option<usize> {
        match self {
            Self::RegionDown | Self::RegionSlow | Self::PartitionDown => Some(NEAREST),
            Self::WriteFailover => Some(WRITES),
            Self::Throttling | Self::Split => None,
        }
    }

    /// The region that operations leave for another, and come back to. A partition alone is too few of them to tell.
    pub(crate) fn home(self) -> Option<usize> {
        match self {
            Self::RegionDown | Self::RegionSlow => Some(NEAREST),
            Self::WriteFailover => Some(WRITES),
            Self::PartitionDown | Self::Throttling | Self::Split => None,
        }
    }

    /// Whether such operations go where it strikes.
    pub(crate) fn concerns(self, kind: Kind) -> bool {
        match self {
            Self::RegionDown | Self::RegionSlow | Self::PartitionDown => kind == Kind::Read,
            Self::WriteFailover => kind == Kind::Write,
            Self::Throttling | Self::Split => true,
        }
    }

    /// Breaks it.
    pub(crate) async fn begin(self, account: &Account) -> Result<(), Failure> {
        self.try_begin(account).await.map_err(failed)
    }

    async fn try_begin(self, account: &Account) -> Result<(), Refused> {
        let control = account.control();
        match self {
            Self::RegionDown => drop::<FaultId>(control.take_down(REGIONS[NEAREST], Outage::Refuse).await?),
            Self::RegionSlow => drop::<FaultId>(control.slow_down(REGIONS[NEAREST], SLOW).await?),
            Self::PartitionDown => {
                let unavailable = Effect::status(CosmosStatus::SERVICE_UNAVAILABLE);
                let (partition, region) = (account.partition(), REGIONS[NEAREST]);
                control.fail_partition(SHOP_LINK, partition, region, unavailable).await?;
            }
            // As whoever has to take a region out of service would: first the writes, then the region.
            Self::WriteFailover => drop(control.move_writes(REGIONS[NEAREST], Failover::Graceful)?),
            Self::Throttling => {
                for container in [SHOP_LINK, ORCHESTRATIONS_LINK] {
                    let fault = Fault::new(Effect::Throttle { retry_after: WAIT })
                        .in_container(container)
                        .with_probability(THROTTLED);
                    control.add_fault(fault).await?;
                }
            }
            Self::Split => {}
        }
        Ok(())
    }

    /// Lasts for so long.
    pub(crate) async fn last(self, account: &Account, time: Duration) -> Result<(), Failure> {
        match self {
            Self::RegionDown | Self::RegionSlow | Self::PartitionDown | Self::Throttling => {
                runtime::sleep(time).await;
            }
            Self::WriteFailover => {
                runtime::sleep(time / 4).await;
                account.control().take_down(REGIONS[WRITES], Outage::Refuse).await.map_err(failed)?;
                runtime::sleep(time - time / 4).await;
            }
            Self::Split => {
                for number in 0..SPLITS {
                    split(account, number).await.map_err(failed)?;
                    runtime::sleep(time / SPLITS).await;
                }
            }
        }
        Ok(())
    }

    /// Mends it.
    pub(crate) async fn end(self, account: &Account) -> Result<(), Failure> {
        self.try_end(account).await.map_err(failed)
    }

    async fn try_end(self, account: &Account) -> Result<(), Refused> {
        let control = account.control();
        match self {
            Self::RegionDown | Self::RegionSlow => control.bring_back(REGIONS[NEAREST]).await?,
            Self::WriteFailover => {
                control.bring_back(REGIONS[WRITES]).await?;
                control.move_writes(REGIONS[WRITES], Failover::Graceful)?;
            }
            Self::PartitionDown | Self::Throttling => {
                let ours = |effect| matches!(effect, Effect::Status { .. } | Effect::Throttle { .. });
                for active in control.faults().into_iter().filter(|active| ours(active.fault.effect)) {
                    control.remove_fault(active.id).await?;
                }
            }
            Self::Split => {}
        }
        Ok(())
    }
}

/// Splits one of the shop's partitions, another one each time, and every third time the one of the orchestrations.
async fn split(account: &Account, number: u32) -> Result<(), Refused> {
    let container = if number % 3 == 2 { ORCHESTRATIONS_LINK } else { SHOP_LINK };
    let partitions = account.control().partitions(container)?;
    let partition = &partitions[number as usize % partitions.len()];
    account.control().split(container, partition.id.as_str()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn scenarios_have_the_names_that_arguments_take() {
        for scenario in Scenario::value_variants() {
            assert_eq!(scenario.to_possible_value().unwrap().get_name(), scenario.name());
        }
    }

    #[test]
    fn a_fault_concerns_what_goes_where_it_strikes() {
        for (scenario, kind, expected) in [
            (Scenario::RegionDown, Kind::Read, true),
            (Scenario::RegionDown, Kind::Write, false),
            (Scenario::WriteFailover, Kind::Write, true),
            (Scenario::WriteFailover, Kind::Read, false),
            (Scenario::Throttling, Kind::Query, true),
        ] {
            assert_eq!(scenario.concerns(kind), expected, "{scenario:?} {kind:?}");
        }
    }
}
