//! Connecting: what is made, what is refused, and how that is explained.

use std::time::Duration;

use cosmonaut::{ContainerProperties, CosmosClient, Credential};
use cosmonaut_emulator::{Emulator, Tls};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig};

use crate::harness::{Account, DATABASE, Server};

#[tokio::test]
async fn a_container_is_made_once_and_its_documents_may_end_by_themselves() {
    let home = Server::shared(Account::OneRegion).home();
    home.provider().await;
    let made = home.documents().read().await.unwrap().into_value();
    assert_eq!(made.partition_key.paths, ["/instanceId"]);
    assert!(made.default_ttl.is_some());
    home.provider().await;
    assert_eq!(home.documents().read().await.unwrap().value().rid, made.rid);
}

#[tokio::test]
async fn who_only_looks_makes_nothing() {
    let home = Server::shared(Account::OneRegion).home();
    let looking = || CosmosProviderConfig { create_if_absent: false, ..home.config() };
    let error = CosmosProvider::connect(looking()).await.unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("it is not there"), "{error}");
    assert!(home.documents().read().await.unwrap_err().is_not_found());

    home.client.create_database_if_not_exists(DATABASE).await.unwrap();
    let without_ttl = ContainerProperties::new(&*home.container, "/instanceId");
    home.client.database(DATABASE).create_container(without_ttl).await.unwrap();
    let error = CosmosProvider::connect(looking()).await.unwrap_err().to_string();
    assert!(error.contains("time to live is off"), "{error}");
    let tolerant = CosmosProviderConfig { tolerate_findings: true, ..looking() };
    CosmosProvider::connect(tolerant).await.unwrap();
    assert!(home.documents().read().await.unwrap().value().default_ttl.is_none(), "nothing was changed");
    CosmosProvider::connect(home.config()).await.unwrap();
    assert!(home.documents().read().await.unwrap().value().default_ttl.is_some());
}

#[tokio::test]
async fn a_container_of_another_making_is_refused() {
    let home = Server::shared(Account::OneRegion).home();
    home.client.create_database_if_not_exists(DATABASE).await.unwrap();
    let other = ContainerProperties::new(&*home.container, "/pk");
    home.client.database(DATABASE).create_container(other).await.unwrap();
    for tolerate_findings in [false, true] {
        let config = CosmosProviderConfig { tolerate_findings, ..home.config() };
        let error = CosmosProvider::connect(config).await.unwrap_err().to_string();
        assert!(error.contains("/pk") && error.contains("another container"), "{error}");
    }
}

#[tokio::test]
async fn a_wrong_key_and_an_address_of_nobody_are_explained() {
    let emulator = Emulator::builder().start().await.unwrap();
    let wrong = CosmosProviderConfig::new(emulator.url(), "d3Jvbmc=");
    let error = CosmosProvider::connect(wrong).await.unwrap_err().to_string();
    assert!(error.contains("does not accept this key"), "{error}");
    let nobody = CosmosProviderConfig {
        connect_timeout: Duration::from_millis(500),
        ..CosmosProviderConfig::new("http://127.0.0.1:9", "d3Jvbmc=")
    };
    let error = CosmosProvider::connect(nobody).await.unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:9"), "{error}");
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    let emulator = Emulator::builder().tls(Tls::Own).start().await.unwrap();
    let client = CosmosClient::new(emulator.url(), Credential::master_key(emulator.key()).unwrap()).unwrap();
    let config = CosmosProviderConfig {
        connect_timeout: Duration::from_millis(500),
        ..CosmosProviderConfig::with_client(client)
    };
    let error = CosmosProvider::connect(config).await.unwrap_err();
    let text = format!("{error} {error:?}").to_lowercase();
    assert!(text.contains("certificate"), "{text}");
}
