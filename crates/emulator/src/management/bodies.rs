//! The JSON that the management API takes and gives. Faults have theirs in [`faults`](crate::faults).

use cosmonaut_wire::{ConsistencyLevel, RegionName};
use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::control::{Control, LinkStatus, RegionState, RegionStatus};
use crate::engine::{Failover, Lag};
use crate::faults::{Outage, WrittenFault};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddRegion {
    pub(super) name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mode {
    #[serde(default)]
    pub(super) mode: OutageName,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OutageName {
    #[default]
    Refuse,
    Hang,
    Unavailable,
}

impl From<OutageName> for Outage {
    fn from(name: OutageName) -> Self {
        match name {
            OutageName::Refuse => Self::Refuse,
            OutageName::Hang => Self::Hang,
            OutageName::Unavailable => Self::Unavailable,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SlowBody {
    pub(super) delay: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailoverBody {
    pub(super) to: String,
    #[serde(default)]
    forced: bool,
}

impl FailoverBody {
    pub(super) fn how(&self) -> Failover {
        how(self.forced)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartitionFailover {
    pub(super) container: String,
    pub(super) partition: String,
    pub(super) to: String,
    #[serde(default)]
    forced: bool,
}

impl PartitionFailover {
    pub(super) fn how(&self) -> Failover {
        how(self.forced)
    }
}

fn how(forced: bool) -> Failover {
    if forced { Failover::Forced } else { Failover::Graceful }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartitionName {
    pub(super) container: String,
    pub(super) partition: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkBody {
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) lag: Option<String>,
    pub(super) paused: Option<bool>,
}

/// How many commits a move has lost.
#[derive(Serialize)]
pub(super) struct Lost {
    pub(super) lost: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RegionList {
    regions: Vec<WrittenRegion>,
    multi_write: bool,
    partition_failover: bool,
    consistency: ConsistencyLevel,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenRegion {
    name: RegionName,
    id: u8,
    url: String,
    takes_writes: bool,
    writes_forbidden: bool,
    state: &'static str,
    requests: u64,
    behind: u64,
}

impl RegionList {
    pub(super) fn of(control: &Control) -> Self {
        let topology = control.engine().topology();
        Self {
            regions: control.regions().into_iter().map(WrittenRegion::from).collect(),
            multi_write: topology.multi_write,
            partition_failover: topology.partition_failover,
            consistency: (&topology.consistency).into(),
        }
    }
}

impl From<RegionStatus> for WrittenRegion {
    fn from(status: RegionStatus) -> Self {
        Self {
            name: status.name,
            id: status.id.0,
            url: status.url,
            takes_writes: status.takes_writes,
            writes_forbidden: status.writes_forbidden,
            state: match status.state {
                RegionState::Up => "up",
                RegionState::Slow => "slow",
                RegionState::Down(Outage::Refuse) => "refuse",
                RegionState::Down(Outage::Hang) => "hang",
                RegionState::Down(Outage::Unavailable) => "unavailable",
            },
            requests: status.requests,
            behind: status.behind,
        }
    }
}

/// What is out of order: faults, and links that lag or are paused.
#[derive(Serialize)]
pub(super) struct FaultList {
    faults: Vec<WrittenFault>,
    links: Vec<WrittenLink>,
}

impl FaultList {
    pub(super) fn of(control: &Control) -> Self {
        let late = |status: &LinkStatus| status.link.paused || status.link.lag != Lag::None;
        Self {
            faults: control.faults().into_iter().map(WrittenFault::from).collect(),
            links: control.links().into_iter().filter(late).map(WrittenLink::from).collect(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct LinkList {
    links: Vec<WrittenLink>,
}

#[derive(Serialize)]
struct WrittenLink {
    from: RegionName,
    to: RegionName,
    lag: String,
    paused: bool,
}

impl From<LinkStatus> for WrittenLink {
    fn from(status: LinkStatus) -> Self {
        let LinkStatus { from, to, link } = status;
        Self { from, to, lag: link.lag.to_string(), paused: link.paused }
    }
}

pub(super) fn links(all: Vec<LinkStatus>) -> LinkList {
    LinkList { links: all.into_iter().map(WrittenLink::from).collect() }
}

#[derive(Serialize)]
pub(super) struct PartitionList {
    partitions: Vec<WrittenPartition>,
}

#[derive(Serialize)]
struct WrittenPartition {
    id: String,
    min: String,
    max: String,
    /// The region that takes its writes; nothing if every region does.
    writer: Option<RegionName>,
    /// How far the log is in each region, in the order of priority.
    lsns: Vec<WrittenLsn>,
}

#[derive(Serialize)]
struct WrittenLsn {
    region: RegionName,
    lsn: i64,
}

pub(super) fn partitions(control: &Control, container: &str) -> Result<PartitionList, Failure> {
    let partitions = control.partitions(container)?.into_iter().map(|partition| WrittenPartition {
        id: partition.id.as_str().to_owned(),
        min: partition.keys.min.to_string(),
        max: partition.keys.max.to_string(),
        writer: partition.writer,
        lsns: partition.lsns.into_iter().map(|(region, lsn)| WrittenLsn { region, lsn }).collect(),
    });
    Ok(PartitionList { partitions: partitions.collect() })
}
