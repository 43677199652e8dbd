//! How writes are sent, and what becomes of each attempt.

use cosmonaut_sim::history::{Micros, Outcome, Refusal, WriteKind};

use super::{Callers, REGIONS, Step, writes};
use crate::store::Context;

impl Callers {
    /// Where the next attempt goes.
    fn region(&mut self) -> usize {
        if self.plan.multi_write {
            usize::try_from(self.random.below(3)).unwrap()
        } else {
            self.store.writer()
        }
    }

    /// Sends a write; gives when the caller goes on.
    pub(super) fn send(&mut self, now: Micros, call: usize) -> Micros {
        let (region, other) = (self.region(), self.region());
        let arrives = now + self.random.between(1, 30);
        let answered = arrives + self.random.between(1, 30);
        let fate = if self.plan.trouble && !self.healed { self.random.below(100) } else { 100 };
        let writes = writes(&self.flights[call].call.operation);
        let repeats = writes.iter().all(|write| write.if_match.is_none() && write.kind != WriteKind::Patch);
        match fate {
            0..14 => {
                // The answer is lost, and perhaps the request; the request may also come late.
                self.flights[call].uncertain = true;
                let late = if self.random.percent(30) { self.random.between(100, 2_000) } else { 0 };
                if self.random.percent(70) {
                    self.plan_step(arrives + late, Step::Attempt { call, region, last: false });
                }
                if self.random.percent(20) && repeats {
                    self.flights[call].call.sent_once = false;
                    let again = arrives + late + self.random.between(1, 300);
                    self.plan_step(again, Step::Attempt { call, region: other, last: false });
                }
                if fate < 4 {
                    self.flights[call].call.outcome = Outcome::Crashed;
                } else {
                    self.flights[call].call.outcome = Outcome::Unknown("no answer".to_owned());
                    self.plan_step(answered, Step::Answer(call));
                }
                answered
            }
            14..26 if repeats => {
                // The first answer is lost, the second one arrives.
                self.flights[call].call.sent_once = false;
                self.plan_step(arrives, Step::Attempt { call, region, last: false });
                let again = answered + self.random.between(1, 60);
                self.plan_step(again, Step::Attempt { call, region: other, last: true });
                again + 20
            }
            _ => {
                self.plan_step(arrives, Step::Attempt { call, region, last: true });
                arrives + 20
            }
        }
    }

    pub(super) fn attempt(&mut self, now: Micros, call: usize, region: usize, last: bool) {
        let region = if self.plan.multi_write { region } else { self.store.writer() };
        let flight = &self.flights[call];
        let (id, writes) = (flight.call.id, writes(&flight.call.operation));
        let partition = writes[0].key.partition;
        let token = flight.token.get(&partition).cloned();
        let context = Context { now, region, token: token.as_ref().filter(|_| self.plan.multi_write) };
        let answer = self.store.write(&context, id, &writes);
        let flight = &mut self.flights[call];
        if !last {
            flight.uncertain = true;
            return;
        }
        flight.call.region = Some(REGIONS[region].to_owned());
        flight.call.outcome = match answer {
            Ok(token) => {
                flight.out.push((partition, token));
                Outcome::Written
            }
            Err(_) if flight.uncertain => Outcome::Unknown("refused after a lost answer".to_owned()),
            Err(Refusal::Session) if self.healed => {
                // It waits until the region has caught up.
                self.store.settle();
                return self.attempt(now, call, region, last);
            }
            Err(why) => Outcome::Refused(why),
        };
        let at = now + self.random.between(1, 15);
        self.plan_step(at, Step::Answer(call));
    }
}
