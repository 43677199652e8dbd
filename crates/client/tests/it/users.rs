//! Users, their permissions, and what the tokens of permissions open.

use std::time::Duration;

use cosmonaut::{
    ContainerClient, ContainerProperties, CosmosClient, CosmosDriverRuntime, Credential, DatabaseClient,
    ErrorKind, FeedScope, PartitionKey, PermissionMode, PermissionScope, ResourceToken, StoredProcedure,
};
use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use crate::harness::{Bench, PROTOCOLS, no_environment, speaking};

/// Runs a test over each version of HTTP.
async fn on_both_wires<F: Future<Output = ()>>(test: impl Fn(Bench, DatabaseClient, ContainerClient) -> F) {
    for protocol in PROTOCOLS {
        let bench = Bench::with(Emulator::builder(), speaking(protocol)).await;
        let container = bench.container().await;
        let database = bench.client.database("d");
        test(bench, database, container).await;
    }
}

#[tokio::test]
async fn users_are_made_read_renamed_listed_and_deleted() {
    on_both_wires(async |_bench, database, _container| {
        let made = database.create_user("ada l").await.unwrap();
        assert_eq!((made.status().code().as_u16(), made.value().id.as_str()), (201, "ada l"));
        assert!(database.create_user("ada l").await.unwrap_err().is_conflict());
        assert_eq!(database.upsert_user("ada l").await.unwrap().status().code().as_u16(), 200);
        assert_eq!(database.upsert_user("bob").await.unwrap().status().code().as_u16(), 201);
        assert_eq!(database.user("ada l").read().await.unwrap().value().id, "ada l");

        let stale = database.user("ada l").replace("eve").if_match("\"other\"").await.unwrap_err();
        assert!(stale.is_precondition_failed(), "{stale}");
        let current = database.user("ada l").read().await.unwrap().etag().unwrap();
        let renamed = database.user("ada l").replace("eve").if_match(current).await.unwrap();
        assert_eq!(renamed.value().id, "eve");
        assert!(database.user("ada l").read().await.unwrap_err().is_not_found());
        let mut ids: Vec<_> =
            database.list_users().collect().await.unwrap().into_iter().map(|user| user.id).collect();
        ids.sort();
        assert_eq!(ids, ["bob", "eve"]);

        database.user("eve").delete().await.unwrap();
        assert!(database.user("eve").delete().await.unwrap_err().is_not_found());
        for error in [
            database.create_user("a/b").await.unwrap_err(),
            database.user("").read().await.unwrap_err(),
            database.user("bob").replace("a#").await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        }
    })
    .await;
}

