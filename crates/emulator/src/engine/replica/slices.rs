//! Work over all documents of a replica, a slice at a time, while others read and write it.
//!
//! The documents are copied out first; then those that were written meanwhile, again and again until few are left. These
//! last ones are copied by whoever then puts the result in place, and nobody can write before that is done.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use cosmonaut_wire::EpkRange;

use super::{Locked, Replica, ReplicaState};
use crate::engine::Document;
use crate::index::Index;

/// How many documents are copied while the replica is locked.
///
/// Few in tests, so that their small containers are copied in several slices.
const SLICE: usize = if cfg!(test) { 3 } else { 1024 };

/// How often what was written meanwhile is copied, before the rest is left to the end.
const ROUNDS: usize = 8;

/// What becomes of each document: as it is now, or that it is gone.
type Take<'t> = dyn FnMut(u64, Option<Arc<Document>>) + 't;

impl Replica {
    /// Hands over every document but those that are being written. [`ReplicaState::rest`] has these.
    fn each_document(&self, take: &mut Take<'_>) {
        self.write(|state| state.touched = Some(BTreeSet::new()));
        let mut after = None;
        loop {
            let slice = self.read(|state| state.share_after(after, SLICE));
            let Some(last) = slice.last() else { break };
            after = Some(last.number);
            slice.into_iter().for_each(|document| take(document.number, Some(document)));
        }
        // Whoever writes faster than this copies has to wait in the end.
        for _ in 0..ROUNDS {
            let changed = self.write(|state| {
                let rest = state.rest();
                state.touched = Some(BTreeSet::new());
                rest
            });
            let is_last = changed.len() <= SLICE;
            changed.into_iter().for_each(|(number, document)| take(number, document));
            if is_last {
                return;
            }
        }
    }

    /// Indexes everything anew. Until that is done, the old index is asked.
    pub(crate) fn reindex(&self, index: Index) {
        let mut draft = IndexDraft { index, indexed: HashMap::new() };
        self.each_document(&mut |number, document| draft.take(number, document));
        self.put_in_place(draft);
    }

    fn put_in_place(&self, mut draft: IndexDraft) {
        self.write(|state| {
            state.rest().into_iter().for_each(|(number, document)| draft.take(number, document));
            std::mem::swap(state.index_mut(), &mut draft.index);
        });
        // The old index is large: it is freed here, when nobody waits for the replica.
    }

    /// Begins to copy the replica into the halves of a split.
    pub(crate) fn halve(&self, keys: [&EpkRange; 2], indexes: [Index; 2]) -> Halves {
        let mut halves = self.begin_halves(keys, indexes);
        self.each_document(&mut |number, document| halves.take(number, document));
        halves
    }

    /// Begins to copy the replica for another region.
    pub(crate) fn copy(&self, index: Index) -> Copied {
        let mut copied = self.begin_copy(index);
        self.each_document(&mut |number, document| copied.take(number, document));
        copied
    }

    fn begin_copy(&self, index: Index) -> Copied {
        Copied(self.read(|state| state.empty_child(index)))
    }

    fn begin_halves(&self, keys: [&EpkRange; 2], indexes: [Index; 2]) -> Halves {
        self.read(|state| {
            let [low, high] = indexes.map(|index| state.empty_child(index));
            Halves([(keys[0].clone(), low), (keys[1].clone(), high)])
        })
    }
}

impl ReplicaState {
    /// Becomes a copy of another replica. Whoever is copying this one looks at everything again.
    pub(crate) fn become_copy(&mut self, copy: Self) {
        let touched = self.touched.take().map(|mut touched| {
            touched.extend(self.shared().chain(copy.shared()).map(|document| document.number));
            touched
        });
        *self = copy;
        self.touched = touched;
    }

    /// The documents that were written since they were copied. Nobody begins to note them again.
    fn rest(&mut self) -> Vec<(u64, Option<Arc<Document>>)> {
        let touched = self.touched.take().unwrap_or_default();
        touched.into_iter().map(|number| (number, self.share(number).cloned())).collect()
    }
}

