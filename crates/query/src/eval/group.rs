//! `GROUP BY` and aggregates: the groups of a run and what each has gathered.
//!
//! Without `GROUP BY` there is one group, which exists even if no row came.

use std::collections::HashMap;

use super::error::EvalError;
use super::node::Node;
use super::scope::Scope;
use crate::functions::{Accumulator, AggregateKind};
use crate::value::Value;

/// The keys and aggregates of a grouped query.
#[derive(Clone, Debug)]
pub(super) struct Grouping {
    pub(super) keys: Vec<Node>,
    pub(super) aggregates: Vec<(AggregateKind, Node)>,
}

/// A finished group, as the projection sees it.
#[derive(Debug)]
pub(super) struct GroupRow {
    pub(super) keys: Vec<Value>,
    pub(super) aggregates: Vec<Value>,
}

/// The groups of a run, in the order in which they appeared.
#[derive(Debug, Default)]
pub(super) struct Groups {
    index: HashMap<Vec<u8>, usize>,
    groups: Vec<Group>,
}

/// A group in the making.
#[derive(Debug)]
pub(super) struct Group {
    keys: Vec<Value>,
    gathered: Vec<Accumulator>,
}

impl Grouping {
    /// The keys of a row; appends bytes that are equal for the rows of one group only.
    pub(super) fn keys(&self, scope: &Scope<'_>, canonical: &mut Vec<u8>) -> Result<Vec<Value>, EvalError> {
        let mut keys = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            let key = key.eval(scope)?;
            scope.run.work(key.size())?;
            let key = key.to_value();
            key.write_canonical(canonical);
            canonical.push(b',');
            keys.push(key);
        }
        Ok(keys)
    }
}

impl Group {
    pub(super) fn new(grouping: &Grouping, keys: Vec<Value>) -> Group {
        let gathered = grouping.aggregates.iter().map(|(kind, _)| Accumulator::new(*kind)).collect();
        Group { keys, gathered }
    }

    /// Adds a row and returns how many bytes more are held now.
    pub(super) fn gather(&mut self, grouping: &Grouping, scope: &Scope<'_>) -> Result<usize, EvalError> {
        let mut held = 0;
        for (accumulator, (_, argument)) in self.gathered.iter_mut().zip(&grouping.aggregates) {
            let value = argument.eval(scope)?;
            scope.run.work(value.size())?;
            held += accumulator.add(&value);
        }
        Ok(held)
    }

    pub(super) fn finish(self) -> GroupRow {
        GroupRow { keys: self.keys, aggregates: self.gathered.into_iter().map(Accumulator::finish).collect() }
    }
}

impl Groups {
    /// Adds a row to its group and returns how many bytes more are held now.
    pub(super) fn add(&mut self, grouping: &Grouping, scope: &Scope<'_>) -> Result<usize, EvalError> {
        let mut held = 0;
        let place = if grouping.keys.is_empty() {
            if self.groups.is_empty() {
                self.groups.push(Group::new(grouping, Vec::new()));
            }
            0
        } else {
            let (place, key_bytes) = self.place(grouping, scope)?;
            held += key_bytes;
            place
        };
        Ok(held + self.groups[place].gather(grouping, scope)?)
    }

    /// The place of the row's group, made if it is the first of it, and the bytes that making it took.
    fn place(&mut self, grouping: &Grouping, scope: &Scope<'_>) -> Result<(usize, usize), EvalError> {
        let mut canonical = Vec::new();
        let keys = grouping.keys(scope, &mut canonical)?;
        if let Some(place) = self.index.get(&canonical) {
            return Ok((*place, 0));
        }
        let (place, held) = (self.groups.len(), 2 * canonical.len() + size_of::<Group>());
        self.index.insert(canonical, place);
        self.groups.push(Group::new(grouping, keys));
        Ok((place, held))
    }

    /// The finished groups.
    pub(super) fn finish(mut self, grouping: &Grouping) -> impl Iterator<Item = GroupRow> {
        if self.groups.is_empty() && grouping.keys.is_empty() {
            self.groups.push(Group::new(grouping, Vec::new()));
        }
        self.groups.into_iter().map(Group::finish)
    }
}
