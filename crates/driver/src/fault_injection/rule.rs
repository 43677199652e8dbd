//! Which requests a fault is for, and what it does to them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cosmonaut_policy::{Moment, OperationType};
use cosmonaut_wire::{CosmosStatus, PartitionKeyRangeId, RegionName, ResourceType};

use super::RequestTags;

/// Which requests a rule is for. What is not set matches every request.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultInjectionCondition {
    /// Operations of this type.
    pub operation: Option<OperationType>,
    /// Operations on resources of this type: the account, containers and partition ranges can be singled out, which
    /// the driver reads for its own sake.
    pub resource: Option<ResourceType>,
    /// Requests to this region.
    pub region: Option<RegionName>,
    /// Requests to this host, with the port unless it is the scheme's own.
    pub endpoint: Option<String>,
    /// Requests for this container, as `/dbs/x/colls/y`.
    pub container: Option<String>,
    /// Requests for this partition.
    pub partition: Option<PartitionKeyRangeId>,
    /// Requests over this HTTP/2 connection.
    pub shard: Option<u64>,
    /// The share of matching requests that are hit, from 0 to 1.
    pub probability: f64,
    /// Hit no more requests than this.
    pub max_hits: Option<u64>,
    /// Hit requests from so long until so long after the rule first saw one.
    pub window: Option<(Duration, Duration)>,
}

impl Default for FaultInjectionCondition {
    /// Every request.
    fn default() -> Self {
        Self {
            operation: None,
            resource: None,
            region: None,
            endpoint: None,
            container: None,
            partition: None,
            shard: None,
            probability: 1.0,
            max_hits: None,
            window: None,
        }
    }
}

impl FaultInjectionCondition {
    fn matches(&self, tags: &RequestTags) -> bool {
        let Self { operation, resource, region, endpoint, container, partition, shard, .. } = self;
        operation.is_none_or(|operation| operation == tags.operation)
            && resource.is_none_or(|resource| resource == tags.resource)
            && region.as_ref().is_none_or(|region| tags.region.as_ref() == Some(region))
            && endpoint
                .as_ref()
                .is_none_or(|host| tags.endpoint.authority().as_str().eq_ignore_ascii_case(host))
            && container.as_ref().is_none_or(|path| tags.container.as_deref() == Some(path))
            && partition.as_ref().is_none_or(|partition| tags.partition.as_ref() == Some(partition))
            && shard.is_none_or(|shard| tags.shard == Some(shard))
    }
}

/// What is done to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultInjectionResult {
    /// It is answered with this status, and never reaches the service.
    Status {
        /// The status.
        status: CosmosStatus,
        /// How long the answer asks to wait, for 429.
        retry_after: Option<Duration>,
    },
    /// It is held back for so long, and then sent.
    Delay(Duration),
    /// No connection can be made.
    ConnectionRefused,
    /// The connection is reset before the request is on its way.
    ResetBeforeSend,
    /// The connection is reset while the request is on its way. It does not arrive, but nobody can know.
    ResetAfterSend,
    /// The service does what was asked, and its answer is lost.
    ResponseLost,
    /// The answer is there, but its body takes so long.
    SlowBody(Duration),
    /// There is never an answer.
    Hang,
}

/// A fault, and which requests it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultInjectionRule {
    /// Its name, to change and remove it by.
    pub name: String,
    /// Which requests it is for.
    pub condition: FaultInjectionCondition,
    /// What it does to them.
    pub result: FaultInjectionResult,
}

impl FaultInjectionRule {
    /// A rule for every request; narrow it by setting its condition.
    pub fn new(name: impl Into<String>, result: FaultInjectionResult) -> Self {
        Self { name: name.into(), condition: FaultInjectionCondition::default(), result }
    }

    /// The rule for these requests only.
    #[must_use]
    pub fn when(mut self, condition: FaultInjectionCondition) -> Self {
        self.condition = condition;
        self
    }
}

/// A rule at work.
pub(super) struct ActiveRule {
    rule: FaultInjectionRule,
    hits: AtomicU64,
    /// When it first saw a request, in nanoseconds since the start; `u64::MAX` is not yet.
    began: AtomicU64,
}

impl ActiveRule {
    pub(super) fn new(rule: FaultInjectionRule) -> Self {
        Self { rule, hits: AtomicU64::new(0), began: AtomicU64::new(u64::MAX) }
    }

    pub(super) fn name(&self) -> &str {
        &self.rule.name
    }

    pub(super) fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    pub(super) fn result(&self) -> &FaultInjectionResult {
        &self.rule.result
    }

    /// Whether it hits a request; counts it if so. Never more than it may, however many ask at once.
    pub(super) fn hit(&self, tags: &RequestTags, now: Moment, chance: impl FnOnce() -> f64) -> bool {
        let condition = &self.rule.condition;
        if !condition.matches(tags) || !self.is_in_window(now) {
            return false;
        }
        if condition.probability < 1.0 && chance() >= condition.probability {
            return false;
        }
        let most = condition.max_hits.unwrap_or(u64::MAX);
        let below = |hits| (hits < most).then_some(hits + 1);
        self.hits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, below).is_ok()
    }

    fn is_in_window(&self, now: Moment) -> bool {
        let Some((from, until)) = self.rule.condition.window else { return true };
        let nanos = now.as_nanos();
        let began = match self.began.compare_exchange(u64::MAX, nanos, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => nanos,
            Err(began) => began,
        };
        (from..until).contains(&now.since(Moment::from_nanos(began)))
    }
}
