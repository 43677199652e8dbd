//! Keys that are wrong, that change, and tokens that cannot be had.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut::{AccessToken, CosmosClient, Credential, ErrorKind, TokenProvider, TokenRequest};
use cosmonaut_emulator::{EMULATOR_KEY, Emulator};
use serde_json::{Value, json};

use crate::harness::{Bench, on_every_wire};

const OTHER_KEY: &str = "b3RoZXIga2V5";

#[tokio::test]
async fn a_key_is_changed_without_a_new_connection() {
    on_every_wire(async |bench, container| {
        container.create_item("a", json!({"id": "1", "pk": "a"})).await.unwrap();
        let connection = |read: &cosmonaut::Response<Value>| read.diagnostics().attempts()[0].shard;
        let before = container.read_item::<Value>("a", "1").await.unwrap();

        bench.client.rotate_key(OTHER_KEY).unwrap();
        let refused = container.read_item::<Value>("a", "1").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unauthorized, "{refused}");
        assert!(bench.client.rotate_key("no base64!").is_err());

        bench.client.clone().rotate_key(bench.emulator.key()).unwrap();
        let after = container.read_item::<Value>("a", "1").await.unwrap();
        assert_eq!(connection(&after), connection(&before));
    })
    .await;
}

#[tokio::test]
async fn a_wrong_key_is_refused_and_nothing_is_written() {
    let bench = Bench::start().await;
    bench.container().await;
    let key = Credential::master_key(OTHER_KEY).unwrap();
    let stranger = CosmosClient::new(bench.emulator.url(), key).unwrap();
    assert_eq!(stranger.connect().await.unwrap_err().kind(), ErrorKind::Unauthorized);
    let container = stranger.database("d").container("c");
    let error = container.create_item("a", json!({"id": "1", "pk": "a"})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
    assert!(!format!("{error:?}{stranger:?}").contains(OTHER_KEY));
    let own = bench.client.database("d").container("c");
    assert!(own.read_item::<Value>("a", "1").await.unwrap_err().is_not_found());
}

/// A provider whose tokens have expired, or that has none.
struct Expired(bool);

type Failure = Arc<dyn std::error::Error + Send + Sync>;

impl TokenProvider for Expired {
    fn token<'a>(
        &'a self,
        _: TokenRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<AccessToken, Failure>> + Send + 'a>> {
        let token = AccessToken { secret: "expired".to_owned(), expires_on: Duration::from_secs(1) };
        let none: Failure = Arc::new(std::io::Error::other("sign in again"));
        Box::pin(std::future::ready(if self.0 { Ok(token) } else { Err(none) }))
    }
}

#[tokio::test]
async fn expired_tokens_are_refused_and_missing_ones_say_why() {
    let bench = Bench::start().await;
    for (has_token, kind, part) in [
        (true, ErrorKind::Unauthorized, "check the account key or token"),
        (false, ErrorKind::Credential, "sign in again"),
    ] {
        let tokens = Credential::tokens(Arc::new(Expired(has_token)));
        let client = CosmosClient::new(bench.emulator.url(), tokens).unwrap();
        let error = client.create_database("d").await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(client.rotate_key(EMULATOR_KEY).unwrap_err().kind(), ErrorKind::Configuration);
    }
    assert!(bench.client.list_databases().next().await.is_none());
}

#[tokio::test]
async fn a_connection_string_is_enough() {
    let emulator = Emulator::builder().start().await.unwrap();
    let text = format!("AccountEndpoint={};AccountKey={};", emulator.url(), emulator.key());
    let client = CosmosClient::from_connection_string(&text).unwrap();
    client.connect().await.unwrap();
    let account = client.account().await.unwrap();
    assert_eq!(account.readable_locations.len(), 1);
    client.shutdown().await;
    client.create_database("d").await.unwrap();
}
