//! Where an attempt goes: the account's order first, then what is known about the single partition.
//!
//! Routing never fails: if every endpoint is out of service, the one that failed longest ago is tried.

#[cfg(test)]
mod tests;

use crate::framed::can_be_framed;
use crate::partition_state::mechanism_for;
use crate::{
    Access, AccountEndpointState, CosmosEndpoint, CosmosOperation, FailoverMechanism, LocationSnapshot,
    Moment, OperationRetryState, PartitionFailoverEntry, PartitionHealth, PartitionId, ProbeTicket,
    Unavailability, UnavailableReason,
};

/// Where an attempt goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutingDecision {
    /// The endpoint.
    pub endpoint: CosmosEndpoint,
    /// The Gateway 2.0 of the endpoint's region, if the attempt goes there.
    pub framed: Option<CosmosEndpoint>,
    /// Set if the partition is served from elsewhere than its account.
    pub partition_override: Option<PartitionOverride>,
    /// Whether the attempt tries a partition where it failed before.
    pub probe: Probe,
}

/// A partition that is served from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionOverride {
    /// The partition.
    pub partition: PartitionId,
    /// Which mechanism moved it.
    pub mechanism: FailoverMechanism,
    /// Where it failed first.
    pub original: CosmosEndpoint,
}

/// Whether an attempt tries a partition where it failed before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// It does not.
    No,
    /// It could, if no other does. Before sending, swap in the state of
    /// [`begin_probe`](crate::begin_probe) and set [`Probe::UnderWay`]; if that gives `None`, resolve again.
    Proposed {
        /// The partition.
        partition: PartitionId,
        /// Which mechanism moved it.
        mechanism: FailoverMechanism,
    },
    /// It does, and no other does.
    UnderWay(ProbeTicket),
}

impl RoutingDecision {
    fn to(endpoint: CosmosEndpoint) -> Self {
        Self { endpoint, framed: None, partition_override: None, probe: Probe::No }
    }

    /// Whether the attempt tries a partition where it failed before.
    pub fn is_probe(&self) -> bool {
        match self.probe {
            Probe::No => false,
            Probe::Proposed { .. } | Probe::UnderWay(_) => true,
        }
    }
}

/// Where the next attempt of an operation goes.
///
/// 1. A repeat in place goes where the last attempt went, while that is in service.
/// 2. A partition that was moved goes where it was moved to, or, once and if it is due, back as a probe.
/// 3. Otherwise the first endpoint in the account's order that is in service and that this operation has not left.
/// 4. If there is none: the account's own endpoint, then the one out of service for the longest time, then the one
///    that this operation left first.
///
/// Excluded regions are never used, unless every region is excluded: then the account's own endpoint is.
pub fn resolve_endpoint(
    operation: &CosmosOperation,
    retry_state: &OperationRetryState,
    location: &LocationSnapshot,
    now: Moment,
) -> RoutingDecision {
    let choice = Choice::new(operation, retry_state, location, now);
    choice.by_best_gateway(choice.region())
}

/// Where the next leg of a hedged attempt goes: the first endpoint in service that was not asked yet and where the
/// partition has not failed. `None` if there is none.
pub fn resolve_hedge_endpoint(
    operation: &CosmosOperation,
    retry_state: &OperationRetryState,
    location: &LocationSnapshot,
    asked: &[CosmosEndpoint],
    now: Moment,
) -> Option<RoutingDecision> {
    let choice = Choice::new(operation, retry_state, location, now);
    let failed = choice.tripped_entry().map_or(&[][..], |(_, entry)| &entry.failed_endpoints);
    let endpoint = location.account.endpoints_for(operation).iter().find(|endpoint| {
        !asked.contains(endpoint)
            && !failed.contains(endpoint)
            && retry_state.left_at(endpoint).is_none()
            && choice.is_usable(endpoint)
    })?;
    Some(choice.by_best_gateway(RoutingDecision::to(endpoint.clone())))
}

/// How many endpoints an operation can choose from, excluded ones aside; at least one.
pub(crate) fn endpoint_count(
    operation: &CosmosOperation,
    retry_state: &OperationRetryState,
    location: &LocationSnapshot,
) -> usize {
    // When it is does not matter: endpoints out of service are counted too.
    Choice::new(operation, retry_state, location, Moment::START).allowed_endpoints().count().max(1)
}

