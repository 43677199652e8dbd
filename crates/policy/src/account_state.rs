//! What is known about the account's endpoints: their order, and which ones are out of service.
//!
//! A state is never changed: each function here returns a new one, which the driver swaps in. Single
//! partitions are in `partition_state`.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_wire::ConsistencyLevel;
use cosmonaut_wire::model::{AccountLocation, AccountProperties};

use crate::framed::FramedGateways;
use crate::region_order::{RegionPreferences, order_endpoints};
use crate::{ClearTextRule, CosmosEndpoint, CosmosOperation, EndpointError, Moment, PartitionId};

/// How long a failed endpoint is passed over unless a probe brings it back sooner.
pub const DEFAULT_ENDPOINT_UNAVAILABILITY: Duration = Duration::from_secs(60);

/// How often endpoints that cannot be reached are tried.
pub const ENDPOINT_PROBE_INTERVAL: Duration = Duration::from_secs(10);
/// How long such a try may take.
pub const ENDPOINT_PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether a request reads or writes, as far as choosing an endpoint is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It changes nothing.
    Read,
    /// It may change something.
    Write,
}

impl Access {
    /// What an operation needs.
    pub fn of(operation: &CosmosOperation) -> Self {
        if operation.is_read_only() { Self::Read } else { Self::Write }
    }
}

/// Why an endpoint was taken out of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnavailableReason {
    /// It does not take writes (403/3). It still answers reads.
    WriteForbidden,
    /// The account is not in that region (403/1008).
    AccountNotFound,
    /// It timed out (408).
    RequestTimeout,
    /// It cannot answer (503, 429/3092, 410).
    ServiceUnavailable,
    /// It failed (500).
    InternalServerError,
    /// The connection failed.
    TransportError,
}

impl UnavailableReason {
    /// Whether the endpoint is out of service for such requests too.
    pub const fn affects(self, access: Access) -> bool {
        match (self, access) {
            (Self::WriteForbidden, Access::Read) => false,
            (Self::WriteForbidden, Access::Write)
            | (
                Self::AccountNotFound
                | Self::RequestTimeout
                | Self::ServiceUnavailable
                | Self::InternalServerError
                | Self::TransportError,
                Access::Read | Access::Write,
            ) => true,
        }
    }

    /// Whether it is what a request was answered. What one partition answers may say nothing about the others.
    pub(crate) const fn is_answer(self) -> bool {
        match self {
            Self::RequestTimeout | Self::ServiceUnavailable | Self::InternalServerError => true,
            Self::WriteForbidden | Self::AccountNotFound | Self::TransportError => false,
        }
    }

    /// Whether reaching the endpoint again refutes it. What the service itself said, a probe cannot refute.
    const fn is_refuted_by_contact(self) -> bool {
        match self {
            Self::RequestTimeout | Self::TransportError => true,
            Self::WriteForbidden
            | Self::AccountNotFound
            | Self::ServiceUnavailable
            | Self::InternalServerError => false,
        }
    }
}

/// Since when, and why, an endpoint is out of service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailability {
    /// When it failed last.
    pub since: Moment,
    /// Why.
    pub reason: UnavailableReason,
    /// The partition, if only one has failed there. The others need not leave.
    pub only: Option<PartitionId>,
}

/// What the account state is built with, beside the account itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountConfig {
    /// Which regions the user would rather use.
    pub regions: RegionPreferences,
    /// What may be sent without encryption.
    pub clear_text: ClearTextRule,
    /// How long a failed endpoint is passed over.
    pub endpoint_unavailability: Duration,
    /// Whether regions are asked by Gateway 2.0 where they have one.
    pub gateway_v2: bool,
}

impl Default for AccountConfig {
    fn default() -> Self {
        Self {
            regions: RegionPreferences::default(),
            clear_text: ClearTextRule::default(),
            endpoint_unavailability: DEFAULT_ENDPOINT_UNAVAILABILITY,
            gateway_v2: false,
        }
    }
}

/// The endpoints that are out of service, each once. An account has few.
type Marks = Vec<(CosmosEndpoint, Unavailability)>;

/// What is known about the account's endpoints.
#[derive(Clone, Debug)]
pub struct AccountEndpointState {
    /// In the order in which they are tried, as are those for writes.
    read_endpoints: Arc<[CosmosEndpoint]>,
    write_endpoints: Arc<[CosmosEndpoint]>,
    /// In the account's own order, of which the first is its hub: there metadata is written.
    hub_endpoints: Arc<[CosmosEndpoint]>,
    out_for_reads: Marks,
    out_for_writes: Marks,
    endpoint_unavailability: Duration,
    /// The regions' Gateways 2.0; `None` if there are none or they are not wanted.
    pub(crate) framed: Option<Arc<FramedGateways>>,
    /// Whether every region takes writes.
    pub multiple_write_locations_enabled: bool,
    /// Whether the account lets single partitions fail over.
    pub per_partition_failover_enabled: bool,
    /// The consistency that requests get unless they ask for less.
    pub default_consistency: ConsistencyLevel,
    /// The account's own endpoint, used when its regions are no choice.
    pub default_endpoint: CosmosEndpoint,
}

