//! Leases kept in the container, for processes that share it.
//!
//! Each member has a document of its own, its sign of life, which nobody else writes. One more document says who has
//! which slots; it is changed only when members come or go. What follows from both is in `sign` and `plan`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::plan::Table;
use super::sign::{Sign, View};
use super::{LeaseProvider, Role, Slots, automatic_name};
use crate::clock::{self, Reading};
use crate::connect_error::ConnectError;
use crate::hub::Hub;
use crate::model::key_id;
use async_trait::async_trait;
use cosmonaut::{ContainerClient, Error, ItemOptions};
use duroxide::providers::ProviderError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the partition of the documents is called. No instance is called so.
const PARTITION: &str = "$leases";
/// The id of the document that says who has which slots.
const TABLE: &str = "shares";
const FORMAT: u32 = 1;

/// Shares the slots with all other processes that use the same container, and the same task hub in it.
///
/// ```no_run
/// use std::time::Duration;
/// use duroxide_cosmonaut::CosmosLeaseProvider;
///
/// # fn run(container: cosmonaut::ContainerClient) {
/// let leases = CosmosLeaseProvider::new(container, "worker-7", Duration::from_secs(15));
/// # }
/// ```
pub struct CosmosLeaseProvider {
    container: ContainerClient,
    hub: Hub,
    partition: String,
    name: String,
    lease: Duration,
    owned: Mutex<Owned>,
    is_uniform: AtomicBool,
    view: tokio::sync::Mutex<View>,
}

/// What may be worked on, until when.
#[derive(Clone, Copy)]
struct Owned {
    slots: Slots,
    /// Since when, and for how long. A machine that was suspended finds its leases over.
    span: Option<(Reading, Duration)>,
}

/// A document of the partition.
#[derive(Serialize, Deserialize)]
struct Document<T> {
    id: String,
    #[serde(rename = "instanceId")]
    instance_id: String,
    v: u32,
    /// After how many seconds the service removes it; never, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl: Option<u64>,
    #[serde(rename = "_etag", default, skip_serializing)]
    etag: String,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Content {
    Member(Sign),
    Shares(Table),
    #[serde(other)]
    Other,
}

impl Document<Content> {
    fn new(partition: &str, id: String, ttl: Option<u64>, content: Content) -> Self {
        Self { id, instance_id: partition.to_owned(), v: FORMAT, ttl, etag: String::new(), content }
    }
}

/// A document, if this version of the crate understands it: what others have put there must not end all leases.
fn understood(document: Value) -> Option<Document<Content>> {
    let read = serde_json::from_value(document);
    read.inspect_err(|error| tracing::warn!(%error, "a document about leases is not understood")).ok()
}

impl CosmosLeaseProvider {
    /// Joins the processes that share a container, under a name that no other process uses at the same time.
    /// Slots of a process that dies are taken over after `lease`; a lease is renewed three times in that time.
    pub fn new(container: ContainerClient, name: impl Into<String>, lease: Duration) -> Self {
        let name = name.into();
        Self {
            container,
            hub: Hub::default(),
            partition: PARTITION.to_owned(),
            owned: Mutex::new(Owned { slots: Slots::none(), span: None }),
            is_uniform: AtomicBool::new(true),
            view: tokio::sync::Mutex::new(View::new(name.clone(), lease, clock::random())),
            name,
            lease,
        }
    }

    /// As [`new`](Self::new), under a name that no other process has.
    pub fn with_automatic_name(container: ContainerClient, lease: Duration) -> Self {
        Self::new(container, automatic_name(), lease)
    }

    /// Shares the slots of one task hub only; see [`CosmosProviderConfig::hub`](crate::CosmosProviderConfig::hub).
    ///
    /// # Errors
    /// If no hub can be called so.
    pub fn in_hub(self, hub: &str) -> Result<Self, ConnectError> {
        Ok(self.within(&Hub::new(Some(hub)).map_err(ConnectError::new)?))
    }

    pub(crate) fn within(mut self, hub: &Hub) -> Self {
        self.partition = hub.key(PARTITION).into_owned();
        self.hub = hub.clone();
        self
    }

    fn owned_now(&self) -> MutexGuard<'_, Owned> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id of this member's sign. A name may hold characters that an id may not.
    fn sign_id(&self) -> String {
        format!("member:{}", key_id(&self.name))
    }

