//! The task that takes leases: what was left, what has expired, and what others have too much of.

use std::sync::Arc;

use cosmonaut_driver::transport::BoxFuture;

use super::balance::{LeaseView, leases_to_take};
use super::engine::Engine;
use super::expiry::Sightings;
use super::hold::Hold;
use super::lease::{Lease, LeaseUpdate};
use super::split_plan::range_of;
use super::store::NotUpdated;
use super::waiting::unless;
use super::worker;
use super::workers::Seat;
use crate::{Error, ErrorKind, Result};

/// What the balancer's own seat is called; no lease is called so.
pub(super) const SEAT: &str = "";

/// Takes leases at intervals, until the processor stops.
pub(super) async fn run(engine: Arc<Engine>, _seat: Seat) {
    let mut sightings = Sightings::default();
    while !engine.is_stopping() {
        if let Err(error) = round(&engine, &mut sightings).await {
            engine.listener.failed(None, error);
        }
        unless(engine.stopped(), engine.sleep(engine.settings.acquire_interval)).await;
    }
}

async fn round(engine: &Arc<Engine>, sightings: &mut Sightings) -> Result<()> {
    let mut leases = Vec::new();
    for lease in engine.store.list().await? {
        match lease {
            Ok(lease) => leases.push(lease),
            Err(error) => engine.listener.failed(None, error),
        }
    }
    let now = engine.now();
    sightings.note(&leases, now);
    let (expiry, watch) = (engine.settings.lease_expiry, engine.settings.renew_interval);
    let is_read_here = |lease: &Lease| lease.is_of(&engine.owner) && engine.workers.has(&lease.id);
    let is_expired = |lease: &Lease| !is_read_here(lease) && sightings.is_expired(lease, now, expiry, watch);
    let views: Vec<LeaseView<'_>> = leases
        .iter()
        .map(|lease| LeaseView { owner: lease.owner.as_deref(), is_expired: is_expired(lease) })
        .collect();
    let wanted = leases_to_take(&views, &engine.owner, engine.settings.limits);
    for (at, lease) in leases.iter().enumerate() {
        // Those of this instance's name that nobody reads were left by a process before this one.
        let is_orphan = lease.is_of(&engine.owner) && !engine.workers.has(&lease.id);
        if engine.is_stopping() {
            return Ok(());
        }
        if is_orphan || wanted.contains(&at) {
            acquire(engine, lease, views[at].is_expired && !is_orphan).await;
        }
    }
    Ok(())
}

/// Takes a lease and starts to read it, unless another was faster. `is_expired` says that it is taken because its
/// owner has not been heard of.
// Boxed: the work on a lease takes the leases that replace it.
pub(super) fn acquire<'a>(engine: &'a Arc<Engine>, lease: &'a Lease, is_expired: bool) -> BoxFuture<'a, ()> {
    Box::pin(async move {
        let Some(seat) = engine.workers.seat(&lease.id) else { return };
        match take(engine, lease, is_expired).await {
            Ok((taken, hold)) => worker::start(engine, taken, hold, seat),
            Err(NotUpdated::Lost | NotUpdated::Gone) => {}
            Err(NotUpdated::Failed(error)) => engine.listener.failed(Some(lease.token()), error),
        }
    })
}

async fn take(engine: &Engine, lease: &Lease, is_expired: bool) -> Result<(Lease, Hold), NotUpdated> {
    let known = engine.partitions(false).await.map_err(NotUpdated::Failed)?;
    let range = match range_of(lease, &known) {
        Some(range) => Some(range),
        // Another instance may know of a split that nothing here has met.
        None => range_of(lease, &engine.partitions(true).await.map_err(NotUpdated::Failed)?),
    };
    let range = range.ok_or_else(|| {
        let message = format!(
            "the lease {:?} is for a partition that the container does not have (was the container made anew?)",
            lease.id
        );
        NotUpdated::Failed(Error::new(ErrorKind::InvalidResponse, message))
    })?;
    let start = engine.start();
    let update = LeaseUpdate::Acquire { by: &engine.owner, seen: lease, is_expired, range: &range, start };
    let taken = engine.store.update(lease, &update).await?;
    let (owner, store) = (Arc::clone(&engine.owner), Arc::clone(&engine.store));
    let hold = Hold::new(taken.clone(), range, owner, store, Arc::clone(&engine.platform));
    Ok((taken, hold))
}
