//! A draft: reads and writes of one partition key that are kept apart while somebody decides about them, and committed
//! together at the end or not at all.
//!
//! No lock is held in between. What a draft has looked at must be as it was when the draft was begun, else it is stale and
//! has to be made again. Who makes drafts, and how often, is not known here.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_wire::{
    CosmosStatus, EffectivePartitionKey, EpkRange, IndexingDirective, PartitionKey, SessionToken,
};

use super::incoming::Incoming;
use super::put::{PutMode, Version, write_version};
use super::{Conditions, ItemRequest, Outcome, find_live, not_found, required_key};
use crate::Failure;
use crate::engine::container::Transacted;
use crate::engine::scope::keys_of;
use crate::engine::unique::UniqueKeys;
use crate::engine::{
    Container, Document, DocumentParts, Progress, RegionId, ReplicaState, VersionTag, charge,
};

/// Reads and writes of one partition key, not yet committed.
pub(crate) struct Draft {
    container: Arc<Container>,
    region: RegionId,
    key: PartitionKey,
    epk: EffectivePartitionKey,
    /// The key's places on the ring.
    keys: EpkRange,
    /// What all reads see.
    base: Moment,
    has_queried: bool,
    unique: UniqueKeys,
    /// By id, what was looked at.
    items: HashMap<Box<str>, Item>,
    writes: Vec<Write>,
    charge: f64,
    /// The part of it that was taken from the throughput already.
    paid: f64,
    is_stale: bool,
}

/// A moment in the life of a partition key.
struct Moment {
    /// How far the partition was.
    progress: Progress,
    /// How many items the key had, expired ones included.
    items: usize,
}

impl Moment {
    fn of(state: &ReplicaState, keys: &EpkRange) -> Self {
        Self { progress: state.progress().clone(), items: count(state, keys) }
    }

    fn is_before(&self, document: &Document) -> bool {
        document.lsn > self.progress.get(document.origin)
    }

    /// Whether items of the key were written or deleted since then.
    fn is_past(&self, state: &ReplicaState, keys: &EpkRange) -> bool {
        let commits = state.progress().total().saturating_sub(self.progress.total());
        let items = count(state, keys);
        if commits == 0 || items != self.items {
            return items != self.items;
        }
        // As many as there were, and each as old: so none was deleted either. What is fewer is gone through.
        match usize::try_from(commits).is_ok_and(|commits| commits < items) {
            true => state.changed_after(&self.progress).any(|document| keys.contains(&document.epk)),
            false => state.in_epk(keys).any(|document| self.is_before(document)),
        }
    }
}

/// An item that was looked at.
#[derive(Default)]
struct Item {
    /// What the store had.
    stored: Option<(u64, VersionTag)>,
    /// What there is after the draft's writes.
    current: Option<Current>,
    is_written: bool,
}

#[derive(Clone)]
struct Current {
    number: u64,
    etag: VersionTag,
    text: Bytes,
}

struct Write {
    number: u64,
    /// None: the item is deleted.
    version: Option<(Incoming, VersionTag, bool)>,
    is_new: bool,
}

/// What a draft came to when it was committed.
pub(crate) struct Committed {
    pub(crate) done: Transacted<i64>,
    pub(crate) charge: f64,
}

impl Draft {
    /// Begins a draft; 403 where the partition is not written.
    pub(crate) fn begin(
        container: &Arc<Container>,
        region: RegionId,
        key: Option<&PartitionKey>,
        session: Option<&SessionToken>,
    ) -> Result<Self, Failure> {
        let key = required_key(container, key)?.clone();
        let epk = container.keys().place(&key)?;
        let layout = container.layout();
        let range = layout.range_of(&epk);
        container.check_writer(range, region)?;
        let replica = range.replica(region);
        replica.admit(container.now())?;
        let keys = keys_of(&key, container.definition())?;
        let base = replica.read(|state| {
            container.check_alive(state)?;
            range.check_session(session, state)?;
            Ok::<_, Failure>(Moment::of(state, &keys))
        })?;
        let unique = UniqueKeys::new(container.properties().unique_key_policy.as_ref())?;
        let container = Arc::clone(container);
        let (items, writes) = (HashMap::new(), Vec::new());
        let (charge, paid, has_queried, is_stale) = (0.0, 0.0, false, false);
        Ok(Self {
            container,
            region,
            key,
            epk,
            keys,
            base,
            has_queried,
            unique,
            items,
            writes,
            charge,
            paid,
            is_stale,
        })
    }

