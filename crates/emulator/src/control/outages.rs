//! Regions that are down, slow or closed to writes, and partitions that fail in one region.

use cosmonaut_wire::CosmosStatus;

use super::Control;
use super::site::{forbids_writes, slows_down};
use crate::Failure;
use crate::faults::{Delay, Effect, Fault, FaultId, Operations, Outage};

impl Control {
    /// Takes a region down: nothing gets through to it, and nothing is replicated to or from it. A region that is down
    /// already is down in this way from now on.
    pub async fn take_down(&self, region: &str, outage: Outage) -> Result<FaultId, Failure> {
        let _changing = self.change.lock().await;
        let before = self.region(region)?;
        let id = self.put(Fault::new(outage.effect()).in_region(region))?;
        // Only now, so that the region does not come back in between.
        self.faults.remove(|active| {
            active.id != id && active.region == Some(before) && active.fault.outage().is_some()
        });
        self.settle().await?;
        Ok(id)
    }

    /// Brings a region back that is down or slow. It catches up with the others from where it was.
    pub async fn bring_back(&self, region: &str) -> Result<(), Failure> {
        let _changing = self.change.lock().await;
        let id = self.region(region)?;
        self.faults.remove(|active| {
            active.region == Some(id) && (active.fault.outage().is_some() || slows_down(active, id))
        });
        self.settle().await?;
        let still = self.faults.all();
        match still.iter().find(|active| active.is_in(id) && active.fault.outage().is_some()) {
            Some(active) => Err(Failure::conflict(format!(
                "{region} is still down by fault {}, which is for every region (lift that fault)",
                active.id
            ))),
            None => Ok(()),
        }
    }

    /// Makes all answers of a region late, by so much from now on.
    pub async fn slow_down(&self, region: &str, delay: Delay) -> Result<FaultId, Failure> {
        let _changing = self.change.lock().await;
        let of = self.region(region)?;
        self.faults.remove(|active| active.region == Some(of) && slows_down(active, of));
        self.put(Fault::new(Effect::Slow(delay)).in_region(region))
    }

    /// Refuses writes in a region with 403/3, as a region does that does not take them.
    pub async fn forbid_writes(&self, region: &str) -> Result<FaultId, Failure> {
        let _changing = self.change.lock().await;
        let id = self.region(region)?;
        self.faults.remove(|active| active.region == Some(id) && forbids_writes(active, id));
        let effect = Effect::status(CosmosStatus::WRITE_FORBIDDEN);
        self.put(Fault::new(effect).in_region(region).on(Operations::Write))
    }

    /// Takes back [`Control::forbid_writes`].
    pub async fn allow_writes(&self, region: &str) -> Result<(), Failure> {
        let _changing = self.change.lock().await;
        let id = self.region(region)?;
        self.faults.remove(|active| active.region == Some(id) && forbids_writes(active, id));
        Ok(())
    }

    /// Does something to all that is asked of one partition in one region. Replication goes on.
    pub async fn fail_partition(
        &self,
        container: &str,
        partition: &str,
        region: &str,
        effect: Effect,
    ) -> Result<FaultId, Failure> {
        let fault = Fault::new(effect).in_region(region).in_container(container).in_partition(partition);
        self.add_fault(fault).await
    }

    /// Makes all answers of one partition in one region late.
    pub async fn slow_partition(
        &self,
        container: &str,
        partition: &str,
        region: &str,
        delay: Delay,
    ) -> Result<FaultId, Failure> {
        self.fail_partition(container, partition, region, Effect::Slow(delay)).await
    }
}
