//! The lease container: leases are read, created, changed and deleted there. What may be changed is decided in `lease`.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::platform::Platform;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bootstrap::LOCK_TIME;
use super::lease::{Lease, LeaseUpdate};
use super::naming::Names;
use crate::options::FeedOptions;
use crate::{ContainerClient, Error, ErrorKind, Etag, FeedScope, ItemOptions, Query, Result, SessionToken};

/// How often a change is tried again when somebody else has changed the lease meanwhile.
const MOST_REPEATS: u32 = 5;

/// The documents of one processor in its lease container.
pub(super) struct LeaseStore {
    container: ContainerClient,
    pub(super) names: Names,
    key: LeaseKey,
    timeouts: LeaseTimeouts,
    platform: Arc<dyn Platform>,
}

/// How long one request to the lease container may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeaseTimeouts {
    /// One about a lease that this instance has, and loses unless it is answered in time.
    pub(super) held: Duration,
    /// Any other.
    pub(super) other: Duration,
}

/// Which member of a document is its partition key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeaseKey {
    /// `/id`
    Id,
    /// `/partitionKey`
    Member,
}

/// Why a lease was not changed.
#[derive(Clone, Debug)]
pub(super) enum NotUpdated {
    /// Another instance has it, or it changes all the time.
    Lost,
    /// There is no such lease any more.
    Gone,
    Failed(Error),
}

/// A document that says something by being there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sign {
    id: String,
    #[serde(rename = "partitionKey", skip_serializing_if = "Option::is_none")]
    partition_key: Option<String>,
    /// In seconds; it has an effect where the container has a time to live.
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<u64>,
    /// The second behind which the processor was started, where that matters. .NET does not write it.
    #[serde(rename = "cosmonaut.start", default, skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    #[serde(rename = "_etag", default, skip_serializing)]
    pub(super) etag: Option<String>,
    #[serde(rename = "_ts", default, skip_serializing)]
    set_at: Option<u64>,
}

/// What a sign says beside being there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SignNote {
    /// How long it stays where the container has a time to live.
    pub(super) ttl: Option<Duration>,
    /// The second behind which the processor was started, where that matters.
    pub(super) start: Option<u64>,
}

impl Sign {
    /// The second behind which the processor was started, as far as the sign says so. Who sets the marker was started
    /// before that, by as much as making the leases takes.
    pub(super) fn started_at(&self) -> Option<u64> {
        self.start.or_else(|| Some(self.set_at?.saturating_sub(LOCK_TIME.as_secs())))
    }
}

impl LeaseStore {
    pub(super) async fn open(
        container: &ContainerClient,
        names: Names,
        timeouts: LeaseTimeouts,
    ) -> Result<Self> {
        let handle = container.handle()?;
        let paths = handle.driver.container(&handle.path).await?.partition_key.paths;
        let key = match paths.iter().map(|path| &**path).collect::<Vec<_>>()[..] {
            ["/id"] => LeaseKey::Id,
            ["/partitionKey"] => LeaseKey::Member,
            _ => {
                let message = format!(
                    "the lease container {:?} has the partition key {paths:?} (leases need one with /id or \
                     /partitionKey)",
                    container.id()
                );
                return Err(Error::new(ErrorKind::Configuration, message));
            }
        };
        let platform = Arc::clone(handle.driver.platform());
        Ok(Self { container: container.clone(), names, key, timeouts, platform })
    }

    /// The time of day, as a duration since 1970.
    pub(super) fn time_of_day(&self) -> Duration {
        self.platform.time_of_day()
    }

    /// All leases, and an error for each document that is none.
    pub(super) async fn list(&self) -> Result<Vec<Result<Lease>>> {
        let text = "SELECT * FROM c WHERE STARTSWITH(c.id, @prefix)";
        let query = Query::new(text).with("@prefix", self.names.lease_prefix());
        let rows = in_session_or_not(|session_token| {
            let mut options = FeedOptions { session_token, ..Default::default() };
            options.request.end_to_end_timeout = Some(self.timeouts.other);
            self.container
                .query_items::<Value>(query.clone(), FeedScope::Container)
                .options(options)
                .collect()
        });
        Ok(rows.await?.into_iter().map(read_lease).collect())
    }

