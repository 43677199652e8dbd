//! What the tests of several modules share: accounts of numbered regions, operations, moments.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_wire::model::{AccountLocation, AccountProperties};
use cosmonaut_wire::{ConsistencyLevel, ResourceId, ResourcePath};

use crate::{
    AccountConfig, AccountEndpointState, CosmosEndpoint, CosmosOperation, LocationSnapshot, Moment,
    OperationType, PartitionEndpointState, PartitionFailoverConfig, PartitionId,
    build_account_endpoint_state,
};

pub(crate) fn at(seconds: u64) -> Moment {
    Moment::START + Duration::from_secs(seconds)
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn region(index: usize) -> String {
    format!("region{index}")
}

pub(crate) fn endpoint(index: usize) -> CosmosEndpoint {
    let name = region(index);
    CosmosEndpoint::regional(name.as_str(), &format!("https://{name}.example")).unwrap()
}

pub(crate) fn global() -> CosmosEndpoint {
    CosmosEndpoint::global("https://account.example").unwrap()
}

/// An account of `regions` regions; only the first takes writes unless all do.
pub(crate) fn properties(regions: usize, multi_write: bool) -> AccountProperties {
    let all: Vec<_> = (0..regions)
        .map(|index| AccountLocation::new(region(index), format!("https://{}.example", region(index))))
        .collect();
    let writable = if multi_write { all.clone() } else { all.iter().take(1).cloned().collect() };
    let mut properties = AccountProperties::new("account", ConsistencyLevel::Session, writable, all);
    properties.enable_multiple_write_locations = Some(multi_write);
    properties
}

pub(crate) fn account(regions: usize, multi_write: bool) -> AccountEndpointState {
    let properties = properties(regions, multi_write);
    build_account_endpoint_state(&properties, &AccountConfig::default(), global()).unwrap()
}

/// Both mechanisms on.
pub(crate) fn partitions() -> PartitionEndpointState {
    PartitionEndpointState::new(PartitionFailoverConfig::default()).with_account_flag(true)
}

pub(crate) fn snapshot(regions: usize, multi_write: bool) -> LocationSnapshot {
    LocationSnapshot { account: Arc::new(account(regions, multi_write)), partitions: Arc::new(partitions()) }
}

pub(crate) fn operation(kind: OperationType) -> CosmosOperation {
    CosmosOperation::new(kind, ResourcePath::parse("/dbs/d/colls/c/docs/1").unwrap())
}

pub(crate) fn partition(range: &str) -> PartitionId {
    PartitionId::new(ResourceId::container(1, 1), range)
}
