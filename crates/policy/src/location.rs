//! What routing knows, as one snapshot, and what an attempt may change about it.
//!
//! The snapshot is never changed: applying an effect gives a new one, which the driver swaps in.

use std::sync::Arc;

use crate::account_state::{expire_unavailable_endpoints, mark_endpoint, refresh_account_endpoint_state};
use crate::framed::FramedGateways;
use crate::partition_state::{
    abandon_probe, expire_partition_overrides, fail_probe, mark_partition_unavailable, move_partition,
    record_hedge_win, reset_hedge_wins, succeed_probe, suspect_partition,
};
use crate::{
    AccountEndpointState, CosmosEndpoint, Moment, PartitionEndpointState, PartitionFailoverConfig,
    PartitionId, PartitionMove, ProbeTicket, Unavailability, UnavailablePartition, UnavailableReason,
};

/// What routing knows at one moment.
#[derive(Clone, Debug)]
pub struct LocationSnapshot {
    /// The account's endpoints.
    pub account: Arc<AccountEndpointState>,
    /// Partitions that are served from elsewhere.
    pub partitions: Arc<PartitionEndpointState>,
}

/// What an attempt has shown about endpoints and partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocationEffect {
    /// The account's regions have changed, or may have: ask for them anew.
    RefreshAccountProperties,
    /// Nothing is known but that a connection failed: see whether the endpoint can be reached at all, and
    /// apply the answer with [`apply_endpoint_probe`](crate::apply_endpoint_probe).
    CheckEndpoint(CosmosEndpoint),
    /// An endpoint is out of service.
    MarkEndpointUnavailable {
        /// The endpoint.
        endpoint: CosmosEndpoint,
        /// Why.
        reason: UnavailableReason,
        /// The partition whose answer it is, if it is one's.
        partition: Option<PartitionId>,
    },
    /// A partition has failed at an endpoint.
    MarkPartitionUnavailable(UnavailablePartition),
    /// A write of a partition that the service moves has ended in doubt at an endpoint.
    SuspectPartition(UnavailablePartition),
    /// A partition's writes have been found in another region than before.
    MovePartition(PartitionMove),
    /// A second region has answered for a slow first one.
    RecordHedgeWin(UnavailablePartition),
    /// A first region that had been slow has answered in time.
    ResetHedgeWins(PartitionId),
    /// A partition answered again where it had failed.
    ProbeSucceeded(ProbeTicket),
    /// A partition failed again where it had failed.
    ProbeFailed(ProbeTicket),
    /// A probe ended without an answer. The driver emits it when the caller drops the operation.
    ProbeAbandoned(ProbeTicket),
    /// A region's Gateway 2.0 has failed: REST is spoken there until it answers a probe.
    GatewayLost(CosmosEndpoint),
    /// A region's Gateway 2.0 has been silent for long: REST is spoken there until it answers a probe, which is sent
    /// at once.
    GatewayHung(SilentGateway),
    /// Another region has answered while a region's Gateway 2.0 was silent.
    GatewaySlow(SilentGateway),
    /// A region's Gateway 2.0 does not do what it was asked for.
    GatewayRefused(CosmosEndpoint),
    /// A region's Gateway 2.0 has said that it is closed.
    GatewayClosed(CosmosEndpoint),
    /// A region's Gateway 2.0 that had been silent or refused frames has passed on an answer.
    GatewayAnswered(CosmosEndpoint),
}

/// A Gateway 2.0 that was silent about a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentGateway {
    /// The gateway.
    pub gateway: CosmosEndpoint,
    /// When the frame was sent. The gateway may have answered a probe since.
    pub asked: Moment,
    /// The partition that was asked, which may be what was silent.
    pub partition: Option<UnavailablePartition>,
}

impl LocationSnapshot {
    /// What is known when the account has first described itself: everything is in service.
    pub fn new(account: AccountEndpointState, config: PartitionFailoverConfig) -> Self {
        let partitions =
            PartitionEndpointState::new(config).with_account_flag(account.per_partition_failover_enabled);
        Self { account: Arc::new(account), partitions: Arc::new(partitions) }
    }

    /// This snapshot after the account, asked at this moment, has described itself anew.
    #[must_use]
    pub fn refreshed(&self, newer: AccountEndpointState, asked: Moment) -> Self {
        let partitions = self.partitions.with_account_flag(newer.per_partition_failover_enabled);
        let partitions = partitions.within(&newer);
        let account = refresh_account_endpoint_state(&self.account, newer, asked);
        Self { account: Arc::new(account), partitions: Arc::new(partitions) }
    }

