//! What was seen of the partitions of one container.
//!
//! Partitions are spread over shelves. A shelf is copied when a partition is first seen or dropped; what was
//! seen of a partition changes in the partition's own entry.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwapOption;
use cosmonaut_policy::{Seen, response_progress};
use cosmonaut_wire::{PartitionKeyRangeId, PartitionToken};
use http::HeaderMap;

use crate::cache::RangeMap;

/// With 10,000 partitions a shelf holds about 160, which are copied when one is added. An empty shelf takes
/// one pointer.
const SHELVES: usize = 64;

/// What was seen of the partitions of one container.
pub(super) struct RangeSessions {
    shelves: [ArcSwapOption<Shelf>; SHELVES],
    /// The partitions that were last taken in.
    settled: ArcSwapOption<RangeMap>,
    /// Whether the container has answered since room was last looked for.
    is_in_use: AtomicBool,
}

/// Some of the partitions, in the order of their keys and ids.
type Shelf = Vec<Place>;

/// A partition on its shelf.
#[derive(Clone)]
struct Place {
    /// A hash of the id. A search compares keys, which lie side by side, and looks at one partition alone.
    key: u64,
    range: Arc<RangeSession>,
}

struct RangeSession {
    id: PartitionKeyRangeId,
    seen: ArcSwapOption<Seen>,
    /// Whether the partition's children have inherited, so that the next map drops it.
    is_replaced: AtomicBool,
    /// Whether the entry is about to be dropped. It can still be read, but what comes in goes to a new entry.
    is_leaving: AtomicBool,
}

impl Default for RangeSessions {
    fn default() -> Self {
        Self {
            shelves: [const { ArcSwapOption::const_empty() }; SHELVES],
            settled: ArcSwapOption::empty(),
            is_in_use: AtomicBool::new(true),
        }
    }
}