/// The state of an account as it describes itself, with every endpoint in service.
///
/// An account without regions is reached through its own endpoint.
///
/// # Errors
/// An address that is no endpoint, or that requests would reach in clear text against the configuration.
pub fn build_account_endpoint_state(
    properties: &AccountProperties,
    config: &AccountConfig,
    default_endpoint: CosmosEndpoint,
) -> Result<AccountEndpointState, EndpointError> {
    let ordered = |locations: &[AccountLocation], regions: &RegionPreferences| {
        let mut endpoints = order_endpoints(locations, regions)?;
        endpoints.iter().try_for_each(|endpoint| endpoint.check_clear_text(config.clear_text))?;
        if endpoints.is_empty() {
            endpoints.push(default_endpoint.clone());
        }
        Ok::<Arc<[CosmosEndpoint]>, EndpointError>(endpoints.into())
    };
    Ok(AccountEndpointState {
        read_endpoints: ordered(&properties.readable_locations, &config.regions)?,
        write_endpoints: ordered(&properties.writable_locations, &config.regions)?,
        hub_endpoints: ordered(&properties.writable_locations, &RegionPreferences::default())?,
        out_for_reads: Marks::new(),
        out_for_writes: Marks::new(),
        endpoint_unavailability: config.endpoint_unavailability,
        framed: config
            .gateway_v2
            .then(|| FramedGateways::of(properties, &default_endpoint, config.clear_text))
            .flatten()
            .map(Arc::new),
        multiple_write_locations_enabled: properties.has_multiple_write_locations(),
        per_partition_failover_enabled: properties.has_per_partition_failover(),
        default_consistency: properties.user_consistency_policy.default_consistency_level,
        default_endpoint,
    })
}

/// A newer description of the account, asked for at this moment, with what is known about the endpoints that it
/// still has. What a region said about the account before then no longer holds if the description has changed in the
/// region's favour.
pub fn refresh_account_endpoint_state(
    current: &AccountEndpointState,
    mut newer: AccountEndpointState,
    asked: Moment,
) -> AccountEndpointState {
    let carry_over = |marks: &Marks| {
        let kept = marks.iter().filter(|(endpoint, mark)| {
            let is_refuted = mark.since < asked
                && newer.takes(endpoint, mark.reason)
                && !current.takes(endpoint, mark.reason);
            newer.has(endpoint) && !is_refuted
        });
        kept.cloned().collect()
    };
    let (reads, writes) = (carry_over(&current.out_for_reads), carry_over(&current.out_for_writes));
    newer.out_for_reads = reads;
    newer.out_for_writes = writes;
    newer.framed = match (newer.framed.take(), &current.framed) {
        (Some(framed), Some(before)) => Some(Arc::new(Arc::unwrap_or_clone(framed).knowing(before))),
        (framed, _) => framed,
    };
    newer
}

/// Takes an endpoint out of service, for whatever the reason affects.
pub fn mark_endpoint_unavailable(
    state: &AccountEndpointState,
    endpoint: &CosmosEndpoint,
    reason: UnavailableReason,
    now: Moment,
) -> AccountEndpointState {
    mark_endpoint(state, endpoint, &Unavailability { since: now, reason, only: None })
}

/// The same, perhaps for the sake of one partition. The second partition that fails makes it the endpoint's failure.
pub(crate) fn mark_endpoint(
    state: &AccountEndpointState,
    endpoint: &CosmosEndpoint,
    mark: &Unavailability,
) -> AccountEndpointState {
    let mut next = state.clone();
    for access in [Access::Read, Access::Write] {
        if mark.reason.affects(access) {
            let known = state.unavailability(endpoint, access, mark.since);
            let only =
                mark.only.clone().filter(|one| known.is_none_or(|known| known.only.as_ref() == Some(one)));
            let marks = next.marks_mut(access);
            marks.retain(|(known, _)| known != endpoint);
            marks.push((endpoint.clone(), Unavailability { only, ..mark.clone() }));
        }
    }
    next
}

/// Puts back into service what has been out of it for long enough.
pub fn expire_unavailable_endpoints(state: &AccountEndpointState, now: Moment) -> AccountEndpointState {
    let mut next = state.clone();
    let duration = state.endpoint_unavailability;
    for access in [Access::Read, Access::Write] {
        next.marks_mut(access).retain(|(_, mark)| now.since(mark.since) < duration);
    }
    next
}

