//! How reads are served, item by item and page by page.

use std::collections::BTreeMap;

use cosmonaut_sim::history::{
    CallId, Key, Level, Micros, Operation, Outcome, Page, Refusal, Trail, WriteKind,
};

use super::{Callers, PAGE, PARTITIONS, REGIONS, Step, writes};
use crate::store::{Context, Failover, Mutation};

impl Callers {
    /// Plans a read; gives when the caller goes on.
    pub(super) fn look(&mut self, now: Micros, call: usize) -> Micros {
        let region = self.region_to_read();
        let at = now + self.random.between(1, 30);
        self.plan_step(at, Step::Serve { call, region });
        at + 60
    }

    fn region_to_read(&mut self) -> usize {
        let regions = if self.plan.level == Level::Strong { 2 } else { 3 };
        usize::try_from(self.random.below(regions)).unwrap()
    }

    pub(super) fn serve(&mut self, now: Micros, call: usize, region: usize) {
        let operation = self.flights[call].call.operation.clone();
        let partitions: Vec<u32> = match &operation {
            Operation::Read(key) => vec![key.partition],
            Operation::Query { partition: Some(partition), .. } => vec![*partition],
            _ => (0..PARTITIONS).collect(),
        };
        let mut items = BTreeMap::new();
        for partition in partitions {
            let token = self.flights[call].token.get(&partition).cloned();
            let mut found = None;
            for region in [region, (region + 1) % 3, (region + 2) % 3] {
                if found.is_none() {
                    let context = Context { now, region, token: token.as_ref() };
                    found = self.store.snapshot(&context, partition, &mut self.random);
                    self.flights[call].call.region = Some(REGIONS[region].to_owned());
                }
            }
            if found.is_none()
                && self.healed
                && self.plan.failover != Failover::Forced
                && self.plan.mutation != Some(Mutation::SessionRefusalForEver)
            {
                self.store.settle();
                let context = Context { now, region, token: token.as_ref() };
                found = self.store.snapshot(&context, partition, &mut self.random);
            }
            let Some(found) = found else {
                self.flights[call].call.outcome = Outcome::Refused(Refusal::Session);
                return self.plan_step(now + 5, Step::Answer(call));
            };
            self.flights[call].out.push((partition, found.token));
            items.extend(found.items);
        }
        if self.errs(Mutation::ValueOfTheFuture, 5) {
            let next = self.flights.len() as CallId + 1;
            items.values_mut().for_each(|trail: &mut Trail| *trail = vec![next]);
        }
        if self.errs(Mutation::UncommittedRead, 15) {
            let open = self
                .flights
                .iter()
                .filter(|flight| flight.call.returned.is_none() && flight.call.invoked < now);
            for write in open.filter(|flight| matches!(flight.call.operation, Operation::Write(_))) {
                let own = writes(&write.call.operation)[0];
                if matches!(own.kind, WriteKind::Upsert | WriteKind::Create) {
                    items.insert(own.key, vec![write.call.id]);
                }
            }
        }
        self.hand_over(now, call, &operation, items);
    }

    fn hand_over(&mut self, now: Micros, call: usize, operation: &Operation, items: BTreeMap<Key, Trail>) {
        let returned = now + self.random.between(1, 10);
        let next = returned + self.random.between(1, 30);
        let twice = self.errs(Mutation::RowTwice, 20);
        let region = self.region_to_read();
        let flight = &mut self.flights[call];
        match operation {
            Operation::Read(key) => {
                flight.call.outcome = Outcome::Read(vec![(*key, items.get(key).cloned())])
            }
            Operation::ReadMany(keys) => {
                let key = keys[flight.items.len()];
                flight.items.push((key, items.get(&key).cloned()));
                if flight.items.len() < keys.len() {
                    return self.plan_step(next, Step::Serve { call, region });
                }
                flight.call.outcome = Outcome::Read(std::mem::take(&mut flight.items));
            }
            _ => {
                let place = |key: &Key| (key.item, key.partition);
                let last = flight.pages.iter().flat_map(|page| &page.rows).map(|(key, _)| place(key)).max();
                let mut rows: Vec<_> =
                    items.into_iter().filter(|(key, _)| last.is_none_or(|last| place(key) > last)).collect();
                rows.sort_by_key(|(key, _)| place(key));
                let more = rows.len() > PAGE;
                rows.truncate(PAGE);
                if twice && let Some(row) = flight.pages.last().and_then(|page| page.rows.last()).cloned() {
                    rows.insert(0, row);
                }
                flight.pages.push(Page { invoked: flight.asked, returned, is_one_answer: true, rows });
                flight.asked = returned;
                if more {
                    return self.plan_step(next, Step::Serve { call, region });
                }
                flight.call.outcome = Outcome::Pages {
                    pages: std::mem::take(&mut flight.pages),
                    complete: true,
                    refusal: None,
                };
            }
        }
        self.plan_step(returned, Step::Answer(call));
    }
}
