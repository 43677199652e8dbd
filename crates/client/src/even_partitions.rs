//! Partitions for tests of what is decided by them.

use cosmonaut_driver::{PartitionId, PartitionInfo};
use cosmonaut_wire::{EffectivePartitionKey, EpkRange};

/// Partitions that share the ring evenly, whose ids begin with `prefix`.
pub(crate) fn partitions(count: u8, prefix: &str) -> Vec<PartitionInfo> {
    let container = "1FAbAPmd4Rw=".parse().expect("a container's resource id");
    let bound = |number: u8| match number {
        0 => EffectivePartitionKey::MIN,
        number if number == count => EffectivePartitionKey::MAX,
        number => EffectivePartitionKey::from_bytes(&[number * (0x40 / count)]),
    };
    let partition = |number: u8| PartitionInfo {
        id: PartitionId::new(container, format!("{prefix}{number}").as_str()),
        range: EpkRange { min: bound(number), max: bound(number + 1) },
        parents: Vec::new(),
    };
    (0..count).map(partition).collect()
}
