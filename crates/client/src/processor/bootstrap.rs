//! The first leases: one instance creates them while the others wait for it.

use std::time::Duration;

use cosmonaut_driver::platform::Platform;

use super::engine::partitions;
use super::lease::{Lease, LeaseRange, mode_name};
use super::split_plan::missing;
use super::store::LeaseStore;
use crate::change_feed::Mode;
use crate::concurrent::try_all;
use crate::container::ContainerHandle;
use crate::{Error, ErrorKind, Result};

/// How long an instance may take to create the leases.
const LOCK_TIME: Duration = Duration::from_secs(30);
/// How long the others wait before they look again.
const WAIT: Duration = Duration::from_secs(15);
/// How many leases are created at once.
const AT_ONCE: usize = 25;

/// An error if the leases are there and are read in another mode.
pub(super) async fn check_mode(store: &LeaseStore, mode: Mode) -> Result<()> {
    let leases = store.list().await?;
    match leases.iter().flatten().next() {
        Some(lease) if lease.mode() != mode => {
            let (theirs, ours) = (mode_name(lease.mode()), mode_name(mode));
            let message = format!(
                "the leases of this processor are for {theirs:?}, and it is started for {ours:?} (use another \
                 processor name)"
            );
            Err(Error::new(ErrorKind::Configuration, message))
        }
        Some(_) | None => Ok(()),
    }
}

/// Creates the leases, or waits until another instance has.
pub(super) async fn initialize(
    store: &LeaseStore,
    monitored: &ContainerHandle,
    mode: Mode,
    platform: &dyn Platform,
) -> Result<()> {
    let mut seen: Option<(Option<String>, Duration)> = None;
    loop {
        if store.sign(&store.names.marker()).await?.is_some() {
            return Ok(());
        }
        if let Some(lock) = store.set_sign(&store.names.lock(), Some(LOCK_TIME)).await? {
            let created = create_leases(store, monitored, mode).await;
            store.remove_sign(&lock).await?;
            return created;
        }
        // A holder that has crashed leaves its lock behind, unless the container has a time to live.
        if let Some(lock) = store.sign(&store.names.lock()).await? {
            let now = platform.now().since_start();
            match &seen {
                Some((etag, since)) if *etag == lock.etag => {
                    if now.saturating_sub(*since) >= LOCK_TIME {
                        store.remove_sign(&lock).await?;
                        continue;
                    }
                }
                Some(_) | None => seen = Some((lock.etag, now)),
            }
        }
        platform.sleep(WAIT).await;
    }
}

/// Creates the leases that are missing, and says that all are there.
async fn create_leases(store: &LeaseStore, monitored: &ContainerHandle, mode: Mode) -> Result<()> {
    // In this order: a partition that splits in between has its lease already, or its children are seen here.
    let partitions = partitions(monitored, true).await?;
    let leases: Vec<Lease> = store.list().await?.into_iter().collect::<Result<_>>()?;
    let missing = missing(&leases, &partitions);
    let create = |range: LeaseRange| {
        let lease = Lease::new(store.names.lease(&range.token), &range, mode, store.time_of_day());
        store.create(lease)
    };
    let missing: Vec<_> = missing.into_iter().map(create).collect();
    try_all(missing, AT_ONCE).await?;
    store.set_sign(&store.names.marker(), None).await?;
    Ok(())
}
