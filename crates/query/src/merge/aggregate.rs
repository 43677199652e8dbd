//! Finishing an aggregate from the parts that partitions computed.
//!
//! Computing those parts from documents is evaluation, not merging.

use std::cmp::Ordering;
use std::collections::HashSet;

use cosmonaut_wire::model::AggregateKind;

use super::row::Partial;
use crate::value::Value;

/// An aggregate on its way to its final value.
pub(super) enum Accumulator {
    /// `COUNT` and `COUNTIF`.
    Count(f64),
    /// `SUM`; `None` as soon as one part is undefined.
    Sum(Option<f64>),
    /// `AVG`.
    Average { sum: Option<f64>, count: f64 },
    /// `MIN` and `MAX`: the value so far, and how a better one compares to it.
    Extreme { better: Ordering, best: Extreme },
    /// `MakeList`.
    List(Vec<Value>),
    /// `MakeSet`.
    Set { values: Vec<Value>, seen: HashSet<Vec<u8>> },
}

/// The least or greatest value so far.
pub(super) enum Extreme {
    /// Nothing was compared yet.
    None,
    /// The best of what was compared.
    Some(Value),
    /// Something was there that cannot be compared, which makes the whole undefined.
    Incomparable,
}

impl Accumulator {
    pub(super) fn new(kind: AggregateKind) -> Accumulator {
        match kind {
            AggregateKind::Count | AggregateKind::CountIf => Accumulator::Count(0.0),
            AggregateKind::Sum => Accumulator::Sum(Some(0.0)),
            AggregateKind::Average => Accumulator::Average { sum: Some(0.0), count: 0.0 },
            AggregateKind::Min => Accumulator::Extreme { better: Ordering::Less, best: Extreme::None },
            AggregateKind::Max => Accumulator::Extreme { better: Ordering::Greater, best: Extreme::None },
            AggregateKind::MakeList => Accumulator::List(Vec::new()),
            AggregateKind::MakeSet => Accumulator::Set { values: Vec::new(), seen: HashSet::new() },
        }
    }

    /// Takes one partition's part; the error says what the part should have been.
    pub(super) fn absorb(&mut self, part: Partial) -> Result<(), &'static str> {
        match self {
            Accumulator::Count(total) => match part.item.as_f64() {
                Some(count) => *total += count,
                None => return Err("a COUNT is a number"),
            },
            Accumulator::Sum(total) => *total = add(*total, &part.item)?,
            Accumulator::Average { sum, count } => {
                let Some(more) = part.item.get("count").and_then(Value::as_f64) else {
                    return Err("an AVG is an object with sum and count");
                };
                *sum = add(*sum, part.item.get("sum").unwrap_or(&Value::Undefined))?;
                *count += more;
            }
            Accumulator::Extreme { better, best } => {
                let found = comparable(part, *better)?;
                best.improve(found, *better);
            }
            Accumulator::List(all) => all.extend(elements(part.item)?),
            Accumulator::Set { values, seen } => {
                values
                    .extend(elements(part.item)?.into_iter().filter(|value| seen.insert(value.canonical())));
            }
        }
        Ok(())
    }

    /// The final value.
    pub(super) fn finish(self) -> Value {
        match self {
            Accumulator::Count(total) => Value::Number(total),
            Accumulator::Sum(total) => total.map_or(Value::Undefined, Value::Number),
            Accumulator::Average { sum: Some(sum), count } if count > 0.0 => Value::Number(sum / count),
            Accumulator::Average { .. } => Value::Undefined,
            Accumulator::Extreme { best: Extreme::Some(value), .. } => value,
            Accumulator::Extreme { best: Extreme::None | Extreme::Incomparable, .. } => Value::Undefined,
            Accumulator::List(values) | Accumulator::Set { values, .. } => Value::Array(values),
        }
    }
}

impl Extreme {
    fn improve(&mut self, found: Extreme, better: Ordering) {
        match (&*self, found) {
            (Extreme::Incomparable, _) | (_, Extreme::None) => {}
            (_, Extreme::Incomparable) => *self = Extreme::Incomparable,
            (Extreme::Some(best), Extreme::Some(value)) if value.total_cmp(best) != better => {}
            (Extreme::None | Extreme::Some(_), Extreme::Some(value)) => *self = Extreme::Some(value),
        }
    }
}

/// The part of a `MIN` or `MAX`, told apart from a partition that had nothing to compare.
fn comparable(part: Partial, better: Ordering) -> Result<Extreme, &'static str> {
    let name = if better.is_lt() { "min" } else { "max" };
    match (part.item2.get("count"), part.item2.get(name)) {
        (Some(Value::Number(count)), _) if *count == 0.0 => Ok(Extreme::None),
        (Some(Value::Number(_)), Some(value)) => Ok(Extreme::Some(value.clone())),
        (Some(Value::Number(_)), None) => Ok(Extreme::Incomparable),
        (Some(_), _) => Err("the count of a MIN or MAX is a number"),
        (None, _) => Ok(match part.item {
            Value::Undefined => Extreme::None,
            value => Extreme::Some(value),
        }),
    }
}

fn add(total: Option<f64>, part: &Value) -> Result<Option<f64>, &'static str> {
    match (part.as_f64(), part) {
        (Some(number), _) => Ok(total.map(|total| total + number)),
        (None, Value::Undefined) => Ok(None),
        (None, _) => Err("a sum is a number or nothing"),
    }
}

fn elements(part: Value) -> Result<Vec<Value>, &'static str> {
    match part {
        Value::Array(values) => Ok(values),
        _ => Err("a list of values is an array"),
    }
}
