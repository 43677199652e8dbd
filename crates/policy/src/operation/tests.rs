use http::Method;

use super::*;
use OperationType::*;

fn operation(kind: OperationType) -> CosmosOperation {
    CosmosOperation::new(kind, ResourcePath::parse("/dbs/d/colls/c/docs/1").unwrap())
}

fn if_match(etag: &'static str) -> Precondition {
    Precondition::IfMatch(HeaderValue::from_static(etag))
}

#[test]
fn each_type_has_its_method_and_may_or_may_not_be_repeated() {
    // type, method, read only, idempotent, idempotent with If-Match of a version
    for (kind, method, read_only, plain, conditional) in [
        (Create, Method::POST, false, false, false),
        (Read, Method::GET, true, true, true),
        (Head, Method::HEAD, true, true, true),
        (Replace, Method::PUT, false, false, true),
        (Upsert, Method::POST, false, false, false),
        (Delete, Method::DELETE, false, false, true),
        (Patch, Method::PATCH, false, false, true),
        (Batch, Method::POST, false, false, false),
        (Bulk, Method::POST, false, false, false),
        (Query, Method::POST, true, true, true),
        (QueryPlan, Method::POST, true, true, true),
        (ReadFeed, Method::GET, true, true, true),
        (ChangeFeed, Method::GET, true, true, true),
        (Execute, Method::POST, false, false, false),
        (DeleteByPartitionKey, Method::POST, false, false, false),
    ] {
        let plain_operation = operation(kind);
        assert_eq!(kind.method(), method, "{kind:?}");
        assert_eq!(plain_operation.is_read_only(), read_only, "{kind:?}");
        assert_eq!(plain_operation.is_idempotent(), plain, "{kind:?}");
        let guarded = plain_operation.clone().with_precondition(if_match("\"1\""));
        assert_eq!(guarded.is_idempotent(), conditional, "{kind:?} with If-Match");
        assert_eq!(guarded.is_guarded(), conditional && !read_only, "{kind:?} with If-Match");
        assert!(plain_operation.with_repeats_allowed().is_idempotent(), "{kind:?} with repeats allowed");
    }
    assert_eq!(OperationType::ALL.len(), 15);
}

#[test]
fn only_a_condition_on_one_version_guards_a_write() {
    for (condition, guarded) in [
        (if_match("\"1\""), true),
        (if_match("*"), false),
        (if_match(" * "), false),
        (Precondition::IfNoneMatch(HeaderValue::from_static("\"1\"")), false),
    ] {
        assert_eq!(
            operation(Replace).with_precondition(condition.clone()).is_guarded(),
            guarded,
            "{condition:?}"
        );
    }
}

#[test]
fn items_and_running_procedures_are_partitioned() {
    for (path, kind, partitioned) in [
        ("/dbs/d/colls/c/docs/1", Read, true),
        ("/dbs/d/colls/c/docs", Query, true),
        ("/dbs/d/colls/c/sprocs/p", Execute, true),
        ("/dbs/d/colls/c/sprocs/p", Read, false),
        ("/dbs/d/colls/c", Read, false),
        ("/dbs/d", Delete, false),
        ("/", Read, false),
        ("/offers", Query, false),
        ("/dbs/d/colls/c/pkranges", ReadFeed, false),
        ("/dbs/d/colls/c/operations/partitionkeydelete", DeleteByPartitionKey, false),
    ] {
        let operation = CosmosOperation::new(kind, ResourcePath::parse(path).unwrap());
        assert_eq!(operation.is_partitioned(), partitioned, "{kind:?} {path}");
    }
}

#[test]
fn a_partition_is_known_by_its_container_too() {
    let one = PartitionId::new(ResourceId::container(1, 1), "0");
    assert_eq!(one, PartitionId::new(ResourceId::container(1, 1), "0"));
    assert_ne!(one, PartitionId::new(ResourceId::container(1, 2), "0"));
}

#[test]
fn a_key_is_written_once() {
    let PartitionTarget::Key { header, .. } = PartitionTarget::from(PartitionKey::from("é")) else {
        unreachable!("made from a key")
    };
    assert_eq!(header, "[\"\\u00e9\"]");
}
