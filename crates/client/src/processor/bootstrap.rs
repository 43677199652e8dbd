//! The first leases: one instance creates them while the others wait for it.

use std::sync::Arc;
use std::time::Duration;

use super::coverage::earliest_start;
use super::engine::partitions;
use super::events::Listener;
use super::lease::{Lease, LeaseRange, mode_name};
use super::naming::Names;
use super::settings::Settings;
use super::split_plan::missing;
use super::store::{LeaseStore, SignNote};
use crate::change_feed::Mode;
use crate::container::ContainerHandle;
use crate::feeds::in_flight::try_all;
use crate::{ContainerClient, Error, ErrorKind, Result};

/// How long an instance may take to create the leases.
pub(super) const LOCK_TIME: Duration = Duration::from_secs(30);
/// How long the others wait before they look again. .NET waits longer; a look costs little.
const WAIT: Duration = Duration::from_secs(1);
/// How many leases are created at once.
pub(super) const AT_ONCE: usize = 25;

/// What makes the first leases of a container.
pub(super) struct Bootstrap<'a> {
    pub(super) monitored: &'a ContainerHandle,
    pub(super) settings: &'a Settings,
    /// The second behind which leases are read that say nothing, where that depends on when this instance was started.
    pub(super) start: Option<u64>,
    pub(super) listener: &'a Listener,
}

impl Bootstrap<'_> {
    /// The leases of a container: those that there are, or the first, which this instance or another creates.
    pub(super) async fn open(&self, leases: &ContainerClient, names: Names) -> Result<Arc<LeaseStore>> {
        let store = LeaseStore::open(leases, names, self.settings.lease_timeouts()).await?;
        // Before any is created, and again: of several instances that start at once, one decides which mode it is.
        check_mode(&store, self.settings.mode).await?;
        self.initialize(&store).await?;
        check_mode(&store, self.settings.mode).await?;
        Ok(Arc::new(store))
    }

    /// Creates the leases, or waits until another instance has. Where that was done already, nothing is.
    pub(super) async fn initialize(&self, store: &LeaseStore) -> Result<()> {
        let platform = self.monitored.driver.platform();
        let mut lock_watch = LockWatch::default();
        loop {
            if store.sign(&store.names.marker()).await?.is_some() {
                return Ok(());
            }
            let lock = SignNote { ttl: Some(LOCK_TIME), ..SignNote::default() };
            if let Some(lock) = store.set_sign(&store.names.lock(), lock).await? {
                let created = self.create_leases(store).await;
                // A lock that stays harms nobody: the others look for the marker first, and for how old the lock is.
                drop(store.remove_sign(&lock).await);
                return created;
            }
            match store.sign(&store.names.lock()).await? {
                Some(lock) if lock_watch.is_stale(lock.etag.as_deref(), platform.now().since_start()) => {
                    store.remove_sign(&lock).await?;
                }
                Some(_) | None => platform.sleep(WAIT).await,
            }
        }
    }

    /// Creates the leases that are missing, and says that all are there.
    async fn create_leases(&self, store: &LeaseStore) -> Result<()> {
        // In this order: a partition that splits in between has its lease already, or its children are seen here.
        let partitions = partitions(self.monitored, true).await?;
        let leases = readable(store.list().await?, self.listener);
        // The marker may be what was lost, and leases that were made with it may say when the processor was started.
        let start = earliest_start(self.start, None, &leases);
        let create = |range: LeaseRange| {
            let id = store.names.lease(&range.token);
            let lease = Lease::new(id, &range, self.settings.mode, store.time_of_day());
            store.create(lease.starting_at(start))
        };
        let missing: Vec<_> = missing(&leases, &partitions).into_iter().map(create).collect();
        try_all(missing, AT_ONCE).await?;
        store.set_sign(&store.names.marker(), SignNote { ttl: None, start }).await?;
        Ok(())
    }
}

/// An error if there are leases that are read in another mode.
async fn check_mode(store: &LeaseStore, mode: Mode) -> Result<()> {
    store.list().await?.iter().flatten().try_for_each(|lease| check_mode_of(lease, mode))
}

/// An error if a lease is read in another mode.
pub(super) fn check_mode_of(lease: &Lease, mode: Mode) -> Result<()> {
    if lease.mode() == mode {
        return Ok(());
    }
    let (theirs, ours) = (mode_name(lease.mode()), mode_name(mode));
    let message = format!(
        "the leases of this processor are for {theirs:?}, and it is started for {ours:?} (use another processor \
         name)"
    );
    Err(Error::new(ErrorKind::Configuration, message))
}

/// Since when the same lock is there. A holder that has crashed leaves its lock behind, unless the container has a time
/// to live.
#[derive(Debug, Default)]
struct LockWatch {
    since: Option<(Option<String>, Duration)>,
}

impl LockWatch {
    /// Whether the lock with this etag has been there for longer than its holder may take.
    fn is_stale(&mut self, etag: Option<&str>, now: Duration) -> bool {
        match &self.since {
            Some((known, since)) if known.as_deref() == etag => now.saturating_sub(*since) >= LOCK_TIME,
            Some(_) | None => {
                self.since = Some((etag.map(str::to_owned), now));
                false
            }
        }
    }
}

/// The leases among what was listed. What is none is told of and passed by.
pub(super) fn readable(listed: Vec<Result<Lease>>, listener: &Listener) -> Vec<Lease> {
    let told = |lease: Result<Lease>| lease.map_err(|error| listener.failed(None, error)).ok();
    listed.into_iter().filter_map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_stale_when_it_was_seen_for_longer_than_its_holder_may_take() {
        let mut watch = LockWatch::default();
        for (second, etag, expected) in [
            (0, "a", false),
            (29, "a", false),
            (30, "a", true),
            // Another holder has come.
            (31, "b", false),
            (60, "b", false),
            (61, "b", true),
        ] {
            assert_eq!(watch.is_stale(Some(etag), Duration::from_secs(second)), expected, "{second} {etag}");
        }
    }
}
