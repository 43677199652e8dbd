//! Finding a document's partition key by the paths that its container names.
//!
//! Hashing the key is `wire`'s business; comparing it with the request's is the operations'.

use cosmonaut_query::ast::PathSegment;
use cosmonaut_query::raw::{PathScan, PathSet, RawJson};
use cosmonaut_query::value::Kind;
use cosmonaut_wire::model::{PartitionKeyDefinition, PartitionKeyKind};
use cosmonaut_wire::{CosmosStatus, EffectivePartitionKey, PartitionKey, PartitionKeyValue};

use crate::Failure;

/// A container's partition key definition, ready to read keys from documents.
#[derive(Debug)]
pub(crate) struct KeyReader {
    definition: PartitionKeyDefinition,
    paths: Vec<Vec<PathSegment>>,
    /// A slot for each path, in order.
    scan: PathScan,
}

/// The path of members that a policy names: `/a/"b c"`. 400 if it is none.
pub(crate) fn member_path(path: &str) -> Result<Vec<PathSegment>, Failure> {
    let parsed = PartitionKeyDefinition::from(path).path_segments().map_err(|_| {
        Failure::bad_request(format!("{path:?} is not a path of members (try \"/name\" or \"/a/b\")"))
    })?;
    Ok(parsed.into_iter().flatten().map(PathSegment::Member).collect())
}

impl KeyReader {
    /// Checks the definition as the service does.
    pub(crate) fn new(definition: &PartitionKeyDefinition) -> Result<Self, Failure> {
        let invalid = |error: &dyn std::fmt::Display| Failure::bad_request(error.to_string());
        definition.validate().map_err(|error| invalid(&error))?;
        let paths = definition.path_segments().map_err(|error| invalid(&error))?;
        let members = |path: Vec<String>| path.into_iter().map(PathSegment::Member).collect();
        let paths: Vec<Vec<PathSegment>> = paths.into_iter().map(members).collect();
        let mut set = PathSet::default();
        for path in &paths {
            set.add(path);
        }
        Ok(Self { definition: definition.clone(), paths, scan: set.into_scan() })
    }

    pub(crate) fn definition(&self) -> &PartitionKeyDefinition {
        &self.definition
    }

    /// The paths, outermost first.
    pub(crate) fn paths(&self) -> &[Vec<PathSegment>] {
        &self.paths
    }

    /// The key of a document.
    pub(crate) fn key_of(&self, body: &[u8]) -> Result<PartitionKey, Failure> {
        let found = self.scan.extract(RawJson::new(body));
        let component = |slot: usize| component(found.get(slot), &self.definition.paths[slot]);
        let key: PartitionKey =
            (0..self.definition.paths.len()).map(component).collect::<Result<Vec<_>, _>>()?.into();
        // A container made without a key keeps documents that have none outside of any key.
        let is_system = self.definition.system_key == Some(true);
        Ok(if is_system && key == PartitionKey::UNDEFINED { PartitionKey::NONE } else { key })
    }

    /// See [`covers`].
    pub(crate) fn covers(&self, named: &PartitionKey, key: &PartitionKey) -> bool {
        covers(&self.definition, named, key)
    }

    /// The place of a whole key on the ring. 400/1001 if it has too few or too many components.
    pub(crate) fn place(&self, key: &PartitionKey) -> Result<EffectivePartitionKey, Failure> {
        key.effective(&self.definition).map_err(|error| {
            Failure::new(
                CosmosStatus::PARTITION_KEY_MISMATCH,
                format!(
                    "Partition key provided either doesn't correspond to definition in the collection or doesn't \
                     match partition key field values specified in the document: {error}"
                ),
            )
        })
    }
}

