//! Spatial indexes: the cells in which documents have shapes.
//!
//! They hold every shape of the paths that a policy names, whatever types the policy lists, and answer with the documents
//! whose shapes may touch some rectangles. A shape that cannot be read is in no index and matches nothing.

mod cell;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Bound;

use cosmonaut_query::raw::{MAX_DEPTH, RawJson};
use cosmonaut_query::spatial::{Rectangle, Surface};
use cosmonaut_query::value::Kind;
use cosmonaut_wire::model::IndexingPolicy;

use super::keyed_numbers::KeyedNumbers;
use super::path::Step;
use crate::failure::Failure;
use cell::{Cell, Tiles};
pub(crate) use rules::has_old_index;
use rules::{Rule, Rules};

/// With more parts than this, a shape is found by what holds all of them.
const MOST_PARTS: usize = 16;

/// A cell with no more entries than this is read rather than divided.
const FEW: usize = 16;

/// The spatial indexes of a policy.
#[derive(Debug)]
pub(super) struct Shapes {
    rules: Rules,
    /// By the paths that lead to shapes.
    paths: BTreeMap<Vec<Step>, KeyedNumbers>,
}

#[derive(Clone, Copy)]
enum Change {
    Insert(u64),
    Remove(u64),
}

impl Shapes {
    pub(super) fn new(policy: &IndexingPolicy, on: bool) -> Result<Shapes, Failure> {
        let rules = Rules::new(policy)?;
        if !on && !rules.is_empty() {
            return Err(Failure::bad_request("Spatial indexes need the indexing mode 'consistent'."));
        }
        Ok(Shapes { rules, paths: BTreeMap::new() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub(super) fn insert(&mut self, body: RawJson<'_>, number: u64) -> usize {
        self.apply(body, Change::Insert(number))
    }

    pub(super) fn remove(&mut self, body: RawJson<'_>, number: u64) -> usize {
        self.apply(body, Change::Remove(number))
    }

    /// Whether the shapes at a path are in the index, as they lie on a surface.
    pub(super) fn covers(&self, path: &[Step], surface: Surface) -> bool {
        self.rules.surface() == surface && self.rules.covering(path).is_some()
    }

    /// The documents that may have a shape at a path that touches one of the rectangles, sorted; none if they are more
    /// than `most`.
    pub(super) fn touching(&self, path: &[Step], rectangles: &[Rectangle], most: usize) -> Option<Vec<u64>> {
        let (Some((_, rule)), Some(keys)) = (self.rules.covering(path), self.paths.get(path)) else {
            return Some(Vec::new());
        };
        let sought: Vec<Tiles> = rectangles.iter().map(|rectangle| rule.domain.tiles(rectangle)).collect();
        let mut found = Vec::new();
        let mut pending = vec![Cell::WHOLE];
        while let Some(cell) = pending.pop() {
            if !cell.meets(&sought) {
                continue;
            }
            let (first, last) = cell.keys_within();
            let entries = || keys.range(Bound::Included(&first), Bound::Included(&last));
            let reads_all = cell.is_smallest() || cell.is_in(&sought) || entries().nth(FEW).is_none();
            if reads_all {
                let touches = |key: &[u8]| Cell::of_key(key).is_some_and(|cell| cell.meets(&sought));
                let touching = entries().filter(|entry| touches(entry.key));
                found.extend(touching.flat_map(|entry| entry.postings.iter()).take(most + 1));
            } else {
                found.extend(keys.get(&cell.key()).into_iter().flat_map(|postings| postings.iter()));
                pending.extend(cell.quarters());
            }
            if found.len() > most {
                return None;
            }
        }
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    fn apply(&mut self, body: RawJson<'_>, change: Change) -> usize {
        let Shapes { rules, paths } = self;
        let mut changed = 0;
        for (nth, rule) in rules.iter().enumerate() {
            let mut walk = Walk { rules, nth, rule, paths, change, path: Vec::new(), changed: 0 };
            walk.follow(body, &rule.path.0);
            changed += walk.changed;
        }
        changed
    }
}

/// Goes through a document for the shapes that a rule names.
struct Walk<'i> {
    rules: &'i Rules,
    nth: usize,
    rule: &'i Rule,
    paths: &'i mut BTreeMap<Vec<Step>, KeyedNumbers>,
    change: Change,
    /// Where it is.
    path: Vec<Step>,
    changed: usize,
}

impl Walk<'_> {
    /// Goes down the steps that the rule names.
    fn follow(&mut self, value: RawJson<'_>, steps: &[Step]) {
        let Some((step, rest)) = steps.split_first() else { return self.look(value, MAX_DEPTH) };
        self.path.push(step.clone());
        match step {
            Step::Member(name) => value.member(name).into_iter().for_each(|value| self.follow(value, rest)),
            Step::Element => value.elements().for_each(|value| self.follow(value, rest)),
        }
        self.path.pop();
    }

    /// Takes what is a shape, and looks below it if the rule says so.
    fn look(&mut self, value: RawJson<'_>, depth: usize) {
        // Of several rules for a path the first one counts.
        let is_mine = self.rules.covering(&self.path).is_some_and(|(nth, _)| nth == self.nth);
        let extent = if is_mine { self.rules.surface().extent(value) } else { None };
        // Stored documents are no deeper; this bounds the recursion whatever was stored.
        if let Some(depth) = depth.checked_sub(1).filter(|_| self.rule.reaches_below()) {
            self.look_below(value, extent.is_some(), depth);
        }
        if let Some(extent) = extent {
            self.take(extent);
        }
    }

    fn look_below(&mut self, value: RawJson<'_>, is_shape: bool, depth: usize) {
        match value.kind() {
            Kind::Object => {
                // The coordinates of a shape are numbers.
                for (name, value) in value.members().filter(|(name, _)| !(is_shape && name.is("coordinates")))
                {
                    self.path.push(Step::Member(name.name().into()));
                    self.look(value, depth);
                    self.path.pop();
                }
            }
            Kind::Array => {
                self.path.push(Step::Element);
                value.elements().for_each(|value| self.look(value, depth));
                self.path.pop();
            }
            Kind::Undefined | Kind::Null | Kind::Bool | Kind::Number | Kind::String => {}
        }
    }

    fn take(&mut self, mut extent: Vec<Rectangle>) {
        if extent.len() > MOST_PARTS {
            extent = extent.into_iter().reduce(Rectangle::with).into_iter().collect();
        }
        self.changed += 1;
        let domain = self.rule.domain;
        let cells = extent.iter().flat_map(|rectangle| domain.tiles(rectangle).cells());
        match self.change {
            Change::Insert(number) => {
                let keys = self.paths.entry(self.path.clone()).or_default();
                for cell in cells {
                    keys.add(&cell.key(), number);
                }
            }
            Change::Remove(number) => {
                let Some(keys) = self.paths.get_mut(&self.path) else { return };
                for cell in cells {
                    keys.take(&cell.key(), number);
                }
                if keys.is_empty() {
                    self.paths.remove(&self.path);
                }
            }
        }
    }
}

#[cfg(test)]
impl PartialEq for Shapes {
    fn eq(&self, other: &Shapes) -> bool {
        self.paths == other.paths
    }
}