    pub(crate) fn container(&self) -> &Arc<Container> {
        &self.container
    }

    pub(crate) fn region(&self) -> RegionId {
        self.region
    }

    pub(crate) fn key(&self) -> &PartitionKey {
        &self.key
    }

    /// What it has cost so far, apart from its writes.
    pub(crate) fn charge(&self) -> f64 {
        self.charge
    }

    /// Takes what it has cost from the throughput, where it is not committed.
    pub(crate) fn pay(&self) {
        self.container.replica_for(&self.epk, self.region).spend(self.charge - self.paid);
    }

    /// Adds what a query has cost; `is_paid` if it has taken that from the throughput itself.
    pub(crate) fn spend(&mut self, charge: f64, is_paid: bool) {
        self.charge += charge;
        if is_paid {
            self.paid += charge;
        }
    }

    /// A query of the key begins.
    pub(crate) fn begin_query(&mut self) {
        // What is seen first may be as it is now.
        if !self.has_queried && self.items.is_empty() {
            let replica = self.container.replica_for(&self.epk, self.region);
            self.base = replica.read(|state| Moment::of(state, &self.keys));
        }
        self.has_queried = true;
    }

    /// A query has ended: what it has found was so all the time, or the draft is stale.
    pub(crate) fn end_query(&mut self) {
        let replica = self.container.replica_for(&self.epk, self.region);
        self.is_stale |= replica.read(|state| self.base.is_past(state, &self.keys));
    }

