//! What holds for all shapes: nothing unknown is lost, and nothing a peer can send panics.

use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::ResourceType;

/// A container that uses every member this version knows.
fn full_container() -> Value {
    json!({
        "id": "orders",
        "partitionKey": {"paths": ["/tenant", "/user"], "kind": "MultiHash", "version": 2, "systemKey": false},
        "indexingPolicy": {
            "automatic": true,
            "indexingMode": "consistent",
            "includedPaths": [{"path": "/*", "indexes": [{"kind": "Range", "dataType": "Number", "precision": -1}]}],
            "excludedPaths": [{"path": "/\"_etag\"/?"}],
            "compositeIndexes": [[{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "sideways"}]],
            "spatialIndexes": [{"path": "/place/*", "types": ["Point", "Sphere"]}],
            "vectorIndexes": [{
                "path": "/v", "type": "diskANN", "quantizationByteSize": 64, "indexingSearchListSize": 100,
                "vectorIndexShardKey": ["/tenant"],
            }],
            "fullTextIndexes": [{"path": "/text"}],
        },
        "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/a", "/b"]}]},
        "conflictResolutionPolicy": {
            "mode": "LastWriterWins", "conflictResolutionPath": "/_ts", "conflictResolutionProcedure": "",
        },
        "defaultTtl": -1,
        "analyticalStorageTtl": 0,
        "computedProperties": [{"name": "lower", "query": "SELECT VALUE LOWER(c.name) FROM c"}],
        "changeFeedPolicy": {"retentionDuration": 10},
        "geospatialConfig": {"type": "Geography"},
        "vectorEmbeddingPolicy": {"vectorEmbeddings": [
            {"path": "/v", "dataType": "float32", "dimensions": 256, "distanceFunction": "cosine"},
        ]},
        "fullTextPolicy": {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/text", "language": "fr-FR"}]},
        "_rid": "1FAbAPmd4Rw=", "_self": "dbs/1FAbAA==/colls/1FAbAPmd4Rw=/", "_etag": "\"00-1\"",
        "_ts": 1_700_000_000, "_docs": "docs/", "_sprocs": "sprocs/", "_triggers": "triggers/", "_udfs": "udfs/",
        "_conflicts": "conflicts/",
    })
}

/// An account that uses every member this version knows.
fn full_account() -> Value {
    let west = json!({"name": "West US 2", "databaseAccountEndpoint": "https://a-westus2.example:443/"});
    let east = json!({"name": "East US", "databaseAccountEndpoint": "https://a-eastus.example:443/"});
    json!({
        "id": "a", "_self": "", "_rid": "a.example", "media": "//media/", "addresses": "//addresses/",
        "_dbs": "//dbs/",
        "writableLocations": [west.clone()],
        "readableLocations": [west.clone(), east],
        "enableMultipleWriteLocations": false,
        "enablePerPartitionFailoverBehavior": true,
        "thinClientWritableLocations": [west.clone()],
        "thinClientReadableLocations": [west],
        "continuousBackupEnabled": false,
        "enableNRegionSynchronousCommit": false,
        "userReplicationPolicy": {"asyncReplication": false, "minReplicaSetSize": 3, "maxReplicasetSize": 4},
        "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"},
        "systemReplicationPolicy": {"asyncReplication": false, "minReplicaSetSize": 3, "maxReplicasetSize": 4},
        "readPolicy": {"primaryReadCoefficient": 1, "secondaryReadCoefficient": 0.5},
        "queryEngineConfiguration": "{\"maxSqlQueryInputLength\":262144}",
    })
}

