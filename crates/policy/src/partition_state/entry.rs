//! What is known about one partition that has failed somewhere.

use super::{FailoverMechanism, PartitionFailoverConfig};
use crate::{Access, CosmosEndpoint, Moment};

/// Where a partition that has failed stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionHealth {
    /// It counts failures, or is served from elsewhere.
    Unhealthy,
    /// Its term elsewhere is over: the next request is to try the region that failed first.
    ProbeCandidate {
        /// Since when.
        since: Moment,
    },
    /// That request is under way. All others are still served from elsewhere.
    Probing {
        /// The number of the probe.
        probe: u64,
        /// Since when.
        since: Moment,
    },
}

/// A partition that has failed somewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionFailoverEntry {
    /// Where it is served from once it is moved.
    pub current_endpoint: CosmosEndpoint,
    /// Where it failed first, and will be tried again.
    pub first_failed_endpoint: CosmosEndpoint,
    /// Where it has failed since. A handful at most.
    pub failed_endpoints: Vec<CosmosEndpoint>,
    /// Failed reads within the window.
    pub read_failure_count: u32,
    /// Failed writes within the window.
    pub write_failure_count: u32,
    /// How many times in a row a second region has answered for the first.
    pub hedge_wins: u32,
    /// When its present term began.
    pub first_failure_time: Moment,
    /// When it failed last.
    pub last_failure_time: Moment,
    /// Where it stands.
    pub health: PartitionHealth,
}

impl PartitionFailoverEntry {
    /// The entry of a partition that fails for the first time, with nothing counted yet.
    pub(super) fn first_failure(endpoint: &CosmosEndpoint, now: Moment) -> Self {
        Self {
            current_endpoint: endpoint.clone(),
            first_failed_endpoint: endpoint.clone(),
            failed_endpoints: Vec::new(),
            read_failure_count: 0,
            write_failure_count: 0,
            hedge_wins: 0,
            first_failure_time: now,
            last_failure_time: now,
            health: PartitionHealth::Unhealthy,
        }
    }

    /// Whether the partition has been given another region.
    pub fn has_moved(&self) -> bool {
        self.current_endpoint != self.first_failed_endpoint
    }

    /// Whether more requests have failed than the breaker puts up with.
    pub fn can_circuit_breaker_trigger_failover(
        &self,
        access: Access,
        config: &PartitionFailoverConfig,
    ) -> bool {
        match access {
            Access::Read => self.read_failure_count > config.read_failure_threshold,
            Access::Write => self.write_failure_count > config.write_failure_threshold,
        }
    }

    /// Whether such requests are served from elsewhere. Automatic failover does not wait for a count.
    pub fn is_tripped_for(
        &self,
        mechanism: FailoverMechanism,
        access: Access,
        config: &PartitionFailoverConfig,
    ) -> bool {
        self.has_moved()
            && match mechanism {
                FailoverMechanism::AutomaticFailover => true,
                FailoverMechanism::CircuitBreaker => {
                    self.can_circuit_breaker_trigger_failover(access, config)
                }
            }
    }

    /// Whether any request is served from elsewhere.
    pub fn is_tripped(&self, mechanism: FailoverMechanism, config: &PartitionFailoverConfig) -> bool {
        [Access::Read, Access::Write].into_iter().any(|access| self.is_tripped_for(mechanism, access, config))
    }

    pub(super) fn count_failure(&mut self, access: Access) {
        let count = match access {
            Access::Read => &mut self.read_failure_count,
            Access::Write => &mut self.write_failure_count,
        };
        *count = count.saturating_add(1);
    }

    /// Moves to an endpoint that has proved to have the partition, away from those that have not.
    pub(super) fn move_to(&mut self, confirmed: &CosmosEndpoint, failed: &[CosmosEndpoint], now: Moment) {
        for endpoint in failed {
            if !self.failed_endpoints.contains(endpoint) {
                self.failed_endpoints.push(endpoint.clone());
            }
        }
        self.failed_endpoints.retain(|endpoint| endpoint != confirmed);
        self.current_endpoint = confirmed.clone();
        self.last_failure_time = now;
    }

    /// Moves on to the first endpoint that has not failed. `false` if there is none.
    ///
    /// A failure of an endpoint that the partition has already left changes nothing: another request reported
    /// it first.
    pub(super) fn try_move_next_endpoint(
        &mut self,
        endpoints: &[CosmosEndpoint],
        failed: &CosmosEndpoint,
    ) -> bool {
        if self.has_moved() && *failed != self.current_endpoint {
            return true;
        }
        for left_behind in [&self.current_endpoint, failed] {
            if !self.failed_endpoints.contains(left_behind) {
                self.failed_endpoints.push(left_behind.clone());
            }
        }
        match endpoints.iter().find(|endpoint| !self.failed_endpoints.contains(endpoint)) {
            Some(next) => {
                self.current_endpoint = next.clone();
                true
            }
            None => false,
        }
    }
}
