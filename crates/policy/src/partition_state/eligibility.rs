//! Which of the two mechanisms, if any, a request falls under.

use super::PartitionEndpointState;
use crate::{Access, AccountEndpointState, CosmosOperation};

/// The two ways in which a single partition is moved to another region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailoverMechanism {
    /// PPAF: the service has moved the partition's writes. A single failure is proof enough.
    AutomaticFailover,
    /// PPCB: failures are counted, and the partition is moved when there are too many.
    CircuitBreaker,
}

impl FailoverMechanism {
    /// Both.
    pub const ALL: [Self; 2] = [Self::AutomaticFailover, Self::CircuitBreaker];
}

/// The mechanism for an operation; `None` if single partitions cannot be moved for it.
///
/// They can be for items and running stored procedures, on accounts with more than one region to read from.
pub fn mechanism_for(
    partitions: &PartitionEndpointState,
    account: &AccountEndpointState,
    operation: &CosmosOperation,
) -> Option<FailoverMechanism> {
    operation
        .is_partitioned()
        .then(|| mechanism_for_access(partitions, account, Access::of(operation)))
        .flatten()
}

/// Whether automatic failover applies: to writes, on accounts with one write region that have it.
pub fn is_eligible_for_ppaf(
    partitions: &PartitionEndpointState,
    account: &AccountEndpointState,
    operation: &CosmosOperation,
) -> bool {
    mechanism_for(partitions, account, operation) == Some(FailoverMechanism::AutomaticFailover)
}

/// Whether the circuit breaker applies: to reads, and to writes on accounts with several write regions.
pub fn is_eligible_for_ppcb(
    partitions: &PartitionEndpointState,
    account: &AccountEndpointState,
    operation: &CosmosOperation,
) -> bool {
    mechanism_for(partitions, account, operation) == Some(FailoverMechanism::CircuitBreaker)
}

/// The mechanism for requests to partitioned resources.
pub(super) fn mechanism_for_access(
    partitions: &PartitionEndpointState,
    account: &AccountEndpointState,
    access: Access,
) -> Option<FailoverMechanism> {
    if account.preferred_read_endpoints().len() < 2 {
        return None;
    }
    let (mechanism, enabled) = match (access, account.multiple_write_locations_enabled) {
        (Access::Read, _) | (Access::Write, true) => {
            (FailoverMechanism::CircuitBreaker, partitions.per_partition_circuit_breaker_enabled)
        }
        (Access::Write, false) => {
            (FailoverMechanism::AutomaticFailover, partitions.per_partition_automatic_failover_enabled)
        }
    };
    enabled.then_some(mechanism)
}
