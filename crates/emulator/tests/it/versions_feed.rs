//! The feed of all versions and deletes: which changes carry the version before.

use serde_json::{Value, json};

use crate::client::with_container;
use crate::socket::{Connection, KEY};

#[tokio::test]
async fn a_replace_carries_the_version_before_only_where_the_policy_says_so() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    for (nth, (policy, carries)) in [
        (Value::Null, false),
        (json!("Disabled"), false),
        (json!("EnabledForDeleteOperation"), false),
        (json!("EnabledForReplaceOperation"), true),
        (json!("EnabledForAllOperations"), true),
    ]
    .into_iter()
    .enumerate()
    {
        let mut container = json!({"id": format!("v{nth}"), "partitionKey": {"paths": ["/pk"]}, "changeFeedPolicy": {"retentionDuration": 5}});
        if !policy.is_null() {
            container["previousImageRetentionPolicy"] = policy.clone();
        }
        let made = connection.send("POST /dbs/d/colls", &[], &container).await.unwrap();
        assert_eq!(made.code(), 201, "{}", made.body);
        let docs = format!("/dbs/d/colls/v{nth}/docs");
        let feed = format!("GET {docs}");
        let mode = ("a-im", "Full-Fidelity Feed");
        let now = connection.send(&feed, &[mode, ("if-none-match", "*")], &Value::Null).await.unwrap();
        let key = (KEY, "[\"a\"]");
        for n in [1, 2] {
            let item = json!({"id": "1", "pk": "a", "n": n});
            let upsert = [key, ("x-ms-documentdb-is-upsert", "true")];
            connection.send(&format!("POST {docs}"), &upsert, &item).await.unwrap();
        }
        connection.send(&format!("DELETE {docs}/1"), &[key], &Value::Null).await.unwrap();
        let after = ("if-none-match", now.header("etag"));
        let page = connection.send(&feed, &[mode, after], &Value::Null).await.unwrap().body;
        let replace = &page["Documents"][1];
        assert_eq!(replace["metadata"]["operationType"], "replace", "{page}");
        assert_eq!(
            replace.get("previous").map(|previous| &previous["n"]),
            carries.then_some(&json!(1)),
            "{policy}"
        );
        assert!(replace["metadata"]["previousImageLSN"].as_i64().is_some_and(|lsn| lsn > 0), "{page}");
    }
}
