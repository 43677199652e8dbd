//! The task that takes leases: what was left, what has expired, and what others have too much of. It also sees to it that
//! there is a lease for every key.

use std::sync::Arc;

use cosmonaut_driver::transport::BoxFuture;

use super::balance::{LeaseView, leases_to_take};
use super::coverage::Uncovered;
use super::engine::Engine;
use super::events::ProcessorEvent;
use super::expiry::Sightings;
use super::hold::Hold;
use super::lease::{Lease, LeaseUpdate};
use super::restore::{Listed, restore};
use super::split_plan::range_of;
use super::store::{LeaseStore, NotUpdated};
use super::worker;
use super::workers::Seat;
use super::{bootstrap, names};
use crate::waiting::unless;
use crate::{Error, ErrorKind, Result};

/// What the balancer's own seat is called; no lease is called so.
pub(super) const SEAT: &str = "";

/// What earlier rounds have seen.
#[derive(Default)]
struct Seen {
    sightings: Sightings,
    uncovered: Uncovered,
}

/// Takes leases at intervals, until the processor stops.
pub(super) async fn run(engine: Arc<Engine>, _seat: Seat) {
    let mut seen = Seen::default();
    while !engine.is_stopping() {
        let turn = turn(&engine, &mut seen).await;
        let pause = engine.sleep(engine.settings.acquire_interval);
        match turn {
            Ok(()) => drop(unless(engine.stopped(), unless(engine.replaced(), pause)).await),
            Err(error) => {
                engine.listener.failed(None, error);
                unless(engine.stopped(), pause).await;
            }
        }
    }
}

async fn turn(engine: &Arc<Engine>, seen: &mut Seen) -> Result<()> {
    if engine.is_replaced.send_replace(false) {
        match unless(engine.stopped(), reopen(engine)).await {
            Some(Ok(())) => {}
            None => return Ok(()),
            Some(Err(error)) => {
                // The old leases are of no use: nothing is read before this has succeeded.
                engine.is_replaced.send_replace(true);
                return Err(error);
            }
        }
    }
    round(engine, seen).await
}

/// Goes over to the leases of the container that has the name now.
async fn reopen(engine: &Engine) -> Result<()> {
    let names = names(&engine.monitored, &engine.name).await?;
    let (old, new) = (engine.store().names.container(), names.container());
    if old != new {
        let store = engine.bootstrap().open(&engine.leases, names).await?;
        engine.store.send_replace(store);
        let (old, new) = (old.to_string(), new.to_string());
        engine.listener.tell(&ProcessorEvent::ContainerReplaced { old, new });
    }
    Ok(())
}

async fn round(engine: &Arc<Engine>, seen: &mut Seen) -> Result<()> {
    let store = engine.store();
    let listing = list(engine, &store, &mut seen.uncovered);
    let Some(listed) = unless(engine.stopped(), listing).await else { return Ok(()) };
    let mut leases = listed?;
    leases.retain(|lease| match bootstrap::check_mode_of(lease, engine.settings.mode) {
        Ok(()) => true,
        Err(error) => {
            engine.listener.failed(Some(lease.token()), error);
            false
        }
    });
    let now = engine.now();
    let sightings = &mut seen.sightings;
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
            acquire(engine, &store, lease, views[at].is_expired && !is_orphan).await;
        }
    }
    Ok(())
}

/// The leases that there are. If somebody has emptied the lease container or made it anew, the first leases are created
/// again; if some are gone, those are.
async fn list(engine: &Engine, store: &LeaseStore, seen: &mut Uncovered) -> Result<Vec<Lease>> {
    let mut listed = store.list().await?;
    if listed.is_empty() {
        engine.bootstrap().initialize(store).await?;
        listed = store.list().await?;
    }
    let count = listed.len();
    let mut leases = bootstrap::readable(listed, &engine.listener);
    let listed = Listed { leases: &leases, has_unreadable: leases.len() < count };
    match restore(engine, store, listed, seen).await {
        Ok(made) => leases.extend(made),
        // The others are shared out all the same.
        Err(error) => engine.listener.failed(None, error),
    }
    Ok(leases)
}

/// Takes a lease and starts to read it, unless another was faster. `is_expired` says that it is taken because its
/// owner has not been heard of.
// Boxed: the work on a lease takes the leases that replace it.
pub(super) fn acquire<'a>(
    engine: &'a Arc<Engine>,
    store: &'a Arc<LeaseStore>,
    lease: &'a Lease,
    is_expired: bool,
) -> BoxFuture<'a, ()> {
    Box::pin(async move {
        let Some(seat) = engine.workers.seat(&lease.id) else { return };
        match take(engine, store, lease, is_expired).await {
            Ok((taken, hold)) => worker::start(engine, taken, hold, seat),
            Err(NotUpdated::Lost | NotUpdated::Gone) => {}
            Err(NotUpdated::Failed(error)) => engine.listener.failed(Some(lease.token()), error),
        }
    })
}

async fn take(
    engine: &Engine,
    store: &Arc<LeaseStore>,
    lease: &Lease,
    is_expired: bool,
) -> Result<(Lease, Hold), NotUpdated> {
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
    let taken = store.update(lease, &update).await?;
    let (owner, store) = (Arc::clone(&engine.owner), Arc::clone(store));
    let hold = Hold::new(taken.clone(), range, owner, store, Arc::clone(&engine.platform));
    Ok((taken, hold))
}
