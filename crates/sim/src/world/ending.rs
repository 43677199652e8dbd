//! What is left of a world when everything has come to rest.

use std::sync::PoisonError;

use cosmonaut::options::CosmosClientOptions;

use super::{Ended, World};
use crate::history::{FeedKind, Key, Operation, RegionEnd};
use crate::items::{Item, id_of, partition_of};

impl World {
    /// Reads every item in every region.
    pub(super) async fn read_all(&self) {
        let mut keys: Vec<Key> = Vec::new();
        for partition in 0..self.0.plan.partitions {
            keys.extend((0..self.0.plan.items).map(|item| Key { partition, item }));
        }
        let regions: Vec<_> = self.control().regions().into_iter().map(|region| region.name).collect();
        for (nth, region) in regions.iter().enumerate() {
            let process = self.process(220 + nth as u32, 0);
            let mut options = CosmosClientOptions::default();
            options.regions.preferred_regions = Some(vec![region.clone()]);
            let container = self.client(&process, options).database("d").container("c");
            let mut items = Vec::new();
            for key in &keys {
                let read = container.read_item::<Item>(partition_of(*key), &id_of(*key)).await;
                match read {
                    Ok(read) => items.push((*key, Some(read.into_value().trail))),
                    Err(error) if error.is_not_found() => items.push((*key, None)),
                    Err(error) => panic!("{key} cannot be read in {} at the end: {error}", region.as_str()),
                }
            }
            self.0.recorder.lock().ends.push(RegionEnd { region: region.as_str().to_owned(), items });
        }
    }

    pub(super) fn end(self) -> Ended {
        let history = self.0.recorder.lock().clone();
        let mut coverage = std::mem::take(&mut *self.lock_coverage());
        for call in &history.calls {
            *coverage.entry(name_of(&call.operation).to_owned()).or_default() += 1;
        }
        for feed in &history.feeds {
            let what = match feed.kind {
                FeedKind::Latest => "changes read",
                FeedKind::AllVersions => "versions read",
                FeedKind::Processor => "changes processed",
            };
            *coverage.entry(what.to_owned()).or_default() += feed.changes.len() as u64;
        }
        if self.0.recorder.hedged() > 0 {
            coverage.insert("hedged".to_owned(), self.0.recorder.hedged());
        }
        let ended = history.orchestrations.iter().filter(|one| one.ended.is_some()).count();
        for (what, times) in [("orchestrations ended", ended), ("activities run", history.ledger.len())] {
            if times > 0 {
                *coverage.entry(what.to_owned()).or_default() += times as u64;
            }
        }
        let trace = std::mem::take(&mut *self.0.trace.lock().unwrap_or_else(PoisonError::into_inner));
        Ended { history, coverage, trace }
    }
}

fn name_of(operation: &Operation) -> &'static str {
    match operation {
        Operation::Read(_) => "read",
        Operation::ReadMany(_) => "read_many",
        Operation::Write(_) => "write",
        Operation::Batch(_) => "batch",
        Operation::Query { .. } => "query",
    }
}
