//! That concurrent changes lose nothing.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cosmonaut_policy::{
    Access, AccountConfig, CosmosEndpoint, FailoverMechanism, LocationEffect, Moment,
    PartitionFailoverConfig, PartitionId, UnavailablePartition,
};
use cosmonaut_wire::model::{AccountLocation, AccountProperties};
use cosmonaut_wire::{ConsistencyLevel, ResourceId};

use super::LocationStateStore;

const THREADS: usize = 4;

fn store() -> LocationStateStore {
    let location = |name: &str| AccountLocation::new(name, format!("http://{name}.test"));
    let regions = vec![location("east"), location("west"), location("north")];
    let mut properties = AccountProperties::new("a", ConsistencyLevel::Session, regions.clone(), regions);
    properties.enable_multiple_write_locations = Some(true);
    let endpoint = CosmosEndpoint::global("http://global.test").unwrap();
    let store =
        LocationStateStore::new(endpoint, AccountConfig::default(), PartitionFailoverConfig::default());
    store.set_account(&properties, Moment::START).unwrap();
    store
}

fn failure(partition: &PartitionId) -> LocationEffect {
    let endpoint = CosmosEndpoint::regional("east", "http://east.test").unwrap();
    let partition = partition.clone();
    LocationEffect::MarkPartitionUnavailable(UnavailablePartition {
        partition,
        endpoint,
        access: Access::Read,
    })
}

fn partition(number: usize) -> PartitionId {
    PartitionId::new(ResourceId::container(1, 1), number.to_string().as_str())
}

#[test]
fn failures_that_are_counted_at_once_are_all_counted() {
    const EACH: usize = 250;
    let (store, shared, start) = (store(), partition(0), Barrier::new(THREADS));
    std::thread::scope(|scope| {
        for thread in 1..=THREADS {
            let (store, shared, start) = (&store, &shared, &start);
            scope.spawn(move || {
                start.wait();
                for _ in 0..EACH {
                    // One partition that all fight over, and one of each thread's own.
                    store.apply(&failure(shared), Moment::START);
                    store.apply(&failure(&partition(thread)), Moment::START);
                }
            });
        }
    });
    let location = store.load().unwrap();
    let count = |partition: &PartitionId| {
        location.partitions.entry(FailoverMechanism::CircuitBreaker, partition).unwrap().read_failure_count
            as usize
    };
    assert_eq!(count(&shared), THREADS * EACH);
    for thread in 1..=THREADS {
        assert_eq!(count(&partition(thread)), EACH);
    }
}

#[test]
fn of_many_who_would_probe_one_does() {
    for round in 0..50 {
        let (store, start, probes) = (store(), Barrier::new(THREADS), AtomicUsize::new(0));
        let partition = partition(round);
        for _ in 0..3 {
            store.apply(&failure(&partition), Moment::START);
        }
        let later = Moment::START + Duration::from_secs(60);
        store.sweep(later);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    start.wait();
                    if store.begin_probe(FailoverMechanism::CircuitBreaker, &partition, later).is_some() {
                        probes.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(probes.into_inner(), 1, "round {round}");
    }
}