    async fn beat(&self, role: Role) -> Result<Duration, Error> {
        let mut view = self.view.lock().await;
        // Others count from when they see the sign, which is later.
        let signed = clock::reading();
        let sign = view.sign(role);
        // What a member leaves behind that never comes back is removed by the service.
        let ttl = Some(self.lease.as_secs().max(1) * 20);
        let document = Document::new(&self.partition, self.sign_id(), ttl, Content::Member(sign));
        self.container.upsert_item(&*self.partition, &document).await?;
        let etag = self.read(&mut view).await?;
        self.is_uniform.store(view.is_uniform(), Ordering::Relaxed);
        let now = clock::instant();
        // What is lost is not worked on from here on, before anybody can take it.
        let owned = view.owned(now);
        self.owned_now().keep_only(&owned);
        if let Some(table) = view.change(now) {
            self.owned_now().keep_only(&table.share_of(&self.name));
            if self.write(table.clone(), etag).await? {
                view.written(table);
            }
        }
        // A tenth is for clocks that do not run alike.
        let span = Some((signed, self.lease.mul_f64(0.9)));
        *self.owned_now() = Owned { slots: view.owned(clock::instant()), span };
        Ok(view.rest(clock::instant()))
    }

    /// Reads all signs and the table; gives the version of the table's document, if there is one.
    async fn read(&self, view: &mut View) -> Result<Option<String>, Error> {
        let query = self.container.query_items::<Value>("SELECT * FROM c", &*self.partition);
        let (mut signs, mut table, mut etag) = (Vec::new(), Table::default(), None);
        for document in query.collect().await?.into_iter().filter_map(understood) {
            match document.content {
                Content::Member(sign) => signs.push(sign),
                Content::Shares(found) => (table, etag) = (found, Some(document.etag)),
                Content::Other => {}
            }
        }
        view.read(signs, table, clock::instant());
        Ok(etag)
    }

    /// Writes the table if it has not changed; false if it has.
    async fn write(&self, table: Table, etag: Option<String>) -> Result<bool, Error> {
        let document = Document::new(&self.partition, TABLE.to_owned(), None, Content::Shares(table));
        let written = match etag {
            Some(etag) => {
                let options = ItemOptions::default().if_match(etag);
                self.container.replace_item(&*self.partition, TABLE, &document).options(options).await
            }
            None => self.container.create_item(&*self.partition, &document).await,
        };
        match written {
            Ok(_) => Ok(true),
            Err(error) if error.is_precondition_failed() || error.is_conflict() || error.is_not_found() => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    async fn leave(&self) -> Result<(), Error> {
        let _view = self.view.lock().await;
        *self.owned_now() = Owned { slots: Slots::none(), span: None };
        // Who has no sign does not live: the others share its slots.
        match self.container.delete_item(&*self.partition, &self.sign_id()).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Owned {
    /// What may be worked on at a moment.
    fn at(&self, now: Reading) -> Slots {
        let holds = self.span.is_some_and(|(signed, time)| signed.passed(now) < time);
        if holds { self.slots } else { Slots::none() }
    }

    fn keep_only(&mut self, slots: &Slots) {
        self.slots = self.slots.within(slots);
    }
}

#[async_trait]
impl LeaseProvider for CosmosLeaseProvider {
    fn owned(&self) -> Slots {
        self.owned_now().at(clock::reading())
    }

    fn hub(&self) -> Option<&str> {
        self.hub.title()
    }

    fn patience(&self) -> Duration {
        2 * self.lease
    }

    fn all_leave_traces(&self) -> bool {
        self.is_uniform.load(Ordering::Relaxed)
    }

    async fn renew(&self, role: Role) -> Result<Duration, ProviderError> {
        self.beat(role).await.map_err(|error| ProviderError::retryable("renew_leases", error.to_string()))
    }

    async fn release(&self) -> Result<(), ProviderError> {
        self.leave().await.map_err(|error| ProviderError::retryable("release_leases", error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn leases_of_a_machine_that_was_suspended_are_over() {
        let (at, lease) = (clock::instant(), Duration::from_secs(60));
        let owned = Owned { slots: Slots::all(), span: Some((Reading::new(at, 1_000_000), lease)) };
        for (counted, shown, holds) in [(59, 59, true), (60, 60, false), (1, 50, true), (1, 61, false)] {
            let now = Reading::new(at + Duration::from_secs(counted), 1_000_000 + shown * 1000);
            assert_eq!(owned.at(now) == Slots::all(), holds, "{counted} {shown}");
        }
    }

    #[test]
    fn documents_are_read_as_they_are_written_and_those_of_other_versions_are_passed_over() {
        let sign = Sign { name: "a".into(), beat: 7, seen: 3, role: Role::Leader, revision: 1 };
        let written = serde_json::to_value(Document::new(
            PARTITION,
            "member:1".into(),
            Some(60),
            Content::Member(sign.clone()),
        ));
        let read = understood(written.unwrap()).unwrap();
        assert!(matches!(read.content, Content::Member(read) if read == sign));
        // What an earlier version of this crate had there.
        let earlier =
            json!({"id": "slots", "instanceId": PARTITION, "type": "leases", "v": 1, "members": []});
        assert!(matches!(understood(earlier).unwrap().content, Content::Other));
        let strange = json!({"id": "member:2", "instanceId": PARTITION, "type": "member", "v": 2, "name": 5});
        assert!(understood(strange).is_none());
    }
}
