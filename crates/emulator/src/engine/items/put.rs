//! Create, upsert and replace: writing a whole item.
//!
//! Whether the item itself is acceptable was decided before, in `incoming`.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_wire::{CosmosStatus, IndexingDirective};

use super::incoming::Incoming;
use super::{Conditions, ItemReply, ItemRequest, Outcome, find_live, not_found};
use crate::Failure;
use crate::engine::replica::Transaction;
use crate::engine::{Container, Document, DocumentParts, PartitionRange, RegionId, VersionTag, charge};

/// What a write does about an item that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PutMode {
    /// It must not be there.
    Create,
    /// Either way.
    Upsert,
    /// It must be there.
    Replace,
}

impl PutMode {
    /// Whether an item of this id may be written where there is another version, or none.
    pub(super) fn check(
        self,
        found: Option<(&str, VersionTag)>,
        target: &str,
        id: &str,
        conditions: &Conditions<'_>,
    ) -> Result<(), Failure> {
        match (self, found) {
            (Self::Create, Some(_)) => Err(exists(id)),
            (Self::Replace, None) => Err(not_found(target)),
            // A replace must not rename an item, neither to a free id nor to a taken one.
            (Self::Replace, Some((current, _))) if current != id => Err(Failure::bad_request(format!(
                "the id in the body, {id:?}, is not the id of the item to replace, {current:?}"
            ))),
            // An upsert that creates has nothing to compare with, and the service lets it pass.
            (Self::Create | Self::Upsert, None) => Ok(()),
            (Self::Upsert | Self::Replace, Some((_, etag))) => conditions.check_item(etag),
        }
    }
}

/// A write of a whole item, ready to be applied.
#[derive(Clone, Debug)]
pub(crate) struct Put<'a> {
    pub(super) mode: PutMode,
    /// The id that the path names, for a replace.
    pub(super) target: &'a str,
    pub(super) incoming: Incoming,
    pub(super) conditions: Conditions<'a>,
    pub(super) indexed: bool,
}

/// Where in the container a transaction is at work.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) container: &'a Container,
    pub(crate) range: &'a PartitionRange,
    pub(crate) region: RegionId,
}

impl Container {
    /// Creates an item; 409 if there is one of that id.
    pub fn create_item(&self, region: RegionId, request: ItemRequest<'_>) -> Result<ItemReply, Failure> {
        self.put_item(region, PutMode::Create, request)
    }

    /// Creates or replaces an item.
    pub fn upsert_item(&self, region: RegionId, request: ItemRequest<'_>) -> Result<ItemReply, Failure> {
        self.put_item(region, PutMode::Upsert, request)
    }

    /// Replaces an item; 404 if there is none of that id.
    pub fn replace_item(&self, region: RegionId, request: ItemRequest<'_>) -> Result<ItemReply, Failure> {
        self.put_item(region, PutMode::Replace, request)
    }

    fn put_item(
        &self,
        region: RegionId,
        mode: PutMode,
        request: ItemRequest<'_>,
    ) -> Result<ItemReply, Failure> {
        let put = self.prepare_put(mode, &request)?;
        self.transact_one(region, &put.incoming.epk, request.session, |site, tx| put.apply(site, tx))
    }

    /// Checks all of a write that can be checked without looking at the container.
    pub(super) fn prepare_put<'a>(
        &self,
        mode: PutMode,
        request: &ItemRequest<'a>,
    ) -> Result<Put<'a>, Failure> {
        Ok(Put {
            mode,
            target: request.id,
            incoming: Incoming::read(&request.body, self.keys(), request.key.as_ref())?,
            conditions: request.conditions,
            indexed: request.indexing != IndexingDirective::Exclude,
        })
    }
}

impl Put<'_> {
    pub(super) fn apply(&self, site: Site<'_>, tx: &mut Transaction<'_>) -> Result<Outcome, Failure> {
        let Incoming { id, key, .. } = &self.incoming;
        let named = if self.mode == PutMode::Replace { self.target } else { id };
        let current = find_live(tx.state(), site.container.rid(), key, named, tx.now());
        let found = current.map(|current| (current.id(), current.etag));
        self.mode.check(found, self.target, id, &self.conditions)?;
        let number = current.map(|current| current.number);
        let status = if number.is_some() { CosmosStatus::OK } else { CosmosStatus::CREATED };
        let written = write(site, tx, number, &self.incoming, self.indexed)?;
        Ok(written.outcome(status))
    }
}

