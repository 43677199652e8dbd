//! Further regions in case the first is slow. Nothing is started if the first answers in time.
//!
//! ```text
//! first leg ──────────────────────────────► answers in time: done
//!           └─ threshold ─► second leg ───► whoever settles first counts; the others are left
//!                           └─ step, or a failure ─► third leg …
//! ```
//!
//! A read that loses is dropped. A write that loses is left running for a while, see `left_writes`.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use cosmonaut_policy::{
    Attempt, CosmosEndpoint, ExecutionContext, HEDGING_CEILING, HedgeBudget, HedgePlan, LOSING_WRITE_LIMIT,
    Moment, RoutingDecision, TransportResult, evaluate_transport_result, is_nearly_settled,
    pick_hedge_result, resolve_hedge_endpoint, settles_hedge,
};

use super::attempt::{Attempted, Learned};
use super::frame::{as_sent, by_frame_or_rest};
use super::leg::{LegEnd, LegStart, SharedParts, SpawnedLeg};
use super::operation::{OperationPipeline, OperationState};
use crate::diagnostics::{AttemptDiagnostics, AttemptOutcome, NextStep};
use crate::driver::DriverCore;
use crate::race::{Either, first_of, race};
use crate::transport::BoxFuture;

/// A leg that is under way.
struct RunningLeg<'a> {
    /// Its place among the legs of the attempt.
    place: usize,
    routing: RoutingDecision,
    began: Moment,
    work: LegWork<'a>,
}

enum LegWork<'a> {
    /// A read, which ends with the operation.
    InPlace(BoxFuture<'a, LegEnd>),
    /// A write, which can be left running.
    Spawned(SpawnedLeg),
}

impl Future for RunningLeg<'_> {
    type Output = LegEnd;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<LegEnd> {
        match &mut self.work {
            LegWork::InPlace(future) => future.as_mut().poll(context),
            LegWork::Spawned(leg) => Pin::new(leg).poll(context),
        }
    }
}

/// A leg that has ended.
struct EndedLeg {
    place: usize,
    routing: RoutingDecision,
    end: LegEnd,
}

impl OperationPipeline<'_> {
    /// Makes an attempt that further ones may join.
    pub(super) async fn hedged_attempt(
        &mut self,
        state: &OperationState,
        routing: RoutingDecision,
        plan: HedgePlan,
        began: Moment,
    ) -> Attempted {
        let core = self.core;
        let multiple_write_locations = state.location.account.multiple_write_locations_enabled;
        let session = self.session(state, multiple_write_locations);
        let frame = self.frame(state);
        let parts = SharedParts {
            operation: self.operation,
            options: self.options,
            retry_state: &state.retry_state,
            session: &session,
            throttling: state.throttling.for_attempt(0),
            container_rid: state.target.rid_header(),
            multiple_write_locations,
            deadline: self.deadline,
            activity_id: self.diagnostics.activity_id,
            frame: frame.as_ref(),
            is_left: None,
        };
        let routing = by_frame_or_rest(routing, frame.as_ref());
        let tries = std::mem::take(&mut self.diagnostics.attempts);
        let context = ExecutionContext::Initial;
        let start = LegStart { routing: routing.clone(), context, began, tries };
        let mut first = RunningLeg { place: 0, routing, began, work: LegWork::start(core, parts, start) };
        let mut threshold = core.platform.sleep(plan.after);
        match race(Pin::new(&mut first), threshold.as_mut()).await {
            Either::First(end) => {
                // Whoever was not polled when the threshold passed cannot tell when the answer came.
                let ended = core.platform.now();
                let was_polled = ended.since(began) <= plan.after;
                if end.result.is_success() && was_polled {
                    self.note_latency(&first.routing, end.result.latency);
                    core.change_hedge_budget(|budget| Some(budget.after_request()));
                }
                let LegEnd { result, throttling, tries } = end;
                let routing = as_sent(first.routing, &tries);
                self.diagnostics.attempts = tries;
                Attempted { ended, routing, result, throttling, learned: None }
            }
            Either::Second(()) => {
                let race = HedgeRace {
                    core,
                    parts,
                    plan,
                    began,
                    asked: vec![first.routing.endpoint.clone()],
                    running: vec![first],
                    ended: Vec::new(),
                };
                let settled = Box::pin(race.run()).await;
                self.conclude_race(settled)
            }
        }
    }

    fn conclude_race(&mut self, race: SettledRace) -> Attempted {
        let SettledRace { winner, others, silent, tries, has_hedged } = race;
        if !has_hedged {
            self.core.change_hedge_budget(|budget| Some(budget.after_request()));
        }
        self.diagnostics.attempts.extend(tries);
        if winner.end.result.is_success() {
            let latency = winner.end.result.latency.min(HEDGING_CEILING);
            self.note_latency(&winner.routing, latency);
        }
        let throttling =
            others.iter().fold(winner.end.throttling, |spent, leg| spent.joined(&leg.end.throttling));
        let has_won = winner.place > 0 && winner.end.result.is_success();
        if has_won {
            self.core.change_hedge_budget(|budget| Some(budget.after_win()));
        }
        let answered = others.into_iter().map(|leg| (leg.routing, leg.end.result)).collect();
        let silent_first = silent.filter(|_| has_won);
        let learned = Some(Box::new(Learned { answered, silent_first }));
        let ended = self.core.platform.now();
        Attempted { ended, routing: winner.routing, result: winner.end.result, throttling, learned }
    }

    /// Latencies count where hedging asks for them. A leg that was left has none: were its wait counted, a region that
    /// turns slow would raise its own threshold.
    fn note_latency(&self, routing: &RoutingDecision, latency: Duration) {
        let kind = self.operation.latency_kind();
        self.core.latencies.record(&routing.endpoint, kind, latency, self.core.platform.now());
    }
}

