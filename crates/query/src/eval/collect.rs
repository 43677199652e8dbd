//! What becomes of the rows that a condition kept: grouped, sorted, made distinct, cut to size.
//!
//! A collector belongs to one run of one block. Where rows come from is not its concern.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::block::{Block, ENOUGH, Flow, MORE};
use super::environment::Limits;
use super::error::EvalError;
use super::group::Groups;
use super::rows::{Rows, canonical};
use super::scope::Scope;
use crate::value::Value;

/// A row and the values it is sorted by.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyedRow {
    /// The values of the `ORDER BY` keys.
    pub keys: Vec<Value>,
    /// The JSON text of the row.
    pub row: Vec<u8>,
}

impl KeyedRow {
    /// Keeps the first of equal rows, whatever their keys.
    pub fn make_distinct(rows: &mut Vec<KeyedRow>) {
        let mut seen = HashSet::new();
        if rows.len() > 1 {
            rows.retain(|keyed| seen.insert(canonical(&keyed.row)));
        }
    }

    /// What it takes in memory.
    pub fn held_bytes(&self) -> usize {
        self.row.len() + self.keys.iter().map(key_bytes).sum::<usize>() + size_of::<KeyedRow>()
    }
}

/// What a value takes in memory.
pub(super) fn key_bytes(key: &Value) -> usize {
    let content = match key {
        Value::Undefined | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Integer(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(key_bytes).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + key_bytes(value)).sum(),
    };
    content + size_of::<Value>()
}

/// How far a run has come in `OFFSET`, `LIMIT` and `TOP`; enough to resume one that keeps nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Rows passed over by `OFFSET`.
    pub skipped: u64,
    /// Rows emitted.
    pub emitted: u64,
}

/// The rows of a run so far.
#[derive(Debug, Default)]
pub(super) struct Collector {
    pub(super) progress: Progress,
    /// Whether rows already come in the order asked for.
    presorted: bool,
    groups: Groups,
    sorting: Vec<(KeyedRow, u64)>,
    seen: HashSet<Vec<u8>>,
    held: usize,
}

/// All rows of a subquery.
pub(super) fn subquery_rows(block: &Block, scope: Scope<'_>) -> Result<Rows, EvalError> {
    let mut collector = Collector::default();
    let mut out = Rows::new();
    let mut place = 0;
    // `TOP 0` wants nothing, so not even a first row is made for it.
    if !collector.is_full(block) {
        let _ = block.each_row(scope, &mut |row| {
            place += 1;
            collector.take(block, &row, place, &mut out)
        })?;
    }
    collector.finish(block, scope, &mut out)?;
    Ok(out)
}

impl Collector {
    /// A collector of rows that come in the order asked for, from where an earlier one stopped.
    pub(super) fn presorted(progress: Progress) -> Collector {
        Collector { presorted: true, progress, ..Collector::default() }
    }

    /// Whether `LIMIT` or `TOP` is reached, so that no row can be added.
    pub(super) fn is_full(&self, block: &Block) -> bool {
        block.limit.is_some_and(|limit| self.progress.emitted >= limit)
    }

    /// Takes one row; `place` orders rows whose keys are equal.
    pub(super) fn take(&mut self, block: &Block, scope: &Scope<'_>, place: u64, out: &mut Rows) -> Flow {
        let limits = &scope.run.limits;
        if let Some(grouping) = &block.grouping {
            scope.run.row(0)?;
            let held = self.groups.add(grouping, scope)?;
            self.hold(held, limits)?;
            return MORE;
        }
        if block.order.is_empty() {
            let before = out.byte_len();
            let flow = self.emit(block, limits, out, |row| block.projection.write(scope, row));
            scope.run.row(out.byte_len() - before)?;
            return flow;
        }
        let Some(keyed) = keyed_row(block, scope)? else { return MORE };
        scope.run.row(keyed.row.len())?;
        if self.presorted {
            return self.emit_text(block, limits, out, &keyed.row);
        }
        self.hold(keyed.held_bytes(), limits)?;
        self.sorting.push((keyed, place));
        self.prune(block);
        MORE
    }

