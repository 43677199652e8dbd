//! Which part of the key space can hold what a query looks for.
//!
//! The filter is the superset that [`access`](crate::access) derives, so a matching document is never outside.

use cosmonaut_wire::model::{PartitionKeyDefinition, QueryRange};
use cosmonaut_wire::{EpkRange, PartitionKey, PartitionKeyValue};

use super::PlanError;
use crate::access::{DocPath, IndexFilter};
use crate::value::Value;

/// More keys than this are not worth listing; the whole key space is asked instead.
const MOST_KEYS: usize = 1000;

/// What is known of each level of a partition key; `None` is anything.
type Key = Vec<Option<Value>>;

/// The ranges that hold every document that passes the filter. Never empty, sorted, and without overlap.
pub(super) fn ranges(
    filter: Option<&IndexFilter>,
    definition: &PartitionKeyDefinition,
) -> Result<Vec<QueryRange>, PlanError> {
    let paths = definition.path_segments()?;
    let keys = filter.and_then(|filter| Keys { paths: &paths }.of(filter));
    let Some(keys) = keys else { return Ok(vec![QueryRange::full()]) };

    let mut found: Vec<(EpkRange, bool)> = Vec::new();
    for key in keys.iter().flat_map(prefixes) {
        let whole = key.components().len() == paths.len();
        match key.range(definition) {
            Ok(range) if !key.components().is_empty() => found.push((range, whole)),
            _ => return Ok(vec![QueryRange::full()]),
        }
    }
    found.sort_by(|(a, _), (b, _)| a.min.cmp(&b.min).then_with(|| b.max.cmp(&a.max)));
    // Two ranges are apart or one is within the other, because each is all keys with a prefix. A whole key is
    // asked for alone, so it takes no other with it.
    found.dedup_by(|(inner, _), (outer, whole)| match whole {
        true => outer.min == inner.min,
        false => outer.contains_range(inner),
    });
    match found.is_empty() {
        true => Ok(vec![somewhere(definition)]),
        false => Ok(found.into_iter().map(|(range, whole)| query_range(range, whole)).collect()),
    }
}

/// One place for a query that finds nothing or needs no container: clients do not accept a plan without ranges.
pub(super) fn somewhere(definition: &PartitionKeyDefinition) -> QueryRange {
    let nulls = definition.paths.iter().map(|_| PartitionKeyValue::Null);
    match PartitionKey::hierarchical(nulls).effective(definition) {
        Ok(key) => QueryRange::point(key),
        Err(_) => QueryRange::full(),
    }
}

fn query_range(range: EpkRange, whole_key: bool) -> QueryRange {
    match whole_key {
        true => QueryRange::point(range.min),
        // All keys that begin with the first bytes; the end itself is no key.
        false => QueryRange { is_max_inclusive: true, ..range.into() },
    }
}

/// Collects the keys that a filter admits.
struct Keys<'p> {
    paths: &'p [Vec<String>],
}

impl Keys<'_> {
    /// All keys that pass the filter; `None` if it does not restrict them.
    fn of(&self, filter: &IndexFilter) -> Option<Vec<Key>> {
        match filter {
            IndexFilter::Equal(path, value) => self.known(path, std::slice::from_ref(value)),
            IndexFilter::In(path, values) => self.known(path, values),
            IndexFilter::And(all) => {
                let mut known = all.iter().filter_map(|filter| self.of(filter));
                let first = known.next()?;
                Some(known.fold(first, |keys, more| both(&keys, &more)))
            }
            IndexFilter::Or(any) => {
                let alternatives = any.iter().map(|filter| self.of(filter)).collect::<Option<Vec<_>>>()?;
                let keys: Vec<Key> = alternatives.into_iter().flatten().collect();
                (keys.len() <= MOST_KEYS).then_some(keys)
            }
            IndexFilter::Range { .. }
            | IndexFilter::Prefix(..)
            | IndexFilter::Defined(_)
            | IndexFilter::Near(..)
            | IndexFilter::Text { .. } => None,
        }
    }

    fn known(&self, path: &DocPath, values: &[Value]) -> Option<Vec<Key>> {
        let level = self.paths.iter().position(|names| path.is_members(names))?;
        let key = |value: &Value| {
            let mut key = vec![None; self.paths.len()];
            key[level] = Some(value.clone());
            key
        };
        (values.len() <= MOST_KEYS).then(|| values.iter().map(key).collect())
    }
}

/// The keys that are in both lists. If there would be too many, one of the lists alone is still a superset.
fn both(a: &[Key], b: &[Key]) -> Vec<Key> {
    if a.len().saturating_mul(b.len()) > MOST_KEYS {
        // The list that knows the outermost level says more about where keys lie.
        let outermost = |keys: &[Key]| keys.iter().all(|key| key.first().is_some_and(Option::is_some));
        return if outermost(a) { a.to_vec() } else { b.to_vec() };
    }
    a.iter().flat_map(|a| b.iter().filter_map(|b| combine(a, b))).collect()
}

fn combine(a: &Key, b: &Key) -> Option<Key> {
    let level = |(a, b): (&Option<Value>, &Option<Value>)| match (a, b) {
        (Some(a), Some(b)) if a != b => None,
        (Some(value), _) => Some(Some(value.clone())),
        (None, other) => Some(other.clone()),
    };
    a.iter().zip(b).map(level).collect()
}

/// The outermost levels that are known, as partition keys. Zero has two forms that are equal but hash apart.
fn prefixes(key: &Key) -> Vec<PartitionKey> {
    let mut prefixes = vec![Vec::new()];
    for value in key.iter().map_while(Option::as_ref) {
        let forms = match value {
            Value::Null => vec![PartitionKeyValue::Null],
            Value::Bool(value) => vec![PartitionKeyValue::Bool(*value)],
            Value::Number(value) if *value == 0.0 => {
                vec![PartitionKeyValue::Number(0.0), PartitionKeyValue::Number(-0.0)]
            }
            Value::Number(value) => vec![PartitionKeyValue::Number(*value)],
            Value::Integer(value) => vec![PartitionKeyValue::Number(*value as f64)],
            Value::String(value) => vec![PartitionKeyValue::String(value.clone())],
            // A document whose key is an array or an object is kept where those without a key are.
            Value::Undefined | Value::Array(_) | Value::Object(_) => vec![PartitionKeyValue::Undefined],
        };
        let longer = |prefix: &Vec<PartitionKeyValue>, form: &PartitionKeyValue| {
            prefix.iter().cloned().chain([form.clone()]).collect::<Vec<_>>()
        };
        prefixes = prefixes.iter().flat_map(|p| forms.iter().map(move |form| longer(p, form))).collect();
    }
    prefixes.into_iter().map(PartitionKey::from).collect()
}
