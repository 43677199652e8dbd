//! Unique keys: the names under which a document's unique values are taken in its logical partition.
//!
//! Who holds a name, and what to do about a second taker, is the replica's and the operations' business.

use std::sync::Arc;

use cosmonaut_query::raw::{PathScan, PathSet, RawJson};
use cosmonaut_query::value::Value;
use cosmonaut_wire::PartitionKey;
use cosmonaut_wire::model::UniqueKeyPolicy;

use super::key::member_path;
use crate::Failure;

/// A container's unique keys, ready to read from documents.
#[derive(Clone, Debug, Default)]
pub(crate) struct UniqueKeys(Arc<Keys>);

#[derive(Debug, Default)]
struct Keys {
    scan: PathScan,
    /// For each key, the slots of its paths.
    keys: Vec<Vec<usize>>,
}

/// What the service allows.
const MAX_KEYS: usize = 10;
const MAX_PATHS: usize = 16;

impl UniqueKeys {
    pub(crate) fn new(policy: Option<&UniqueKeyPolicy>) -> Result<Self, Failure> {
        let keys = policy.map_or(&[][..], |policy| &policy.unique_keys);
        if keys.len() > MAX_KEYS {
            return Err(Failure::bad_request(format!(
                "a container has at most {MAX_KEYS} unique keys, not {}",
                keys.len()
            )));
        }
        let (mut paths, mut slots_of) = (PathSet::default(), Vec::with_capacity(keys.len()));
        for key in keys {
            if key.paths.is_empty() || key.paths.len() > MAX_PATHS {
                return Err(Failure::bad_request(format!(
                    "a unique key has 1 to {MAX_PATHS} paths, not {}",
                    key.paths.len()
                )));
            }
            let slots = key.paths.iter().map(|path| Ok(paths.add(&member_path(path)?)));
            slots_of.push(slots.collect::<Result<Vec<usize>, Failure>>()?);
        }
        Ok(Self(Arc::new(Keys { scan: paths.into_scan(), keys: slots_of })))
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.keys.is_empty()
    }

    /// One name for each unique key. A value that is missing counts as `null`, as it does in the service.
    pub(crate) fn names(&self, key: &PartitionKey, body: &[u8]) -> Vec<Box<[u8]>> {
        if self.is_empty() {
            return Vec::new();
        }
        let found = self.0.scan.extract(RawJson::new(body));
        let name = |(nth, slots): (usize, &Vec<usize>)| {
            let mut name = format!("{nth}{key}").into_bytes();
            for slot in slots {
                let value = found.get(*slot).map_or(Value::Null, RawJson::to_value);
                value.write_canonical(&mut name);
                name.push(0);
            }
            name.into_boxed_slice()
        };
        self.0.keys.iter().enumerate().map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(paths: &[&[&str]]) -> UniqueKeys {
        let policy =
            paths.iter().fold(UniqueKeyPolicy::default(), |policy, paths| policy.with_key(paths.to_vec()));
        UniqueKeys::new(Some(&policy)).unwrap()
    }

    #[test]
    fn names_are_equal_exactly_if_key_and_values_are() {
        let keys = keys(&[&["/a", "/b/c"]]);
        let name = |key: &str, body: &str| keys.names(&PartitionKey::from(key), body.as_bytes());
        let one = name("k", r#"{"a":1,"b":{"c":"x"}}"#);
        for (key, body, same) in [
            ("k", r#"{"b":{"c":"x"},"a":1.0}"#, true),
            ("l", r#"{"a":1,"b":{"c":"x"}}"#, false),
            ("k", r#"{"a":"1","b":{"c":"x"}}"#, false),
            ("k", r#"{"a":1}"#, false),
        ] {
            assert_eq!(name(key, body) == one, same, "{key} {body}");
        }
        assert_eq!(name("k", r#"{"a":1,"b":{"c":null}}"#), name("k", r#"{"a":1}"#));
    }

    #[test]
    fn policies_beyond_the_limits_are_refused() {
        let many = vec!["/a"; MAX_PATHS + 1];
        let empty: Vec<&str> = Vec::new();
        for paths in [many, empty, vec!["a"], vec!["/a/*"]] {
            let policy = UniqueKeyPolicy::default().with_key(paths.clone());
            assert!(UniqueKeys::new(Some(&policy)).is_err(), "{paths:?}");
        }
    }
}
