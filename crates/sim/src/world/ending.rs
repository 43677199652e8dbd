//! What is left of a world when everything has come to rest.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use cosmonaut::RegionName;
use cosmonaut::options::CosmosClientOptions;

use super::{Ended, Trouble, World};
use crate::history::{FeedKind, History, Key, Micros, Operation, Outcome, Refusal, RegionEnd};
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
                let (trail, by) = match read {
                    Ok(read) => {
                        let by = read.region().cloned();
                        (Some(read.into_value().trail), by)
                    }
                    Err(error) if error.is_not_found() => (None, region_of(&error)),
                    Err(error) => panic!("{key} cannot be read in {} at the end: {error}", region.as_str()),
                };
                // Another region would hide what this one holds, and that it does not answer.
                assert_eq!(by.as_ref(), Some(region), "who answers about {key} at the end");
                items.push((*key, trail));
            }
            self.0.recorder.lock().ends.push(RegionEnd { region: region.as_str().to_owned(), items });
        }
    }

    pub(super) fn end(self) -> Ended {
        let history = self.0.recorder.lock().clone();
        let mut coverage = std::mem::take(&mut *self.lock_coverage());
        for call in &history.calls {
            *coverage.entry(name_of(&call.operation).to_owned()).or_default() += 1;
            if call.outcome == Outcome::Refused(Refusal::Other(401)) {
                *coverage.entry("refused with 401".to_owned()).or_default() += 1;
            }
        }
        for feed in &history.feeds {
            let what = match feed.kind {
                FeedKind::Latest => "changes read",
                FeedKind::AllVersions => "versions read",
                FeedKind::Processor => "changes processed",
            };
            *coverage.entry(what.to_owned()).or_default() += feed.changes.len() as u64;
        }
        let requests = self.control().requests() + self.0.gone_requests.load(Ordering::Relaxed);
        coverage.insert("requests".to_owned(), requests);
        let met = self.faults_met(&history);
        if met > 0 {
            coverage.insert("faults met".to_owned(), met);
        }
        if self.0.recorder.hedged() > 0 {
            coverage.insert("hedged".to_owned(), self.0.recorder.hedged());
        }
        let ended = history.orchestrations.iter().filter(|one| one.ended.is_some()).count();
        let counts = [
            ("orchestrations ended", ended),
            ("activities run", history.ledger.len()),
            ("activities kept", history.kept.len()),
        ];
        for (what, times) in counts {
            if times > 0 {
                *coverage.entry(what.to_owned()).or_default() += times as u64;
            }
        }
        let trace = std::mem::take(&mut *self.0.trace.lock().unwrap_or_else(PoisonError::into_inner));
        Ended { history, coverage, trace }
    }

    /// How many faults there were while something was under way.
    fn faults_met(&self, history: &History) -> u64 {
        let calls = history.calls.iter().map(|call| (call.invoked, call.returned.unwrap_or(Micros::MAX)));
        let orchestrations = history.orchestrations.iter();
        let orchestrations = orchestrations
            .map(|one| (one.invoked, one.ended.as_ref().map_or(Micros::MAX, |(ended, _)| *ended)));
        let busy: Vec<(Micros, Micros)> = calls.chain(orchestrations).collect();
        let troubles = self.0.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        let is_met = |trouble: &&Trouble| {
            let meets = |(invoked, returned): &(Micros, Micros)| {
                *invoked <= trouble.until && trouble.since <= *returned
            };
            trouble.is_done && busy.iter().any(meets)
        };
        troubles.iter().filter(is_met).count() as u64
    }
}

/// The region that refused.
fn region_of(error: &cosmonaut::Error) -> Option<RegionName> {
    error.diagnostics()?.attempts().last()?.endpoint.region().cloned()
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
