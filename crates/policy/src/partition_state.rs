//! Which single partitions are served from another region than the rest of their container.
//!
//! Two mechanisms, never both for one request: automatic failover (PPAF) follows the service when it moves a
//! partition's writes; the circuit breaker (PPCB) counts failures and moves a partition by itself.
//!
//! ```text
//!            failure                failures > threshold
//!  HEALTHY ──────────► COUNTING ───────────────────────► TRIPPED ◄──┐ next region fails too
//!  no entry ◄───────── entry                              override ──┘
//!     ▲  ▲   sweep, threshold never passed                │    ▲
//!     │  └──────────── no region left ────────────────────┤    │ probe fails: the term starts again
//!     │                                     sweep, after  │    │
//!     │                                     its term      ▼    │
//!     └──────────────── probe succeeds ──────────────── PROBE_CANDIDATE ──► one probe in flight
//! ```
//!
//! The states are immutable. Each transition is a function to a new state, in the file named after it; the
//! driver swaps states by compare-and-swap, so of two racing transitions one is computed again on the other's
//! result.

mod eligibility;
mod entry;
mod expire;
mod mark;
mod probe;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut_options::RetryOptionsView;

use crate::{AccountEndpointState, PartitionId};

pub use eligibility::{FailoverMechanism, is_eligible_for_ppaf, is_eligible_for_ppcb, mechanism_for};
pub use entry::{PartitionFailoverEntry, PartitionHealth};
pub use expire::{PROBE_LIFETIME, UNASKED_CANDIDATE_LIFETIME, expire_partition_overrides};
pub use mark::{
    PartitionMove, TOLERATED_HEDGE_WINS, UnavailablePartition, mark_partition_unavailable, move_partition,
    record_hedge_win, reset_hedge_wins, suspect_partition,
};
pub use probe::{ProbeTicket, abandon_probe, begin_probe, fail_probe, succeed_probe};

/// At most this many partitions are tracked per mechanism. Beyond it, failures still move whole endpoints.
pub const MAX_TRACKED_PARTITIONS: usize = 10_000;

/// When a partition is moved, and when it is tried again where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionFailoverConfig {
    /// Whether the circuit breaker is on even if the account does not ask for it.
    pub circuit_breaker_option_enabled: bool,
    /// Whether the account may turn automatic failover on.
    pub automatic_failover_allowed: bool,
    /// Reads move once more than this many have failed.
    pub read_failure_threshold: u32,
    /// Writes move once more than this many have failed.
    pub write_failure_threshold: u32,
    /// Failures further apart than this are not counted together.
    pub counter_reset_window: Duration,
    /// How long a partition stays away before it is tried again where it was.
    pub partition_unavailability_duration: Duration,
    /// How often the driver sweeps.
    pub failback_sweep_interval: Duration,
}

impl Default for PartitionFailoverConfig {
    fn default() -> Self {
        Self {
            circuit_breaker_option_enabled: true,
            automatic_failover_allowed: true,
            read_failure_threshold: 2,
            write_failure_threshold: 5,
            counter_reset_window: Duration::from_secs(5 * 60),
            partition_unavailability_duration: Duration::from_secs(5),
            failback_sweep_interval: Duration::from_secs(300),
        }
    }
}

impl PartitionFailoverConfig {
    /// What the options say.
    pub fn from_options(options: &RetryOptionsView<'_>) -> Self {
        let partition = options.partition_failover();
        Self {
            circuit_breaker_option_enabled: options.enable_partition_level_circuit_breaker(),
            automatic_failover_allowed: !options.disable_partition_level_failover(),
            read_failure_threshold: partition.read_failure_threshold(),
            write_failure_threshold: partition.write_failure_threshold(),
            counter_reset_window: partition.counter_reset_window(),
            partition_unavailability_duration: partition.partition_unavailability_duration(),
            failback_sweep_interval: partition.failback_sweep_interval(),
        }
    }
}

/// Entries are shared between states, so that a new state copies pointers only. Ordered, so that equal runs are equal.
pub(crate) type Overrides = BTreeMap<PartitionId, Arc<PartitionFailoverEntry>>;

/// Which partitions are served from elsewhere, or may soon be.
#[derive(Clone, Debug)]
pub struct PartitionEndpointState {
    /// Automatic failover: writes on accounts with one write region.
    failover_overrides: Overrides,
    /// Circuit breaker: reads, and writes on accounts with several write regions.
    circuit_breaker_overrides: Overrides,
    /// Whether automatic failover is on.
    pub per_partition_automatic_failover_enabled: bool,
    /// Whether the circuit breaker is on.
    pub per_partition_circuit_breaker_enabled: bool,
    /// Thresholds and timings.
    pub config: PartitionFailoverConfig,
    /// The number of the next probe, so that the end of an old one is not taken for that of a new one.
    next_probe: u64,
}

impl PartitionEndpointState {
    /// No partition moved, and the account not yet asked: automatic failover is off, the breaker as
    /// configured.
    pub fn new(config: PartitionFailoverConfig) -> Self {
        Self {
            failover_overrides: BTreeMap::new(),
            circuit_breaker_overrides: BTreeMap::new(),
            per_partition_automatic_failover_enabled: false,
            per_partition_circuit_breaker_enabled: config.circuit_breaker_option_enabled,
            config,
            next_probe: 0,
        }
    }

    /// This state after the account has said whether its partitions may fail over. That turns on automatic
    /// failover unless an option forbids it, and the circuit breaker whatever the option says.
    #[must_use]
    pub fn with_account_flag(&self, per_partition_failover: bool) -> Self {
        Self {
            per_partition_automatic_failover_enabled: per_partition_failover
                && self.config.automatic_failover_allowed,
            per_partition_circuit_breaker_enabled: per_partition_failover
                || self.config.circuit_breaker_option_enabled,
            ..self.clone()
        }
    }

    /// This state without what is about endpoints that the account no longer has.
    #[must_use]
    pub(crate) fn within(mut self, account: &AccountEndpointState) -> Self {
        for mechanism in FailoverMechanism::ALL {
            self.overrides_mut(mechanism).retain(|_, entry| {
                account.has(&entry.current_endpoint) && account.has(&entry.first_failed_endpoint)
            });
        }
        self
    }

    /// What is known about a partition under one mechanism.
    pub fn entry(
        &self,
        mechanism: FailoverMechanism,
        partition: &PartitionId,
    ) -> Option<&PartitionFailoverEntry> {
        let overrides = self.overrides(mechanism);
        // The usual state of affairs needs no look-up.
        if overrides.is_empty() {
            return None;
        }
        overrides.get(partition).map(Arc::as_ref)
    }

    /// The partitions known under one mechanism.
    pub fn entries(
        &self,
        mechanism: FailoverMechanism,
    ) -> impl Iterator<Item = (&PartitionId, &PartitionFailoverEntry)> {
        self.overrides(mechanism).iter().map(|(partition, entry)| (partition, entry.as_ref()))
    }

    pub(crate) fn overrides(&self, mechanism: FailoverMechanism) -> &Overrides {
        match mechanism {
            FailoverMechanism::AutomaticFailover => &self.failover_overrides,
            FailoverMechanism::CircuitBreaker => &self.circuit_breaker_overrides,
        }
    }

    pub(crate) fn overrides_mut(&mut self, mechanism: FailoverMechanism) -> &mut Overrides {
        match mechanism {
            FailoverMechanism::AutomaticFailover => &mut self.failover_overrides,
            FailoverMechanism::CircuitBreaker => &mut self.circuit_breaker_overrides,
        }
    }
}
