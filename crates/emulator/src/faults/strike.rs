//! What the faults in force do to one request.
//!
//! Several may strike the same request. A request first waits while one of them lets it hang, then takes as long as
//! all slow ones say together; then the first of those that end it decides.

use std::time::Duration;

use cosmonaut_wire::CosmosStatus;

use super::{Active, Effect, FaultId, Faults, Keys, Operations, Struck, Written};
use crate::Failure;
use crate::engine::RegionId;

/// A request as a fault looks at it. Asked only what a fault in force wants to know.
pub(crate) trait Target {
    /// Whether it is an operation of that kind.
    fn is_among(&self, operations: Operations) -> bool;

    /// Whether it is for any of these keys.
    fn touches(&self, keys: &Keys) -> bool;
}

/// What to do with a request.
#[derive(Debug)]
pub(crate) enum Strike {
    /// Wait until this fault is lifted, and then look again.
    Hang(FaultId),
    /// Wait so long, but no longer than until these are lifted, and then go on.
    Slow(Duration, Vec<FaultId>, Verdict),
    /// Go on.
    Now(Verdict),
}

/// How a request ends.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// As if there were no faults.
    Pass,
    /// It is not carried out.
    Fail(Failure),
    /// It is not carried out, and its connection ends.
    Cut,
    /// It is carried out, and its connection ends.
    DropResponse,
    /// It is carried out twice.
    Duplicate,
}

impl Faults {
    /// Decides about a request, and counts it for the faults that strike it, which are added to `struck`.
    pub(crate) fn strike(&self, region: RegionId, target: &dyn Target, struck: &mut Vec<Struck>) -> Strike {
        let list = self.list.load();
        let mut strikes = |active: &&std::sync::Arc<Active>| {
            let does = active.strikes(region, target, &*self.world);
            if does {
                struck.push(active.struck());
            }
            does
        };
        let of = |stage: Stage| list.iter().filter(move |active| Stage::of(&active.fault.effect) == stage);
        if let Some(active) = of(Stage::Hang).find(&mut strikes) {
            return Strike::Hang(active.id);
        }
        let mut slow = (Duration::ZERO, Vec::new());
        for active in of(Stage::Slow).filter(&mut strikes) {
            if let Effect::Slow(delay) = active.fault.effect {
                slow.0 += delay.sample(&*self.world);
                slow.1.push(active.id);
            }
        }
        let verdict = of(Stage::End).find(&mut strikes).map_or(Verdict::Pass, |active| verdict(active));
        if slow.1.is_empty() { Strike::Now(verdict) } else { Strike::Slow(slow.0, slow.1, verdict) }
    }
}

/// When an effect is felt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Hang,
    Slow,
    End,
}

impl Stage {
    fn of(effect: &Effect) -> Self {
        match effect {
            Effect::Hang => Self::Hang,
            Effect::Slow(_) => Self::Slow,
            Effect::Refuse
            | Effect::Status { .. }
            | Effect::DropResponse
            | Effect::Duplicate
            | Effect::Throttle { .. } => Self::End,
        }
    }
}

fn verdict(active: &Active) -> Verdict {
    match active.fault.effect {
        Effect::Refuse => Verdict::Cut,
        Effect::Status { status, retry_after } => Verdict::Fail(failure(active.id, status, retry_after)),
        Effect::Throttle { retry_after } => {
            Verdict::Fail(failure(active.id, CosmosStatus::REQUEST_RATE_TOO_LARGE, Some(retry_after)))
        }
        Effect::DropResponse => Verdict::DropResponse,
        Effect::Duplicate => Verdict::Duplicate,
        // These two only wait.
        Effect::Hang | Effect::Slow(_) => Verdict::Pass,
    }
}

/// Says that somebody wanted this, so that nobody looks for a bug.
fn failure(id: FaultId, status: CosmosStatus, retry_after: Option<Duration>) -> Failure {
    let wait = retry_after.map(|wait| format!(", come again in {}", Written(wait))).unwrap_or_default();
    let message = format!("{status} by fault {id}, which was asked for{wait} (list the faults, or lift it)");
    Failure {
        retry_after_ms: retry_after.map(|wait| wait.as_millis() as u64),
        ..Failure::new(status, message)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::SystemWorld;
    use crate::faults::{Delay, Fault};

    /// A write to whatever is asked about.
    struct Write;

    impl Target for Write {
        fn is_among(&self, operations: Operations) -> bool {
            operations != Operations::Read
        }

        fn touches(&self, _keys: &Keys) -> bool {
            true
        }
    }

    fn struck_by(faults: Vec<Fault>) -> String {
        let list = Faults::new(Arc::new(SystemWorld::new()));
        for fault in faults {
            list.add(fault, None, None);
        }
        let mut struck = Vec::new();
        let does = match list.strike(RegionId::default(), &Write, &mut struck) {
            Strike::Hang(id) => format!("hang by {id}"),
            Strike::Slow(delay, ids, verdict) => {
                format!("{} by {}, {}", Written(delay), ids.len(), word(&verdict))
            }
            Strike::Now(verdict) => word(&verdict),
        };
        let by: Vec<_> = struck.iter().map(|one| format!(" {}{}", one.effect, one.fault)).collect();
        format!("{does}:{}", by.concat())
    }

    fn word(verdict: &Verdict) -> String {
        match verdict {
            Verdict::Pass => "pass".to_owned(),
            Verdict::Fail(failure) => failure.status.to_string(),
            Verdict::Cut => "cut".to_owned(),
            Verdict::DropResponse => "drop".to_owned(),
            Verdict::Duplicate => "duplicate".to_owned(),
        }
    }

    #[test]
    fn a_request_waits_before_it_ends_and_the_first_end_counts() {
        let of = Fault::new;
        let slow = || of(Effect::Slow(Delay::Fixed(Duration::from_millis(5))));
        let unavailable = || of(Effect::status(CosmosStatus::SERVICE_UNAVAILABLE));
        let throttle = || of(Effect::Throttle { retry_after: Duration::from_millis(1) });
        for (faults, expected) in [
            (vec![], "pass:"),
            (vec![of(Effect::Refuse)], "cut: refuse1"),
            (vec![unavailable(), throttle()], "503: status1"),
            (vec![throttle(), unavailable()], "429/3200: throttle1"),
            (vec![of(Effect::DropResponse), of(Effect::Duplicate)], "drop: drop-response1"),
            (vec![of(Effect::Duplicate)], "duplicate: duplicate1"),
            (vec![slow(), unavailable(), slow()], "10ms by 2, 503: slow1 slow3 status2"),
            (vec![slow()], "5ms by 1, pass: slow1"),
            (vec![slow(), unavailable(), of(Effect::Hang)], "hang by 3: hang3"),
            (vec![unavailable().on(Operations::Read)], "pass:"),
            (vec![unavailable().on(Operations::Write)], "503: status1"),
        ] {
            assert_eq!(struck_by(faults.clone()), expected, "{faults:?}");
        }
    }

    #[test]
    fn a_fault_that_is_used_up_strikes_no_more() {
        let list = Faults::new(Arc::new(SystemWorld::new()));
        list.add(Fault::new(Effect::DropResponse).times(2), None, None);
        let struck = || {
            let strike = list.strike(RegionId::default(), &Write, &mut Vec::new());
            matches!(strike, Strike::Now(Verdict::DropResponse))
        };
        assert_eq!([struck(), struck(), struck()], [true, true, false]);
        assert_eq!(list.all()[0].describe().left(), Some(0));
    }
}