/// What a connectivity probe of an endpoint says about it.
///
/// Contact puts an endpoint back into service that was out of it for lack of contact. No contact takes it
/// out, or keeps it out for a full term more.
pub fn apply_endpoint_probe(
    state: &AccountEndpointState,
    endpoint: &CosmosEndpoint,
    reachable: bool,
    now: Moment,
) -> AccountEndpointState {
    if !reachable {
        return mark_endpoint_unavailable(state, endpoint, UnavailableReason::TransportError, now);
    }
    let mut next = state.clone();
    for access in [Access::Read, Access::Write] {
        next.marks_mut(access)
            .retain(|(known, mark)| known != endpoint || !mark.reason.is_refuted_by_contact());
    }
    next
}

impl AccountEndpointState {
    /// The endpoints for an operation, in the order in which they are tried. Never empty.
    pub fn endpoints_for(&self, operation: &CosmosOperation) -> &[CosmosEndpoint] {
        match Access::of(operation) {
            Access::Read => &self.read_endpoints,
            Access::Write if !operation.is_partitioned() => &self.hub_endpoints,
            Access::Write => &self.write_endpoints,
        }
    }

    /// The endpoints that answer reads, in the order in which they are tried. Never empty.
    pub fn preferred_read_endpoints(&self) -> &[CosmosEndpoint] {
        &self.read_endpoints
    }

    /// The endpoints that take writes, in the order in which they are tried. Never empty.
    pub fn preferred_write_endpoints(&self) -> &[CosmosEndpoint] {
        &self.write_endpoints
    }

    /// Why and since when an endpoint is out of service; `None` while it is in service.
    pub fn unavailability(
        &self,
        endpoint: &CosmosEndpoint,
        access: Access,
        now: Moment,
    ) -> Option<&Unavailability> {
        let marks = self.marks(access);
        // The usual state of affairs needs no look-up.
        if marks.is_empty() {
            return None;
        }
        let (_, mark) = marks.iter().find(|(known, _)| known == endpoint)?;
        (now.since(mark.since) < self.endpoint_unavailability).then_some(mark)
    }

    /// The endpoints out of service that a connectivity probe may bring back.
    pub fn endpoints_to_probe(&self, now: Moment) -> impl Iterator<Item = &CosmosEndpoint> {
        self.out_for_reads.iter().filter_map(move |(endpoint, mark)| {
            let out = now.since(mark.since) < self.endpoint_unavailability;
            (out && mark.reason.is_refuted_by_contact()).then_some(endpoint)
        })
    }

    /// The name of the account, as frames say it; `None` if it has no Gateway 2.0.
    pub fn framed_account(&self) -> Option<&Arc<str>> {
        self.framed.as_ref().map(|framed| framed.account())
    }

    /// The Gateways 2.0 that are to be probed: all that do not answer, or those alone that did and then failed.
    pub fn gateways_to_probe(&self, lost_alone: bool, now: Moment) -> impl Iterator<Item = &CosmosEndpoint> {
        self.framed.iter().flat_map(move |framed| framed.to_probe(lost_alone, now))
    }

    /// This state after a Gateway 2.0 has answered a probe.
    #[must_use]
    pub fn with_gateway_proven(&self, gateway: &CosmosEndpoint, now: Moment) -> Self {
        self.with_gateways(|framed| framed.proven(gateway, now))
    }

    pub(crate) fn with_gateways(&self, change: impl FnOnce(&FramedGateways) -> FramedGateways) -> Self {
        let framed = self.framed.as_ref().map(|framed| Arc::new(change(framed)));
        Self { framed, ..self.clone() }
    }

    /// Whether the endpoint is the account's own or one of its regions'.
    pub fn has(&self, endpoint: &CosmosEndpoint) -> bool {
        *endpoint == self.default_endpoint
            || self.read_endpoints.contains(endpoint)
            || self.write_endpoints.contains(endpoint)
    }

    /// Whether this description says that an endpoint takes what a region refused for this reason.
    fn takes(&self, endpoint: &CosmosEndpoint, reason: UnavailableReason) -> bool {
        match reason {
            UnavailableReason::WriteForbidden => self.write_endpoints.contains(endpoint),
            UnavailableReason::AccountNotFound => self.has(endpoint),
            UnavailableReason::RequestTimeout
            | UnavailableReason::ServiceUnavailable
            | UnavailableReason::InternalServerError
            | UnavailableReason::TransportError => false,
        }
    }

    /// Whether another description names the same regions in the same order, for reads and for writes.
    pub fn has_same_regions(&self, other: &Self) -> bool {
        self.read_endpoints == other.read_endpoints && self.write_endpoints == other.write_endpoints
    }

    fn marks(&self, access: Access) -> &Marks {
        match access {
            Access::Read => &self.out_for_reads,
            Access::Write => &self.out_for_writes,
        }
    }

    fn marks_mut(&mut self, access: Access) -> &mut Marks {
        match access {
            Access::Read => &mut self.out_for_reads,
            Access::Write => &mut self.out_for_writes,
        }
    }
}
