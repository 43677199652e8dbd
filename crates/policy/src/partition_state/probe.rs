//! Transitions 5a and 5b: one request tries a partition where it failed first.
//!
//! Routing only proposes a probe. It begins when [`begin_probe`]'s state has been swapped in, so of several
//! requests that propose one, the compare-and-swap picks the winner; the others route again and find the
//! probe under way.

use std::sync::Arc;

use super::{FailoverMechanism, PartitionEndpointState, PartitionFailoverEntry, PartitionHealth};
use crate::{Moment, PartitionId};

/// A probe that is under way. It must end in success, failure or abandonment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeTicket {
    /// The partition that is tried.
    pub partition: PartitionId,
    /// The mechanism that moved it.
    pub mechanism: FailoverMechanism,
    probe: u64,
}

/// Begins a probe. `None` if another one is under way, or none is due.
pub fn begin_probe(
    state: &PartitionEndpointState,
    mechanism: FailoverMechanism,
    partition: &PartitionId,
    now: Moment,
) -> Option<(PartitionEndpointState, ProbeTicket)> {
    let entry = state.entry(mechanism, partition)?;
    match entry.health {
        PartitionHealth::ProbeCandidate { .. } => {}
        PartitionHealth::Unhealthy | PartitionHealth::Probing { .. } => return None,
    }
    let probe = state.next_probe;
    let ticket = ProbeTicket { partition: partition.clone(), mechanism, probe };
    let mut next = state.clone();
    next.next_probe = probe.wrapping_add(1);
    let health = PartitionHealth::Probing { probe, since: now };
    let entry = PartitionFailoverEntry { health, ..entry.clone() };
    next.overrides_mut(mechanism).insert(partition.clone(), Arc::new(entry));
    Some((next, ticket))
}

/// The partition answered where it had failed: it is routed like any other again.
pub fn succeed_probe(state: &PartitionEndpointState, ticket: &ProbeTicket) -> PartitionEndpointState {
    conclude(state, ticket, |_| None)
}

/// The partition failed once more: it stays where it is for another term.
pub fn fail_probe(
    state: &PartitionEndpointState,
    ticket: &ProbeTicket,
    now: Moment,
) -> PartitionEndpointState {
    conclude(state, ticket, |entry| Some(entry.after_failed_probe(now)))
}

/// The probe ended without an answer, as when the caller gave up: the next request is to try instead.
pub fn abandon_probe(
    state: &PartitionEndpointState,
    ticket: &ProbeTicket,
    now: Moment,
) -> PartitionEndpointState {
    let health = PartitionHealth::ProbeCandidate { since: now };
    conclude(state, ticket, |entry| Some(PartitionFailoverEntry { health, ..entry.clone() }))
}

/// Replaces the entry, or removes it. A ticket of an earlier probe changes nothing.
fn conclude(
    state: &PartitionEndpointState,
    ticket: &ProbeTicket,
    change: impl FnOnce(&PartitionFailoverEntry) -> Option<PartitionFailoverEntry>,
) -> PartitionEndpointState {
    let mut next = state.clone();
    let current = state.entry(ticket.mechanism, &ticket.partition);
    let is_current = |entry: &&PartitionFailoverEntry| match entry.health {
        PartitionHealth::Probing { probe, .. } => probe == ticket.probe,
        PartitionHealth::Unhealthy | PartitionHealth::ProbeCandidate { .. } => false,
    };
    if let Some(entry) = current.filter(is_current) {
        let overrides = next.overrides_mut(ticket.mechanism);
        match change(entry) {
            Some(entry) => overrides.insert(ticket.partition.clone(), Arc::new(entry)),
            None => overrides.remove(&ticket.partition),
        };
    }
    next
}

impl PartitionFailoverEntry {
    /// This entry at the start of another term.
    pub(super) fn after_failed_probe(&self, now: Moment) -> Self {
        Self {
            health: PartitionHealth::Unhealthy,
            first_failure_time: now,
            last_failure_time: now,
            ..self.clone()
        }
    }
}
