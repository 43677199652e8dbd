//! Aggregates and `GROUP BY`: rows of the same group become one.

use std::collections::{HashMap, HashSet};

use cosmonaut_wire::model::{AggregateKind, QueryInfo};
use serde_json::value::RawValue;

use super::aggregate::Accumulator;
use super::mark::Mark;
use super::row::{GroupedRow, Partial, members};
use super::{MergeError, to_raw};
use crate::value::write_string;

/// All groups seen so far.
pub(super) struct Groups {
    shape: Shape,
    keyed: bool,
    groups: HashMap<Mark, Vec<Cell>>,
}

/// What a group yields.
enum Shape {
    /// `SELECT VALUE`: one value, aggregated or not.
    Value(Option<AggregateKind>),
    /// An object with these members.
    Members(Vec<(String, Option<AggregateKind>)>),
}

/// One value of a group.
enum Cell {
    /// The same in all rows of the group, so the first one's is kept.
    First(Option<Box<RawValue>>),
    Aggregate(Accumulator),
}

impl Groups {
    /// `None` for a query that neither groups nor aggregates.
    pub(super) fn new(info: &QueryInfo) -> Option<Groups> {
        let types = &info.group_by_alias_to_aggregate_type;
        let keyed = !info.group_by_expressions.is_empty();
        if !keyed && info.aggregates.is_empty() && types.is_empty() {
            return None;
        }
        let shape = match info.has_select_value || types.is_empty() {
            true => Shape::Value(info.aggregates.first().copied()),
            false => {
                let listed: HashSet<&String> = info.group_by_aliases.iter().collect();
                let unlisted = types.keys().filter(|alias| !listed.contains(alias));
                let typed = |alias: &String| (alias.clone(), types.get(alias).copied().flatten());
                Shape::Members(info.group_by_aliases.iter().chain(unlisted).map(typed).collect())
            }
        };
        Some(Groups { shape, keyed, groups: HashMap::new() })
    }

    /// Takes one row of a partition.
    pub(super) fn absorb(&mut self, row: &RawValue) -> Result<(), MergeError> {
        // Without GROUP BY, a single aggregate's row is the aggregate itself.
        if let (false, Shape::Value(_)) = (self.keyed, &self.shape) {
            let cells = group(&mut self.groups, &self.shape, Vec::new());
            return absorb_value(cells, Some(row), row);
        }
        let grouped = GroupedRow::read(row)?;
        let key = grouped.key(row)?;
        let cells = group(&mut self.groups, &self.shape, key);
        match &self.shape {
            Shape::Value(_) => absorb_value(cells, grouped.payload, row),
            Shape::Members(shape) => {
                let payload = grouped.payload.ok_or_else(|| MergeError::row(row, "it has no payload"))?;
                let members = members(payload)?;
                for ((alias, _), cell) in shape.iter().zip(cells) {
                    let member = members.iter().find(|(name, _)| name == alias).map(|(_, value)| *value);
                    cell.absorb(member, row)?;
                }
                Ok(())
            }
        }
    }

    /// One row for each group, with what the group is known by; a group whose value is undefined has none.
    pub(super) fn finish(self) -> Vec<(Mark, Box<RawValue>)> {
        let Groups { shape, groups, .. } = self;
        groups.into_iter().filter_map(|(key, cells)| Some((key, finish(&shape, cells)?))).collect()
    }
}

/// The group with this key, which is made if it is new.
fn group<'g>(groups: &'g mut HashMap<Mark, Vec<Cell>>, shape: &Shape, key: Vec<u8>) -> &'g mut Vec<Cell> {
    groups.entry(Mark::of(key)).or_insert_with(|| match shape {
        Shape::Value(kind) => vec![Cell::new(*kind)],
        Shape::Members(members) => members.iter().map(|(_, kind)| Cell::new(*kind)).collect(),
    })
}

fn absorb_value(cells: &mut [Cell], value: Option<&RawValue>, row: &RawValue) -> Result<(), MergeError> {
    match cells.first_mut() {
        Some(Cell::Aggregate(accumulator)) => {
            let part = value.ok_or_else(|| MergeError::row(row, "it has no payload"))?;
            accumulator.absorb(Partial::read_single(part)?).map_err(|problem| MergeError::row(row, problem))
        }
        Some(cell @ Cell::First(_)) => cell.absorb(value, row),
        None => Ok(()),
    }
}

fn finish(shape: &Shape, cells: Vec<Cell>) -> Option<Box<RawValue>> {
    let mut json = Vec::new();
    match shape {
        Shape::Value(_) => {
            cells.into_iter().next().is_some_and(|cell| cell.write(&mut json)).then(|| to_raw(json))
        }
        Shape::Members(members) => {
            json.push(b'{');
            for ((alias, _), cell) in members.iter().zip(cells) {
                let start = json.len();
                if start > 1 {
                    json.push(b',');
                }
                write_string(alias, &mut json);
                json.push(b':');
                if !cell.write(&mut json) {
                    json.truncate(start);
                }
            }
            json.push(b'}');
            Some(to_raw(json))
        }
    }
}

impl Cell {
    fn new(kind: Option<AggregateKind>) -> Cell {
        kind.map_or(Cell::First(None), |kind| Cell::Aggregate(Accumulator::new(kind)))
    }

    fn absorb(&mut self, value: Option<&RawValue>, row: &RawValue) -> Result<(), MergeError> {
        match (self, value) {
            (Cell::First(kept), Some(value)) => {
                kept.get_or_insert_with(|| value.to_owned());
                Ok(())
            }
            (Cell::First(_), None) => Ok(()),
            (Cell::Aggregate(accumulator), Some(value)) => {
                accumulator.absorb(Partial::read(value)?).map_err(|problem| MergeError::row(row, problem))
            }
            (Cell::Aggregate(_), None) => {
                Err(MergeError::row(row, "an aggregate is missing from its payload"))
            }
        }
    }

    /// Appends the final value and tells whether there is one.
    fn write(self, json: &mut Vec<u8>) -> bool {
        match self {
            Cell::First(None) => false,
            Cell::First(Some(value)) => {
                json.extend_from_slice(value.get().as_bytes());
                true
            }
            Cell::Aggregate(accumulator) => accumulator.finish().write_json(json),
        }
    }
}
