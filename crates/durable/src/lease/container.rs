//! Leases kept in the container, for processes that share it.
//!
//! One document says who is there and who has which slots. Each member rewrites it, conditionally, to show that
//! it lives. Whether another one still lives is judged by how long its sign of life has not changed here, by
//! this machine's own clock: clocks of different machines are never compared.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cosmonaut::{ContainerClient, Error, Etag, ItemOptions};
use duroxide::providers::ProviderError;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::plan::Table;
use super::{LeaseProvider, Slots};
use crate::clock;

/// The partition of the one document, and its id. No instance is named so: the provider refuses it.
const PARTITION: &str = "$leases";
const ID: &str = "slots";
const FORMAT: u32 = 1;
/// How often a lost race for the document is tried again before the next renewal.
const RACES: usize = 16;

/// Shares the slots with all other processes that use the same container.
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
    name: String,
    lease: Duration,
    owned: Mutex<Owned>,
    view: tokio::sync::Mutex<View>,
}

/// What may be worked on, until when.
#[derive(Clone, Copy)]
struct Owned {
    slots: Slots,
    until: Option<Instant>,
}

/// The table as it was last seen, and since when each member's sign of life is what it is.
#[derive(Default)]
struct View {
    current: Option<(Table, Etag)>,
    beats: HashMap<String, (u64, Instant)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    id: String,
    instance_id: String,
    #[serde(rename = "type")]
    kind: String,
    v: u32,
    #[serde(flatten)]
    table: Table,
}

impl CosmosLeaseProvider {
    /// Joins the processes that share a container, under a name that no other process uses at the same time.
    /// Slots of a process that dies are taken over after `lease`; a lease is renewed three times in that time.
    pub fn new(container: ContainerClient, name: impl Into<String>, lease: Duration) -> Self {
        Self {
            container,
            name: name.into(),
            lease,
            owned: Mutex::new(Owned { slots: Slots::none(), until: None }),
            view: tokio::sync::Mutex::default(),
        }
    }

    fn owned_now(&self) -> MutexGuard<'_, Owned> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One attempt to write the table after a change; false if somebody else was faster.
    async fn write(&self, view: &mut View, table: Table) -> Result<bool, Error> {
        let document = Document {
            id: ID.to_owned(),
            instance_id: PARTITION.to_owned(),
            kind: "leases".to_owned(),
            v: FORMAT,
            table,
        };
        let written = match &view.current {
            Some((_, etag)) => {
                let options = ItemOptions::default().if_match(etag.clone());
                self.container.replace_item(PARTITION, ID, &document, Some(options)).await
            }
            None => self.container.create_item(PARTITION, &document, None).await,
        };
        match written {
            Ok(response) => {
                view.current = response.etag().map(|etag| (document.table, etag));
                Ok(true)
            }
            Err(error) if error.is_precondition_failed() || error.is_conflict() || error.is_not_found() => {
                view.current = None;
                Ok(false)
            }
            Err(error) => {
                // It may have been written all the same.
                view.current = None;
                Err(error)
            }
        }
    }

    async fn read(&self, view: &mut View) -> Result<(), Error> {
        view.current = match self.container.read_item::<Document>(PARTITION, ID, None).await {
            Ok(response) => response.etag().map(|etag| (response.into_value().table, etag)),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        view.observe(clock::instant());
        Ok(())
    }

    async fn beat(&self) -> Result<Duration, Error> {
        let mut view = self.view.lock().await;
        for _ in 0..RACES {
            // Alone, the table is what this process wrote last; else the others' signs of life are in it.
            let alone = view.current.as_ref().is_some_and(|(table, _)| table.members.len() == 1);
            if !alone {
                self.read(&mut view).await?;
            }
            let table = view.current.as_ref().map_or_else(Table::default, |(table, _)| table.clone());
            let started = clock::instant();
            let after = table.after_beat(&self.name, &view.dead(started, self.lease));
            let (mine, settled) = (after.slots_of(&self.name), after.is_settled_for(&self.name));
            // What is given up is not worked on from here on, before anybody can take it.
            self.owned_now().keep_only(&mine);
            if self.write(&mut view, after).await? {
                // A tenth is for clocks that do not run alike.
                let until = started + self.lease.mul_f64(0.9);
                *self.owned_now() = Owned { slots: mine, until: Some(until) };
                return Ok(if settled { self.lease / 3 } else { self.lease / 10 });
            }
        }
        Ok(self.lease / 10)
    }

    async fn leave(&self) -> Result<(), Error> {
        let mut view = self.view.lock().await;
        *self.owned_now() = Owned { slots: Slots::none(), until: None };
        for _ in 0..RACES {
            self.read(&mut view).await?;
            let Some((table, _)) = &view.current else { return Ok(()) };
            let after = table.without(&self.name);
            if self.write(&mut view, after).await? {
                break;
            }
        }
        Ok(())
    }
}

impl Owned {
    fn keep_only(&mut self, slots: &Slots) {
        let lost = self.slots.without(slots);
        self.slots = self.slots.without(&lost);
    }
}

impl View {
    fn observe(&mut self, now: Instant) {
        let Some((table, _)) = &self.current else { return };
        self.beats.retain(|name, _| table.members.iter().any(|member| member.name == *name));
        for member in &table.members {
            let seen = self.beats.entry(member.name.clone()).or_insert((member.beat, now));
            if seen.0 != member.beat {
                *seen = (member.beat, now);
            }
        }
    }

    fn dead(&self, now: Instant, lease: Duration) -> HashSet<String> {
        let silent = self.beats.iter().filter(|(_, (_, since))| now >= *since + lease);
        silent.map(|(name, _)| name.clone()).collect()
    }
}

#[async_trait]
impl LeaseProvider for CosmosLeaseProvider {
    fn owned(&self) -> Slots {
        let owned = *self.owned_now();
        if owned.until.is_some_and(|until| clock::instant() < until) { owned.slots } else { Slots::none() }
    }

    async fn renew(&self) -> Result<Duration, ProviderError> {
        self.beat().await.map_err(|error| ProviderError::retryable("renew_leases", error.to_string()))
    }

    async fn release(&self) -> Result<(), ProviderError> {
        self.leave().await.map_err(|error| ProviderError::retryable("release_leases", error.to_string()))
    }
}
