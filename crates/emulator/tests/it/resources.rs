//! Scripts, users, permissions and client encryption keys as resources: the same rules for all kinds.

use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use crate::client::{Answer, send, with_container};
use crate::socket::{Connection, EAST, WEST, two_regions};

/// A feed, a resource for it, the member that holds the resources of a list, and a member that may change.
fn kinds() -> [(&'static str, Value, &'static str, &'static str); 6] {
    let trigger = json!({"id": "x", "body": "1", "triggerType": "pre", "triggerOperation": "All"});
    let permission = json!({"id": "x", "permissionMode": "all", "resource": "dbs/d/colls/c/"});
    let key = json!({
        "id": "x", "encryptionAlgorithm": "AEAD_AES_256_CBC_HMAC_SHA256", "wrappedDataEncryptionKey": "AA==",
        "keyWrapMetadata": {"type": "custom", "name": "n", "value": "v", "algorithm": "RSA-OAEP"}
    });
    [
        ("/dbs/d/colls/c/sprocs", json!({"id": "x", "body": "function () {"}), "StoredProcedures", "body"),
        ("/dbs/d/colls/c/triggers", trigger, "Triggers", "body"),
        ("/dbs/d/colls/c/udfs", json!({"id": "x", "body": ""}), "UserDefinedFunctions", "body"),
        ("/dbs/d/users", json!({"id": "x"}), "Users", "note"),
        ("/dbs/d/users/owner/permissions", permission, "Permissions", "note"),
        ("/dbs/d/clientencryptionkeys", key, "ClientEncryptionKeys", "encryptionAlgorithm"),
    ]
}

async fn with_owner() -> Emulator {
    let emulator = with_container().await;
    assert_eq!(send(&emulator, "POST /dbs/d/users", &[], &json!({"id": "owner"})).await.code(), 201);
    emulator
}

async fn get(emulator: &Emulator, path: &str) -> Answer {
    send(emulator, &format!("GET {path}"), &[], &Value::Null).await
}

#[tokio::test]
async fn every_kind_is_made_read_replaced_and_deleted() {
    let emulator = with_owner().await;
    for (feed, resource, envelope, changed) in kinds() {
        let post = format!("POST {feed}");
        let made = send(&emulator, &post, &[], &resource).await;
        assert_eq!(made.code(), 201, "{feed}: {}", made.body);
        for (name, value) in resource.as_object().unwrap() {
            assert_eq!(&made.body[name], value, "{feed}: echoed as sent");
        }
        assert_eq!(send(&emulator, &post, &[], &resource).await.code(), 409, "{feed}");
        let one = format!("{feed}/x");
        let read = get(&emulator, &one).await;
        let etag = made.header("etag").to_owned();
        assert_eq!((read.code(), read.header("etag")), (200, &*etag), "{feed}");
        assert!(made.body["_etag"] == etag && made.body["_ts"].is_u64(), "{feed}");
        let by_rid = get(&emulator, &format!("/{}", made.body["_self"].as_str().unwrap())).await;
        assert!(made.body["_self"].as_str().unwrap().ends_with('/'), "{feed}");
        assert_eq!(by_rid.body["_rid"], made.body["_rid"], "{feed}");

        let known = send(&emulator, &format!("GET {one}"), &[("if-none-match", &etag)], &Value::Null).await;
        assert_eq!((known.code(), &known.body), (304, &Value::Null), "{feed}");
        let mut next = resource.clone();
        next[changed] = json!("anew");
        let put = format!("PUT {one}");
        let late = send(&emulator, &put, &[("if-match", "\"other\"")], &next).await;
        assert_eq!(late.code(), 412, "{feed}");
        let replaced = send(&emulator, &put, &[("if-match", &etag)], &next).await;
        assert_eq!((replaced.code(), &replaced.body[changed]), (200, &json!("anew")), "{feed}");
        assert_eq!(replaced.body["_rid"], made.body["_rid"], "{feed}");
        assert_ne!(replaced.header("etag"), etag, "{feed}");

        let list = get(&emulator, feed).await;
        let ids: Vec<_> = list.body[envelope].as_array().unwrap().iter().map(|found| &found["id"]).collect();
        assert!(ids.contains(&&json!("x")), "{feed}: {}", list.body);
        let late = send(&emulator, &format!("DELETE {one}"), &[("if-match", &etag)], &Value::Null).await;
        assert_eq!(late.code(), 412, "{feed}");
        let delete = format!("DELETE {one}");
        let gone = send(&emulator, &delete, &[], &Value::Null).await;
        let missing = send(&emulator, &delete, &[], &Value::Null).await;
        assert_eq!((gone.code(), missing.code(), &missing.body["code"]), (204, 404, &json!("NotFound")));
        assert_eq!(get(&emulator, &one).await.code(), 404, "{feed}");
        assert_eq!(send(&emulator, &put, &[], &next).await.code(), 404, "{feed}");
    }
}

#[tokio::test]
async fn an_upsert_makes_or_replaces_where_the_service_has_it() {
    let emulator = with_owner().await;
    let upsert = [("x-ms-documentdb-is-upsert", "true")];
    for (feed, resource, _, changed) in kinds() {
        let mut next = resource.clone();
        next[changed] = json!("anew");
        let post = format!("POST {feed}");
        let made = send(&emulator, &post, &upsert, &resource).await;
        if feed.ends_with("clientencryptionkeys") {
            assert_eq!(made.code(), 405);
            continue;
        }
        let replaced = send(&emulator, &post, &upsert, &next).await;
        assert_eq!((made.code(), replaced.code()), (201, 200), "{feed}");
        assert_eq!((&replaced.body[changed], &replaced.body["_rid"]), (&json!("anew"), &made.body["_rid"]));
        let late = send(&emulator, &post, &[upsert[0], ("if-match", made.header("etag"))], &resource).await;
        assert_eq!(late.code(), 412, "{feed}");
    }
}

#[tokio::test]
async fn lists_come_in_pages_and_can_be_queried() {
    let emulator = with_owner().await;
    for (feed, resource, envelope, _) in kinds() {
        for id in ["a", "b", "c"] {
            let mut resource = resource.clone();
            resource["id"] = json!(id);
            // A user has one permission for a resource.
            if feed.ends_with("permissions") {
                resource["resourcePartitionKey"] = json!([id]);
            }
            let made = send(&emulator, &format!("POST {feed}"), &[], &resource).await;
            assert_eq!(made.code(), 201, "{feed}: {}", made.body);
        }
        let (mut found, mut next) = (Vec::new(), String::new());
        loop {
            let headers = [("x-ms-max-item-count", "1"), ("x-ms-continuation", &*next)];
            let page = send(&emulator, &format!("GET {feed}"), &headers, &Value::Null).await;
            assert_eq!((page.code(), &page.body["_count"]), (200, &json!(1)), "{feed}: {}", page.body);
            found.push(page.body[envelope][0]["id"].clone());
            page.header("x-ms-continuation").clone_into(&mut next);
            if next.is_empty() {
                break;
            }
        }
        found.retain(|id| id != "owner");
        assert_eq!(found, ["a", "b", "c"], "{feed}");
        let query = json!({"query": "SELECT VALUE r.id FROM root r WHERE r.id = @id", "parameters": [{"name": "@id", "value": "b"}]});
        let headers = [("x-ms-documentdb-isquery", "true"), ("content-type", "application/query+json")];
        let answer = send(&emulator, &format!("POST {feed}"), &headers, &query).await;
        assert_eq!(answer.body[envelope], json!(["b"]), "{feed}: {}", answer.body);
    }
}

#[tokio::test]
async fn what_a_resource_lies_in_must_be_there() {
    let emulator = with_owner().await;
    for feed in [
        "/dbs/d/colls/none/sprocs",
        "/dbs/none/colls/c/udfs",
        "/dbs/none/users",
        "/dbs/d/users/none/permissions",
        "/dbs/none/clientencryptionkeys",
    ] {
        let body = json!({"id": "x", "body": "", "permissionMode": "All", "resource": "dbs/d/colls/c", "encryptionAlgorithm": "", "wrappedDataEncryptionKey": "", "keyWrapMetadata": {}});
        for (line, body) in [
            (format!("GET {feed}"), &Value::Null),
            (format!("POST {feed}"), &body),
            (format!("GET {feed}/x"), &Value::Null),
            (format!("DELETE {feed}/x"), &Value::Null),
        ] {
            let answer = send(&emulator, &line, &[], body).await;
            assert_eq!((answer.code(), answer.status.sub_status()), (404, 1003), "{line}: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn resources_go_with_what_they_lie_in() {
    let emulator = with_owner().await;
    for (feed, resource, ..) in kinds() {
        assert_eq!(send(&emulator, &format!("POST {feed}"), &[], &resource).await.code(), 201);
    }
    let delete = async |path: &str| {
        assert_eq!(send(&emulator, &format!("DELETE {path}"), &[], &Value::Null).await.code(), 204);
    };
    delete("/dbs/d/users/owner").await;
    assert_eq!(send(&emulator, "POST /dbs/d/users", &[], &json!({"id": "owner"})).await.code(), 201);
    assert_eq!(get(&emulator, "/dbs/d/users/owner/permissions").await.body["_count"], 0);
    delete("/dbs/d/colls/c").await;
    let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"]}});
    assert_eq!(send(&emulator, "POST /dbs/d/colls", &[], &container).await.code(), 201);
    for kind in ["sprocs", "triggers", "udfs"] {
        assert_eq!(get(&emulator, &format!("/dbs/d/colls/c/{kind}")).await.body["_count"], 0, "{kind}");
    }
    assert_eq!(get(&emulator, "/dbs/d/clientencryptionkeys").await.body["_count"], 1);
    delete("/dbs/d").await;
    assert_eq!(send(&emulator, "POST /dbs", &[], &json!({"id": "d"})).await.code(), 201);
    for kind in ["users", "clientencryptionkeys"] {
        assert_eq!(get(&emulator, &format!("/dbs/d/{kind}")).await.body["_count"], 0, "{kind}");
    }
}

#[tokio::test]
async fn users_and_permissions_may_be_renamed_and_scripts_only_on_one_partition() {
    let emulator = with_owner().await;
    let wide = json!({"id": "wide", "partitionKey": {"paths": ["/pk"]}});
    let throughput = [("x-ms-offer-throughput", "12000")];
    assert_eq!(send(&emulator, "POST /dbs/d/colls", &throughput, &wide).await.code(), 201);
    let script = json!({"id": "x", "body": ""});
    assert_eq!(send(&emulator, "POST /dbs/d/colls/wide/udfs", &[], &script).await.code(), 201);
    let renamed = send(&emulator, "PUT /dbs/d/colls/wide/udfs/x", &[], &json!({"id": "y", "body": ""})).await;
    let message = renamed.body["message"].as_str().unwrap();
    assert_eq!(renamed.code(), 400);
    assert!(message.starts_with("Changing id of a script in collections with multiple partitions"));
    for (feed, resource, ..) in kinds() {
        assert_eq!(send(&emulator, &format!("POST {feed}"), &[], &resource).await.code(), 201);
        let mut other = resource.clone();
        (other["id"], other["resourcePartitionKey"]) = (json!("taken"), json!(["a"]));
        assert_eq!(send(&emulator, &format!("POST {feed}"), &[], &other).await.code(), 201);
        let mut next = resource.clone();
        next["id"] = json!("y");
        let expected = if feed.ends_with("clientencryptionkeys") { 400 } else { 200 };
        let renamed = send(&emulator, &format!("PUT {feed}/x"), &[], &next).await;
        assert_eq!(renamed.code(), expected, "{feed}: {}", renamed.body);
        if expected == 200 {
            assert_eq!(get(&emulator, &format!("{feed}/x")).await.code(), 404);
            assert_eq!(get(&emulator, &format!("{feed}/y")).await.code(), 200);
            next["id"] = json!("taken");
            assert_eq!(send(&emulator, &format!("PUT {feed}/y"), &[], &next).await.code(), 409, "{feed}");
        }
    }
}

#[tokio::test]
async fn a_user_that_is_renamed_keeps_its_permissions() {
    let emulator = with_owner().await;
    let permission = json!({"id": "p", "permissionMode": "Read", "resource": "dbs/d/colls/c"});
    let made = send(&emulator, "POST /dbs/d/users/owner/permissions", &[], &permission).await;
    assert_eq!(made.code(), 201);
    let user = send(&emulator, "PUT /dbs/d/users/owner", &[], &json!({"id": "other"})).await;
    assert_eq!((user.code(), &user.body["_permissions"]), (200, &json!("permissions/")));
    assert_eq!(get(&emulator, "/dbs/d/users/other/permissions/p").await.body["_rid"], made.body["_rid"]);
}

#[tokio::test]
async fn replies_about_scripts_say_how_much_the_container_may_hold() {
    let emulator = with_container().await;
    let made = send(&emulator, "POST /dbs/d/colls/c/sprocs", &[], &json!({"id": "s", "body": "x"})).await;
    assert!(made.header("x-ms-resource-quota").contains(";collectionSize="));
    assert_eq!(made.header("x-ms-alt-content-path"), "dbs/d/colls/c");
}

#[tokio::test]
async fn every_region_has_them_and_the_write_region_makes_them() {
    let emulator = two_regions(Emulator::builder()).await;
    let mut east = Connection::open(&emulator.region_url(EAST).unwrap()).await.unwrap();
    let mut west = Connection::open(&emulator.region_url(WEST).unwrap()).await.unwrap();
    let script = json!({"id": "s", "body": "x"});
    let made = east.send("POST /dbs/d/colls/c/sprocs", &[], &script).await.unwrap();
    assert_eq!(made.code(), 201);
    assert_eq!(west.get("/dbs/d/colls/c/sprocs/s").await.unwrap().body, made.body);
    let refused = west.send("POST /dbs/d/users", &[], &json!({"id": "u"})).await.unwrap();
    assert_eq!((refused.code(), refused.status.sub_status()), (403, 3));
}
