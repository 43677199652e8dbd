//! Moving the writes of an account, or of one partition, to another region.
//!
//! How a partition's replicas go about it is the container's.

use std::sync::Arc;

use cosmonaut_wire::PartitionKeyRangeId;

use crate::Failure;
use crate::engine::topology::Consistency;
use crate::engine::{Container, Engine, PartitionRange, RegionId, locks};

/// What is done about commits that the new write region does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failover {
    /// It waits for them. Refused if they cannot come.
    Graceful,
    /// It goes on without them, and they are lost.
    Forced,
}

/// What moving writes came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Moved {
    /// How many commits exist nowhere any more. Those of a region that was away for long count for both halves of a
    /// partition that was split meanwhile.
    pub lost: u64,
}

impl Engine {
    /// Moves the writes of all partitions to a region, which becomes the first in the order of failover. Where every
    /// region takes writes, only the order changes.
    pub fn move_writes(&self, to: RegionId, how: Failover) -> Result<Moved, Failure> {
        let _change = self.account.change();
        let topology = self.account.topology();
        topology.check(to)?;
        if topology.multi_write {
            self.account.set_topology(topology.led_by(to));
            return Ok(Moved::default());
        }
        // No container comes or goes meanwhile.
        let catalog = locks::read(&self.catalog);
        let containers: Vec<_> = catalog.containers().collect();
        for container in &containers {
            for range in container.layout().ranges() {
                self.check_move(range, to, how)?;
            }
        }
        if how == Failover::Forced {
            self.account.network.give_up_isolated();
        }
        // Told first: whoever is refused at the old region finds the new one when it asks.
        self.account.set_topology(topology.led_by(to));
        let mut moved = Moved::default();
        for container in containers {
            moved.lost += container.move_all(to, how)?;
        }
        self.account.network.wake();
        Ok(moved)
    }

    /// Moves the writes of one partition to a region; the account's write region stays. 400 unless the account allows
    /// it.
    pub fn move_partition(
        &self,
        container: &Container,
        range: &PartitionKeyRangeId,
        to: RegionId,
        how: Failover,
    ) -> Result<Moved, Failure> {
        let _change = self.account.change();
        let topology = self.account.topology();
        topology.check(to)?;
        if topology.multi_write || !topology.partition_failover {
            let why = if topology.multi_write {
                "every region takes its writes"
            } else {
                "the account does not allow it"
            };
            return Err(Failure::bad_request(format!(
                "the writes of partition {range} cannot move by themselves: {why} (start the account with one write \
                 region and partition failover)"
            )));
        }
        let layout = container.layout();
        let partition = layout.range(range)?;
        self.check_move(partition, to, how)?;
        if how == Failover::Forced {
            partition.group().give_up_isolated();
        }
        let lost = container.move_one(range, to, how)?;
        self.account.network.wake();
        Ok(Moved { lost })
    }

    /// 400 if the writes of a partition cannot move there.
    fn check_move(&self, range: &PartitionRange, to: RegionId, how: Failover) -> Result<(), Failure> {
        let lineage = range.group().lineage();
        let Some(from) = lineage.writer.filter(|from| *from != to) else { return Ok(()) };
        let (topology, links) = (self.account.topology(), self.account.network.links());
        let (old, new) = (topology.called(from), topology.called(to));
        let refuse = |why: String| Err(Failure::bad_request(why));
        if links.is_isolated(to) {
            return refuse(format!("writes cannot move to {new}, which is cut off (bring it back first)"));
        }
        if how == Failover::Forced {
            let lacks = range.committed_by_most() - range.replica(to).applied();
            if topology.consistency == Consistency::Strong && lacks > 0 {
                return refuse(format!(
                    "writes cannot move to {new}, which lacks {lacks} acknowledged commits of partition {}: a Strong \
                     account loses none (choose a region that has them, or bring one back)",
                    range.id
                ));
            }
            return Ok(());
        }
        let missing = range.group().queues().len_between(from, to);
        if links.is_isolated(from) || missing > 0 && !links.is_open(from, to) {
            let why = match missing {
                0 => format!("{old} is cut off and hands nothing over"),
                1 => "1 commit cannot be delivered".to_owned(),
                missing => format!("{missing} commits cannot be delivered"),
            };
            return refuse(format!(
                "{new} cannot catch up with {old} in partition {}: {why} (resume the link or bring the region back; or \
                 force it, and what has not arrived is lost)",
                range.id
            ));
        }
        Ok(())
    }
}

impl Container {
    /// Moves the writes of all partitions; says how many commits are lost.
    fn move_all(&self, to: RegionId, how: Failover) -> Result<u64, Failure> {
        let _admin = self.administer();
        let layout = self.layout();
        layout.ranges().iter().try_fold(0, |lost, range| Ok(lost + self.move_range(range, to, how)?))
    }

    fn move_one(&self, id: &PartitionKeyRangeId, to: RegionId, how: Failover) -> Result<u64, Failure> {
        let _admin = self.administer();
        self.check_not_deleted()?;
        let range = Arc::clone(self.layout().range(id)?);
        self.move_range(&range, to, how)
    }

    fn move_range(&self, range: &PartitionRange, to: RegionId, how: Failover) -> Result<u64, Failure> {
        match how {
            Failover::Graceful => {
                self.hand_over(range, to);
                Ok(0)
            }
            Failover::Forced => self.take_over(range, to),
        }
    }
}