#[tokio::test]
async fn permissions_are_made_read_replaced_listed_and_deleted() {
    on_both_wires(async |_bench, database, _container| {
        database.create_user("ada").await.unwrap();
        let ada = database.user("ada");
        let own = PermissionScope::container("c").partition_key("a");
        let made = ada.create_permission("own", PermissionMode::Read, own.clone()).await.unwrap();
        let (old, permission) = (made.etag().unwrap(), made.value());
        assert_eq!((permission.id.as_str(), &permission.mode), ("own", &PermissionMode::Read));
        assert_eq!(permission.resource, "dbs/d/colls/c");
        assert_eq!(permission.partition_key, Some(PartitionKey::from("a")));
        let secret = permission.token.secret();
        assert!(secret.starts_with("type=resource&"));
        assert!(!format!("{made:?}").contains(secret));
        let again = ada.create_permission("own", PermissionMode::Read, own.clone()).await.unwrap_err();
        assert!(again.is_conflict(), "{again}");

        let all = ada.replace_permission("own", PermissionMode::All, own.clone()).if_match(old.clone());
        assert_eq!(all.await.unwrap().value().mode, PermissionMode::All);
        let stale = ada.replace_permission("own", PermissionMode::Read, own.clone()).if_match(old.clone());
        assert!(stale.await.unwrap_err().is_precondition_failed());
        assert_eq!(ada.read_permission("own").await.unwrap().value().mode, PermissionMode::All);
        let upserted = ada.upsert_permission("own", PermissionMode::Read, own).await.unwrap();
        assert_eq!(upserted.value().mode, PermissionMode::Read);
        let listed = ada.list_permissions().collect().await.unwrap();
        assert_eq!((listed.len(), listed[0].id.as_str()), (1, "own"));

        let stale = ada.delete_permission("own").if_match(old).await.unwrap_err();
        assert!(stale.is_precondition_failed(), "{stale}");
        ada.delete_permission("own").await.unwrap();
        assert!(ada.read_permission("own").await.unwrap_err().is_not_found());
        assert!(ada.list_permissions().collect().await.unwrap().is_empty());

        // How long a token is good is for the service to judge: none is for a second.
        let scope = || PermissionScope::container("c");
        let short = ada.create_permission("p", PermissionMode::Read, scope()).expiry(Duration::from_secs(1));
        assert_eq!(short.await.unwrap_err().kind(), ErrorKind::BadRequest);
        let hour = Duration::from_secs(3600);
        ada.create_permission("p", PermissionMode::Read, scope()).expiry(hour).await.unwrap();
        ada.read_permission("p").expiry(hour).await.unwrap();
        assert_eq!(
            ada.read_permission("p").expiry(Duration::ZERO).await.unwrap_err().kind(),
            ErrorKind::BadRequest
        );
        let short = ada.replace_permission("p", PermissionMode::Read, scope()).expiry(Duration::from_secs(1));
        assert_eq!(short.await.unwrap_err().kind(), ErrorKind::BadRequest);
        let nowhere = PermissionScope::item("c/d", "a", "1");
        let error = ada.create_permission("q", PermissionMode::Read, nowhere).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    })
    .await;
}

/// The database as it is seen with a credential, over each version of HTTP.
fn seen_with(bench: &Bench, credential: &Credential) -> Vec<DatabaseClient> {
    let database = |protocol| {
        let runtime = CosmosDriverRuntime::builder().environment(&no_environment).build().unwrap();
        let client = CosmosClient::builder().runtime(&runtime).endpoint(bench.emulator.url());
        client.credential(credential.clone()).options(speaking(protocol)).build().unwrap().database("d")
    };
    PROTOCOLS.map(database).into()
}

/// A bench with items `1` of the keys `a` and `b` and a stored procedure in the containers `c` and `n`.
async fn filled() -> Bench {
    let bench = Bench::start().await;
    for name in ["c", "n"] {
        let container = bench.container_as(ContainerProperties::new(name, "/pk")).await;
        for key in ["a", "b"] {
            container.create_item(key, json!({"id": "1", "pk": key, "in": name})).await.unwrap();
        }
        let procedure = StoredProcedure::new("s", "function () { getContext().getResponse().setBody(7); }");
        container.scripts().create_stored_procedure(procedure).await.unwrap();
    }
    bench.client.database("d").create_user("ada").await.unwrap();
    bench
}

async fn grant(bench: &Bench, id: &str, mode: PermissionMode, scope: PermissionScope) -> ResourceToken {
    let ada = bench.client.database("d").user("ada");
    ada.create_permission(id, mode, scope).await.unwrap().into_value().token
}

#[tokio::test]
async fn a_token_for_reading_a_container_reads_and_queries_it_and_no_more() {
    let bench = filled().await;
    let token = grant(&bench, "p", PermissionMode::Read, PermissionScope::container("c")).await;
    for database in seen_with(&bench, &Credential::resource_token(token.clone())) {
        let container = database.container("c");
        container.read_item::<Value>("a", "1").await.unwrap();
        container.read().await.unwrap();
        let found =
            container.query_items::<String>("SELECT VALUE c.pk FROM c ORDER BY c.pk", FeedScope::Container);
        assert_eq!(found.collect().await.unwrap(), ["a", "b"]);
        for refused in [
            container.create_item("a", json!({"id": "2", "pk": "a"})).await.unwrap_err(),
            container.scripts().execute::<u32>("s", "a", ()).await.unwrap_err(),
            container.delete().await.unwrap_err(),
            database.container("n").read_item::<Value>("a", "1").await.unwrap_err(),
            database.create_user("eve").await.unwrap_err(),
            database.user("ada").read_permission("p").await.unwrap_err(),
        ] {
            assert_eq!(refused.kind(), ErrorKind::Forbidden, "{refused}");
            assert!(!format!("{refused:?}").contains(token.secret()));
        }
    }
}

