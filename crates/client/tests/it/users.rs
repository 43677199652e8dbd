//! Users, their permissions, and what the tokens of permissions open.

use std::time::Duration;

use cosmonaut::{ContainerClient, DatabaseClient, ErrorKind, PartitionKey, PermissionMode, PermissionScope};
use cosmonaut_emulator::Emulator;

use crate::harness::{Bench, PROTOCOLS, speaking};

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
