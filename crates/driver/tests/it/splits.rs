//! A partition that splits under the driver.

use cosmonaut_wire::{PartitionKeyRangeId, ResourcePath};

use crate::harness::{Bench, Wire};

#[tokio::test]
async fn operations_go_on_when_a_partition_splits() {
    let bench = Bench::with_container(Wire::CLEAR_HTTP2).await;
    let path = ResourcePath::parse("/dbs/d/colls/c").unwrap();
    let keys: Vec<String> = (0..20).map(|number| format!("key {number}")).collect();
    for key in &keys {
        bench.create_item("1", key).await;
    }
    assert_eq!(bench.driver.partitions(&path, false).await.unwrap().len(), 1);
    let container = bench.emulator.engine().container(&path).unwrap();
    drop(container.split(&PartitionKeyRangeId::from("0")).unwrap());

    for key in &keys {
        let found = bench.read_item("1", key).await.unwrap();
        assert!(found.status().is_success());
        bench.create_item("2", key).await;
        bench.read_item("2", key).await.unwrap();
    }
    let partitions = bench.driver.partitions(&path, false).await.unwrap();
    assert_eq!(partitions.len(), 2, "the driver noticed by itself");
    assert!(partitions.iter().all(|partition| partition.parents == [PartitionKeyRangeId::from("0")]));
}
