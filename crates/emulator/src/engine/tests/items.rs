//! Single items: statuses, conditions, keys, unique keys and time to live.

use cosmonaut_wire::model::{ContainerProperties, TimeToLive, UniqueKeyPolicy};
use cosmonaut_wire::{CosmosStatus, IndexingDirective, PartitionKey};
use serde_json::json;

use super::*;
use crate::engine::Conditions;

type Operation = fn(&Container, RegionId, ItemRequest<'_>) -> Result<ItemReply, Failure>;
/// An operation, `If-Match`, `If-None-Match`, and the status that follows.
type Row<'a> = (Operation, ItemRequest<'a>, Option<&'a str>, Option<&'a str>, u16);

#[test]
fn an_item_comes_back_as_it_was_written_with_system_members_at_the_end() {
    let (_, container) = container();
    let body = r#"{ "id": "1", "pk": "a", "n": 1.50, "_ts": 5, "s": "é\u0041" }"#;
    let made = container.create_item(HERE, ItemRequest::new(Some("a".into()), "", body)).unwrap();
    assert_eq!(made.status, CosmosStatus::CREATED);
    let text = String::from_utf8(made.body.to_vec()).unwrap();
    assert!(text.starts_with(r#"{"id":"1","pk":"a","n":1.50,"s":"é\u0041","_rid":""#), "{text}");
    let item = json_of(&made.body);
    assert_eq!(item["_ts"], 1_700_000_000);
    assert_eq!(item["_etag"], made.etag.as_ref().unwrap().as_str());
    assert_eq!(
        item["_self"],
        format!(
            "dbs/{}/colls/{}/docs/{}/",
            container.rid().parent().unwrap(),
            container.rid(),
            item["_rid"].as_str().unwrap()
        )
    );
    let read = container.read_item(HERE, at("a", "1")).unwrap();
    assert_eq!((&read.body, &read.etag, read.standing.lsn, read.item_lsn), (&made.body, &made.etag, 1, 1));
    assert_eq!(read.session().to_string(), "0:-1#1");
}

#[test]
fn statuses_follow_what_is_there() {
    let (_, container) = container();
    let item = json!({"id": "1", "pk": "a"});
    let other = json!({"id": "2", "pk": "a"});
    let rows: [(Operation, ItemRequest<'_>, u16); 15] = [
        (Container::read_item, at("a", "1"), 404),
        (Container::replace_item, with("a", "1", &item), 404),
        (Container::delete_item, at("a", "1"), 404),
        (Container::patch_item, with("a", "1", &json!([{"op": "set", "path": "/n", "value": 1}])), 404),
        (Container::create_item, with("a", "", &item), 201),
        (Container::create_item, with("a", "", &item), 409),
        (Container::upsert_item, with("a", "", &item), 200),
        (Container::upsert_item, with("a", "", &other), 201),
        (Container::replace_item, with("a", "1", &item), 200),
        (Container::replace_item, with("a", "1", &other), 400),
        (Container::patch_item, with("a", "1", &json!([{"op": "set", "path": "/n", "value": 1}])), 200),
        (Container::read_item, at("b", "1"), 404),
        (Container::create_item, with("b", "", &item), 400),
        (Container::delete_item, at("a", "1"), 204),
        (Container::read_item, at("a", "1"), 404),
    ];
    for (nth, (operation, request, expected)) in rows.into_iter().enumerate() {
        assert_eq!(status(&operation(&container, HERE, request)), expected, "row {nth}");
    }
}

#[test]
fn conditions_hold_or_fail() {
    let (_, container) = container();
    let item = json!({"id": "1", "pk": "a"});
    let missing = json!({"id": "9", "pk": "a"});
    let first = container.create_item(HERE, with("a", "", &item)).unwrap().etag.unwrap();
    let current = container.replace_item(HERE, with("a", "1", &item)).unwrap().etag.unwrap();
    assert_ne!(first, current);
    let (first, current) = (first.as_str(), current.as_str());
    let patch = json!([{"op": "incr", "path": "/n", "value": 1}]);
    let rows: [Row<'_>; 15] = [
        (Container::read_item, at("a", "1"), None, Some(current), 304),
        (Container::read_item, at("a", "1"), None, Some("*"), 304),
        (Container::read_item, at("a", "1"), None, Some(first), 200),
        (Container::read_item, at("a", "1"), Some(first), None, 200),
        (Container::replace_item, with("a", "1", &item), Some(first), None, 412),
        (Container::replace_item, with("a", "1", &item), None, Some(current), 412),
        (Container::delete_item, at("a", "1"), Some(first), None, 412),
        (Container::delete_item, at("a", "1"), None, Some("*"), 412),
        (Container::patch_item, with("a", "1", &patch), Some(first), None, 412),
        (Container::upsert_item, with("a", "", &item), Some(first), None, 412),
        (Container::upsert_item, with("a", "", &item), None, Some("*"), 412),
        (Container::upsert_item, with("a", "", &missing), Some(first), None, 201),
        (Container::create_item, with("a", "", &item), None, Some("*"), 409),
        (Container::replace_item, with("a", "8", &json!({"id": "8", "pk": "a"})), Some("*"), None, 404),
        (Container::delete_item, at("a", "1"), Some(current), None, 204),
    ];
    for (nth, (operation, mut request, if_match, if_none_match, expected)) in rows.into_iter().enumerate() {
        request.conditions = Conditions { if_match, if_none_match };
        assert_eq!(status(&operation(&container, HERE, request)), expected, "row {nth}");
    }
}

#[test]
fn an_item_is_found_by_its_resource_id_too() {
    let (_, container) = container();
    let made = container.create_item(HERE, with("a", "", &json!({"id": "1", "pk": "a"}))).unwrap();
    let rid = json_of(&made.body)["_rid"].as_str().unwrap().to_owned();
    assert_eq!(container.read_item(HERE, at("a", &rid)).unwrap().body, made.body);
    assert_eq!(status(&container.read_item(HERE, at("b", &rid))), 404);
    assert_eq!(status(&container.replace_item(HERE, with("a", &rid, &json!({"id": "1", "pk": "a"})))), 200);
    assert_eq!(status(&container.delete_item(HERE, at("a", &rid))), 204);
}

#[test]
fn the_key_comes_from_the_item_if_the_request_has_none() {
    let (_, container) = container();
    let body = json!({"id": "1", "pk": 5}).to_string();
    container.create_item(HERE, ItemRequest::new(None, "", body)).unwrap();
    assert!(container.read_item(HERE, ItemRequest::new(Some(5.into()), "1", "")).is_ok());
    let failure = container.read_item(HERE, ItemRequest::new(None, "1", "")).unwrap_err();
    assert!(failure.message.contains("PartitionKey value must be supplied"), "{failure}");
}

#[test]
fn unique_keys_are_unique_in_a_logical_partition() {
    let policy = UniqueKeyPolicy::default().with_key(["/email"]);
    let (world, container) = container_of(
        ContainerProperties::new("c", "/pk")
            .with_unique_key_policy(policy)
            .with_default_ttl(TimeToLive::NoExpiry),
    );
    let user = |id: &str, email: &str| json!({"id": id, "pk": "a", "email": email});
    container
        .create_item(HERE, with("a", "", &json!({"id": "1", "pk": "a", "email": "x", "ttl": 5})))
        .unwrap();
    let rows = [
        (container.create_item(HERE, with("a", "", &user("2", "x"))), 409),
        (container.create_item(HERE, with("a", "", &user("2", "y"))), 201),
        (container.create_item(HERE, with("b", "", &json!({"id": "1", "pk": "b", "email": "x"}))), 201),
        (container.replace_item(HERE, with("a", "2", &user("2", "x"))), 409),
        (container.replace_item(HERE, with("a", "2", &user("2", "y"))), 200),
        (container.create_item(HERE, with("a", "", &json!({"id": "3", "pk": "a"}))), 201),
        (container.create_item(HERE, with("a", "", &json!({"id": "4", "pk": "a", "email": null}))), 409),
    ];
    for (nth, (reply, expected)) in rows.iter().enumerate() {
        assert_eq!(status(reply), *expected, "row {nth}");
    }
    world.pass_seconds(5);
    let taken_over = container.replace_item(HERE, with("a", "2", &user("2", "x"))).unwrap();
    assert_eq!(taken_over.standing.lsn, 6, "the expired holder goes in the same commit");
}

#[test]
fn expired_items_are_gone_at_once_and_purged_by_the_sweep() {
    let properties = ContainerProperties::new("c", "/pk").with_default_ttl(TimeToLive::seconds(10).unwrap());
    let (world, container) = container_of(properties);
    for item in [
        json!({"id": "default", "pk": "a"}),
        json!({"id": "short", "pk": "a", "ttl": 5}),
        json!({"id": "never", "pk": "a", "ttl": -1}),
    ] {
        container.create_item(HERE, with("a", "", &item)).unwrap();
    }
    let live = || ["default", "short", "never"].map(|id| container.read_item(HERE, at("a", id)).is_ok());
    for (seconds, expected) in [(4, [true, true, true]), (1, [true, false, true]), (5, [false, false, true])]
    {
        world.pass_seconds(seconds);
        assert_eq!(live(), expected);
    }
    let items = || container.usage(HERE).documents;
    assert_eq!(items(), 3);
    container.sweep().wait().unwrap();
    assert_eq!((items(), container.replica_for(&Default::default(), HERE).read(|state| state.lsn())), (1, 4));
    assert_eq!(status(&container.create_item(HERE, with("a", "", &json!({"id": "short", "pk": "a"})))), 201);
}

#[test]
fn items_expire_only_where_the_container_says_so_and_follow_its_changes() {
    let (world, engine) = engine();
    let container = add_container(&engine, ContainerProperties::new("c", "/pk"), 400);
    container.create_item(HERE, with("a", "", &json!({"id": "1", "pk": "a", "ttl": 1}))).unwrap();
    world.pass_seconds(100);
    assert!(container.read_item(HERE, at("a", "1")).is_ok());
    let on = ContainerProperties::new("c", "/pk").with_default_ttl(TimeToLive::NoExpiry);
    let _ = engine.replace_container(&path("/dbs/d/colls/c"), on, Conditions::default()).unwrap();
    assert_eq!(status(&container.read_item(HERE, at("a", "1"))), 404);
}

#[test]
fn a_session_that_has_seen_more_is_told_to_wait() {
    let (_, container) = container();
    container.create_item(HERE, with("a", "", &json!({"id": "1", "pk": "a"}))).unwrap();
    for (token, expected) in [("0:-1#1", 200), ("0:-1#2", 404), ("7:-1#9", 200), ("0:1", 200)] {
        let token = token.parse().unwrap();
        let reply = container.read_item(HERE, ItemRequest { session: Some(&token), ..at("a", "1") });
        assert_eq!(status(&reply), expected, "{token}");
        if let Err(failure) = reply {
            assert_eq!(failure.status, CosmosStatus::READ_SESSION_NOT_AVAILABLE);
        }
    }
}

#[test]
fn a_write_that_is_not_indexed_costs_less() {
    let (_, container) = container();
    let item = json!({"id": "1", "pk": "a", "x": [1, 2, 3], "y": {"z": "t"}});
    let indexed = container.create_item(HERE, with("a", "", &item)).unwrap();
    let request = with("a", "", &json!({"id": "2", "pk": "a", "x": [1, 2, 3], "y": {"z": "t"}}));
    let plain =
        container.create_item(HERE, ItemRequest { indexing: IndexingDirective::Exclude, ..request }).unwrap();
    assert!(plain.charge < indexed.charge, "{} {}", plain.charge, indexed.charge);
    assert!((5.0..6.5).contains(&indexed.charge), "{}", indexed.charge);
    assert_eq!(container.read_item(HERE, at("a", "1")).unwrap().charge, 1.0);
    container.delete_item(HERE, at("a", "2")).unwrap();
}

#[test]
fn deleting_by_key_takes_all_items_of_the_key_and_no_others() {
    let (_, engine) = engine();
    let container = add_container(&engine, ContainerProperties::new("c", ["/t", "/u"]), 12_000);
    for (t, u) in [("x", 1), ("x", 2), ("y", 1)] {
        for id in ["1", "2"] {
            let body = json!({"id": id, "t": t, "u": u}).to_string();
            container.create_item(HERE, ItemRequest::new(None, "", body)).unwrap();
        }
    }
    let items = || container.usage(HERE).documents;
    assert_eq!(container.delete_partition_key(HERE, &PartitionKey::from(("x", 1))).unwrap().items, 2);
    assert_eq!(container.delete_partition_key(HERE, &PartitionKey::from("x")).unwrap().items, 2);
    assert_eq!(container.delete_partition_key(HERE, &PartitionKey::from("x")).unwrap().items, 0);
    assert_eq!(
        container.delete_partition_key(HERE, &PartitionKey::NONE).unwrap_err().status,
        CosmosStatus::BAD_REQUEST
    );
    assert_eq!(items(), 2);
}

#[test]
fn the_items_of_a_key_are_deleted_in_several_commits() {
    let (_, container) = container();
    for id in 0..600 {
        container.create_item(HERE, with("a", "", &json!({"id": id.to_string(), "pk": "a"}))).unwrap();
    }
    let lsn = || container.replica_for(&Default::default(), HERE).read(|state| state.lsn());
    let before = lsn();
    let deleted = container.delete_partition_key(HERE, &PartitionKey::from("a")).unwrap();
    assert_eq!((deleted.items, container.usage(HERE).documents), (600, 0));
    assert_eq!((lsn() - before, deleted.commits.len()), (3, 3));
}

#[test]
fn keys_of_every_version_find_their_items() {
    let (_, engine) = engine();
    for (nth, version) in [(0, 1), (1, 2)] {
        let mut properties = ContainerProperties::new(format!("v{nth}"), "/pk");
        properties.partition_key.version = Some(version);
        let container = add_container(&engine, properties, 30_000);
        assert_eq!(container.layout().ranges().len(), 5);
        for key in [json!("text"), json!(""), json!(1.5), json!(true), json!(null), json!("é".repeat(300))] {
            let body = json!({"id": "1", "pk": key}).to_string();
            let header = container.key_of(body.as_bytes()).unwrap();
            container.create_item(HERE, ItemRequest::new(None, "", body)).unwrap();
            assert!(container.read_item(HERE, ItemRequest::new(Some(header), "1", "")).is_ok(), "{key}");
        }
        container.create_item(HERE, ItemRequest::new(None, "", r#"{"id":"1"}"#)).unwrap();
        assert!(container.read_item(HERE, ItemRequest::new(Some(PartitionKey::UNDEFINED), "1", "")).is_ok());
        let used = container
            .layout()
            .ranges()
            .iter()
            .filter(|range| !range.replica(HERE).read(|state| state.is_empty()))
            .count();
        assert!(used >= 3, "{used}");
    }
}
