//! Adding and lifting faults, and what follows from them for ports and replication.

use std::sync::atomic::Ordering;

use cosmonaut_wire::PartitionKeyRangeId;

use super::partitions::{container_path, partition_of};
use super::{Control, no_port};
use crate::Failure;
use crate::engine::locks;
use crate::faults::{ActiveFault, Effect, Fault, FaultId, Keys, Outage};

impl Control {
    /// Makes something go wrong, from now on. A region, container or partition that does not exist is refused.
    pub async fn add_fault(&self, fault: Fault) -> Result<FaultId, Failure> {
        let _changing = self.change.lock().await;
        let id = self.put(fault)?;
        self.settle().await?;
        Ok(id)
    }

    /// Lifts a fault; 404 if there is none of that id.
    pub async fn remove_fault(&self, id: FaultId) -> Result<(), Failure> {
        let _changing = self.change.lock().await;
        if self.faults.remove(|active| active.id == id) == 0 {
            return Err(Failure::not_found(format!("there is no fault {id} (list those that there are)")));
        }
        self.settle().await
    }

    /// Lifts every fault and resumes every link. Lags stay as they are.
    pub async fn clear(&self) -> Result<(), Failure> {
        let _changing = self.change.lock().await;
        self.faults.remove(|_| true);
        self.resume(None, None)?;
        self.settle().await
    }

    /// The faults in force, oldest first.
    pub fn faults(&self) -> Vec<ActiveFault> {
        self.faults.all().iter().map(|active| active.describe()).collect()
    }

    /// Adds a fault without consequences yet. To be called with `change` held.
    pub(super) fn put(&self, mut fault: Fault) -> Result<FaultId, Failure> {
        check(&fault)?;
        let region = fault.region.as_ref().map(|name| self.region(name.as_str())).transpose()?;
        if let Some(name) = region.and_then(|region| self.engine.topology().name(region).cloned()) {
            // Listed as the account spells it, however it was typed.
            fault.region = Some(name);
        }
        let keys = match &fault.container {
            Some(link) => Some(self.keys(link, fault.partition.as_ref())?),
            None => None,
        };
        Ok(self.faults.add(fault, region, keys))
    }

    fn keys(&self, link: &str, partition: Option<&PartitionKeyRangeId>) -> Result<Keys, Failure> {
        let container = self.container(link)?;
        let part = partition.map(|id| partition_of(&container, id).map(|range| range.range.clone()));
        Ok(Keys { container: container_path(link)?, part: part.transpose()? })
    }

    /// Shuts and opens ports, and cuts regions off from replication and lets them join again, as the faults in force
    /// have it. To be called with `change` held.
    pub(super) async fn settle(&self) -> Result<(), Failure> {
        let sites = locks::read(&self.sites).clone();
        // Replication first, for all of them: whoever asked may stop waiting while ports are closed.
        for site in &sites {
            let is_down = self.faults.outage_of(site.region).is_some();
            if site.isolated.swap(is_down, Ordering::Relaxed) != is_down {
                self.engine.isolate(site.region, is_down);
            }
        }
        let mut settled = Ok(());
        for site in &sites {
            match self.faults.outage_of(site.region) {
                Some(Outage::Refuse) => site.shut().await,
                // One port that cannot be had again must not keep the others shut.
                Some(Outage::Hang | Outage::Unavailable) | None => {
                    settled = settled.and(site.reopen().await.map_err(no_port));
                }
            }
        }
        settled
    }
}

/// What no fault can be, whatever the account looks like.
fn check(fault: &Fault) -> Result<(), Failure> {
    let wrong = |message: String| Err(Failure::bad_request(message));
    if fault.partition.is_some() && fault.container.is_none() {
        return wrong("a fault of one partition needs its container too (\"database/container\")".to_owned());
    }
    if !(fault.probability > 0.0 && fault.probability <= 1.0) {
        return wrong(format!("the probability {} is not above 0 and at most 1", fault.probability));
    }
    if fault.count == Some(0) {
        return wrong(
            "a fault that strikes 0 requests does nothing (leave the count out for all)".to_owned(),
        );
    }
    match fault.effect {
        Effect::Refuse if !fault.is_total() => wrong(
            "connections are refused by a whole region, all the time: no container, kind of operations, probability or \
             count (to fail some requests, try a status or a dropped response)"
                .to_owned(),
        ),
        Effect::Status { status, .. } if !(400..=599).contains(&status.code().as_u16()) => {
            wrong(format!("{} is no status of a failure (try one from 400 to 599)", status.code().as_u16()))
        }
        Effect::Refuse
        | Effect::Hang
        | Effect::Status { .. }
        | Effect::Slow(_)
        | Effect::DropResponse
        | Effect::Duplicate
        | Effect::Throttle { .. } => Ok(()),
    }
}
