//! A lease as its document holds it, in .NET's format, and every change that is made to one. Nothing is sent here.

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use cosmonaut_wire::{EpkRange, Etag};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::timestamp;
use crate::change_feed::Mode;

/// A lease: who reads one part of the container, and how far it has come.
///
/// Members that this client does not know are kept as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Lease {
    pub(super) id: String,
    /// 0: a physical partition. 1: a stretch of the key space.
    #[serde(default)]
    pub(super) version: u32,
    #[serde(rename = "LeaseToken", default, skip_serializing_if = "Option::is_none")]
    lease_token: Option<String>,
    /// The old name of `LeaseToken`: written only where it was read.
    #[serde(rename = "PartitionId", default, skip_serializing_if = "Option::is_none")]
    partition_id: Option<String>,
    #[serde(rename = "FeedRange", default, skip_serializing_if = "Option::is_none")]
    feed_range: Option<Value>,
    #[serde(rename = "Owner", default)]
    pub(super) owner: Option<String>,
    /// The etag of the change feed, quotes included.
    #[serde(rename = "ContinuationToken", default)]
    pub(super) continuation: Option<String>,
    /// The partition key, where the path of the lease container's key is `/partitionKey`.
    #[serde(rename = "partitionKey", default, skip_serializing_if = "Option::is_none")]
    pub(super) partition_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<String>,
    #[serde(default)]
    properties: Option<BTreeMap<String, Value>>,
    #[serde(rename = "Mode", default, skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(rename = "_etag", default, skip_serializing)]
    etag: Option<String>,
    #[serde(rename = "_ts", default, skip_serializing)]
    changed_at: Option<u64>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Where a lease's properties have the second behind which it is read first.
const START: &str = "cosmonaut.start";

/// What a new lease is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeaseRange {
    pub(super) version: u32,
    pub(super) token: String,
    pub(super) range: EpkRange,
}