    /// Whether what it has looked at was changed by others.
    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale
    }

    pub(crate) fn has_writes(&self) -> bool {
        !self.writes.is_empty()
    }

    /// Reads an item, by its id or resource id.
    pub(crate) fn read(&mut self, name: &str, conditions: Conditions<'_>) -> Result<Outcome, Failure> {
        let id = self.look(name)?;
        let found = self.current(&id).cloned().ok_or_else(|| not_found(name));
        let Current { etag, text, .. } = self.told(found)?;
        let unmodified = conditions.is_unmodified(etag);
        let body = if unmodified { Bytes::new() } else { text };
        let charge = if unmodified { charge::NOTHING } else { charge::read(body.len()) };
        self.charge += charge;
        let status = if unmodified { CosmosStatus::NOT_MODIFIED } else { CosmosStatus::OK };
        Ok(Outcome { status, body, etag: Some(etag.to_etag()), item_lsn: 0, charge })
    }

    /// Creates, upserts or replaces an item.
    pub(crate) fn put(&mut self, mode: PutMode, request: &ItemRequest<'_>) -> Result<Outcome, Failure> {
        let done = self.try_put(mode, request);
        self.told(done)
    }

    fn try_put(&mut self, mode: PutMode, request: &ItemRequest<'_>) -> Result<Outcome, Failure> {
        let container = Arc::clone(&self.container);
        let incoming = Incoming::read(&request.body, container.keys(), request.key.as_ref())?;
        if incoming.key != self.key {
            return Err(Failure::bad_request(
                "Requests originating from scripts cannot reference partition keys other than the one for which client \
                 request was submitted.",
            ));
        }
        let named = if mode == PutMode::Replace { request.id } else { &*incoming.id };
        let id = self.look(named)?;
        let current = self.current(&id).cloned();
        let found = current.as_ref().map(|current| (&*id, current.etag));
        mode.check(found, request.id, &incoming.id, &request.conditions)?;
        let number = current.as_ref().map(|current| current.number);
        self.check_unique(number, &incoming)?;
        let is_new = number.is_none();
        let number = number.unwrap_or_else(|| container.next_number());
        let etag = self.new_etag();
        let text = self.text(number, etag, &incoming);
        let indexed = request.indexing != IndexingDirective::Exclude;
        let written = Current { number, etag, text: text.clone() };
        self.write(&id, Some(written), Write { number, version: Some((incoming, etag, indexed)), is_new });
        let status = if is_new { CosmosStatus::CREATED } else { CosmosStatus::OK };
        Ok(Outcome { status, body: text, etag: Some(etag.to_etag()), item_lsn: 0, charge: 0.0 })
    }

    /// Deletes an item, by its id or resource id.
    pub(crate) fn delete(&mut self, name: &str, conditions: Conditions<'_>) -> Result<Outcome, Failure> {
        let id = self.look(name)?;
        let found = self.current(&id).cloned().ok_or_else(|| not_found(name)).and_then(|current| {
            conditions.check_item(current.etag)?;
            Ok(current)
        });
        let number = self.told(found)?.number;
        self.write(&id, None, Write { number, version: None, is_new: false });
        Ok(Outcome {
            status: CosmosStatus::NO_CONTENT,
            body: Bytes::new(),
            etag: None,
            item_lsn: 0,
            charge: 0.0,
        })
    }

    /// The texts of all items of the partition key, as they are after the draft's writes.
    pub(crate) fn texts(&self) -> Vec<Bytes> {
        let now = self.container.now();
        let replica = self.container.replica_for(&self.epk, self.region);
        let stored: Vec<Arc<Document>> = replica.read(|state| {
            let own = |document: &&Document| document.key == self.key && state.is_live(document, now);
            let found = state.in_epk(&self.keys).filter(own);
            found.filter_map(|document| state.share(document.number).cloned()).collect()
        });
        let is_written = |id: &str| self.items.get(id).is_some_and(|item| item.is_written);
        let unwritten = stored.iter().filter(|document| !is_written(document.id()));
        let mut texts: Vec<(u64, Bytes)> =
            unwritten.map(|document| (document.number, document.text().into())).collect();
        let written = self.items.values().filter(|item| item.is_written);
        texts.extend(
            written.filter_map(|item| {
                Some((item.current.as_ref()?.number, item.current.as_ref()?.text.clone()))
            }),
        );
        texts.sort_by_key(|(number, _)| *number);
        texts.into_iter().map(|(_, text)| text).collect()
    }

    /// Commits all writes together; `None` if the draft is stale.
    pub(crate) fn commit(&self, session: Option<&SessionToken>) -> Result<Option<Committed>, Failure> {
        let mut stale = false;
        let mut charge = self.charge;
        let done = self.container.transact(self.region, &self.epk, |site, tx| {
            site.range.check_session(session, tx.state())?;
            let rid = self.container.rid();
            let is_as_seen = |(id, item): (&str, &Item)| {
                let found = find_live(tx.state(), rid, &self.key, id, tx.now());
                found.map(|document| (document.number, document.etag)) == item.stored
            };
            stale = !self.items.iter().map(|(id, item)| (&**id, item)).all(is_as_seen);
            if stale {
                return Err(Failure::conflict("what was read has changed"));
            }
            charge = self.charge;
            for Write { number, version, is_new } in &self.writes {
                charge += match version {
                    None => {
                        let bytes = tx.state().document(*number).map_or(0, Document::text_len);
                        charge::write(bytes, tx.delete(*number, false))
                    }
                    Some((incoming, etag, indexed)) => {
                        let version = Version { number: *number, etag: Some(*etag), is_new: *is_new };
                        let written = write_version(site, tx, version, incoming, *indexed);
                        // The draft's own values are unique: others have taken one since it looked.
                        stale = written.is_err();
                        written?.outcome(CosmosStatus::OK).charge
                    }
                };
            }
            Ok(tx.lsn())
        });
        self.container.replica_for(&self.epk, self.region).spend(charge - self.paid);
        match done {
            Err(_) if stale => Ok(None),
            Err(failure) => Err(failure),
            Ok(done) => Ok(Some(Committed { done, charge })),
        }
    }

    /// Looks at an item for the first time, or again; returns its id.
    fn look(&mut self, name: &str) -> Result<Box<str>, Failure> {
        if self.items.contains_key(name) {
            return Ok(name.into());
        }
        let rid = self.container.rid();
        let number = name.parse().ok().filter(|named: &cosmonaut_wire::ResourceId| named.is_in(&rid));
        if let Some(number) = number.and_then(|named| named.number())
            && let Some((id, _)) = self
                .items
                .iter()
                .find(|(_, item)| item.current.as_ref().is_some_and(|current| current.number == number))
        {
            return Ok(id.clone());
        }
        let now = self.container.now();
        let replica = self.container.replica_for(&self.epk, self.region);
        let (found, is_past) = replica.read(|state| {
            self.container.check_alive(state)?;
            let found = find_live(state, rid, &self.key, name, now).cloned();
            // A query may have found what is not there any more.
            let is_past = found.is_none() && self.has_queried && self.base.is_past(state, &self.keys);
            Ok::<_, Failure>((found, is_past))
        })?;
        let id: Box<str> = found.as_ref().map_or(name, |document| document.id()).into();
        if self.items.contains_key(&id) {
            return Ok(id);
        }
        self.is_stale |= is_past || found.as_ref().is_some_and(|document| self.base.is_before(document));
        let item = Item {
            stored: found.as_ref().map(|document| (document.number, document.etag)),
            current: found.map(|document| Current {
                number: document.number,
                etag: document.etag,
                text: document.text().into(),
            }),
            is_written: false,
        };
        self.items.insert(id.clone(), item);
        Ok(id)
    }

    fn current(&self, id: &str) -> Option<&Current> {
        self.items.get(id)?.current.as_ref()
    }

    fn write(&mut self, id: &str, current: Option<Current>, write: Write) {
        let item = self.items.entry(id.into()).or_default();
        item.current = current;
        item.is_written = true;
        self.writes.push(write);
    }

    /// 409 if another item of the partition key has the same unique values.
    fn check_unique(&self, number: Option<u64>, incoming: &Incoming) -> Result<(), Failure> {
        if self.unique.is_empty() {
            return Ok(());
        }
        let body = [&incoming.open[..], b"}"].concat();
        let names = self.unique.names(&self.key, &body);
        let shares = |current: &Current| {
            let others = self.unique.names(&self.key, &current.text);
            Some(current.number) != number && others.iter().any(|name| names.contains(name))
        };
        let in_draft = self.items.values().filter_map(|item| item.current.as_ref()).any(shares);
        let now = self.container.now();
        let replica = self.container.replica_for(&self.epk, self.region);
        let in_store = || {
            replica.read(|state| {
                state.unique_holders(&self.key, number.unwrap_or(0), &body).any(|holder| {
                    let holder = state.document(holder).filter(|document| state.is_live(document, now));
                    holder.is_some_and(|document| {
                        !self.items.get(document.id()).is_some_and(|item| item.is_written)
                    })
                })
            })
        };
        if in_draft || in_store() { Err(super::put::not_unique()) } else { Ok(()) }
    }

    fn text(&self, number: u64, etag: VersionTag, incoming: &Incoming) -> Bytes {
        let document = Document::from(DocumentParts {
            container: self.container.rid(),
            number,
            id: &incoming.id,
            key: incoming.key.clone(),
            epk: incoming.epk.clone(),
            open: &incoming.open,
            etag,
            ts: self.container.now().seconds(),
            lsn: 0,
            origin: RegionId::default(),
            nth: 0,
            ttl: incoming.ttl,
            indexed: true,
        });
        document.text().into()
    }

    /// A tag before the commit is known: no other version has its mark, and chance tells them apart.
    fn new_etag(&self) -> VersionTag {
        let (first, second) = (self.container.random(), self.container.random());
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&first.to_be_bytes());
        bytes[8..].copy_from_slice(&second.to_be_bytes());
        bytes[6] = self.region.0;
        bytes[7] = DRAFTED;
        VersionTag(bytes)
    }

    fn told<T>(&mut self, result: Result<T, Failure>) -> Result<T, Failure> {
        if let Err(failure) = &result {
            self.charge += failure.charge;
        }
        result
    }
}

/// How many items have their keys in a range, expired ones included.
fn count(state: &ReplicaState, keys: &EpkRange) -> usize {
    state.places_in(keys).map(|entry| entry.postings.len()).sum()
}

/// The byte of a version's tag that says that it was made before its commit; others have 0 there.
const DRAFTED: u8 = 1;