    /// Emits what had to wait for the last row.
    pub(super) fn finish(
        &mut self,
        block: &Block,
        scope: Scope<'_>,
        out: &mut Rows,
    ) -> Result<(), EvalError> {
        if let Some(grouping) = &block.grouping {
            for group in std::mem::take(&mut self.groups).finish(grouping) {
                if self.is_full(block) {
                    break;
                }
                let scope = Scope { group: Some(&group), ..scope };
                let before = out.byte_len();
                let _ =
                    self.emit(block, &scope.run.limits, out, |row| block.projection.write(&scope, row))?;
                scope.run.work(size_of_val(&group) + out.byte_len() - before)?;
            }
        }
        let mut sorted = std::mem::take(&mut self.sorting);
        sorted.sort_by(|a, b| compare_rows(block, a, b));
        for (keyed, _) in sorted {
            if self.is_full(block) || self.emit_text(block, &scope.run.limits, out, &keyed.row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn emit_text(&mut self, block: &Block, limits: &Limits, out: &mut Rows, text: &[u8]) -> Flow {
        self.emit(block, limits, out, |row| {
            row.extend_from_slice(text);
            Ok(true)
        })
    }

    /// Applies `DISTINCT`, `OFFSET` and `LIMIT` to the row that `write` writes.
    fn emit(
        &mut self,
        block: &Block,
        limits: &Limits,
        out: &mut Rows,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, EvalError>,
    ) -> Flow {
        out.push_with(|row| {
            let start = row.len();
            if !write(row)? || (block.distinct && !self.is_new(&row[start..], limits)?) {
                return Ok(false);
            }
            if self.progress.skipped < block.offset {
                self.progress.skipped += 1;
                return Ok(false);
            }
            self.progress.emitted += 1;
            Ok(true)
        })?;
        if self.is_full(block) { ENOUGH } else { MORE }
    }

    fn is_new(&mut self, row: &[u8], limits: &Limits) -> Result<bool, EvalError> {
        let canonical = canonical(row);
        let size = canonical.len();
        let new = self.seen.insert(canonical);
        if new {
            self.hold(size + size_of::<Vec<u8>>(), limits)?;
        }
        Ok(new)
    }

    fn hold(&mut self, bytes: usize, limits: &Limits) -> Result<(), EvalError> {
        self.held += bytes;
        let limit = limits.held_bytes;
        if self.held > limit { Err(EvalError::TooMuchHeld { limit }) } else { Ok(()) }
    }

    /// Drops rows that can no longer be among the first ones, so that `TOP 10` of a million holds few.
    fn prune(&mut self, block: &Block) {
        const WORTHWHILE: usize = 1024;
        let Some(limit) = block.limit else { return };
        let wanted = usize::try_from(limit.saturating_add(block.offset)).unwrap_or(usize::MAX);
        if block.distinct || self.sorting.len() < wanted.saturating_mul(2).max(WORTHWHILE) {
            return;
        }
        self.sorting.sort_by(|a, b| compare_rows(block, a, b));
        self.sorting.truncate(wanted);
        self.held = self.sorting.iter().map(|(keyed, _)| keyed.held_bytes()).sum();
    }
}

/// The row and its keys, or `None` where it yields nothing.
pub(super) fn keyed_row(block: &Block, scope: &Scope<'_>) -> Result<Option<KeyedRow>, EvalError> {
    let mut keys = Vec::with_capacity(block.order.len());
    for order in &block.order {
        keys.push(order.key.eval(scope)?.to_value());
    }
    let mut row = Vec::new();
    Ok(block.projection.write(scope, &mut row)?.then_some(KeyedRow { keys, row }))
}

fn compare_rows(block: &Block, (a, place_a): &(KeyedRow, u64), (b, place_b): &(KeyedRow, u64)) -> Ordering {
    let turned = |order: Ordering, descending| if descending { order.reverse() } else { order };
    for ((x, y), key) in a.keys.iter().zip(&b.keys).zip(&block.order) {
        let order = turned(x.total_cmp(y), key.descending);
        if order.is_ne() {
            return order;
        }
    }
    turned(place_a.cmp(place_b), block.order.first().is_some_and(|key| key.descending))
}