/// A change to a lease. Each but the first is refused unless the instance still has the lease.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LeaseUpdate<'a> {
    /// Takes the lease, unless somebody else has done so since it was seen.
    ///
    /// `start` is the second behind which it is read as long as it says nothing of how far it was: written once, so that
    /// whoever has it later starts there too.
    Acquire { by: &'a str, seen: &'a Lease, is_expired: bool, range: &'a EpkRange, start: Option<u64> },
    /// Says that its owner is alive.
    Renew { by: &'a str },
    /// Says how far the owner has come.
    Checkpoint { by: &'a str, continuation: &'a str },
    /// Leaves the lease to anybody.
    Release { by: &'a str },
}

impl Lease {
    /// A lease that nobody has.
    pub(super) fn new(id: String, of: &LeaseRange, mode: Mode, now: Duration) -> Self {
        Self {
            id,
            version: of.version,
            lease_token: Some(of.token.clone()),
            partition_id: None,
            feed_range: Some(range_value(&of.range)),
            owner: None,
            continuation: None,
            partition_key: None,
            timestamp: Some(timestamp::write(now)),
            properties: Some(BTreeMap::new()),
            mode: Some(mode_name(mode).to_owned()),
            etag: None,
            changed_at: None,
            others: Map::new(),
        }
    }

    /// A lease for a part of this one, which goes on where this one was.
    pub(super) fn child(
        &self,
        id: String,
        of: &LeaseRange,
        continuation: Option<&str>,
        now: Duration,
    ) -> Self {
        Self {
            continuation: continuation.map(str::to_owned),
            properties: self.properties.clone(),
            ..Self::new(id, of, self.mode(), now)
        }
    }

    /// A lease that is read behind this second as long as it says nothing of how far it was, unless it names a second.
    pub(super) fn starting_at(mut self, second: Option<u64>) -> Self {
        if let (None, Some(second)) = (&self.continuation, second) {
            let properties = self.properties.get_or_insert_default();
            properties.entry(START.to_owned()).or_insert_with(|| second.to_string().into());
        }
        self
    }

    /// The range id of a physical partition, or the bounds of a stretch of the key space.
    pub(super) fn token(&self) -> &str {
        let token = self.lease_token.as_deref().or(self.partition_id.as_deref());
        token.unwrap_or_else(|| self.id.rsplit_once("..").map_or("", |(_, token)| token))
    }

    /// The part of the key space; `None` in old leases, which name a physical partition alone.
    pub(super) fn range(&self) -> Option<EpkRange> {
        let range = self.feed_range.as_ref()?.get("Range")?;
        let is_half_open = range.get("isMinInclusive").and_then(Value::as_bool) != Some(false)
            && range.get("isMaxInclusive").and_then(Value::as_bool) != Some(true);
        let bound = |name: &str| range.get(name)?.as_str()?.parse().ok();
        let range = EpkRange { min: bound("min")?, max: bound("max")? };
        (is_half_open && !range.is_empty()).then_some(range)
    }

    /// The second behind which it is read as long as it says nothing of how far it was.
    pub(super) fn start(&self) -> Option<u64> {
        self.properties.as_ref()?.get(START)?.as_str()?.parse().ok()
    }

    /// Which changes are read. A lease that does not say so is one of the latest versions.
    pub(super) fn mode(&self) -> Mode {
        match self.mode.as_deref() {
            Some(name) if name == mode_name(Mode::AllVersionsAndDeletes) => Mode::AllVersionsAndDeletes,
            _ => Mode::LatestVersion,
        }
    }

    /// When its owner last changed it, by the owner's clock.
    pub(super) fn renewed_at(&self) -> Duration {
        let written = self.timestamp.as_deref().and_then(timestamp::read);
        written.unwrap_or(Duration::from_secs(self.changed_at.unwrap_or(0)))
    }

    /// The version that a replacement is for.
    pub(super) fn etag(&self) -> Option<Etag> {
        self.etag.as_deref().map(Etag::from)
    }

    /// The lease at the version that a write was answered with.
    pub(super) fn at(mut self, etag: Option<Etag>) -> Self {
        self.etag = etag.map(|etag| etag.as_str().to_owned());
        self
    }

    /// Whether an instance has it, as .NET compares when it counts leases: without case.
    pub(super) fn is_of(&self, owner: &str) -> bool {
        self.owner.as_deref().is_some_and(|of| of.eq_ignore_ascii_case(owner))
    }

    /// The document to write.
    pub(super) fn document(&self) -> Self {
        let mut document = self.clone();
        document.others.retain(|name, _| !name.starts_with('_'));
        document
    }
}

impl LeaseUpdate<'_> {
    /// The lease after the change; `None` if the instance does not have it any more, or may not take it.
    pub(super) fn apply(&self, lease: &Lease, now: Duration) -> Option<Lease> {
        let is_ours = |by: &str| lease.owner.as_deref() == Some(by);
        let mut next = lease.clone();
        next.timestamp = Some(timestamp::write(now));
        match *self {
            Self::Acquire { by, seen, is_expired, range, start } => {
                // Also by an owner whose clock stands still.
                let was_renewed = lease.timestamp != seen.timestamp || lease.etag != seen.etag;
                if lease.owner != seen.owner || is_expired && was_renewed {
                    return None;
                }
                next.owner = Some(by.to_owned());
                next.feed_range.get_or_insert_with(|| range_value(range));
                next = next.starting_at(start);
            }
            Self::Renew { by } => is_ours(by).then_some(())?,
            Self::Checkpoint { by, continuation } => {
                is_ours(by).then_some(())?;
                next.continuation = Some(continuation.to_owned());
            }
            Self::Release { by } => {
                is_ours(by).then_some(())?;
                next.owner = None;
            }
        }
        Some(next)
    }
}

/// The name of a mode, as the request's header has it too.
pub(super) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::LatestVersion => "Incremental Feed",
        Mode::AllVersionsAndDeletes => "Full-Fidelity Feed",
    }
}

fn range_value(range: &EpkRange) -> Value {
    json!({ "Range": range })
}
