//! Faults on demand, below the connections: what is injected here is seen by shard health, retries, failover
//! and hedging just like the real thing.
//!
//! A [`FaultInjector`] is given to the runtime's builder. Its rules can be added, changed and removed while
//! requests run.

mod client;
mod rule;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use cosmonaut_policy::{CosmosEndpoint, Moment, OperationType};
use cosmonaut_wire::{PartitionKeyRangeId, RegionName, ResourceType};
use http::Request;

use crate::cache::container_path;
use crate::pipeline::Leg;
use crate::platform::{Platform, chance};

pub(crate) use client::FaultInjectingHttpClientFactory;
use rule::ActiveRule;
pub use rule::{FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule};

/// What a rule looks at, carried along with a request.
#[derive(Clone, Debug)]
pub(crate) struct RequestTags {
    operation: OperationType,
    resource: ResourceType,
    region: Option<RegionName>,
    endpoint: CosmosEndpoint,
    container: Option<Box<str>>,
    partition: Option<PartitionKeyRangeId>,
    shard: Option<u64>,
}

/// Marks a request to this endpoint with what rules look at.
pub(crate) fn tagged(
    mut request: Request<Bytes>,
    leg: &Leg<'_>,
    endpoint: &CosmosEndpoint,
) -> Request<Bytes> {
    let operation = leg.operation();
    let tags = RequestTags {
        operation: operation.operation_type(),
        resource: operation.resource_type(),
        region: endpoint.region().cloned(),
        endpoint: endpoint.clone(),
        container: container_path(operation.path()).map(Into::into),
        partition: leg.partition.map(|partition| partition.range().clone()),
        shard: None,
    };
    request.extensions_mut().insert(tags);
    request
}

/// Marks a request with the connection that it takes.
pub(crate) fn tag_shard(request: &mut Request<Bytes>, shard: u64) {
    if let Some(tags) = request.extensions_mut().get_mut::<RequestTags>() {
        tags.shard = Some(shard);
    }
}

/// The faults that are injected. Clones share them.
#[derive(Clone, Default)]
pub struct FaultInjector {
    rules: Arc<ArcSwap<Vec<Arc<ActiveRule>>>>,
}

impl FaultInjector {
    /// No faults yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule, or changes the one of that name: its hits count from zero again, and its time window
    /// starts with the next request that it is weighed for.
    pub fn set(&self, rule: FaultInjectionRule) {
        let active = Arc::new(ActiveRule::new(rule));
        self.rules.rcu(|rules| {
            let mut next = Vec::clone(rules);
            match next.iter_mut().find(|known| known.name() == active.name()) {
                Some(known) => *known = Arc::clone(&active),
                None => next.push(Arc::clone(&active)),
            }
            next
        });
    }

    /// Removes a rule. What it has hit already, such as a request that hangs, stays as it is.
    pub fn remove(&self, name: &str) {
        self.rules.rcu(|rules| rules.iter().filter(|rule| rule.name() != name).cloned().collect::<Vec<_>>());
    }

    /// Removes all rules.
    pub fn clear(&self) {
        self.rules.store(Arc::default());
    }

    /// How many requests a rule has hit; `None` if there is no such rule.
    pub fn hits(&self, name: &str) -> Option<u64> {
        self.rules.load().iter().find(|rule| rule.name() == name).map(|rule| rule.hits())
    }

    /// The first rule that applies to a request, if one does.
    fn pick(&self, tags: &RequestTags, platform: &dyn Platform) -> Option<FaultInjectionResult> {
        let rules = self.rules.load();
        if rules.is_empty() {
            return None;
        }
        let now: Moment = platform.now();
        rules.iter().find(|rule| rule.hit(tags, now, || chance(platform))).map(|rule| rule.result().clone())
    }
}
