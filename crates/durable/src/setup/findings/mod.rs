//! What is wrong with an account or a container for the provider, and what to change.
//!
//! One pure function from descriptions to findings. Reading the descriptions, and what follows from a finding, is for
//! others.

#[cfg(test)]
mod tests;

use std::fmt;

use cosmonaut::{
    AccountProperties, ConsistencyLevel, ContainerProperties, RegionName, ThroughputProperties, TimeToLive,
};
use serde::Serialize;

use super::index;
use super::layout::{BODIES, INDEXED, PARTITION_KEY, SORTED_BY};

/// About how many request units an orchestration of five activities takes.
const RU_PER_ORCHESTRATION: u32 = 250;
/// Below this throughput a container carries less than some four such orchestrations a second.
const LITTLE_RU: u32 = 1_000;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub level: FindingLevel,
    /// What it is about.
    pub kind: FindingKind,
    /// What is so, and what follows from that.
    pub what: String,
    /// What to change.
    pub remedy: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FindingLevel {
    /// Orchestrations would be lost, repeated or stuck: the provider does not connect.
    Error,
    /// It works, but costs more or carries less than it could.
    Warning,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum FindingKind {
    /// In how many regions the account writes.
    WriteRegions,
    /// What the account's reads may miss.
    Consistency,
    /// How the container's documents are spread.
    PartitionKey,
    /// When the container's documents expire.
    TimeToLive,
    /// What of the documents must be unique.
    UniqueKeys,
    /// What is indexed.
    Indexing,
    /// How much the container can carry.
    Throughput,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.remedy)
    }
}

/// What an account and a container say of themselves, and how the provider uses them.
#[derive(Clone, Copy)]
pub(crate) struct Described<'a> {
    pub(crate) account: &'a AccountProperties,
    /// The container, once it is there.
    pub(crate) container: Option<&'a ContainerProperties>,
    /// The container's throughput, if it is known.
    pub(crate) throughput: Option<ThroughputProperties>,
    /// The only region that requests go to, if there is such a one.
    pub(crate) bound_to: Option<&'a RegionName>,
    /// Whether reads ask for what this process has written, whatever the account's default is.
    pub(crate) asks_for_session: bool,
}

/// All that is wrong, errors first.
pub(crate) fn inspect(described: &Described<'_>) -> Vec<Finding> {
    let account = [write_regions(described), consistency(described)];
    let mut found: Vec<Finding> = account.into_iter().flatten().collect();
    if let Some(container) = described.container {
        found.extend(partition_key(container));
        found.extend(time_to_live(container));
        found.extend(unique_keys(container));
        found.extend(indexing(container));
    }
    found.extend(described.throughput.and_then(throughput));
    found.sort_by_key(|finding| finding.level);
    found
}

fn error(kind: FindingKind, what: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding { level: FindingLevel::Error, kind, what: what.into(), remedy: remedy.into() }
}

fn warning(kind: FindingKind, what: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding { level: FindingLevel::Warning, kind, what: what.into(), remedy: remedy.into() }
}

/// A condition of a write is judged by the region that takes the write. So of two processes that write in two regions
/// both may get the same lock.
fn write_regions(described: &Described<'_>) -> Option<Finding> {
    let kind = FindingKind::WriteRegions;
    let account = described.account;
    if !account.has_multiple_write_locations() {
        return None;
    }
    let names: Vec<_> = account.writable_locations.iter().map(|region| region.name.as_str()).collect();
    match described.bound_to {
        Some(region) if account.writable_locations.iter().any(|location| location.name == *region) => None,
        Some(region) => Some(error(
            kind,
            format!("the account does not write in {region}"),
            format!("set write_region to one of {}", names.join(", ")),
        )),
        None if names.len() > 1 => Some(error(
            kind,
            format!(
                "the account writes in several regions ({}), and a lock that holds in one of them does not hold in \
                 the others: activities would run twice",
                names.join(", ")
            ),
            "turn multi-region writes off, or set write_region to the same region in all processes",
        )),
        None => Some(warning(
            kind,
            "the account is set to write in several regions, and has one: activities would run twice if it got another",
            "turn multi-region writes off, or set write_region to the same region in all processes",
        )),
    }
}