fn written_back<T: DeserializeOwned + Serialize>(document: &Value) -> Value {
    let text = document.to_string();
    let read: T = from_json("document", text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    serde_json::to_value(&read).unwrap()
}

#[test]
fn full_documents_have_no_member_without_a_field() {
    let container: ContainerProperties = serde_json::from_value(full_container()).unwrap();
    assert!(container.extra.is_empty(), "{:?}", container.extra);
    assert!(container.indexing_policy.unwrap().extra.is_empty());
    let account: AccountProperties = serde_json::from_value(full_account()).unwrap();
    assert!(account.extra.is_empty(), "{:?}", account.extra);
}

#[test]
fn full_documents_are_written_as_they_were_read() {
    assert_eq!(written_back::<ContainerProperties>(&full_container()), full_container());
    assert_eq!(written_back::<AccountProperties>(&full_account()), full_account());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".{0,6}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// What to do to a document: the number of the object (of as many as there are), a member, its new value.
#[derive(Debug, Clone)]
enum Edit {
    /// Adds a member that no version knows.
    Add(prop::sample::Index, String, Value),
    /// Takes away a member that is there.
    Remove(prop::sample::Index, prop::sample::Index),
    /// Gives a member that is there another value, which may not fit.
    Change(prop::sample::Index, prop::sample::Index, Value),
}

fn additions() -> impl Strategy<Value = Vec<Edit>> {
    let add = (any::<prop::sample::Index>(), "[a-zA-Z_]{0,8}", any_json())
        .prop_map(|(object, name, value)| Edit::Add(object, format!("new_{name}"), value));
    prop::collection::vec(add, 0..12)
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = || (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    // `null` reads as missing, so it is not expected back.
    let value = any_json().prop_filter("null is as good as missing", |value| !value.is_null());
    let remove = at().prop_map(|(object, member)| Edit::Remove(object, member));
    let change = (at(), value).prop_map(|((object, member), value)| Edit::Change(object, member, value));
    prop::collection::vec(prop_oneof![remove, change], 0..4)
}

/// The JSON pointer of every object in `value`, itself included.
fn object_pointers(value: &Value) -> Vec<String> {
    let mut objects = Vec::new();
    let mut open = vec![(String::new(), value)];
    while let Some((pointer, value)) = open.pop() {
        match value {
            Value::Object(members) => {
                let below =
                    |name: &String| format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                open.extend(members.iter().map(|(name, value)| (below(name), value)));
                objects.push(pointer);
            }
            Value::Array(items) => {
                open.extend(items.iter().enumerate().map(|(nth, item)| (format!("{pointer}/{nth}"), item)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    objects
}

fn edited(mut document: Value, edits: &[Edit]) -> Value {
    for edit in edits {
        let (Edit::Add(object, ..) | Edit::Remove(object, _) | Edit::Change(object, ..)) = edit;
        let pointer = object.get(&object_pointers(&document)).clone();
        let members = document.pointer_mut(&pointer).and_then(Value::as_object_mut).unwrap();
        let name = |nth: &prop::sample::Index| members.keys().nth(nth.index(members.len())).cloned();
        match edit {
            Edit::Add(_, name, value) => drop(members.insert(name.clone(), value.clone())),
            Edit::Remove(..) | Edit::Change(..) if members.is_empty() => {}
            Edit::Remove(_, nth) => drop(name(nth).and_then(|name| members.remove(&name))),
            Edit::Change(_, nth, value) => {
                let name = name(nth).unwrap();
                members.insert(name, value.clone());
            }
        }
    }
    document
}

/// If `document` is one at all, it is written as it was read.
fn kept_if_read<T: DeserializeOwned + Serialize>(document: &Value) -> Result<(), TestCaseError> {
    if let Ok(read) = from_json::<T>("document", document.to_string().as_bytes()) {
        prop_assert_eq!(&serde_json::to_value(&read).unwrap(), document);
    }
    Ok(())
}

proptest! {
    #[test]
    fn unknown_members_survive_at_every_level(edits in additions()) {
        let container = edited(full_container(), &edits);
        prop_assert_eq!(written_back::<ContainerProperties>(&container), container);
        let account = edited(full_account(), &edits);
        prop_assert_eq!(written_back::<AccountProperties>(&account), account);
    }

    #[test]
    fn a_document_that_is_read_at_all_is_written_as_it_was(edits in edits(), new in additions()) {
        let edits: Vec<_> = edits.into_iter().chain(new).collect();
        kept_if_read::<ContainerProperties>(&edited(full_container(), &edits))?;
        kept_if_read::<AccountProperties>(&edited(full_account(), &edits))?;
    }
}

/// Names that the shapes know, so that arbitrary JSON gets past their first member.
const NAMES: &[&str] = &[
    "id",
    "_rid",
    "_ts",
    "_count",
    "Documents",
    "partitionKey",
    "paths",
    "kind",
    "content",
    "offerThroughput",
    "resource",
    "offerResourceId",
    "minInclusive",
    "maxExclusive",
    "parents",
    "operationType",
    "resourceBody",
    "statusCode",
    "op",
    "path",
    "from",
    "value",
    "operations",
    "condition",
    "query",
    "parameters",
    "name",
    "queryInfo",
    "queryRanges",
    "partitionedQueryExecutionInfoVersion",
    "aggregates",
    "min",
    "max",
    "current",
    "metadata",
    "lsn",
    "crts",
    "code",
    "message",
    "defaultTtl",
    "maxThroughput",
];

const TEXTS: &[&str] =
    &["", "/a", "/", "~", "Create", "set", "incr", "move", "delete", "Hash", "MultiHash", "Count"];

fn shaped_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any_json(),
        prop::sample::select(TEXTS).prop_map(Value::from),
        (-2i64..3).prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        let name = prop::sample::select(NAMES).prop_map(str::to_owned);
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => prop::collection::btree_map(name, inner, 0..8).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Reads `body`; what can be read can be written and read again.
fn read<T: DeserializeOwned + Serialize>(body: &[u8]) {
    match from_json::<T>("document", body) {
        Ok(value) => {
            let again = serde_json::to_vec(&value).unwrap();
            from_json::<T>("document", &again).unwrap();
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn read_as_everything(body: &[u8]) {
    read::<AccountProperties>(body);
    read::<QueryEngineConfiguration>(body);
    read::<DatabaseProperties>(body);
    read::<ContainerProperties>(body);
    read::<PartitionKeyDefinition>(body);
    read::<Offer>(body);
    read::<PartitionKeyRange>(body);
    read::<Vec<BatchOperation>>(body);
    read::<BatchOperation>(body);
    read::<BatchResult>(body);
    read::<PatchDocument>(body);
    read::<PatchOperation>(body);
    read::<QuerySpec>(body);
    read::<PartitionedQueryExecutionInfo>(body);
    read::<ErrorBody>(body);
    let _ = from_json::<FullFidelityChange<'_>>("change", body).map(|change| change.current_item().is_some());
    let _ = FeedEnvelope::parse(ResourceType::Document, body);
    let text = String::from_utf8_lossy(body);
    let _ = ThroughputProperties::from_headers(Some(&text), None);
    let _ = ThroughputProperties::from_headers(None, Some(&text));
    let _ = PatchPath::new(text.clone());
    let _ = PartitionKeyDefinition::from(&*text).validate();
}

proptest! {
    #[test]
    fn no_json_panics(document in shaped_json()) {
        read_as_everything(document.to_string().as_bytes());
    }

    #[test]
    fn no_text_panics(text in r#"[ -~é\n"/\\{}\[\]:,0-9]{0,64}"#) {
        read_as_everything(text.as_bytes());
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        read_as_everything(&bytes);
    }
}

#[test]
fn depth_is_bounded() {
    for (open, close) in [("[", "]"), (r#"{"new":"#, "}")] {
        let body = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        read_as_everything(body.as_bytes());
    }
}