    /// Creates a lease; `None` if there is one of its id.
    pub(super) async fn create(&self, mut lease: Lease) -> Result<Option<Lease>> {
        if self.key == LeaseKey::Member {
            // .NET has a random one there, and by default makes two leases of one id when two instances are at it.
            lease.partition_key = Some(lease.id.clone());
        }
        match self.container.create_item(self.key_of(&lease), lease.document()).options(self.options()).await
        {
            Ok(created) => Ok(Some(lease.at(created.etag()))),
            Err(error) if error.is_conflict() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Changes a lease, from what is known of it: if that is out of date, it is read and the change tried again.
    pub(super) async fn update(&self, known: &Lease, update: &LeaseUpdate<'_>) -> Result<Lease, NotUpdated> {
        let timeout = match update {
            LeaseUpdate::Acquire { .. } => self.timeouts.other,
            LeaseUpdate::Renew { .. } | LeaseUpdate::Checkpoint { .. } | LeaseUpdate::Release { .. } => {
                self.timeouts.held
            }
        };
        let mut current = known.clone();
        for _ in 0..=MOST_REPEATS {
            let next = update.apply(&current, self.time_of_day()).ok_or(NotUpdated::Lost)?;
            match self.replace(&next, timeout).await {
                Ok(replaced) => return Ok(replaced),
                Err(error) if error.is_precondition_failed() => {
                    current = self.read(&current, timeout).await?
                }
                Err(error) => return Err(NotUpdated::of(error)),
            }
        }
        Err(NotUpdated::Lost)
    }

    /// Deletes a lease that is not needed any more. It may be gone already.
    pub(super) async fn delete(&self, lease: &Lease) -> Result<()> {
        match self.container.delete_item(self.key_of(lease), &lease.id).options(self.options()).await {
            Err(error) if !error.is_not_found() => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// A lease that this instance has, as it is now.
    pub(super) async fn read_held(&self, lease: &Lease) -> Result<Lease, NotUpdated> {
        self.read(lease, self.timeouts.held).await
    }

    async fn read(&self, lease: &Lease, timeout: Duration) -> Result<Lease, NotUpdated> {
        let read = in_session_or_not(|session_token| {
            let mut options = ItemOptions::default().timeout(timeout);
            options.write.session_token = session_token;
            self.container.read_item::<Value>(self.key_of(lease), &lease.id).options(options)
        });
        read.await.and_then(|read| read_lease(read.into_value())).map_err(NotUpdated::of)
    }

    async fn replace(&self, lease: &Lease, timeout: Duration) -> Result<Lease> {
        let options = if_match(timeout, lease.etag());
        let replaced = self
            .container
            .replace_item(self.key_of(lease), &lease.id, lease.document())
            .options(options)
            .await?;
        Ok(lease.clone().at(replaced.etag()))
    }

    fn key_of<'a>(&self, lease: &'a Lease) -> &'a str {
        match self.key {
            LeaseKey::Id => &lease.id,
            LeaseKey::Member => lease.partition_key.as_deref().unwrap_or(&lease.id),
        }
    }

    /// A sign by its id; `None` if it is not there.
    pub(super) async fn sign(&self, id: &str) -> Result<Option<Sign>> {
        let read = in_session_or_not(|session_token| {
            let mut options = ItemOptions::default().timeout(self.timeouts.other);
            options.write.session_token = session_token;
            self.container.read_item::<Sign>(id, id).options(options)
        });
        match read.await {
            Ok(read) => Ok(Some(read.into_value())),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets a sign; `None` if it is there already.
    pub(super) async fn set_sign(&self, id: &str, note: SignNote) -> Result<Option<Sign>> {
        let partition_key = (self.key == LeaseKey::Member).then(|| id.to_owned());
        let ttl = note.ttl.map(|ttl| ttl.as_secs().max(1));
        let mut sign =
            Sign { id: id.to_owned(), partition_key, ttl, start: note.start, etag: None, set_at: None };
        match self.container.create_item(id, &sign).options(self.options()).await {
            Ok(created) => {
                sign.etag = created.etag().map(|etag| etag.as_str().to_owned());
                Ok(Some(sign))
            }
            Err(error) if error.is_conflict() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a sign away, unless it is another by now.
    pub(super) async fn remove_sign(&self, sign: &Sign) -> Result<()> {
        let options = if_match(self.timeouts.other, sign.etag.as_deref().map(Etag::from));
        match self.container.delete_item(&*sign.id, &sign.id).options(options).await {
            Err(error) if !error.is_not_found() && !error.is_precondition_failed() => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn options(&self) -> Option<ItemOptions> {
        Some(ItemOptions::default().timeout(self.timeouts.other))
    }
}

fn if_match(timeout: Duration, etag: Option<Etag>) -> Option<ItemOptions> {
    let mut options = ItemOptions::default().timeout(timeout);
    options.write.if_match_etag = etag;
    Some(options)
}

/// Reads in the client's session, and without it if no region has what it has seen: a forced failover can have lost
/// that. What is written depends on the versions of leases alone, so that an older answer does no harm.
pub(super) async fn in_session_or_not<T, F>(read: impl Fn(Option<SessionToken>) -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    match read(None).await {
        Err(error) if error.kind() == ErrorKind::SessionNotAvailable => {
            read(Some(SessionToken::default())).await
        }
        result => result,
    }
}

/// A GUID of version 4 from random bits.
pub(super) fn guid(high: u64, low: u64) -> String {
    let (high, low) = (high & !0xf000 | 0x4000, low & !(0b11 << 62) | 0b10 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

fn read_lease(document: Value) -> Result<Lease> {
    let id = document.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    serde_json::from_value(document).map_err(|error| {
        let message = format!("the document {id:?} of the lease container is no lease: {error}");
        Error::caused_by(ErrorKind::Serialization, message, error)
    })
}

impl NotUpdated {
    fn of(error: Error) -> Self {
        if error.is_not_found() { Self::Gone } else { Self::Failed(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_has_its_form() {
        assert_eq!(guid(0, 0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(guid(u64::MAX, u64::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }

    #[test]
    fn a_marker_says_when_the_processor_was_started() {
        for (marker, expected) in [
            (serde_json::json!({"id": "P.info", "_ts": 1000, "cosmonaut.start": 990}), Some(990)),
            // As .NET sets it: whoever did was started before that.
            (serde_json::json!({"id": "P.info", "partitionKey": "P.info", "_ts": 1000}), Some(970)),
            (serde_json::json!({"id": "P.info"}), None),
        ] {
            let sign: Sign = serde_json::from_value(marker.clone()).unwrap();
            assert_eq!(sign.started_at(), expected, "{marker}");
        }
    }
}