impl RangeSessions {
    /// Notes that the container is in use.
    pub(super) fn note_use(&self) {
        // Nearly always set, so that reading is enough.
        if !self.is_in_use.load(Ordering::Relaxed) {
            self.is_in_use.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the container was in use since this was last asked.
    pub(super) fn take_use(&self) -> bool {
        self.is_in_use.swap(false, Ordering::Relaxed)
    }

    /// What was seen of a partition.
    pub(super) fn seen(&self, id: &PartitionKeyRangeId) -> Option<Arc<Seen>> {
        let key = key_of(id);
        let shelf = self.shelf(key).load();
        let shelf = shelf.as_deref()?;
        shelf[find(shelf, key, id).ok()?].range.seen.load_full()
    }

    /// Takes in what an answer says of the partition that was asked. Says whether that was all of it: an answer may
    /// speak of others.
    pub(super) fn capture(&self, id: &PartitionKeyRangeId, response: &HeaderMap) -> bool {
        let key = key_of(id);
        let shelf = self.shelf(key).load();
        let known = shelf.as_deref().and_then(|shelf| Some(&shelf[find(shelf, key, id).ok()?].range));
        if known.is_some_and(|known| known.is_said_by(response)) {
            return true;
        }
        let Some(progress) = response_progress(response, id) else { return false };
        let rule = |before: Option<&Seen>| Seen::after(before, id, &progress);
        if !known.is_some_and(|known| known.change_and_stay(rule)) {
            self.change(id, rule);
        }
        true
    }

    /// What was seen of all partitions.
    pub(super) fn all(&self) -> BTreeMap<PartitionKeyRangeId, PartitionToken> {
        let mut all = BTreeMap::new();
        for shelf in &self.shelves {
            for Place { range, .. } in shelf.load().iter().flat_map(|shelf| shelf.iter()) {
                if let Some(seen) = range.seen.load().as_deref() {
                    all.insert(range.id.clone(), seen.progress().clone());
                }
            }
        }
        all
    }

    /// Changes what was seen of a partition, unless `rule` finds nothing to change.
    pub(super) fn change(&self, id: &PartitionKeyRangeId, rule: impl Fn(Option<&Seen>) -> Option<Seen>) {
        while !self.range(id).change_and_stay(&rule) {}
    }

    /// Lets children inherit from parents that are gone, and drops the parents when the map changes again.
    /// Until then requests that began before the split may still ask for them.
    ///
    /// Only parents of partitions in the map are dropped. A partition that the map does not know may be newer
    /// than the map.
    pub(super) fn settle(&self, map: &Arc<RangeMap>) {
        let previous = self.settled.swap(Some(Arc::clone(map)));
        if previous.is_some_and(|previous| Arc::ptr_eq(&previous, map)) {
            return;
        }
        let alive: HashSet<&PartitionKeyRangeId> =
            map.ranges().iter().map(|range| range.id.range()).collect();
        let mut replaced: HashMap<&PartitionKeyRangeId, Vec<&PartitionKeyRangeId>> = HashMap::new();
        for child in map.ranges() {
            for parent in child.parents().iter().filter(|parent| !alive.contains(parent)) {
                replaced.entry(parent).or_default().push(child.id.range());
            }
        }
        for (parent, children) in replaced {
            if let Some(parent) = self.known(parent) {
                self.replace(&parent, &children);
            }
        }
    }

    fn replace(&self, parent: &Arc<RangeSession>, children: &[&PartitionKeyRangeId]) {
        let inherit = || {
            let seen = parent.seen.load();
            let Some(seen) = seen.as_deref() else { return };
            for child in children {
                self.change(child, |own| Seen::inheriting(own, child, seen));
            }
        };
        inherit();
        if parent.is_replaced.swap(true, Ordering::Relaxed) {
            parent.is_leaving.store(true, Ordering::SeqCst);
            // What came in until now. Only then the entry goes, so that whoever looks finds the parent or the heir.
            inherit();
            self.drop_range(parent);
        }
    }

    fn shelf(&self, key: u64) -> &ArcSwapOption<Shelf> {
        &self.shelves[key as usize % SHELVES]
    }

    fn known(&self, id: &PartitionKeyRangeId) -> Option<Arc<RangeSession>> {
        let key = key_of(id);
        let shelf = self.shelf(key).load();
        let shelf = shelf.as_deref()?;
        find(shelf, key, id).ok().map(|place| Arc::clone(&shelf[place].range))
    }

    /// The entry of a partition, made if there is none that stays.
    fn range(&self, id: &PartitionKeyRangeId) -> Arc<RangeSession> {
        let known = self.known(id);
        if let Some(known) = known.as_ref().filter(|known| !known.is_leaving.load(Ordering::SeqCst)) {
            return Arc::clone(known);
        }
        // What a leaving entry has is handed on, so that readers find it in either.
        let seen = known.and_then(|leaving| leaving.seen.load_full());
        let range = Arc::new(RangeSession {
            id: id.clone(),
            seen: ArcSwapOption::new(seen),
            is_replaced: AtomicBool::new(false),
            is_leaving: AtomicBool::new(false),
        });
        let new = Place { key: key_of(id), range };
        self.shelf(new.key).rcu(|shelf| {
            let mut next = shelf.as_deref().cloned().unwrap_or_default();
            match find(&next, new.key, id) {
                Ok(place) if next[place].range.is_leaving.load(Ordering::SeqCst) => next[place] = new.clone(),
                Ok(_) => {}
                Err(place) => next.insert(place, new.clone()),
            }
            Some(Arc::new(next))
        });
        self.known(id).unwrap_or(new.range)
    }

    fn drop_range(&self, gone: &Arc<RangeSession>) {
        self.shelf(key_of(&gone.id)).rcu(|shelf| {
            let mut next = shelf.as_deref().cloned().unwrap_or_default();
            next.retain(|place| !Arc::ptr_eq(&place.range, gone));
            (!next.is_empty()).then(|| Arc::new(next))
        });
    }
}

impl RangeSession {
    /// Whether an answer says what is known.
    fn is_said_by(&self, response: &HeaderMap) -> bool {
        self.seen.load().as_deref().is_some_and(|seen| seen.is_said_by(response))
    }

    /// Changes what was seen, and says whether the entry stays. One that is leaving may have been read for the last
    /// time: then it is to be done again on a new one. The flag and the operations of `arc-swap` have one order, so
    /// either this finds the flag set, or whoever has set it finds the change.
    fn change_and_stay(&self, rule: impl Fn(Option<&Seen>) -> Option<Seen>) -> bool {
        self.change(rule);
        !self.is_leaving.load(Ordering::SeqCst)
    }

    fn change(&self, rule: impl Fn(Option<&Seen>) -> Option<Seen>) {
        let mut current = self.seen.load();
        while let Some(next) = rule(current.as_deref()) {
            let previous = self.seen.compare_and_swap(&*current, Some(Arc::new(next)));
            let place = |seen: &Option<Arc<Seen>>| seen.as_ref().map(Arc::as_ptr);
            if place(&previous) == place(&current) {
                return;
            }
            current = previous;
        }
    }
}

fn find(shelf: &[Place], key: u64, id: &PartitionKeyRangeId) -> Result<usize, usize> {
    shelf.binary_search_by(|place| place.key.cmp(&key).then_with(|| place.range.id.cmp(id)))
}

/// Ids are mostly small numbers in decimal digits, which this spreads evenly.
fn key_of(id: &PartitionKeyRangeId) -> u64 {
    let bytes = id.as_bytes().iter();
    bytes.fold(0xCBF2_9CE4_8422_2325, |key, byte| (key ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use cosmonaut_wire::ResourceId;

    use super::*;

    /// One partition that has come out of partition 0. Each is a map of its own.
    fn child_of_zero() -> Arc<RangeMap> {
        let child = r#"{"id":"1","minInclusive":"","maxExclusive":"FF","parents":["0"]}"#;
        let descriptions = vec![serde_json::from_str(child).unwrap()];
        Arc::new(RangeMap::merge(None, ResourceId::container(1, 1), descriptions, None).unwrap())
    }

    #[test]
    fn what_comes_while_its_partition_is_dropped_is_not_lost() {
        let (sessions, zero) = (RangeSessions::default(), PartitionKeyRangeId::from("0"));
        let token = |text: &str| text.parse::<PartitionToken>().unwrap();
        sessions.change(&zero, |before| Seen::after(before, &zero, &token("0#1")));
        sessions.settle(&child_of_zero());
        let is_dropped = Cell::new(false);
        sessions.change(&zero, |before| {
            if !is_dropped.replace(true) {
                sessions.settle(&child_of_zero());
                assert!(sessions.seen(&zero).is_none());
            }
            Seen::after(before, &zero, &token("0#9"))
        });
        assert_eq!(sessions.seen(&zero).unwrap().progress(), &token("0#9"));
        sessions.settle(&child_of_zero());
        assert_eq!(sessions.seen(&"1".into()).unwrap().progress(), &token("0#9"), "it is inherited later");
    }

    #[test]
    fn ids_are_spread_over_the_shelves() {
        let sessions = RangeSessions::default();
        for id in 0..10_000 {
            sessions.range(&id.to_string().into());
        }
        let most = sessions.shelves.iter().map(|shelf| shelf.load().as_deref().map_or(0, Vec::len)).max();
        assert!(most.unwrap() <= 320, "{most:?}");
    }
}