#[tokio::test]
async fn tokens_for_all_of_a_partition_key_an_item_and_a_script_open_those() {
    let bench = filled().await;
    let key = PermissionScope::container("c").partition_key("a");
    let token = grant(&bench, "key", PermissionMode::All, key).await;
    for database in seen_with(&bench, &Credential::resource_token(token)) {
        let container = database.container("c");
        container.upsert_item("a", json!({"id": "2", "pk": "a"})).await.unwrap();
        container.batch("a").delete("2").execute().await.unwrap();
        assert_eq!(container.scripts().execute::<u32>("s", "a", ()).await.unwrap().into_value(), 7);
        let query =
            container.query_items::<u32>("SELECT VALUE COUNT(1) FROM c", FeedScope::PartitionKey("a".into()));
        assert_eq!(query.collect().await.unwrap(), [1]);
        let other = container.read_item::<Value>("b", "1").await.unwrap_err();
        assert_eq!(other.kind(), ErrorKind::Forbidden, "{other}");
    }
    let item = grant(&bench, "item", PermissionMode::Read, PermissionScope::item("n", "a", "1")).await;
    for database in seen_with(&bench, &Credential::resource_token(item)) {
        let container = database.container("n");
        container.read_item::<Value>("a", "1").await.unwrap();
        let other = container.read_item::<Value>("b", "1").await.unwrap_err();
        assert_eq!(other.kind(), ErrorKind::Forbidden, "{other}");
    }
    let script =
        grant(&bench, "script", PermissionMode::All, PermissionScope::stored_procedure("n", "s")).await;
    for database in seen_with(&bench, &Credential::resource_token(script)) {
        let container = database.container("n");
        assert_eq!(container.scripts().execute::<u32>("s", "a", ()).await.unwrap().into_value(), 7);
        let item = container.read_item::<Value>("a", "1").await.unwrap_err();
        assert_eq!(item.kind(), ErrorKind::Forbidden, "{item}");
    }
}

#[tokio::test]
async fn a_request_takes_the_token_of_its_container() {
    let bench = filled().await;
    for (id, scope) in [("c", PermissionScope::container("c")), ("n", PermissionScope::item("n", "a", "1"))] {
        grant(&bench, id, PermissionMode::Read, scope).await;
    }
    let permissions = bench.client.database("d").user("ada").list_permissions().collect().await.unwrap();
    let tokens = permissions.into_iter().map(|permission| (permission.resource, permission.token));
    for database in seen_with(&bench, &Credential::resource_tokens(tokens)) {
        for name in ["c", "n", "c"] {
            let item = database.container(name).read_item::<Value>("a", "1").await.unwrap().into_value();
            assert_eq!(item["in"], name);
        }
        let missing = database.container("m").read_item::<Value>("a", "1").await.unwrap_err();
        assert_eq!((missing.kind(), missing.status()), (ErrorKind::Credential, None), "{missing}");
        assert!(missing.to_string().contains("dbs/d/colls/m"), "{missing}");
    }
}

#[tokio::test]
async fn a_token_that_was_not_given_is_refused() {
    let bench = filled().await;
    for database in seen_with(&bench, &Credential::resource_token("type=resource&ver=1&sig=c2VjcmV0;")) {
        let error = database.container("c").read_item::<Value>("a", "1").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
        assert!(!format!("{error:?} {error}").contains("c2VjcmV0"));
    }
}