    /// This snapshot after what has been out of service for long enough is back, and moved partitions are
    /// ready for a probe.
    #[must_use]
    pub fn swept(&self, now: Moment) -> Self {
        let account = expire_unavailable_endpoints(&self.account, now);
        let partitions = expire_partition_overrides(&self.partitions, now);
        Self { account: Arc::new(account), partitions: Arc::new(partitions) }
    }

    /// This snapshot after an effect; `None` if the effect changes nothing about the snapshot: it is something to be
    /// done, or another request has shown the same before.
    #[must_use]
    pub fn after(&self, effect: &LocationEffect, now: Moment) -> Option<Self> {
        let (account, partitions) = (&self.account, &self.partitions);
        Some(match effect {
            LocationEffect::RefreshAccountProperties | LocationEffect::CheckEndpoint(_) => return None,
            LocationEffect::MarkEndpointUnavailable { endpoint, reason, partition } => {
                let mark = Unavailability { since: now, reason: *reason, only: partition.clone() };
                self.with_account(mark_endpoint(account, endpoint, &mark))
            }
            LocationEffect::MarkPartitionUnavailable(failed) => {
                self.with_partitions(mark_partition_unavailable(partitions, account, failed, now))
            }
            LocationEffect::SuspectPartition(failed) => {
                self.with_partitions(suspect_partition(partitions, account, failed, now))
            }
            LocationEffect::MovePartition(moved) => {
                self.with_partitions(move_partition(partitions, account, moved, now))
            }
            LocationEffect::RecordHedgeWin(slow) => {
                self.with_partitions(record_hedge_win(partitions, account, slow, now))
            }
            LocationEffect::ResetHedgeWins(partition) => {
                self.with_partitions(reset_hedge_wins(partitions, partition))
            }
            LocationEffect::ProbeSucceeded(ticket) => self.with_partitions(succeed_probe(partitions, ticket)),
            LocationEffect::ProbeFailed(ticket) => self.with_partitions(fail_probe(partitions, ticket, now)),
            LocationEffect::ProbeAbandoned(ticket) => {
                self.with_partitions(abandon_probe(partitions, ticket, now))
            }
            LocationEffect::GatewayLost(gateway) => {
                self.with_account(account.with_gateways(|framed| framed.lost(gateway, now)))
            }
            LocationEffect::GatewayHung(silent) => {
                self.after_silence(silent, now, FramedGateways::hung, mark_partition_unavailable)
            }
            LocationEffect::GatewaySlow(silent) => {
                self.after_silence(silent, now, FramedGateways::slow, record_hedge_win)
            }
            LocationEffect::GatewayRefused(gateway) => {
                self.with_account(account.with_gateways(|framed| framed.refused(gateway, now)))
            }
            LocationEffect::GatewayClosed(gateway) => {
                self.with_account(account.with_gateways(|framed| framed.closed(gateway)))
            }
            LocationEffect::GatewayAnswered(gateway) => {
                // Every request that was sent while the gateway was in doubt says so.
                account.framed.as_ref().filter(|framed| framed.is_doubted(gateway))?;
                self.with_account(account.with_gateways(|framed| framed.passed_on(gateway)))
            }
        })
    }

    /// This snapshot after a frame has got no answer. The first silence of a gateway that has passed on answers until
    /// then counts against the partition too, as by REST: while others are answered, the partition may be what is
    /// silent. Once nothing is answered it is the gateway.
    fn after_silence(
        &self,
        SilentGateway { gateway, asked, partition }: &SilentGateway,
        now: Moment,
        judge: fn(&FramedGateways, &CosmosEndpoint, Moment, Moment) -> FramedGateways,
        blame: fn(
            &PartitionEndpointState,
            &AccountEndpointState,
            &UnavailablePartition,
            Moment,
        ) -> PartitionEndpointState,
    ) -> Self {
        let framed = self.account.framed.as_ref();
        let is_first = framed.is_some_and(|framed| framed.is_first_silence(gateway, *asked));
        let account = self.account.with_gateways(|framed| judge(framed, gateway, *asked, now));
        let next = self.with_account(account);
        match partition {
            Some(partition) if is_first => {
                next.with_partitions(blame(&self.partitions, &self.account, partition, now))
            }
            Some(_) | None => next,
        }
    }

