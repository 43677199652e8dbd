//! A second region in case the first is slow. Nothing is started if the first answers in time, and the loser
//! is dropped.

use std::time::Duration;

use cosmonaut_policy::{HedgeLeg, Moment, TransportResult, pick_hedge_result, settles_hedge};

use super::transport::{Leg, TransportPipeline};
use crate::diagnostics::{AttemptDiagnostics, AttemptOutcome, NextStep};
use crate::race::{Either, race};
use crate::transport::BoxFuture;

/// The legs of a hedged attempt, and when the second starts.
pub(super) struct Hedge<'a> {
    pub(super) primary: Leg<'a>,
    pub(super) secondary: Leg<'a>,
    pub(super) after: Duration,
}

/// What came of a hedged attempt.
pub(super) struct Hedged {
    /// Whose result it is.
    pub(super) winner: HedgeLeg,
    pub(super) result: TransportResult,
}

impl TransportPipeline {
    /// Makes an attempt that a second one may join.
    pub(super) async fn hedge(
        &self,
        hedge: Hedge<'_>,
        started: Moment,
        attempts: &mut Vec<AttemptDiagnostics>,
    ) -> Hedged {
        let (mut first_tries, mut second_tries) = (Vec::with_capacity(1), Vec::new());
        let outcome = {
            let mut primary = self.execute_boxed(hedge.primary, started, &mut first_tries);
            match race(primary.as_mut(), self.platform.sleep(hedge.after).as_mut()).await {
                Either::First(result) => (Hedged { winner: HedgeLeg::Primary, result }, None),
                Either::Second(()) => {
                    let second_started = self.platform.now();
                    let secondary = self.execute_boxed(hedge.secondary, second_started, &mut second_tries);
                    let (hedged, dropped) = settle(&hedge, primary, secondary).await;
                    (hedged, Some((second_started, dropped)))
                }
            }
        };
        let (hedged, joined) = outcome;
        if let Some((second_started, dropped)) = joined {
            let now = self.platform.now();
            match dropped {
                Some(HedgeLeg::Primary) => {
                    first_tries.push(cancelled(&hedge.primary, started, now.since(started)));
                }
                Some(HedgeLeg::Secondary) => {
                    second_tries.push(cancelled(&hedge.secondary, second_started, now.since(second_started)));
                }
                None => {}
            }
            let (first, second) = match hedged.winner {
                HedgeLeg::Primary => (NextStep::Done, NextStep::HedgeDropped),
                HedgeLeg::Secondary => (NextStep::HedgeTaken, NextStep::Done),
            };
            note(&mut first_tries, first);
            note(&mut second_tries, second);
        }
        // The winner's tries come last, so that what the operation does next is noted on them.
        match hedged.winner {
            HedgeLeg::Primary => {
                attempts.append(&mut second_tries);
                attempts.append(&mut first_tries);
            }
            HedgeLeg::Secondary => {
                attempts.append(&mut first_tries);
                attempts.append(&mut second_tries);
            }
        }
        hedged
    }
}

/// Waits until one leg settles it or both are done. Also says which leg had to be dropped.
async fn settle(
    hedge: &Hedge<'_>,
    mut primary: BoxFuture<'_, TransportResult>,
    mut secondary: BoxFuture<'_, TransportResult>,
) -> (Hedged, Option<HedgeLeg>) {
    let operation = hedge.primary.operation();
    let (first, second) = match race(primary.as_mut(), secondary.as_mut()).await {
        Either::First(result) if settles_hedge(operation, &result) => {
            return (Hedged { winner: HedgeLeg::Primary, result }, Some(HedgeLeg::Secondary));
        }
        Either::Second(result) if settles_hedge(operation, &result) => {
            return (Hedged { winner: HedgeLeg::Secondary, result }, Some(HedgeLeg::Primary));
        }
        Either::First(first) => (first, secondary.await),
        Either::Second(second) => (primary.await, second),
    };
    let (winner, result) = pick_hedge_result(operation, first, second);
    (Hedged { winner, result }, None)
}

fn note(tries: &mut [AttemptDiagnostics], next: NextStep) {
    if let Some(last) = tries.last_mut() {
        last.next = next;
    }
}

fn cancelled(leg: &Leg<'_>, started: Moment, latency: Duration) -> AttemptDiagnostics {
    AttemptDiagnostics {
        context: leg.request.execution_context(),
        endpoint: leg.request.endpoint().clone(),
        partition_override: leg.is_overridden,
        protocol: None,
        shard: None,
        started,
        latency,
        timeline: Default::default(),
        outcome: AttemptOutcome::Cancelled,
        request_charge: 0.0,
        service_latency: None,
        next: NextStep::Done,
    }
}
