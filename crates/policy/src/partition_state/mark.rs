//! Transitions 1, 2, 4 and 6: a partition fails, and perhaps moves.

use std::sync::Arc;

use super::eligibility::mechanism_for_access;
use super::{FailoverMechanism, MAX_TRACKED_PARTITIONS, PartitionEndpointState, PartitionFailoverEntry};
use crate::{Access, AccountEndpointState, CosmosEndpoint, Moment, PartitionId};

/// A second region may answer for the first this many times in a row before each further time counts as a
/// failure of the first. One request in a hundred is slower than the threshold by definition; so many in a
/// row are not.
pub const TOLERATED_HEDGE_WINS: u32 = 3;

/// A partition that has failed at an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnavailablePartition {
    /// The partition.
    pub partition: PartitionId,
    /// Where it failed.
    pub endpoint: CosmosEndpoint,
    /// What the request that failed was.
    pub access: Access,
}

/// A partition has failed: counts it, and moves the partition if that is one failure too many.
///
/// Under automatic failover it moves at once. With no endpoint left to move to, the entry goes, and the
/// partition is routed like any other.
pub fn mark_partition_unavailable(
    state: &PartitionEndpointState,
    account: &AccountEndpointState,
    failed: &UnavailablePartition,
    now: Moment,
) -> PartitionEndpointState {
    update(state, account, failed, now, |entry, mechanism, state| {
        entry.last_failure_time = now;
        entry.count_failure(failed.access);
        move_if_due(entry, mechanism, state, account, failed)
    })
}

/// A second region has answered for the first. Counts as a failure of the first once it has happened more
/// than [`TOLERATED_HEDGE_WINS`] times in a row.
pub fn record_hedge_win(
    state: &PartitionEndpointState,
    account: &AccountEndpointState,
    slow: &UnavailablePartition,
    now: Moment,
) -> PartitionEndpointState {
    // Automatic failover follows what the service says; slowness is not a statement.
    if mechanism_for_access(state, account, slow.access) != Some(FailoverMechanism::CircuitBreaker) {
        return state.clone();
    }
    update(state, account, slow, now, |entry, mechanism, state| {
        entry.hedge_wins = entry.hedge_wins.saturating_add(1);
        if entry.hedge_wins <= TOLERATED_HEDGE_WINS {
            return true;
        }
        entry.last_failure_time = now;
        entry.count_failure(slow.access);
        move_if_due(entry, mechanism, state, account, slow)
    })
}

/// The first region has answered in time: its slow answers so far were not in a row.
pub fn reset_hedge_wins(state: &PartitionEndpointState, partition: &PartitionId) -> PartitionEndpointState {
    let mut next = state.clone();
    if let Some(entry) = next.circuit_breaker_overrides.get_mut(partition) {
        Arc::make_mut(entry).hedge_wins = 0;
    }
    next
}

/// Changes the partition's entry, made if need be, and drops it if `change` says that it is of no more use.
fn update(
    state: &PartitionEndpointState,
    account: &AccountEndpointState,
    failed: &UnavailablePartition,
    now: Moment,
    change: impl FnOnce(&mut PartitionFailoverEntry, FailoverMechanism, &PartitionEndpointState) -> bool,
) -> PartitionEndpointState {
    let mut next = state.clone();
    let Some(mechanism) = mechanism_for_access(state, account, failed.access) else {
        return next;
    };
    let known = state.overrides(mechanism).get(&failed.partition);
    if known.is_none() && state.overrides(mechanism).len() >= MAX_TRACKED_PARTITIONS {
        return next;
    }
    let in_window = |entry: &&Arc<PartitionFailoverEntry>| {
        mechanism == FailoverMechanism::AutomaticFailover
            || now.since(entry.last_failure_time) <= state.config.counter_reset_window
    };
    let mut entry = match known.filter(in_window) {
        Some(entry) => entry.as_ref().clone(),
        None => PartitionFailoverEntry::first_failure(&failed.endpoint, now),
    };
    let keep = change(&mut entry, mechanism, state);
    let overrides = next.overrides_mut(mechanism);
    if keep {
        overrides.insert(failed.partition.clone(), Arc::new(entry));
    } else {
        overrides.remove(&failed.partition);
    }
    next
}

/// `false` if the partition is due to move and cannot.
fn move_if_due(
    entry: &mut PartitionFailoverEntry,
    mechanism: FailoverMechanism,
    state: &PartitionEndpointState,
    account: &AccountEndpointState,
    failed: &UnavailablePartition,
) -> bool {
    let due = match mechanism {
        FailoverMechanism::AutomaticFailover => true,
        FailoverMechanism::CircuitBreaker => {
            entry.can_circuit_breaker_trigger_failover(failed.access, &state.config)
        }
    };
    !due || entry.try_move_next_endpoint(account.preferred_read_endpoints(), &failed.endpoint)
}
