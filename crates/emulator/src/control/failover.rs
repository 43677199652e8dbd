//! Moving the writes of the account, or of one partition, to another region.

use cosmonaut_wire::PartitionKeyRangeId;

use super::Control;
use super::partitions::partition_of;
use crate::Failure;
use crate::engine::{Failover, Moved};

impl Control {
    /// Moves the account's writes to a region, which becomes the first in priority.
    ///
    /// Gracefully, nothing is lost, and it fails if the region cannot catch up; forced, what the region does not have is
    /// lost, and the answer says how many commits that was.
    pub fn move_writes(&self, region: &str, how: Failover) -> Result<Moved, Failure> {
        self.engine.move_writes(self.region(region)?, how)
    }

    /// Moves the writes of one partition to a region, on accounts whose partitions fail over on their own.
    pub fn move_partition(
        &self,
        container: &str,
        partition: &str,
        region: &str,
        how: Failover,
    ) -> Result<Moved, Failure> {
        let region = self.region(region)?;
        let container = self.container(container)?;
        let range = partition_of(&container, &PartitionKeyRangeId::from(partition))?;
        self.engine.move_partition(&container, &range.id, region, how)
    }
}
