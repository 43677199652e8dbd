//! What holds for partition state whatever happens, in any order.

use proptest::prelude::*;

use super::*;
use crate::testing::{account, at, endpoint, partition, partitions};
use crate::{Access, Moment};

#[derive(Clone, Debug)]
enum Event {
    Fail { partition: u8, endpoint: usize, read: bool },
    HedgeWin { partition: u8, endpoint: usize },
    Move { partition: u8, failed: usize, confirmed: usize },
    Sweep,
    BeginProbe { partition: u8, breaker: bool },
    EndProbe { nth: usize, how: u8 },
    Wait { seconds: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..3_u8, 0..3_usize, any::<bool>())
            .prop_map(|(partition, endpoint, read)| Event::Fail { partition, endpoint, read }),
        2 => (0..3_u8, 0..3_usize).prop_map(|(partition, endpoint)| Event::HedgeWin { partition, endpoint }),
        3 => (0..3_u8, 0..3_usize, 0..3_usize)
            .prop_map(|(partition, failed, confirmed)| Event::Move { partition, failed, confirmed }),
        3 => Just(Event::Sweep),
        4 => (0..3_u8, any::<bool>()).prop_map(|(partition, breaker)| Event::BeginProbe { partition, breaker }),
        3 => (0..4_usize, 0..3_u8).prop_map(|(nth, how)| Event::EndProbe { nth, how }),
        3 => (1..400_u64).prop_map(|seconds| Event::Wait { seconds }),
    ]
}

fn name(number: u8) -> PartitionId {
    partition(&number.to_string())
}

fn failed(number: u8, failed: usize, access: Access) -> UnavailablePartition {
    UnavailablePartition { partition: name(number), endpoint: endpoint(failed), access }
}

fn mechanism(breaker: bool) -> FailoverMechanism {
    if breaker { FailoverMechanism::CircuitBreaker } else { FailoverMechanism::AutomaticFailover }
}

fn is_probing(state: &PartitionEndpointState, ticket: &ProbeTicket) -> bool {
    let health = state.entry(ticket.mechanism, &ticket.partition).map(|entry| entry.health);
    matches!(health, Some(PartitionHealth::Probing { .. }))
}

proptest! {
    #[test]
    fn invariants_hold_after_any_events(events in proptest::collection::vec(event(), 1..120)) {
        let account = account(3, false);
        let mut state = partitions();
        let mut now = at(0);
        let mut tickets: Vec<ProbeTicket> = Vec::new();
        for event in events {
            match event {
                Event::Move { partition, failed, confirmed } => {
                    let failed = vec![endpoint(failed)];
                    let moved = PartitionMove { partition: name(partition), failed, confirmed: endpoint(confirmed) };
                    state = move_partition(&state, &account, &moved, now);
                }
                Event::Fail { partition, endpoint, read } => {
                    let access = if read { Access::Read } else { Access::Write };
                    let report = failed(partition, endpoint, access);
                    state = mark_partition_unavailable(&state, &account, &report, now);
                    let entry = state.entry(mechanism(read), &report.partition);
                    let avoided = entry.is_none_or(|entry| {
                        !read || !entry.is_tripped_for(mechanism(read), access, &state.config)
                            || entry.current_endpoint != report.endpoint
                    });
                    prop_assert!(avoided, "an override never leads to what has just failed");
                }
                Event::HedgeWin { partition, endpoint } => {
                    let slow = failed(partition, endpoint, Access::Read);
                    state = record_hedge_win(&state, &account, &slow, now);
                }
                Event::Sweep => state = expire_partition_overrides(&state, now),
                Event::BeginProbe { partition, breaker } => {
                    let before = state.entry(mechanism(breaker), &name(partition)).map(|entry| entry.health);
                    let begun = begin_probe(&state, mechanism(breaker), &name(partition), now);
                    let was_due = matches!(before, Some(PartitionHealth::ProbeCandidate { .. }));
                    prop_assert_eq!(begun.is_some(), was_due, "a probe begins only where none is under way");
                    if let Some((next, ticket)) = begun {
                        state = next;
                        tickets.push(ticket);
                    }
                }
                Event::EndProbe { nth, how } if nth < tickets.len() => {
                    let ticket = tickets.swap_remove(nth);
                    state = end_probe(&state, &ticket, how, now);
                }
                Event::EndProbe { .. } => {}
                Event::Wait { seconds } => now = now + std::time::Duration::from_secs(seconds),
            }
            check(&state, &tickets)?;
        }
    }
}

fn end_probe(
    state: &PartitionEndpointState,
    ticket: &ProbeTicket,
    how: u8,
    now: Moment,
) -> PartitionEndpointState {
    match how {
        0 => succeed_probe(state, ticket),
        1 => fail_probe(state, ticket, now),
        _ => abandon_probe(state, ticket, now),
    }
}

fn check(state: &PartitionEndpointState, tickets: &[ProbeTicket]) -> Result<(), TestCaseError> {
    for mechanism in FailoverMechanism::ALL {
        prop_assert!(state.entries(mechanism).count() <= 3);
        for (partition, entry) in state.entries(mechanism) {
            prop_assert!(!entry.has_moved() || !entry.failed_endpoints.contains(&entry.current_endpoint));
            prop_assert!(entry.failed_endpoints.len() <= 3);
            prop_assert!(entry.first_failure_time <= entry.last_failure_time || entry.hedge_wins > 0);
            // Only the ticket of the probe that is under way can end it.
            if let PartitionHealth::Probing { .. } = entry.health {
                let ends_it = |ticket: &&ProbeTicket| {
                    ticket.mechanism == mechanism
                        && ticket.partition == *partition
                        && !is_probing(&succeed_probe(state, ticket), ticket)
                };
                prop_assert!(tickets.iter().filter(ends_it).count() <= 1);
            }
        }
    }
    Ok(())
}