/// The question, with all that bears on it.
#[derive(Clone, Copy)]
struct Choice<'a> {
    operation: &'a CosmosOperation,
    retry_state: &'a OperationRetryState,
    location: &'a LocationSnapshot,
    now: Moment,
    /// The partition and how it is followed by itself, if it is.
    followed: Option<(&'a PartitionId, FailoverMechanism)>,
}

impl<'a> Choice<'a> {
    fn new(
        operation: &'a CosmosOperation,
        retry_state: &'a OperationRetryState,
        location: &'a LocationSnapshot,
        now: Moment,
    ) -> Self {
        let followed = retry_state.partition.as_ref().and_then(|partition| {
            let mechanism = mechanism_for(&location.partitions, &location.account, operation)?;
            Some((partition, mechanism))
        });
        Self { operation, retry_state, location, now, followed }
    }

    fn account(self) -> &'a AccountEndpointState {
        &self.location.account
    }

    fn region(self) -> RoutingDecision {
        if let Some(endpoint) = self.in_place() {
            return RoutingDecision::to(endpoint.clone());
        }
        if let Some(endpoint) = self.write_region() {
            return RoutingDecision::to(endpoint.clone());
        }
        match self.tripped_entry() {
            Some((partition, entry)) => self.around_failed_partition(partition, entry),
            None => RoutingDecision::to(self.by_account(&[]).clone()),
        }
    }

    /// By the region's Gateway 2.0, if there is one for such operations that this one has not seen fail.
    fn by_best_gateway(self, routing: RoutingDecision) -> RoutingDecision {
        let Some(framed) = &self.account().framed else { return routing };
        if self.retry_state.by_rest || !can_be_framed(self.operation) {
            return routing;
        }
        let gateway = framed.gateway_of(&routing.endpoint, Access::of(self.operation));
        RoutingDecision { framed: gateway.cloned(), ..routing }
    }

    fn is_followed_by(self, mechanism: FailoverMechanism) -> bool {
        self.followed.is_some_and(|(_, followed_by)| followed_by == mechanism)
    }

    /// The endpoints that the operation may go to, in the order in which they are tried. Writes of a partition that
    /// the service moves by itself may have gone to any region.
    fn allowed_endpoints(self) -> impl Iterator<Item = &'a CosmosEndpoint> {
        let usual = self.account().endpoints_for(self.operation);
        let further = match self.is_followed_by(FailoverMechanism::AutomaticFailover) {
            true => self.account().preferred_read_endpoints(),
            false => &[],
        };
        let further = further.iter().filter(|endpoint| !usual.contains(endpoint));
        let excluded = &self.retry_state.excluded_regions;
        usual.iter().chain(further).filter(|endpoint| !endpoint.is_in(excluded))
    }

    /// Whether an endpoint is allowed and in service.
    fn is_usable(self, endpoint: &CosmosEndpoint) -> bool {
        !endpoint.is_in(&self.retry_state.excluded_regions) && self.mark_against(endpoint).is_none()
    }

    /// Why an endpoint is out of service for this operation; `None` if it is in service.
    fn mark_against(self, endpoint: &CosmosEndpoint) -> Option<&'a Unavailability> {
        let mark = self.account().unavailability(endpoint, Access::of(self.operation), self.now)?;
        // One partition has failed there. The others stay, and that one leaves by its own entry.
        let is_one_partitions = mark.only.is_some() && self.followed.is_some();
        // All regions but one refuse writes. That says nothing about a partition whose writes the service moves.
        let is_others_refusal = mark.reason == UnavailableReason::WriteForbidden
            && self.is_followed_by(FailoverMechanism::AutomaticFailover);
        match is_one_partitions || is_others_refusal {
            true => None,
            false => Some(mark),
        }
    }

    fn in_place(self) -> Option<&'a CosmosEndpoint> {
        self.retry_state.pinned.as_ref().filter(|endpoint| self.is_usable(endpoint))
    }

    /// The region that takes this partition's writes, if that is where a session's read should go.
    fn write_region(self) -> Option<&'a CosmosEndpoint> {
        if !self.retry_state.prefer_write_region {
            return None;
        }
        let moved = self.retry_state.partition.as_ref().and_then(|partition| {
            self.location.partitions.entry(FailoverMechanism::AutomaticFailover, partition)
        });
        let endpoint = match moved {
            Some(entry) => Some(&entry.current_endpoint),
            None => self.account().preferred_write_endpoints().first(),
        };
        endpoint.filter(|endpoint| self.is_usable(endpoint) && self.retry_state.left_at(endpoint).is_none())
    }

    /// The entry of this operation's partition, and how it is known, if such requests are served from elsewhere.
    fn tripped_entry(self) -> Option<((&'a PartitionId, FailoverMechanism), &'a PartitionFailoverEntry)> {
        let (partition, mechanism) = self.followed?;
        let partitions = &self.location.partitions;
        let entry = partitions.entry(mechanism, partition)?;
        entry
            .is_tripped_for(mechanism, Access::of(self.operation), &partitions.config)
            .then_some(((partition, mechanism), entry))
    }

    fn around_failed_partition(
        self,
        (partition, mechanism): (&PartitionId, FailoverMechanism),
        entry: &PartitionFailoverEntry,
    ) -> RoutingDecision {
        let original = &entry.first_failed_endpoint;
        if self.probe_is_due(entry) && self.is_usable(original) {
            let probe = Probe::Proposed { partition: partition.clone(), mechanism };
            return RoutingDecision { probe, ..RoutingDecision::to(original.clone()) };
        }
        let current = &entry.current_endpoint;
        if !self.is_usable(current) || self.retry_state.left_at(current).is_some() {
            return RoutingDecision::to(self.by_account(&entry.failed_endpoints).clone());
        }
        let partition_override =
            PartitionOverride { partition: partition.clone(), mechanism, original: original.clone() };
        RoutingDecision {
            partition_override: Some(partition_override),
            ..RoutingDecision::to(current.clone())
        }
    }

    /// A retry is no probe: its operation has paid for one failure already.
    fn probe_is_due(self, entry: &PartitionFailoverEntry) -> bool {
        match entry.health {
            PartitionHealth::ProbeCandidate { .. } => {
                // A write in doubt is the caller's loss: where the service moves partitions, its answers show by
                // themselves when one has gone home, and only what can be repeated is risked.
                let may_be_risked = self.operation.is_idempotent()
                    || !self.is_followed_by(FailoverMechanism::AutomaticFailover);
                self.retry_state.is_initial() && !self.retry_state.by_rest && may_be_risked
            }
            PartitionHealth::Unhealthy | PartitionHealth::Probing { .. } => false,
        }
    }

    /// The best endpoint by the account alone; `avoid` are the endpoints where the partition has failed.
    fn by_account(self, avoid: &[CosmosEndpoint]) -> &'a CosmosEndpoint {
        let own = &self.account().default_endpoint;
        let Some(best) = self.allowed_endpoints().min_by_key(|endpoint| self.rank(endpoint, avoid)) else {
            return own;
        };
        // The account's own endpoint leads to whatever region is its hub now. It cannot tell where it leads,
        // so it is no choice for an operation that excludes regions, unless it excludes all that would do.
        let usual = self.account().endpoints_for(self.operation);
        let excluded = &self.retry_state.excluded_regions;
        let all_are_excluded = usual.iter().all(|endpoint| endpoint.is_in(excluded));
        if all_are_excluded {
            return own;
        }
        let own_is_choice = excluded.is_empty() && !usual.contains(own);
        if own_is_choice && self.rank(own, &[]) < self.rank(best, avoid) { own } else { best }
    }

    /// Lower is better. Among equals the account's order decides.
    fn rank(self, endpoint: &CosmosEndpoint, avoid: &[CosmosEndpoint]) -> Rank {
        if let Some(place) = self.retry_state.left_at(endpoint) {
            return Rank::Left(place);
        }
        match self.mark_against(endpoint) {
            None if avoid.contains(endpoint) => Rank::PartitionFailed,
            None => Rank::InService,
            Some(mark) => Rank::OutOfService(mark.since),
        }
    }
}

/// How good a choice an endpoint is, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    InService,
    PartitionFailed,
    OutOfService(Moment),
    Left(usize),
}
