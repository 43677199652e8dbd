//! Writes that a forced failover has lost: how that is noticed, and who hears of it.
//!
//! There are three signs. A session that has seen a lost write is answered by no region any more, neither now nor
//! later. The driver asks all regions for a while. What is then still not answered is lost: the session is forgotten, and
//! read anew. That is safe, because every write of the provider is conditional. A read that is too old makes a write that
//! is refused. The second sign is such an answer that comes once: the partition may have grown past what was lost. The
//! third is a partition whose session tokens have a higher version than before. Both say only that writes may be lost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmonaut::ContainerClient;
use tokio::sync::watch;
use tokio::time::Instant;

use super::versions::Versions;
use crate::clock;

/// How long no region may have what the session has seen before that is taken for lost. A region that only lags is
/// not asked alone: the one that takes the writes has everything.
const CERTAIN: Duration = Duration::from_secs(2);

/// The losses of a container. Clones are one.
#[derive(Clone)]
pub(crate) struct Losses {
    container: ContainerClient,
    count: Arc<watch::Sender<u64>>,
    versions: Arc<Mutex<Versions>>,
}

impl Losses {
    pub(super) fn new(container: ContainerClient) -> Self {
        Self { container, count: Arc::new(watch::Sender::new(0)), versions: Arc::default() }
    }

    /// An answer has come with this session token.
    pub(crate) fn answered(&self, token: &str) {
        if self.seen().note(token) {
            self.suspect();
        }
    }

    /// Another process has seen these versions of the partitions.
    pub(crate) fn heard(&self, versions: &BTreeMap<String, i64>) {
        if self.seen().note_all(versions) {
            self.suspect();
        }
    }

    /// The versions of the partitions, as far as they are known.
    pub(crate) fn versions(&self) -> BTreeMap<String, i64> {
        self.seen().all()
    }

    /// No region has what the session has seen, for the first time since something was answered.
    pub(crate) fn unmet(&self) {
        self.suspect();
    }

    /// Whether what the session has seen is lost, if no region has had it since then.
    pub(crate) fn is_certain(&self, unmet_since: Instant) -> bool {
        clock::instant().duration_since(unmet_since) >= CERTAIN
    }

    /// Forgets what the session has seen, and tells those who mend what was lost.
    pub(crate) async fn forget_session(&self) {
        match self.container.forget_session().await {
            Ok(()) => {
                tracing::error!(
                    container = self.container.id(),
                    "a failover has lost writes that this process has seen; it goes on from what is there"
                );
                self.count.send_modify(|count| *count += 1);
            }
            Err(error) => tracing::warn!(%error, "the session cannot be forgotten; it is tried again"),
        }
    }

    /// Hears of losses from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    fn suspect(&self) {
        tracing::warn!(
            container = self.container.id(),
            "a failover may have lost writes; what was delivered lately is checked"
        );
        self.count.send_modify(|count| *count += 1);
    }

    fn seen(&self) -> MutexGuard<'_, Versions> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
