//! Conflicts between regions that an application decides.

use cosmonaut::model::ConflictResolutionPolicy;
use cosmonaut::options::{ConnectionOptions, CosmosClientOptions, FeedOptions, HttpProtocol, RegionOptions};
use cosmonaut::{Conflict, ContainerClient, ContainerProperties, CosmosClient, ErrorKind};
use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use crate::harness::{PROTOCOLS, client_of};

const REGIONS: [&str; 2] = ["East US", "West US"];

fn client(emulator: &Emulator, region: &str, protocol: HttpProtocol) -> CosmosClient {
    let regions = RegionOptions { preferred_regions: Some(vec![region.into()]), ..Default::default() };
    let connection = ConnectionOptions { http_protocol: Some(protocol), ..Default::default() };
    let options = CosmosClientOptions { connection, regions, ..Default::default() };
    client_of(emulator, options)
}

#[tokio::test]
async fn what_has_lost_is_listed_read_and_removed() {
    for protocol in PROTOCOLS {
        let emulator = Emulator::builder().regions(REGIONS).multi_write(true).start().await.unwrap();
        let [east, west] = REGIONS.map(|region| client(&emulator, region, protocol));
        east.create_database("d").await.unwrap();
        let properties = ContainerProperties::new("c", "/pk")
            .with_conflict_resolution_policy(ConflictResolutionPolicy::custom(None));
        east.database("d").create_container(properties).await.unwrap();
        let [east, west] = [east, west].map(|client| client.database("d").container("c"));

        emulator.control().pause(None, None).unwrap();
        for id in ["1", "2", "3"] {
            for (container, region) in [(&east, "east"), (&west, "west")] {
                container.create_item("a", json!({"id": id, "pk": "a", "from": region})).await.unwrap();
            }
        }
        assert!(list(&east).await.is_empty());
        emulator.control().resume(None, None).unwrap();

        let options = FeedOptions { max_item_count: Some(2), ..Default::default() };
        let pages = east.list_conflicts().options(options).into_pages().next().await.unwrap().unwrap();
        assert_eq!((pages.items.len(), pages.continuation.is_some()), (2, true));
        let mut ids = Vec::new();
        for conflict in list(&east).await {
            let lost: Value = conflict.item().unwrap().unwrap();
            let id = lost["id"].as_str().unwrap();
            let kept: Value = east.read_item("a", id).await.unwrap().into_value();
            assert_ne!(kept["from"], lost["from"]);
            assert_eq!((conflict.operation(), conflict.item_rid().is_some()), ("create", true));
            assert!(conflict.timestamp() > 0);
            west.delete_conflict("a", conflict.id()).await.unwrap();
            let again = west.delete_conflict("a", conflict.id()).await.unwrap_err();
            assert_eq!(again.kind(), ErrorKind::NotFound, "{again}");
            ids.push(id.to_owned());
        }
        ids.sort();
        assert_eq!(ids, ["1", "2", "3"]);
        assert!(list(&west).await.is_empty());
        assert_eq!(west.delete_conflict("a", "").await.unwrap_err().kind(), ErrorKind::BadRequest);
    }
}

async fn list(container: &ContainerClient) -> Vec<Conflict> {
    let listed = container.list_conflicts().collect().await.unwrap();
    let queried = container.query_conflicts("SELECT * FROM c").collect().await.unwrap();
    assert_eq!(listed, queried);
    listed
}
