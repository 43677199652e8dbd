//! Tries once more what was refused: what was in the way of an item may be gone, or be an old version of another one that
//! was refused itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cosmonaut::{PartitionKey, RawItem};

use super::change::of_item;
use super::part::Copier;
use super::state::Refused;
use crate::account::failed;
use crate::data::apply::{Refusal, Target, What, Write, apply};
use crate::failure::Failure;

/// How often it is tried to write what others that are written make room for.
const ROUNDS: usize = 3;
/// What a unique key is answered with that another item has.
const CONFLICT: u16 = 409;

/// A write that was refused, and why.
type Left = (Write, Refusal);

/// What came of it.
#[derive(Default)]
pub(super) struct Tried {
    /// What is still refused.
    pub(super) left: Vec<Refused>,
    pub(super) done: u64,
    /// How many of them were deletions.
    pub(super) deleted: u64,
    pub(super) charge: f64,
}

impl Copier {
    /// Brings what was refused to what it is by now.
    pub(super) async fn again(&mut self) -> Result<Tried, Failure> {
        let mut tried = Tried::default();
        let writes = self.present(&mut tried).await?;
        let left = tried.write(&self.to, writes).await?;
        let (stuck, left) = self.in_each_others_way(left);
        let stuck = self.without_old_versions(&mut tried, stuck).await?;
        let still = left.into_iter().chain(stuck);
        tried.left.extend(still.map(|(write, refusal)| Refused::of(refusal, Some(write.key.to_string()))));
        Ok(tried)
    }

    /// What is to be written for what was refused.
    async fn present(&self, tried: &mut Tried) -> Result<Vec<Write>, Failure> {
        let mut asked: Vec<(PartitionKey, String)> = Vec::new();
        for refused in &self.part.refused {
            match refused.item().and_then(|(key, id)| Some((key.parse().ok()?, id))) {
                Some(item) => asked.push(item),
                None => tried.left.push(refused.clone()),
            }
        }
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let read = self.from.read_many::<RawItem>(asked.clone()).await.map_err(|error| failed(&error))?;
        tried.charge += read.request_charge();
        let mut writes = Vec::new();
        for ((place, (key, id)), item) in (0..).zip(asked).zip(read.items()) {
            match item {
                Some(item) => match of_item(&self.keys, item, place).write {
                    Ok(write) => writes.push(write),
                    Err(refusal) => tried.left.push(Refused::of(refusal, Some(key.to_string()))),
                },
                None if self.with_deletes => writes.push(Write { place, key, id, what: What::Delete }),
                // Where deletions are not followed there is nothing left to be written.
                None => {}
            }
        }
        Ok(writes)
    }

    /// Tells the items that may be in each other's way from the others. Those are several of one key that a unique key keeps
    /// out, unless it was in vain for these versions before.
    fn in_each_others_way(&self, left: Vec<Left>) -> (Vec<Left>, Vec<Left>) {
        let mut by_key: BTreeMap<String, Vec<Left>> = BTreeMap::new();
        let (mut stuck, mut others) = (Vec::new(), Vec::new());
        for (write, refusal) in left {
            let is_conflict = refusal.status.is_some_and(|(status, _)| status == CONFLICT);
            match self.to.has_unique_keys() && is_conflict {
                true => by_key.entry(write.key.to_string()).or_default().push((write, refusal)),
                false => others.push((write, refusal)),
            }
        }
        for (key, group) in by_key {
            let versions: BTreeSet<_> = group.iter().filter_map(|(write, _)| version(write)).collect();
            let may_help = group.len() > 1 && self.in_vain.get(&key) != Some(&versions);
            if may_help { stuck.extend(group) } else { others.extend(group) }
        }
        (stuck, others)
    }

    /// Writes items that are in each other's way, as two that have swapped a value: their old versions go first. An item that
    /// cannot be written even so gets its old version back.
    async fn without_old_versions(
        &mut self,
        tried: &mut Tried,
        stuck: Vec<Left>,
    ) -> Result<Vec<Left>, Failure> {
        if stuck.is_empty() {
            return Ok(stuck);
        }
        let writes: Vec<Write> = stuck.into_iter().map(|(write, _)| write).collect();
        let read = self.to.read(writes.iter().map(Write::item).collect()).await?;
        tried.charge += read.request_charge();
        let old = writes.iter().zip(read.items()).filter_map(|(write, item)| {
            let old = of_item(&self.keys, item.as_ref()?, write.place).write.ok()?;
            Some((write.place, old))
        });
        let old: HashMap<u64, Write> = old.collect();
        for write in &writes {
            self.in_vain.remove(&write.key.to_string());
        }
        let deletes = old.values().map(|old| Write { what: What::Delete, ..old.clone() });
        tried.charge += apply(&self.to, deletes.collect()).await?.charge;
        let left = tried.write(&self.to, writes).await?;
        for (write, _) in &left {
            self.in_vain.entry(write.key.to_string()).or_default().extend(version(write));
        }
        let back = left.iter().filter_map(|(write, _)| old.get(&write.place).cloned());
        // What has taken the place of an old version is newer than that.
        tried.charge += apply(&self.to, back.collect()).await?.charge;
        Ok(left)
    }
}

impl Tried {
    /// Writes what can be written; the rest, and why not.
    async fn write(&mut self, to: &Target, mut writes: Vec<Write>) -> Result<Vec<Left>, Failure> {
        let mut left = Vec::new();
        for _ in 0..ROUNDS {
            let (count, deletes) = (writes.len(), deletes(&writes));
            let applied = apply(to, writes.clone()).await?;
            self.charge += applied.charge;
            self.done += applied.done;
            let mut refusals: HashMap<u64, Refusal> =
                applied.refused.into_iter().map(|refusal| (refusal.place, refusal)).collect();
            let refused = |write: Write| refusals.remove(&write.place).map(|refusal| (write, refusal));
            left = writes.into_iter().filter_map(refused).collect::<Vec<_>>();
            writes = left.iter().map(|(write, _)| write.clone()).collect();
            self.deleted += deletes - self::deletes(&writes);
            if writes.is_empty() || writes.len() == count {
                break;
            }
        }
        Ok(left)
    }
}

/// The item that is written, if one is.
fn version(write: &Write) -> Option<Vec<u8>> {
    match &write.what {
        What::Put(item) | What::PutIfAbsent(item) => Some(item.as_bytes().to_vec()),
        What::Delete => None,
    }
}

fn deletes(writes: &[Write]) -> u64 {
    writes.iter().filter(|write| write.is_delete()).count() as u64
}
