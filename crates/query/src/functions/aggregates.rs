//! The aggregates: what each gathers from the values of a group.
//!
//! All pass over undefined values. Combining the results of several partitions is the merger's business.

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::eval::Val;
use crate::value::{Kind, Value};

/// Which aggregate a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateKind {
    /// How many values there are.
    Count,
    /// The sum of numbers; undefined if there is anything else, 0 if there is nothing.
    Sum,
    /// The mean of numbers; undefined if there is anything else, or nothing.
    Avg,
    /// The least scalar; undefined if there is an array or an object, or nothing.
    Min,
    /// The greatest scalar; undefined if there is an array or an object, or nothing.
    Max,
    /// How many values are `true`.
    CountIf,
    /// All values.
    MakeList,
    /// All values, each once.
    MakeSet,
}

/// What an aggregate has gathered so far.
#[derive(Debug)]
pub(crate) enum Accumulator {
    Count { matching: fn(&Val<'_>) -> bool, count: u64 },
    Sum { sum: f64, spoilt: bool },
    Avg { sum: f64, count: u64, spoilt: bool },
    Extreme { wanted: Ordering, best: Option<Value>, spoilt: bool },
    List(Vec<Value>),
    Set { seen: HashSet<Vec<u8>>, values: Vec<Value> },
}

impl Accumulator {
    pub(crate) fn new(kind: AggregateKind) -> Accumulator {
        match kind {
            AggregateKind::Count => Accumulator::Count { matching: |_| true, count: 0 },
            AggregateKind::CountIf => Accumulator::Count { matching: |value| value.is_true(), count: 0 },
            AggregateKind::Sum => Accumulator::Sum { sum: 0.0, spoilt: false },
            AggregateKind::Avg => Accumulator::Avg { sum: 0.0, count: 0, spoilt: false },
            AggregateKind::Min => Accumulator::Extreme { wanted: Ordering::Less, best: None, spoilt: false },
            AggregateKind::Max => {
                Accumulator::Extreme { wanted: Ordering::Greater, best: None, spoilt: false }
            }
            AggregateKind::MakeList => Accumulator::List(Vec::new()),
            AggregateKind::MakeSet => Accumulator::Set { seen: HashSet::new(), values: Vec::new() },
        }
    }

    /// Takes the next value and tells how many bytes more are held.
    pub(crate) fn add(&mut self, value: &Val<'_>) -> usize {
        if value.is_undefined() {
            return 0;
        }
        match self {
            Accumulator::Count { matching, count } => *count += u64::from(matching(value)),
            Accumulator::Sum { sum, spoilt } => match value.as_f64() {
                Some(number) => *sum += number,
                None => *spoilt = true,
            },
            Accumulator::Avg { sum, count, spoilt } => match value.as_f64() {
                Some(number) => (*sum, *count) = (*sum + number, *count + 1),
                None => *spoilt = true,
            },
            Accumulator::Extreme { wanted, best, spoilt } => match value.kind() {
                Kind::Array | Kind::Object => *spoilt = true,
                _ => {
                    let better =
                        best.as_ref().is_none_or(|best| value.cmp_scalar(&Val::from_value(best)) == *wanted);
                    if better {
                        *best = Some(value.to_value());
                    }
                }
            },
            Accumulator::List(values) => return keep(values, value),
            Accumulator::Set { seen, values } => {
                let key = value.canonical();
                let size = key.len();
                if seen.insert(key) {
                    return size + keep(values, value);
                }
            }
        }
        0
    }

    pub(crate) fn finish(self) -> Value {
        match self {
            Accumulator::Count { count, .. } => Value::Number(count as f64),
            Accumulator::Sum { spoilt: true, .. }
            | Accumulator::Avg { spoilt: true, .. }
            | Accumulator::Avg { count: 0, .. }
            | Accumulator::Extreme { spoilt: true, .. } => Value::Undefined,
            Accumulator::Sum { sum, .. } => Value::Number(sum),
            Accumulator::Avg { sum, count, .. } => Value::Number(sum / count as f64),
            Accumulator::Extreme { best, .. } => best.unwrap_or_default(),
            Accumulator::List(values) | Accumulator::Set { values, .. } => Value::Array(values),
        }
    }
}

/// Keeps a value and estimates its size.
fn keep(values: &mut Vec<Value>, value: &Val<'_>) -> usize {
    values.push(value.to_value());
    let text = match value {
        Val::Str(text) => text.len(),
        // A tree takes a node for every few bytes of its text.
        Val::Json(text) => text.len() * size_of::<Value>() / 2,
        Val::Undefined | Val::Null | Val::Bool(_) | Val::Number(_) | Val::Integer(_) => 0,
    };
    text + size_of::<Value>()
}