/// A turn reads the history that the turn before it has written.
fn consistency(described: &Described<'_>) -> Option<Finding> {
    let kind = FindingKind::Consistency;
    match described.account.user_consistency_policy.default_consistency_level {
        ConsistencyLevel::Strong | ConsistencyLevel::Session => None,
        ConsistencyLevel::BoundedStaleness if described.asks_for_session => None,
        ConsistencyLevel::BoundedStaleness => Some(warning(
            kind,
            "the account's consistency is BoundedStaleness: in a region that does not write, turns may wait until it \
             has caught up",
            "make the client with the consistency level Session, or give endpoint and key instead of a client",
        )),
        level @ (ConsistencyLevel::ConsistentPrefix | ConsistencyLevel::Eventual) => Some(error(
            kind,
            format!(
                "the account's consistency is {}: a turn may not see what the turn before it has written",
                level.as_str()
            ),
            "set the account's default consistency to Session",
        )),
    }
}

fn partition_key(container: &ContainerProperties) -> Option<Finding> {
    let paths = &container.partition_key.paths;
    let what = if *paths != [PARTITION_KEY] {
        format!("the partition key is {paths:?}, not {PARTITION_KEY:?}")
    } else if container.partition_key.version() == 2 {
        return None;
    } else {
        // Processes share a container by its hashes.
        "the partition key is hashed by version 1, not by version 2".to_owned()
    };
    Some(error(FindingKind::PartitionKey, what, "use another container: a partition key cannot be changed"))
}

fn time_to_live(container: &ContainerProperties) -> Option<Finding> {
    let kind = FindingKind::TimeToLive;
    match container.default_ttl {
        Some(TimeToLive::NoExpiry) => None,
        Some(TimeToLive::Seconds(seconds)) => Some(error(
            kind,
            format!(
                "the default time to live is {seconds} seconds: instances vanish that long after their last turn"
            ),
            "set the default time to live to -1, which means that nothing expires unless it says so itself",
        )),
        None => Some(error(
            kind,
            "time to live is off: what is to expire by itself stays for ever",
            "set the default time to live to -1; a provider that may create containers does it by itself",
        )),
    }
}

fn unique_keys(container: &ContainerProperties) -> Option<Finding> {
    let keys = container.unique_key_policy.as_ref().map_or(&[][..], |policy| &policy.unique_keys);
    (!keys.is_empty()).then(|| {
        let paths: Vec<_> = keys.iter().map(|key| key.paths.join(" and ")).collect();
        error(
            FindingKind::UniqueKeys,
            format!("{} must be unique: documents of an instance would be refused", paths.join(", ")),
            "use another container: unique keys cannot be changed",
        )
    })
}

fn indexing(container: &ContainerProperties) -> Vec<Finding> {
    let kind = FindingKind::Indexing;
    let policy = container.indexing_policy.as_ref();
    let remedy = "set the indexing policy that `cosmonaut durable definition` prints";
    if !index::is_current(policy) {
        let what = "documents are not indexed when they are written: queries miss them or fail";
        return vec![error(kind, what, remedy)];
    }
    let mut found = Vec::new();
    let bodies: Vec<_> = BODIES.into_iter().filter(|path| index::covers(policy, path)).collect();
    if !bodies.is_empty() {
        let what = format!(
            "inputs, outputs and histories are indexed, which every write pays for: {}",
            bodies.join(" ")
        );
        found.push(warning(kind, what, remedy));
    }
    let missing: Vec<_> = INDEXED.into_iter().filter(|path| !index::covers(policy, path)).collect();
    if missing.contains(&SORTED_BY) {
        let what = format!("{SORTED_BY} is not indexed: instances cannot be listed");
        found.push(error(kind, what, remedy));
    } else if !missing.is_empty() {
        let what =
            format!("queries read all documents, because these are not indexed: {}", missing.join(" "));
        found.push(warning(kind, what, remedy));
    }
    found
}

fn throughput(throughput: ThroughputProperties) -> Option<Finding> {
    let (most, words) = match throughput {
        ThroughputProperties::Manual { throughput } => (throughput, "has"),
        ThroughputProperties::Autoscale { max_throughput, .. } => (max_throughput, "scales up to"),
    };
    (most < LITTLE_RU).then(|| {
        let rate = f64::from(most) / f64::from(RU_PER_ORCHESTRATION);
        warning(
            FindingKind::Throughput,
            format!(
                "the container {words} {most} request units a second, which is about {rate:.1} orchestrations of five \
                 activities a second"
            ),
            "raise the throughput of the container, or let it scale by itself",
        )
    })
}