impl DriverCore {
    /// Changes what is left for hedges; `false` if the change is not possible.
    fn change_hedge_budget(&self, change: impl Fn(HedgeBudget) -> Option<HedgeBudget>) -> bool {
        use std::sync::atomic::Ordering::Relaxed;
        let number = |number| {
            let before = HedgeBudget::from_number(number);
            change(before).filter(|after| *after != before).map(HedgeBudget::number)
        };
        self.hedge_budget.fetch_update(Relaxed, Relaxed, number).is_ok()
    }
}

impl<'a> LegWork<'a> {
    fn start(core: &'a DriverCore, parts: SharedParts<'a>, start: LegStart) -> Self {
        match core.this.upgrade().filter(|_| !parts.operation.is_read_only()) {
            Some(core) => Self::Spawned(parts.spawn(core, start)),
            None => Self::InPlace(parts.run(core, start)),
        }
    }
}

/// Legs that race each other.
struct HedgeRace<'a> {
    core: &'a DriverCore,
    parts: SharedParts<'a>,
    plan: HedgePlan,
    began: Moment,
    asked: Vec<CosmosEndpoint>,
    /// In the order in which they were started.
    running: Vec<RunningLeg<'a>>,
    ended: Vec<EndedLeg>,
}

/// What came of it.
struct SettledRace {
    winner: EndedLeg,
    /// The legs that had ended before.
    others: Vec<EndedLeg>,
    /// Where the first leg went, if it never answered.
    silent: Option<RoutingDecision>,
    tries: Vec<AttemptDiagnostics>,
    /// Whether another region was asked at all.
    has_hedged: bool,
}

impl<'a> HedgeRace<'a> {
    /// Asks further regions until one leg settles it, or all have ended.
    async fn run(mut self) -> SettledRace {
        loop {
            if self.asked.len() < self.plan.legs && !self.ask_another() {
                if self.is_patient() {
                    // Nothing is left for hedges, and the silence is not so long yet that it must be an outage.
                    self.plan.step = HEDGING_CEILING;
                } else {
                    // No other region is in service.
                    self.plan.legs = self.asked.len();
                }
            }
            // Until the next one is due: after a step, or when one has failed.
            let Some((leg, end)) = self.next_end().await else {
                match self.ended.iter().any(|leg| is_nearly_settled(&leg.routing, &leg.end.result)) {
                    true => return self.picked(),
                    false => continue,
                }
            };
            let routing = as_sent(leg.routing, &end.tries);
            let settles = settles_hedge(self.parts.operation, &routing, &end.result);
            self.ended.push(EndedLeg { place: leg.place, routing, end });
            if settles {
                let winner = self.ended.len() - 1;
                return self.settled(winner, false);
            }
            if self.running.is_empty() {
                return self.picked();
            }
        }
    }

    /// The race with the best of what has ended. A write of which a leg is still running may be applied by that.
    fn picked(mut self) -> SettledRace {
        let mut ended: Vec<EndedLeg> = Vec::with_capacity(self.ended.len());
        for leg in std::mem::take(&mut self.ended) {
            ended.insert(ended.partition_point(|known| known.place < leg.place), leg);
        }
        self.ended = ended;
        let results: Vec<TransportResult> = self.ended.iter().map(|leg| leg.end.result.clone()).collect();
        let operation = self.parts.operation;
        let pick = pick_hedge_result(operation, &results).expect("a leg has ended");
        let in_doubt = pick.in_doubt || !operation.is_read_only() && !self.running.is_empty();
        self.settled(pick.place, in_doubt)
    }

    /// The next leg that ends; `None` once another one is due.
    async fn next_end(&mut self) -> Option<(RunningLeg<'a>, LegEnd)> {
        let is_nearly_over = self.ended.iter().any(|leg| is_nearly_settled(&leg.routing, &leg.end.result));
        let mut step = match self.asked.len() < self.plan.legs || is_nearly_over {
            true => self.core.platform.sleep(self.plan.step),
            false => Box::pin(std::future::pending()),
        };
        match race(pin!(first_of(&mut self.running)), step.as_mut()).await {
            Either::First(ended) => Some(ended),
            Either::Second(()) => None,
        }
    }

    /// Whether the first leg has not been silent for long: only then the budget counts.
    fn is_patient(&self) -> bool {
        let waited = self.core.platform.now().since(self.began);
        waited < HEDGING_CEILING
    }

