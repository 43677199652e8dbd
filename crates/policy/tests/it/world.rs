//! An account of three regions and an item to read.

use cosmonaut_policy::{
    AccountConfig, CosmosEndpoint, CosmosOperation, LocationSnapshot, OperationType, PartitionFailoverConfig,
    PartitionId, build_account_endpoint_state,
};
use cosmonaut_wire::model::{AccountLocation, AccountProperties};
use cosmonaut_wire::{ConsistencyLevel, PartitionKey, ResourceId, ResourcePath};

/// The regions, the first of which takes writes.
pub(crate) const REGIONS: [&str; 3] = ["East US", "West US", "North Europe"];

pub(crate) fn url(region: &str) -> String {
    format!("https://shop-{}.documents.azure.com:443/", region.replace(' ', "").to_lowercase())
}

pub(crate) fn endpoint(region: &str) -> CosmosEndpoint {
    CosmosEndpoint::regional(region, &url(region)).expect("an endpoint")
}

pub(crate) fn location() -> LocationSnapshot {
    let locations: Vec<_> = REGIONS.iter().map(|region| AccountLocation::new(*region, url(region))).collect();
    let writable = locations[..1].to_vec();
    let properties = AccountProperties::new("shop", ConsistencyLevel::Session, writable, locations);
    let own = CosmosEndpoint::global("https://shop.documents.azure.com").expect("an endpoint");
    let account = build_account_endpoint_state(&properties, &AccountConfig::default(), own);
    LocationSnapshot::new(account.expect("endpoints"), PartitionFailoverConfig::default())
}

pub(crate) fn read() -> CosmosOperation {
    let path = ResourcePath::parse("/dbs/shop/colls/orders/docs/7").expect("a path");
    CosmosOperation::new(OperationType::Read, path).with_target(PartitionKey::from("contoso"))
}

pub(crate) fn partition() -> PartitionId {
    PartitionId::new(ResourceId::container(1, 1), "0")
}
