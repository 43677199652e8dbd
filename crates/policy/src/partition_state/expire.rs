//! Transitions 3 and 5: the sweep that forgets what came to nothing, and makes moved partitions ready for a
//! probe.

use std::sync::Arc;
use std::time::Duration;

use super::{
    FailoverMechanism, PartitionEndpointState, PartitionFailoverConfig, PartitionFailoverEntry,
    PartitionHealth,
};
use crate::Moment;

/// A partition that nobody has asked for since it was ready for a probe is forgotten after this time: it may
/// have been split, and its entry would stay for ever.
pub const UNASKED_CANDIDATE_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// A probe that has not ended after this time is taken to have failed, so that a lost one cannot keep a
/// partition away for ever.
pub const PROBE_LIFETIME: Duration = Duration::from_secs(5 * 60);

/// Goes over both mechanisms' partitions:
///
/// - one that failed but never moved is forgotten after its term;
/// - one that moved is ready for a probe after its term;
/// - one that is ready stays so, until nobody has asked for it for an hour;
/// - a probe that has run for five minutes counts as failed.
pub fn expire_partition_overrides(state: &PartitionEndpointState, now: Moment) -> PartitionEndpointState {
    let mut next = state.clone();
    for mechanism in FailoverMechanism::ALL {
        next.overrides_mut(mechanism).retain(|_, entry| {
            match after_sweep(entry, mechanism, &state.config, now) {
                Fate::Keep => true,
                Fate::Forget => false,
                Fate::Replace(changed) => {
                    *entry = Arc::new(changed);
                    true
                }
            }
        });
    }
    next
}

enum Fate {
    Keep,
    Forget,
    Replace(PartitionFailoverEntry),
}

fn after_sweep(
    entry: &PartitionFailoverEntry,
    mechanism: FailoverMechanism,
    config: &PartitionFailoverConfig,
    now: Moment,
) -> Fate {
    match entry.health {
        PartitionHealth::Unhealthy => {
            let term_is_over = now.since(entry.first_failure_time) > config.partition_unavailability_duration;
            match (term_is_over, entry.is_tripped(mechanism, config)) {
                (false, _) => Fate::Keep,
                (true, false) => Fate::Forget,
                (true, true) => {
                    let health = PartitionHealth::ProbeCandidate { since: now };
                    Fate::Replace(PartitionFailoverEntry { health, ..entry.clone() })
                }
            }
        }
        PartitionHealth::ProbeCandidate { since } if now.since(since) > UNASKED_CANDIDATE_LIFETIME => {
            Fate::Forget
        }
        PartitionHealth::Probing { since, .. } if now.since(since) > PROBE_LIFETIME => {
            Fate::Replace(entry.after_failed_probe(now))
        }
        PartitionHealth::ProbeCandidate { .. } | PartitionHealth::Probing { .. } => Fate::Keep,
    }
}