    /// Starts another leg, if there is a region for it and the budget allows it.
    fn ask_another(&mut self) -> bool {
        let now = self.core.platform.now();
        let Some(location) = self.core.location.load() else { return false };
        let SharedParts { operation, retry_state, .. } = self.parts;
        let next = resolve_hedge_endpoint(operation, retry_state, &location, &self.asked, now);
        let may_hedge = || !self.is_patient() || self.core.change_hedge_budget(HedgeBudget::after_hedge);
        let Some(routing) = next.filter(|_| may_hedge()) else { return false };
        let routing = by_frame_or_rest(routing, self.parts.frame);
        let place = self.asked.len();
        self.asked.push(routing.endpoint.clone());
        let context = ExecutionContext::Hedging;
        let start = LegStart { routing: routing.clone(), context, began: now, tries: Vec::with_capacity(1) };
        let work = LegWork::start(self.core, self.parts, start);
        self.running.push(RunningLeg { place, routing, began: now, work });
        true
    }

    /// The race with its winner: all others are left, and every try is in its place.
    fn settled(mut self, winner: usize, in_doubt: bool) -> SettledRace {
        let mut winner = self.ended.remove(winner);
        winner.end.result.may_have_applied_before |= in_doubt;
        let mut by_place: Vec<(usize, Vec<AttemptDiagnostics>)> = Vec::with_capacity(self.asked.len());
        let mut silent = None;
        for mut leg in std::mem::take(&mut self.running) {
            leg.routing = self.parts.as_under_way(self.core, leg.routing);
            if leg.place == 0 {
                silent = Some(leg.routing.clone());
            }
            insert_by_place(&mut by_place, leg.place, vec![self.leave(leg)]);
        }
        for leg in &mut self.ended {
            insert_by_place(&mut by_place, leg.place, std::mem::take(&mut leg.end.tries));
        }
        let hedge_won = winner.place > 0;
        let mut tries = VecDeque::new();
        for (place, mut of_leg) in by_place {
            let is_first = place == 0 && hedge_won;
            conclude(&mut of_leg, if is_first { NextStep::HedgeTaken } else { NextStep::HedgeDropped });
            tries.extend(of_leg);
        }
        // The winner's tries come last, so that what the operation does next is noted on them.
        tries.extend(std::mem::take(&mut winner.end.tries));
        let has_hedged = self.asked.len() > 1;
        SettledRace { winner, others: self.ended, silent, tries: tries.into(), has_hedged }
    }

    /// Leaves a leg: a read is dropped, a write runs on for a while.
    fn leave(&self, leg: RunningLeg<'a>) -> AttemptDiagnostics {
        let outcome = match leg.work {
            LegWork::InPlace(_) => AttemptOutcome::Cancelled,
            LegWork::Spawned(spawned) => {
                self.core.leave_running(self.parts, leg.routing.clone(), spawned);
                AttemptOutcome::LeftRunning
            }
        };
        let latency = self.core.platform.now().since(leg.began);
        let context = if leg.place == 0 { ExecutionContext::Initial } else { ExecutionContext::Hedging };
        let framed = leg.routing.framed.is_some();
        let endpoint = leg.routing.framed.unwrap_or(leg.routing.endpoint);
        AttemptDiagnostics::without_answer(context, (endpoint, framed), (leg.began, latency), outcome)
    }
}

impl DriverCore {
    /// Lets a write that has lost run on for a while, and later writes with its key wait for it. What its answer says of
    /// endpoints and partitions is learned; not what it says of the session, which goes on from the leg that counts.
    fn leave_running(&self, parts: SharedParts<'_>, routing: RoutingDecision, leg: SpawnedLeg) {
        let (Some(core), Some(tasks)) = (self.this.upgrade(), self.tasks.upgrade()) else { return };
        let left = self.left_writes.add(parts.operation);
        leg.leave();
        let (operation, retry_state) = (parts.operation.clone(), parts.retry_state.clone());
        tasks.spawn("losing write", async move {
            let mut limit = core.platform.sleep(LOSING_WRITE_LIMIT);
            let ended = race(pin!(leg), limit.as_mut()).await;
            drop(left);
            let (Either::First(LegEnd { result, .. }), Some(location)) = (ended, core.location.load()) else {
                return;
            };
            let attempt = Attempt {
                operation: &operation,
                routing: &routing,
                retry_state: &retry_state,
                location: &location,
                limits: &core.limits,
                deadline: None,
            };
            let now = core.platform.now();
            let (_, effects) = evaluate_transport_result(&attempt, &result, now, 0.0);
            if core.apply(effects) {
                core.read_account_for(now);
            }
        });
    }
}

/// Few, so that a place is found quickly.
fn insert_by_place(
    legs: &mut Vec<(usize, Vec<AttemptDiagnostics>)>,
    place: usize,
    tries: Vec<AttemptDiagnostics>,
) {
    legs.insert(legs.partition_point(|(known, _)| *known < place), (place, tries));
}

fn conclude(tries: &mut [AttemptDiagnostics], next: NextStep) {
    if let Some(last) = tries.last_mut() {
        last.next = next;
    }
}
