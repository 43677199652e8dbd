//! Deleting an item, and all items of a partition key.
//!
//! Items whose time has ended are deleted by the sweep, not here.

use bytes::Bytes;
use cosmonaut_wire::{CosmosStatus, EpkRange, PartitionKey};

use super::{Conditions, ItemReply, ItemRequest, Outcome, Site, find_live, not_found, required_key};
use crate::Failure;
use crate::engine::replica::Transaction;
use crate::engine::scope::keys_of;
use crate::engine::{Container, Document, Hold, RegionId, charge};
use crate::storage::Commit;

/// A delete, ready to be applied.
pub(super) struct Delete<'a> {
    pub(super) key: &'a PartitionKey,
    pub(super) id: &'a str,
    pub(super) conditions: Conditions<'a>,
}

/// How many items of a partition key are deleted in one commit. Nobody else reads or writes the partition meanwhile.
const DELETED_AT_ONCE: usize = 256;

/// What a delete by partition key came to.
#[derive(Clone, Debug)]
pub struct KeyDeleted {
    /// How many items there were.
    pub items: usize,
    /// What it cost.
    pub charge: f64,
    /// Resolve when the reply is safe to be sent.
    pub commits: Vec<Commit>,
    /// Resolves when other regions have what they must before it is sent.
    pub hold: Hold,
}

impl Container {
    /// Deletes an item.
    pub fn delete_item(&self, region: RegionId, request: ItemRequest<'_>) -> Result<ItemReply, Failure> {
        let key = required_key(self, request.key.as_ref())?;
        let delete = Delete { key, id: request.id, conditions: request.conditions };
        self.transact_one(region, &self.keys().place(key)?, request.session, |site, tx| {
            delete.apply(site, tx)
        })
    }

    /// Deletes all items of a partition key, or of a hierarchical prefix.
    ///
    /// The service does this in the background; here it is done when it is answered, in commits between which others
    /// have their turn. An item that is made meanwhile stays.
    pub fn delete_partition_key(&self, region: RegionId, key: &PartitionKey) -> Result<KeyDeleted, Failure> {
        if key.components().is_empty() && self.definition().system_key != Some(true) {
            return Err(Failure::bad_request("an empty partition key names no items to delete"));
        }
        let keys = keys_of(key, self.definition())?;
        let mut done = KeyDeleted { items: 0, charge: 0.0, commits: Vec::new(), hold: Hold::none() };
        let (mut next, end, mut terms) = (keys.min, self.next_number(), 0);
        while next < keys.max {
            let deleted = self.transact(region, &next, |site, tx| {
                let named = |found: &&Document| found.number < end && self.keys().covers(key, &found.key);
                let part = EpkRange { min: next.clone(), max: keys.max.clone() };
                let found = tx.state().in_epk(&part).filter(named).take(DELETED_AT_ONCE);
                let numbers: Vec<u64> = found.map(|found| found.number).collect();
                let terms: usize = numbers.iter().map(|number| tx.delete(*number, false)).sum();
                let is_last = numbers.len() < DELETED_AT_ONCE;
                Ok((numbers.len(), terms, is_last.then(|| site.range.range.max.clone())))
            })?;
            let (items, of_slice, reached) = deleted.value;
            done.items += items;
            terms += of_slice;
            done.commits.push(deleted.commit);
            done.hold.extend(deleted.hold);
            if let Some(reached) = reached {
                done.charge += charge::write(0, std::mem::take(&mut terms));
                next = reached;
            }
        }
        Ok(done)
    }
}

impl Delete<'_> {
    pub(super) fn apply(&self, site: Site<'_>, tx: &mut Transaction<'_>) -> Result<Outcome, Failure> {
        let document = find_live(tx.state(), site.container.rid(), self.key, self.id, tx.now())
            .ok_or_else(|| not_found(self.id))?;
        self.conditions.check_item(document.etag)?;
        let (number, bytes) = (document.number, document.text_len());
        let terms = tx.delete(number, false);
        Ok(Outcome {
            status: CosmosStatus::NO_CONTENT,
            body: Bytes::new(),
            etag: None,
            item_lsn: tx.lsn(),
            charge: charge::write(bytes, terms),
        })
    }
}