/// A replica of another region in the making.
pub(crate) struct Copied(ReplicaState);

impl Copied {
    fn take(&mut self, number: u64, document: Option<Arc<Document>>) {
        self.0.remove(number);
        if let Some(document) = document {
            self.0.insert(document);
        }
    }

    /// What the region starts with, now that nobody else can look at the replica that was copied.
    pub(crate) fn finish(mut self, source: &mut Locked<'_>) -> ReplicaState {
        source.rest().into_iter().for_each(|(number, document)| self.take(number, document));
        self.0.take_over_all(source);
        self.0
    }
}

/// An index in the making.
struct IndexDraft {
    index: Index,
    /// The documents as they are indexed.
    indexed: HashMap<u64, Arc<Document>>,
}

impl IndexDraft {
    fn take(&mut self, number: u64, document: Option<Arc<Document>>) {
        if let Some(old) = self.indexed.remove(&number) {
            self.index.remove(number, &old.text());
        }
        if let Some(new) = document.filter(|document| document.indexed) {
            self.index.insert(number, &new.text());
            self.indexed.insert(number, new);
        }
    }
}

/// The halves of a split in the making, in one region.
pub(crate) struct Halves([(EpkRange, ReplicaState); 2]);

impl Halves {
    fn take(&mut self, number: u64, document: Option<Arc<Document>>) {
        for (keys, state) in &mut self.0 {
            state.remove(number);
            if let Some(document) = &document
                && keys.contains(&document.epk)
            {
                state.insert(Arc::clone(document));
            }
        }
    }

    /// What the halves start with, now that nobody else can look at the parent.
    pub(crate) fn finish(mut self, parent: &mut Locked<'_>) -> [ReplicaState; 2] {
        parent.rest().into_iter().for_each(|(number, document)| self.take(number, document));
        self.0.map(|(keys, mut state)| {
            state.inherit(parent, &keys);
            state
        })
    }
}

#[cfg(test)]
mod tests {
    use cosmonaut_wire::model::{IndexingPolicy, PartitionKeyDefinition};
    use cosmonaut_wire::{PartitionKey, ResourceId};

    use super::*;
    use crate::engine::ring::Ring;
    use crate::engine::throughput::Bucket;
    use crate::engine::unique::UniqueKeys;
    use crate::engine::{DocumentParts, Progress, RegionId, VersionTag};

    fn index() -> Index {
        Index::new(&IndexingPolicy::default()).unwrap()
    }

