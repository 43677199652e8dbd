//! Makes leases for keys that have lost theirs, so that no change of them is passed over.

use super::bootstrap::AT_ONCE;
use super::coverage::{Uncovered, earliest_start, leases_for, uncovered};
use super::engine::Engine;
use super::events::ProcessorEvent;
use super::lease::{Lease, LeaseRange};
use super::split_plan::range_of;
use super::store::LeaseStore;
use crate::feeds::in_flight::try_all;
use crate::{Error, ErrorKind, Result};

/// What a list of the lease container had.
pub(super) struct Listed<'a> {
    pub(super) leases: &'a [Lease],
    /// Whether there were documents that are no leases.
    pub(super) has_unreadable: bool,
}

/// Makes the leases that were missing in this list and in the one before, and returns those that nobody else has made.
///
/// Nothing is requested as long as the leases cover all keys and say so. Instances that do this at once make leases of
/// the same ids.
pub(super) async fn restore(
    engine: &Engine,
    store: &LeaseStore,
    listed: Listed<'_>,
    seen: &mut Uncovered,
) -> Result<Vec<Lease>> {
    let leases = listed.leases;
    let (mut partitions, mut keys) = (Vec::new(), uncovered(leases, &[]));
    // Old leases name a partition alone, and that may come of a split which nothing here has met.
    for refresh in [false, true] {
        if !keys.is_empty() {
            partitions = engine.partitions(refresh).await?;
            keys = uncovered(leases, &partitions);
        }
    }
    let lasting = seen.note(store.names.container(), keys);
    let missing = leases_for(&lasting, &partitions);
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let unplaced = leases.iter().find(|lease| range_of(lease, &partitions).is_none());
    // Either may be another kind of processor's, and for all of the keys.
    let obstacle = match unplaced {
        Some(lease) => format!("the lease {:?} does not say which keys it is for", lease.id),
        None if listed.has_unreadable => "documents among the leases cannot be read".to_owned(),
        None => return make(engine, store, leases, missing).await,
    };
    let keys: Vec<String> = lasting.iter().map(ToString::to_string).collect();
    let message = format!(
        "no lease is for the keys {}, and none is made for them as long as {obstacle} (delete what no processor uses)",
        keys.join(" and ")
    );
    Err(Error::new(ErrorKind::InvalidResponse, message))
}

async fn make(
    engine: &Engine,
    store: &LeaseStore,
    leases: &[Lease],
    missing: Vec<LeaseRange>,
) -> Result<Vec<Lease>> {
    let marker = store.sign(&store.names.marker()).await?;
    let start = earliest_start(engine.start(), marker.and_then(|marker| marker.started_at()), leases);
    let create = |range: LeaseRange| async move {
        let id = store.names.lease(&range.token);
        let lease = Lease::new(id, &range, engine.settings.mode, store.time_of_day()).starting_at(start);
        let made = store.create(lease).await?;
        if made.is_some() {
            engine.listener.tell(&ProcessorEvent::LeaseRestored { lease: range.token });
        }
        Ok(made)
    };
    let made = try_all(missing.into_iter().map(create), AT_ONCE).await?;
    Ok(made.into_iter().flatten().collect())
}