    /// This snapshot with another account state.
    #[must_use]
    pub fn with_account(&self, account: AccountEndpointState) -> Self {
        Self { account: Arc::new(account), partitions: Arc::clone(&self.partitions) }
    }

    /// This snapshot with another partition state.
    #[must_use]
    pub fn with_partitions(&self, partitions: PartitionEndpointState) -> Self {
        Self { account: Arc::clone(&self.account), partitions: Arc::new(partitions) }
    }
}

/// No attempt has more effects than this.
const MAX_EFFECTS: usize = 4;

/// The effects of one attempt, without an allocation. An attempt that succeeds usually has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects([Option<LocationEffect>; MAX_EFFECTS]);

impl Effects {
    /// None.
    pub const NONE: Self = Self([const { None }; MAX_EFFECTS]);

    pub(crate) fn push(&mut self, effect: LocationEffect) {
        let slot = self.0.iter_mut().find(|slot| slot.is_none());
        *slot.expect("no attempt has more than four effects") = Some(effect);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }

    /// The effects, in the order in which they are to be applied.
    pub fn iter(&self) -> impl Iterator<Item = &LocationEffect> {
        self.0.iter().flatten()
    }
}

impl IntoIterator for Effects {
    type Item = LocationEffect;
    type IntoIter = std::iter::Flatten<std::array::IntoIter<Option<LocationEffect>, MAX_EFFECTS>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{account, at, endpoint, global, partition, properties, snapshot};
    use crate::{Access, AccountConfig, FailoverMechanism, build_account_endpoint_state};

    #[test]
    fn a_refresh_brings_the_accounts_flag_and_keeps_what_is_known() {
        let config = PartitionFailoverConfig { circuit_breaker_option_enabled: false, ..Default::default() };
        let before = LocationSnapshot::new(account(2, false), config);
        assert!(!before.partitions.per_partition_automatic_failover_enabled);
        assert!(!before.partitions.per_partition_circuit_breaker_enabled);
        let reason = UnavailableReason::ServiceUnavailable;
        let out = LocationEffect::MarkEndpointUnavailable { endpoint: endpoint(0), reason, partition: None };
        let before = before.after(&out, at(0)).unwrap();

        let mut properties = properties(2, false);
        properties.enable_per_partition_failover_behavior = Some(true);
        let newer = build_account_endpoint_state(&properties, &AccountConfig::default(), global()).unwrap();
        let after = before.refreshed(newer, at(1));
        assert!(after.partitions.per_partition_automatic_failover_enabled);
        assert!(after.partitions.per_partition_circuit_breaker_enabled);
        assert!(after.account.unavailability(&endpoint(0), Access::Read, at(1)).is_some());
    }

    #[test]
    fn a_failure_goes_to_the_mechanism_that_the_request_falls_under() {
        let failed =
            UnavailablePartition { partition: partition("0"), endpoint: endpoint(0), access: Access::Read };
        let moved =
            PartitionMove { partition: partition("0"), failed: vec![endpoint(0)], confirmed: endpoint(1) };
        for (effect, mechanism) in [
            (LocationEffect::MovePartition(moved), FailoverMechanism::AutomaticFailover),
            (LocationEffect::MarkPartitionUnavailable(failed), FailoverMechanism::CircuitBreaker),
        ] {
            let after = snapshot(2, false).after(&effect, at(0)).unwrap();
            for one in FailoverMechanism::ALL {
                let found = after.partitions.entry(one, &partition("0"));
                assert_eq!(found.is_some(), one == mechanism, "{effect:?}");
            }
        }
    }

    #[test]
    fn a_sweep_brings_back_what_was_out_for_long_enough() {
        let reason = UnavailableReason::ServiceUnavailable;
        let out = LocationEffect::MarkEndpointUnavailable { endpoint: endpoint(0), reason, partition: None };
        let before = snapshot(2, false).after(&out, at(0)).unwrap();
        for (seconds, is_out) in [(59, true), (61, false)] {
            let account = before.swept(at(seconds)).account;
            // Seen from before the mark runs out by itself.
            assert_eq!(
                account.unavailability(&endpoint(0), Access::Read, at(1)).is_some(),
                is_out,
                "{seconds}"
            );
        }
    }

    #[test]
    fn what_is_to_be_done_changes_no_snapshot() {
        for effect in [LocationEffect::RefreshAccountProperties, LocationEffect::CheckEndpoint(endpoint(0))] {
            assert!(snapshot(2, false).after(&effect, at(0)).is_none());
        }
    }
}