    fn document(number: u64, version: i64) -> Arc<Document> {
        let key = PartitionKey::from(number.to_string().as_str());
        Arc::new(Document::from(DocumentParts {
            container: ResourceId::container(1, 1),
            number,
            id: &number.to_string(),
            epk: key.effective(&PartitionKeyDefinition::new(["/pk"])).unwrap(),
            key,
            open: format!(r#"{{"id":"{number}","v":{version}"#).as_bytes(),
            etag: VersionTag([version as u8; 16]),
            ts: 1,
            lsn: version,
            origin: RegionId(0),
            nth: number as u32,
            ttl: None,
            indexed: true,
        }))
    }

    fn document_of_another(number: u64) -> Arc<Document> {
        document(number, 9)
    }

    fn replica() -> Replica {
        let mut state = ReplicaState::new(Progress::default(), index(), UniqueKeys::new(None).unwrap());
        (1..=40).for_each(|number| {
            state.insert(document(number, 1));
        });
        Replica::new(RegionId(0), 0, Arc::new(Bucket::default()), state)
    }

    /// Writes behind and before the place that a copy has come to: changes, deletes, and makes documents.
    fn write_beside(replica: &Replica, number: u64) {
        replica.write(|state| {
            for other in [number / 2, number + 7] {
                if state.remove(other).is_some() && !other.is_multiple_of(3) {
                    state.insert(document(other, 2));
                }
            }
            if number.is_multiple_of(5) && state.share(100 + number).is_none() {
                state.insert(document(100 + number, 1));
            }
        });
    }

    #[test]
    fn an_index_that_is_built_beside_writes_has_what_the_documents_have() {
        let replica = replica();
        let mut draft = IndexDraft { index: index(), indexed: HashMap::new() };
        replica.each_document(&mut |number, document| {
            draft.take(number, document);
            if number < 100 {
                write_beside(&replica, number);
            }
        });
        write_beside(&replica, 3);
        replica.put_in_place(draft);
        let mut expected = index();
        replica.read(|state| {
            for document in state.documents() {
                expected.insert(document.number, &document.text());
            }
            assert_eq!(format!("{:?}", state.index()), format!("{expected:?}"));
        });
    }

    #[test]
    fn a_copy_that_is_made_beside_writes_has_what_the_replica_has() {
        for is_replaced in [false, true] {
            let replica = replica();
            let mut copied = replica.begin_copy(index());
            replica.each_document(&mut |number, document| {
                copied.take(number, document);
                if number < 100 {
                    write_beside(&replica, number);
                }
                if number == 20 && is_replaced {
                    let mut other =
                        ReplicaState::new(Progress::default(), index(), UniqueKeys::new(None).unwrap());
                    for number in (1..=60).step_by(3) {
                        other.insert(document_of_another(number));
                    }
                    replica.write(|state| state.become_copy(other.copy(index())));
                }
            });
            write_beside(&replica, 3);
            let copy = copied.finish(&mut replica.lock());
            replica.read(|state| {
                assert_eq!(copy.documents().collect::<Vec<_>>(), state.documents().collect::<Vec<_>>());
                assert_eq!(format!("{:?}", copy.index()), format!("{:?}", state.index()));
                assert_eq!((copy.progress(), copy.phase()), (state.progress(), state.phase()));
            });
        }
    }

    #[test]
    fn halves_that_are_copied_beside_writes_have_what_the_parent_has() {
        let replica = replica();
        let [low, high] = Ring::of(&PartitionKeyDefinition::new(["/pk"])).halve(&EpkRange::FULL).unwrap();
        let mut halves = replica.begin_halves([&low, &high], [index(), index()]);
        replica.each_document(&mut |number, document| {
            halves.take(number, document);
            if number < 100 {
                write_beside(&replica, number);
            }
        });
        write_beside(&replica, 3);
        let children = halves.finish(&mut replica.lock());
        replica.read(|state| {
            for (keys, child) in [low, high].iter().zip(&children) {
                let expected: Vec<_> = state.documents().filter(|found| keys.contains(&found.epk)).collect();
                assert!(!expected.is_empty());
                assert_eq!(child.documents().collect::<Vec<_>>(), expected);
                assert_eq!((child.len(), child.progress()), (expected.len(), state.progress()));
            }
        });
    }

    #[test]
    fn halves_find_an_item_that_gave_way_to_one_with_a_lower_number() {
        let replica = replica();
        let [low, high] = Ring::of(&PartitionKeyDefinition::new(["/pk"])).halve(&EpkRange::FULL).unwrap();
        let mut halves = replica.begin_halves([&low, &high], [index(), index()]);
        // Another region made the item at the same time, and its version wins.
        let mut arrived = (*document(40, 2)).clone();
        (arrived.number, arrived.nth) = (0, 100);
        let arrived = Arc::new(arrived);
        replica.each_document(&mut |number, document| {
            halves.take(number, document);
            if number == 40 && replica.read(|state| state.share(40).is_some()) {
                replica.write(|state| {
                    state.remove(40);
                    state.insert(Arc::clone(&arrived));
                });
            }
        });
        let children = halves.finish(&mut replica.lock());
        let found = children.iter().find_map(|child| child.find(&arrived.key, arrived.id()));
        assert_eq!(found, Some(&arrived));
    }
}
