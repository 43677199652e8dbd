//! Accounts and containers in which orchestrations would be lost, repeated or stuck.

use cosmonaut::options::{CosmosClientOptions, RequestOptions};
use cosmonaut::{ContainerProperties, CosmosClient, Credential, TimeToLive};
use cosmonaut_emulator::{Consistency, Emulator, EmulatorBuilder, Outage};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, FindingKind, FindingLevel, diagnose};

use crate::harness::{Account, DATABASE, Home, Server};
use crate::steps::*;

const REGIONS: [&str; 3] = ["East US", "West US", "North Europe"];

async fn multi_write() -> Emulator {
    Emulator::builder().regions(REGIONS).multi_write(true).start().await.unwrap()
}

fn config(emulator: &Emulator) -> CosmosProviderConfig {
    CosmosProviderConfig::new(emulator.url(), emulator.key())
}

async fn refused(config: CosmosProviderConfig) -> Vec<FindingKind> {
    let error = CosmosProvider::connect(config).await.unwrap_err();
    assert!(error.findings().iter().all(|finding| finding.level == FindingLevel::Error), "{error}");
    error.findings().iter().map(|finding| finding.kind).collect()
}

async fn make(home: &Home, properties: ContainerProperties) {
    home.client.create_database_if_not_exists(DATABASE).await.unwrap();
    home.client.database(DATABASE).create_container(properties).await.unwrap();
}

#[tokio::test]
async fn a_container_whose_documents_expire_is_refused() {
    let home = Server::shared(Account::OneRegion).home();
    let expiring = ContainerProperties::new(&*home.container, "/instanceId")
        .with_default_ttl(TimeToLive::seconds(3600).unwrap());
    make(&home, expiring).await;
    assert_eq!(refused(home.config()).await, [FindingKind::TimeToLive]);
}

#[tokio::test]
async fn an_account_that_writes_in_several_regions_is_refused_and_nothing_is_made_there() {
    let emulator = multi_write().await;
    assert_eq!(refused(config(&emulator)).await, [FindingKind::WriteRegions]);
    let key = Credential::master_key(emulator.key()).unwrap();
    let client = CosmosClient::new(emulator.url(), key).unwrap();
    assert!(client.database("duroxide").read().await.unwrap_err().is_not_found());
    let elsewhere = CosmosProviderConfig { write_region: Some("Mars".into()), ..config(&emulator) };
    assert_eq!(refused(elsewhere).await, [FindingKind::WriteRegions]);
}

#[tokio::test]
async fn an_account_that_writes_in_several_regions_is_used_through_one() {
    let emulator = multi_write().await;
    let bound = CosmosProviderConfig { write_region: Some("West US".into()), ..config(&emulator) };
    let provider = CosmosProvider::connect(bound).await.unwrap();
    // The others could not answer, and are not asked.
    for region in ["East US", "North Europe"] {
        emulator.control().take_down(region, Outage::Refuse).await.unwrap();
    }
    send(&provider, start("a")).await;
    let (item, token) = fetch(&provider).await;
    assert_eq!(item.instance, "a");
    Turn::first("a").ack(&provider, &token).await.unwrap();
}

#[tokio::test]
async fn a_client_that_asks_another_region_is_refused() {
    let emulator = multi_write().await;
    let client = |excluded: &[&str]| {
        let excluded_regions = Some(excluded.iter().map(|name| (*name).into()).collect());
        let request = RequestOptions { excluded_regions, ..RequestOptions::default() };
        let options = CosmosClientOptions { request, ..CosmosClientOptions::default() };
        let key = Credential::master_key(emulator.key()).unwrap();
        CosmosClient::builder().endpoint(emulator.url()).credential(key).options(options).build().unwrap()
    };
    let bound = |client| CosmosProviderConfig {
        write_region: Some("West US".into()),
        ..CosmosProviderConfig::with_client(client)
    };
    let error = CosmosProvider::connect(bound(client(&[]))).await.unwrap_err().to_string();
    assert!(error.contains("asks East US") && error.contains("excluded_regions"), "{error}");
    CosmosProvider::connect(bound(client(&["East US", "North Europe"]))).await.unwrap();
}

#[tokio::test]
async fn an_account_that_may_not_show_what_was_written_is_refused() {
    for (consistency, is_refused) in [
        (Consistency::Eventual, true),
        (Consistency::ConsistentPrefix, true),
        (
            Consistency::BoundedStaleness {
                max_prefix: 100_000,
                max_interval: std::time::Duration::from_secs(300),
            },
            false,
        ),
        (Consistency::Strong, false),
    ] {
        let builder: EmulatorBuilder = Emulator::builder().regions(REGIONS).consistency(consistency);
        let emulator = builder.start().await.unwrap();
        match is_refused {
            true => assert_eq!(refused(config(&emulator)).await, [FindingKind::Consistency]),
            false => drop(CosmosProvider::connect(config(&emulator)).await.unwrap()),
        }
    }
}

#[tokio::test]
async fn a_diagnosis_says_what_is_wrong_and_what_is_there_and_changes_nothing() {
    let home = Server::shared(Account::OneRegion).home();
    make(&home, ContainerProperties::new(&*home.container, "/instanceId")).await;
    let found = diagnose(&home.config()).await.unwrap();
    let kinds: Vec<_> = found.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::TimeToLive, FindingKind::Indexing, FindingKind::Throughput], "{found:?}");
    assert!(found.has_errors() && found.documents.is_empty());
    assert!(home.documents().read().await.unwrap().value().default_ttl.is_none());

    let provider = home.provider().await;
    send(&provider, start("a")).await;
    let found = diagnose(&home.config()).await.unwrap();
    assert!(!found.has_errors(), "{found:?}");
    assert_eq!(found.documents.get("message"), Some(&1));
    assert_eq!((found.consistency, found.write_regions.len()), ("Session", 1));
}
