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

/// A partition whose writes were found elsewhere, after they had failed where they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionMove {
    /// The partition.
    pub partition: PartitionId,
    /// Where its writes failed, in that order. Never empty.
    pub failed: Vec<CosmosEndpoint>,
    /// Where they were taken.
    pub confirmed: CosmosEndpoint,
}

/// The service has moved a partition's writes, and a region has proved to have them: they go there from here on.
///
/// If that is where they were in the first place, the partition is routed like any other again. The account's own
/// endpoint does not say where it leads, so it proves only that they are not where they were thought to be: then the
/// partition is routed like any other too.
pub fn move_partition(
    state: &PartitionEndpointState,
    account: &AccountEndpointState,
    moved: &PartitionMove,
    now: Moment,
) -> PartitionEndpointState {
    let mechanism = FailoverMechanism::AutomaticFailover;
    let mut next = state.clone();
    let known = state.overrides(mechanism).get(&moved.partition);
    if !account.preferred_read_endpoints().contains(&moved.confirmed) {
        if known.is_some_and(|entry| moved.failed.contains(&entry.current_endpoint)) {
            next.overrides_mut(mechanism).remove(&moved.partition);
        }
        return next;
    }
    let Some(first) = moved.failed.first() else { return next };
    if known.is_none() && state.overrides(mechanism).len() >= MAX_TRACKED_PARTITIONS {
        return next;
    }
    let mut entry = match known {
        Some(entry) => entry.as_ref().clone(),
        None => PartitionFailoverEntry::first_failure(first, now),
    };
    entry.move_to(&moved.confirmed, &moved.failed, now);
    let overrides = next.overrides_mut(mechanism);
    if entry.has_moved() {
        overrides.insert(moved.partition.clone(), Arc::new(entry));
    } else {
        overrides.remove(&moved.partition);
    }
    next
}

/// A write of a partition that the service moves has ended in doubt: the next one is to try the next region. Whether
/// the partition is there shows then; see [`move_partition`].
pub fn suspect_partition(
    state: &PartitionEndpointState,
    account: &AccountEndpointState,
    failed: &UnavailablePartition,
    now: Moment,
) -> PartitionEndpointState {
    let mechanism = FailoverMechanism::AutomaticFailover;
    let mut next = state.clone();
    if mechanism_for_access(state, account, failed.access) != Some(mechanism) {
        return next;
    }
    let known = state.overrides(mechanism).get(&failed.partition);
    if known.is_none() && state.overrides(mechanism).len() >= MAX_TRACKED_PARTITIONS {
        return next;
    }
    let mut entry = match known {
        Some(entry) => entry.as_ref().clone(),
        None => PartitionFailoverEntry::first_failure(&failed.endpoint, now),
    };
    let moved = entry.try_move_next_endpoint(account.preferred_read_endpoints(), &failed.endpoint);
    let overrides = next.overrides_mut(mechanism);
    if moved {
        entry.last_failure_time = now;
        overrides.insert(failed.partition.clone(), Arc::new(entry));
    } else {
        overrides.remove(&failed.partition);
    }
    next
}

/// A partition has failed: counts it, and moves the partition if that is one failure too many.
///
/// Under automatic failover nothing changes: the service decides where the partition is, see [`move_partition`].
/// With no endpoint left to move to, the entry goes, and the partition is routed like any other.
pub fn mark_partition_unavailable(
    state: &PartitionEndpointState,
    account: &AccountEndpointState,
    failed: &UnavailablePartition,
    now: Moment,
) -> PartitionEndpointState {
    update(state, account, failed, now, |entry| {
        entry.last_failure_time = now;
        entry.count_failure(failed.access);
        move_if_due(entry, state, account, failed)
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
    update(state, account, slow, now, |entry| {
        entry.hedge_wins = entry.hedge_wins.saturating_add(1);
        if entry.hedge_wins <= TOLERATED_HEDGE_WINS {
            return true;
        }
        entry.last_failure_time = now;
        entry.count_failure(slow.access);
        move_if_due(entry, state, account, slow)
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

/// Changes the partition's entry at the breaker, made if need be, and drops it if `change` says that it is of no
/// more use. Automatic failover follows what the service says; a failure or slowness is no statement of where a
/// partition is.
fn update(
    state: &PartitionEndpointState,
    account: &AccountEndpointState,
    failed: &UnavailablePartition,
    now: Moment,
    change: impl FnOnce(&mut PartitionFailoverEntry) -> bool,
) -> PartitionEndpointState {
    let mut next = state.clone();
    if mechanism_for_access(state, account, failed.access) != Some(FailoverMechanism::CircuitBreaker) {
        return next;
    }
    let known = state.circuit_breaker_overrides.get(&failed.partition);
    if known.is_none() && state.circuit_breaker_overrides.len() >= MAX_TRACKED_PARTITIONS {
        return next;
    }
    let in_window = |entry: &&Arc<PartitionFailoverEntry>| {
        now.since(entry.last_failure_time) <= state.config.counter_reset_window
    };
    let mut entry = match known.filter(in_window) {
        Some(entry) => entry.as_ref().clone(),
        None => PartitionFailoverEntry::first_failure(&failed.endpoint, now),
    };
    if change(&mut entry) {
        next.circuit_breaker_overrides.insert(failed.partition.clone(), Arc::new(entry));
    } else {
        next.circuit_breaker_overrides.remove(&failed.partition);
    }
    next
}

/// `false` if the partition is due to move and cannot.
fn move_if_due(
    entry: &mut PartitionFailoverEntry,
    state: &PartitionEndpointState,
    account: &AccountEndpointState,
    failed: &UnavailablePartition,
) -> bool {
    !entry.can_circuit_breaker_trigger_failover(failed.access, &state.config)
        || entry.try_move_next_endpoint(account.preferred_read_endpoints(), &failed.endpoint)
}