fn component(found: Option<RawJson<'_>>, path: &str) -> Result<PartitionKeyValue, Failure> {
    let Some(found) = found else { return Ok(PartitionKeyValue::Undefined) };
    let value = match found.kind() {
        Kind::Undefined => Some(PartitionKeyValue::Undefined),
        Kind::Null => Some(PartitionKeyValue::Null),
        Kind::Bool => found.as_bool().map(PartitionKeyValue::Bool),
        Kind::Number => found.as_number().filter(|number| number.is_finite()).map(PartitionKeyValue::Number),
        Kind::String => found.as_str().map(|text| PartitionKeyValue::String(text.into())),
        // The service takes what cannot be a key for none.
        Kind::Array | Kind::Object => Some(PartitionKeyValue::Undefined),
    };
    value.ok_or_else(|| {
        Failure::bad_request(format!(
            "the document's value at the partition key path {path} is too large a number: a partition key is a \
             string, a finite number, a boolean or null"
        ))
    })
}

/// Whether a document's key is the one that a scope names or, in a hierarchical container, begins with it.
///
/// Keys can share a place on the ring, so having looked there does not answer this.
pub(crate) fn covers(definition: &PartitionKeyDefinition, named: &PartitionKey, key: &PartitionKey) -> bool {
    match definition.kind() {
        PartitionKeyKind::MultiHash => key.components().starts_with(named.components()),
        PartitionKeyKind::Hash | PartitionKeyKind::Range | PartitionKeyKind::Other(_) => key == named,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_their_paths() {
        for (paths, body, key) in [
            (&["/pk"][..], r#"{"pk":"a"}"#, "[\"a\"]"),
            (&["/pk"], r#"{"id":"1"}"#, "[{}]"),
            (&["/pk"], r#"{"pk":null}"#, "[null]"),
            (&["/pk"], r#"{"pk":1.50}"#, "[1.5]"),
            (&["/a/b"], r#"{"a":{"b":true}}"#, "[true]"),
            (&["/a/b"], r#"{"a":"b"}"#, "[{}]"),
            (&["/\"a/b\""], r#"{"a/b":"x"}"#, "[\"x\"]"),
            (&["/t", "/u"], r#"{"u":2,"t":"x"}"#, "[\"x\",2]"),
            (&["/t", "/u"], r#"{"t":"x"}"#, "[\"x\",{}]"),
            (&["/pk"], r#"{"pk":"a","pk":"\u0062"}"#, "[\"b\"]"),
            (&["/pk"], r#"{"pk":[1]}"#, "[{}]"),
            (&["/t", "/u"], r#"{"t":{},"u":{"a":1}}"#, "[{},{}]"),
        ] {
            let reader = KeyReader::new(&PartitionKeyDefinition::new(paths.to_vec())).unwrap();
            assert_eq!(reader.key_of(body.as_bytes()).unwrap().to_string(), key, "{paths:?} {body}");
        }
    }

    #[test]
    fn a_container_without_a_key_keeps_documents_outside_of_any() {
        let mut definition = PartitionKeyDefinition::from("/_partitionKey");
        definition.system_key = Some(true);
        let reader = KeyReader::new(&definition).unwrap();
        assert_eq!(reader.key_of(b"{}").unwrap(), PartitionKey::NONE);
        assert_eq!(reader.key_of(br#"{"_partitionKey":"a"}"#).unwrap(), PartitionKey::from("a"));
    }

    #[test]
    fn a_prefix_covers_only_hierarchical_keys() {
        let (flat, nested) = (PartitionKeyDefinition::from("/a"), PartitionKeyDefinition::from(["/a", "/b"]));
        for (definition, named, key, expected) in [
            (&flat, "[\"x\"]", "[\"x\"]", true),
            (&flat, "[]", "[\"x\"]", false),
            (&flat, "[]", "[]", true),
            (&nested, "[\"x\"]", "[\"x\",1]", true),
            (&nested, "[\"y\"]", "[\"x\",1]", false),
            (&nested, "[]", "[\"x\",1]", true),
        ] {
            let reader = KeyReader::new(definition).unwrap();
            assert_eq!(
                reader.covers(&named.parse().unwrap(), &key.parse().unwrap()),
                expected,
                "{named} {key}"
            );
        }
    }

    #[test]
    fn a_key_that_is_no_finite_number_is_refused() {
        let reader = KeyReader::new(&PartitionKeyDefinition::from("/pk")).unwrap();
        let failure = reader.key_of(br#"{"pk":1e999}"#).unwrap_err();
        assert!(failure.message.contains("/pk"), "{failure}");
    }
}
