//! Composite indexes: documents sorted by several paths at once, those without a value included.
//!
//! They serve `ORDER BY` over exactly their paths, forwards or backwards.

use std::collections::BTreeMap;
use std::ops::Bound;

use cosmonaut_query::ast::PathSegment;
use cosmonaut_query::raw::{PathScan, PathSet, RawJson, Slots};
use cosmonaut_query::value::Value;
use cosmonaut_wire::model::{CompositeOrder, CompositePath, IndexingPolicy};

use super::path::{IndexPath, Step, Tail};
use super::postings::Postings;
use super::term::sort_key;
use crate::failure::Failure;

/// The service's limits.
const MAX_INDEXES: usize = 100;
const MAX_PATHS: usize = 8;

/// One path of an order and its direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OrderPart {
    pub(crate) path: IndexPath,
    pub(crate) descending: bool,
}

/// One composite index.
#[derive(Debug)]
pub(crate) struct Composite {
    parts: Vec<OrderPart>,
    slots: Vec<usize>,
    entries: BTreeMap<Box<[u8]>, Postings>,
}

/// The composite indexes of a policy.
#[derive(Debug, Default)]
pub(super) struct Composites {
    scan: PathScan,
    indexes: Vec<Composite>,
}

impl Composites {
    pub(super) fn new(policy: &IndexingPolicy, on: bool) -> Result<Composites, Failure> {
        let wanted = policy.composite_indexes.as_deref().unwrap_or_default();
        if !on && !wanted.is_empty() {
            return Err(Failure::bad_request("Composite indexes need the indexing mode 'consistent'."));
        }
        if wanted.len() > MAX_INDEXES {
            let found = wanted.len();
            return Err(Failure::bad_request(format!(
                "The indexing policy has {found} composite indexes; at most {MAX_INDEXES} are possible."
            )));
        }
        let mut paths = PathSet::default();
        let indexes =
            wanted.iter().map(|wanted| Composite::new(wanted, &mut paths)).collect::<Result<_, _>>()?;
        Ok(Composites { scan: paths.into_scan(), indexes })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.indexes.is_empty()
    }

    pub(super) fn insert(&mut self, body: RawJson<'_>, number: u64) -> usize {
        if self.is_empty() {
            return 0;
        }
        let slots = self.scan.extract(body);
        for composite in &mut self.indexes {
            let key = composite.key_of(&slots);
            match composite.entries.get_mut(&key[..]) {
                Some(postings) => {
                    postings.insert(number);
                }
                None => {
                    composite.entries.insert(key.into(), Postings::One(number));
                }
            }
        }
        self.indexes.len()
    }

    pub(super) fn remove(&mut self, body: RawJson<'_>, number: u64) -> usize {
        if self.is_empty() {
            return 0;
        }
        let slots = self.scan.extract(body);
        for composite in &mut self.indexes {
            let key = composite.key_of(&slots);
            if let Some(postings) = composite.entries.get_mut(&key[..])
                && postings.remove(number) == Some(true)
            {
                composite.entries.remove(&key[..]);
            }
        }
        self.indexes.len()
    }

    pub(super) fn serving(&self, order: &[OrderPart]) -> Option<(&Composite, bool)> {
        self.indexes.iter().find_map(|composite| Some((composite, composite.serves(order)?)))
    }
}

impl Composite {
    fn new(paths: &[CompositePath], set: &mut PathSet) -> Result<Composite, Failure> {
        if !(2..=MAX_PATHS).contains(&paths.len()) {
            let found = paths.len();
            return Err(Failure::bad_request(format!(
                "A composite index has {found} paths; it needs at least 2 and at most {MAX_PATHS}."
            )));
        }
        let parts = paths.iter().map(part).collect::<Result<Vec<_>, _>>()?;
        for (at, part) in parts.iter().enumerate() {
            if parts[..at].iter().any(|earlier| earlier.path == part.path) {
                return Err(Failure::bad_request(format!(
                    "A composite index names the path '{}' twice.",
                    part.path
                )));
            }
        }
        let slots = parts.iter().map(|part| set.add(&segments(&part.path))).collect();
        Ok(Composite { parts, slots, entries: BTreeMap::new() })
    }

    /// The place of a document, by what a scan of it found.
    fn key_of(&self, found: &Slots<'_>) -> Vec<u8> {
        let value = |slot: &usize| found.get(*slot).map_or(Value::Undefined, RawJson::to_value);
        self.encode(&self.slots.iter().map(value).collect::<Vec<_>>())
    }

    /// The paths and directions that it is sorted by.
    pub(crate) fn parts(&self) -> &[OrderPart] {
        &self.parts
    }

    /// Whether it is to be read backwards for this order; `None` if it does not serve it.
    fn serves(&self, order: &[OrderPart]) -> Option<bool> {
        let same_paths =
            self.parts.len() == order.len() && self.parts.iter().zip(order).all(|(a, b)| a.path == b.path);
        let backwards = same_paths.then(|| self.parts[0].descending != order[0].descending)?;
        let fits = self.parts.iter().zip(order).all(|(a, b)| (a.descending != b.descending) == backwards);
        fits.then_some(backwards)
    }

    /// The place of these values, or of those that begin with them, among the entries.
    pub(crate) fn encode(&self, values: &[Value]) -> Vec<u8> {
        sort_key(values.iter().zip(self.parts.iter().map(|part| part.descending)))
    }

    /// How many documents a stretch of entries has; counting stops once there are more than `enough`.
    pub(crate) fn count(&self, span: (Bound<&[u8]>, Bound<&[u8]>), enough: usize) -> usize {
        let mut count = 0;
        for postings in self.entries.range::<[u8], _>(span).map(|(_, postings)| postings) {
            count += postings.len();
            if count > enough {
                break;
            }
        }
        count
    }

    /// All entries in order; for a query's order this is to be read forwards or backwards.
    pub(crate) fn entries(&self) -> &BTreeMap<Box<[u8]>, Postings> {
        &self.entries
    }
}

#[cfg(test)]
impl PartialEq for Composites {
    fn eq(&self, other: &Composites) -> bool {
        self.indexes.len() == other.indexes.len()
            && self
                .indexes
                .iter()
                .zip(&other.indexes)
                .all(|(a, b)| a.parts == b.parts && a.entries == b.entries)
    }
}

fn part(path: &CompositePath) -> Result<OrderPart, Failure> {
    let descending = match path.order() {
        CompositeOrder::Ascending => false,
        CompositeOrder::Descending => true,
        other => {
            return Err(Failure::bad_request(format!(
                "The composite path '{}' has the order '{other}'. Use 'ascending' or 'descending'.",
                path.path
            )));
        }
    };
    match IndexPath::parse(&path.path)? {
        (parsed, Tail::Bare) if !parsed.0.contains(&Step::Element) => {
            Ok(OrderPart { path: parsed, descending })
        }
        _ => Err(Failure::bad_request(format!(
            "The composite path '{}' must name a single value: leave out '/?', '/*' and '[]'.",
            path.path
        ))),
    }
}

fn segments(path: &IndexPath) -> Vec<PathSegment> {
    let name = |step: &Step| match step {
        Step::Member(name) => Some(PathSegment::Member(name.to_string())),
        Step::Element => None,
    };
    path.0.iter().filter_map(name).collect()
}
