//! What may be handed out now, in the order in which it became so, by lanes.
//!
//! A lane holds what the same holders may have. So a claim looks at the first of each lane, however much there is.

use std::collections::BTreeMap;

use super::Turn;

/// Things by lane and turn.
pub(super) struct Ready<L, K> {
    lanes: BTreeMap<L, BTreeMap<Turn, K>>,
    /// The lanes by the turn of their first thing.
    first_turns: BTreeMap<Turn, L>,
}

impl<L: Clone + Ord, K: Clone> Ready<L, K> {
    pub(super) fn new() -> Self {
        Self { lanes: BTreeMap::new(), first_turns: BTreeMap::new() }
    }

    pub(super) fn insert(&mut self, lane: L, turn: Turn, key: K) {
        self.change(lane, |things| {
            things.insert(turn, key);
        });
    }

    pub(super) fn remove(&mut self, lane: &L, turn: Turn) {
        self.change(lane.clone(), |things| {
            things.remove(&turn);
        });
    }

    /// The first thing that fits, of the wanted lane whose first thing has been ready for longest.
    pub(super) fn first(&self, wants: impl Fn(&L) -> bool, fits: impl Fn(&K) -> bool) -> Option<(Turn, K)> {
        let lanes = self.first_turns.values().filter(|lane| wants(lane));
        let mut things = lanes.filter_map(|lane| self.lanes.get(lane)?.iter().find(|(_, key)| fits(key)));
        things.next().map(|(turn, key)| (*turn, key.clone()))
    }

    /// All lanes that are not empty.
    pub(super) fn lanes(&self) -> impl Iterator<Item = (&L, &BTreeMap<Turn, K>)> {
        self.lanes.iter()
    }

    fn change(&mut self, lane: L, change: impl FnOnce(&mut BTreeMap<Turn, K>)) {
        let things = self.lanes.entry(lane.clone()).or_default();
        let before = things.first_key_value().map(|(turn, _)| *turn);
        change(things);
        let after = things.first_key_value().map(|(turn, _)| *turn);
        if things.is_empty() {
            self.lanes.remove(&lane);
        }
        if before == after {
            return;
        }
        before.into_iter().for_each(|turn| {
            self.first_turns.remove(&turn);
        });
        if let Some(turn) = after {
            self.first_turns.insert(turn, lane);
        }
    }
}
