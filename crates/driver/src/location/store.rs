//! The one place that holds the location snapshot. Changes are compared and swapped, so that none is lost.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use cosmonaut_policy::{
    AccountConfig, CosmosEndpoint, EndpointError, FailoverMechanism, LocationEffect, LocationSnapshot,
    Moment, PartitionFailoverConfig, PartitionId, ProbeTicket, RegionPreferences, apply_endpoint_probe,
    begin_probe, build_account_endpoint_state,
};
use cosmonaut_wire::model::AccountProperties;

use crate::platform::Platform;

/// The location snapshot of one account.
pub(crate) struct LocationStateStore {
    current: ArcSwapOption<LocationSnapshot>,
    default_endpoint: CosmosEndpoint,
    account: AccountConfig,
    partitions: PartitionFailoverConfig,
}

impl LocationStateStore {
    /// Nothing is known but where to ask.
    pub(crate) fn new(
        default_endpoint: CosmosEndpoint,
        account: AccountConfig,
        partitions: PartitionFailoverConfig,
    ) -> Self {
        Self { current: ArcSwapOption::empty(), default_endpoint, account, partitions }
    }

    /// The account's own endpoint.
    pub(crate) fn default_endpoint(&self) -> &CosmosEndpoint {
        &self.default_endpoint
    }

    /// Which regions the user would rather use.
    pub(crate) fn regions(&self) -> &RegionPreferences {
        &self.account.regions
    }

    /// Whether Gateway 2.0 is spoken where there is one.
    pub(crate) fn wants_gateways(&self) -> bool {
        self.account.gateway_v2
    }

    /// How partitions are moved and brought back.
    pub(crate) fn partition_config(&self) -> &PartitionFailoverConfig {
        &self.partitions
    }

    /// What is known now; `None` until the account has been asked.
    pub(crate) fn load(&self) -> Option<Arc<LocationSnapshot>> {
        self.current.load_full()
    }

    /// Takes in the account's description, which was asked for at this moment. What is known about endpoints and
    /// partitions stays.
    pub(crate) fn set_account(
        &self,
        properties: &AccountProperties,
        asked: Moment,
    ) -> Result<(), EndpointError> {
        let newer = build_account_endpoint_state(properties, &self.account, self.default_endpoint.clone())?;
        self.current.rcu(|current| {
            Some(Arc::new(match current {
                Some(current) => current.refreshed(newer.clone(), asked),
                None => LocationSnapshot::new(newer.clone(), self.partitions.clone()),
            }))
        });
        Ok(())
    }

    /// Takes in what an attempt has shown. Returns whether it has changed the snapshot.
    pub(crate) fn apply(&self, effect: &LocationEffect, now: Moment) -> bool {
        self.update(|current| current.after(effect, now).map(|next| (next, ()))).is_some()
    }

    /// Begins a probe, if no other has.
    pub(crate) fn begin_probe(
        &self,
        mechanism: FailoverMechanism,
        partition: &PartitionId,
        now: Moment,
    ) -> Option<ProbeTicket> {
        self.update(|current| {
            let (partitions, ticket) = begin_probe(&current.partitions, mechanism, partition, now)?;
            Some((current.with_partitions(partitions), ticket))
        })
    }

    /// Takes in whether an endpoint can be reached.
    pub(crate) fn probed(&self, endpoint: &CosmosEndpoint, reachable: bool, now: Moment) {
        self.update(|current| {
            let account = apply_endpoint_probe(&current.account, endpoint, reachable, now);
            Some((current.with_account(account), ()))
        });
    }

    /// Takes in that a Gateway 2.0 has answered.
    pub(crate) fn gateway_answered(&self, gateway: &CosmosEndpoint, now: Moment) {
        self.update(|current| {
            Some((current.with_account(current.account.with_gateway_proven(gateway, now)), ()))
        });
    }

    /// Puts back what has been out of service for long enough, and makes moved partitions ready for a probe.
    pub(crate) fn sweep(&self, now: Moment) {
        self.update(|current| Some((current.swept(now), ())));
    }

    /// Swaps in what `change` makes of the snapshot, again on a newer one if another was faster.
    fn update<T>(&self, change: impl Fn(&LocationSnapshot) -> Option<(LocationSnapshot, T)>) -> Option<T> {
        let mut current = self.current.load();
        loop {
            let known = current.as_ref()?;
            let (next, outcome) = change(known)?;
            let previous = self.current.compare_and_swap(&*current, Some(Arc::new(next)));
            let is_ours = match (&*previous, &*current) {
                (Some(previous), Some(current)) => Arc::ptr_eq(previous, current),
                (None, _) | (_, None) => false,
            };
            if is_ours {
                return Some(outcome);
            }
            current = previous;
        }
    }
}

/// A probe that is under way. If it is dropped before its end is known, the probe counts as abandoned.
pub(crate) struct ProbeGuard<'a> {
    store: &'a LocationStateStore,
    platform: &'a dyn Platform,
    ticket: Option<ProbeTicket>,
}

impl<'a> ProbeGuard<'a> {
    pub(crate) fn new(
        store: &'a LocationStateStore,
        platform: &'a dyn Platform,
        ticket: Option<ProbeTicket>,
    ) -> Self {
        Self { store, platform, ticket }
    }

    /// The probe's end is in the effects of its attempt.
    pub(crate) fn conclude(mut self) {
        self.ticket = None;
    }
}

impl Drop for ProbeGuard<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.store.apply(&LocationEffect::ProbeAbandoned(ticket), self.platform.now());
        }
    }
}