/// A version that a transaction has written.
pub(super) struct WrittenItem {
    text: Vec<u8>,
    etag: VersionTag,
    lsn: i64,
    /// How many terms of the index have changed.
    terms: usize,
}

impl WrittenItem {
    /// What the write came to.
    pub(super) fn outcome(self, status: CosmosStatus) -> Outcome {
        let charge = charge::write(self.text.len(), self.terms);
        let (body, etag) = (Bytes::from(self.text), Some(self.etag.to_etag()));
        Outcome { status, body, etag, item_lsn: self.lsn, charge }
    }
}

/// Writes a version of an item; `number` is the item's, if there is one.
pub(super) fn write(
    site: Site<'_>,
    tx: &mut Transaction<'_>,
    number: Option<u64>,
    incoming: &Incoming,
    indexed: bool,
) -> Result<WrittenItem, Failure> {
    let is_new = number.is_none();
    let number = || number.unwrap_or_else(|| site.container.next_number());
    write_version(site, tx, Version { number: number(), etag: None, is_new }, incoming, indexed)
}

/// A version to be written.
pub(super) struct Version {
    /// The item's number.
    pub(super) number: u64,
    /// The version's tag, if it was given one before.
    pub(super) etag: Option<VersionTag>,
    /// Whether there is no such item yet.
    pub(super) is_new: bool,
}

/// The same for a version of which more is known.
pub(super) fn write_version(
    site: Site<'_>,
    tx: &mut Transaction<'_>,
    Version { number, etag, is_new }: Version,
    incoming: &Incoming,
    indexed: bool,
) -> Result<WrittenItem, Failure> {
    if is_new {
        purge_expired(tx, tx.state().find(&incoming.key, &incoming.id).map(|document| document.number));
    }
    claim_unique_keys(tx, number, incoming)?;
    let stamp = site.stamp(tx);
    let document = Arc::new(Document::from(DocumentParts {
        container: site.container.rid(),
        number,
        id: &incoming.id,
        key: incoming.key.clone(),
        epk: incoming.epk.clone(),
        open: &incoming.open,
        etag: etag.unwrap_or_else(|| stamp.etag()),
        ts: tx.now().seconds(),
        lsn: tx.lsn(),
        origin: tx.origin(),
        nth: tx.nth(),
        ttl: incoming.ttl,
        indexed,
    }));
    let (text, etag, lsn) = (document.text(), document.etag, document.lsn);
    let terms = tx.put(document, &text);
    Ok(WrittenItem { text, etag, lsn, terms })
}

/// 409 if another item of the logical partition has the same unique values. Expired holders give way.
fn claim_unique_keys(tx: &mut Transaction<'_>, number: u64, incoming: &Incoming) -> Result<(), Failure> {
    let mut body = None;
    while let Some(holder) = tx.state().unique_holder(
        &incoming.key,
        number,
        body.get_or_insert_with(|| [&incoming.open[..], b"}"].concat()),
    ) {
        let taken =
            tx.state().document(holder).is_some_and(|document| tx.state().is_live(document, tx.now()));
        if taken {
            return Err(not_unique());
        }
        purge_expired(tx, Some(holder));
    }
    Ok(())
}

/// Deletes an item whose time has ended, to make room in the same commit.
fn purge_expired(tx: &mut Transaction<'_>, number: Option<u64>) {
    if let Some(number) = number {
        tx.delete(number, true);
    }
}

pub(super) fn not_unique() -> Failure {
    Failure::conflict(
        "Unique index constraint violation: another item of this partition key has the same unique values. Resource with \
         specified id, name, or unique index already exists.",
    )
    .with_charge(charge::NOTHING)
}

fn exists(id: &str) -> Failure {
    Failure::conflict(format!(
        "Entity with the specified id already exists in the system. Resource with specified id, name, or unique index \
         already exists. The id is {id:?}"
    ))
    .with_charge(charge::NOTHING)
}
