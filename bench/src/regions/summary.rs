//! A run in figures: by phase, and how soon each caller was served again.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmonaut_plot::{Gap, Outage, Percentiles};

use super::workload::{Kind, Record, Run};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Before,
    During,
    After,
}

impl Phase {
    pub const ALL: [Self; 3] = [Self::Before, Self::During, Self::After];

    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::During => "during",
            Self::After => "after",
        }
    }

    /// What is under way while a fault begins or ends is felt as a part of it.
    fn of(record: &Record, outage: Outage) -> Self {
        if record.ended < outage.from {
            Self::Before
        } else if record.started > outage.to {
            Self::After
        } else {
            Self::During
        }
    }
}

/// One phase of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseSummary {
    pub operations: usize,
    pub failures: usize,
    pub reads: Percentiles,
    pub writes: Percentiles,
    /// The part of all operations for which a second region was asked.
    pub hedged: f64,
    /// What attempts cost whose answers were not used, as a part of what the used ones did.
    pub extra_charge: f64,
    /// The same, if every attempt that was given up was carried out after all.
    pub most_extra_charge: f64,
}

impl PhaseSummary {
    fn new(records: &[&Record]) -> Self {
        let times =
            |kind| records.iter().filter(move |record| record.kind == kind).map(|r| r.ended - r.started);
        let part = |of: f64, whole: f64| if whole > 0.0 { of / whole } else { 0.0 };
        let charge: f64 = records.iter().map(|record| record.outcome.charge).sum();
        let extra: f64 = records.iter().map(|record| record.outcome.extra).sum();
        let unknown = |record: &&Record| f64::from(record.outcome.unknown) * record.outcome.charge;
        let most = extra + records.iter().map(unknown).sum::<f64>();
        let hedged = records.iter().filter(|record| record.outcome.hedged).count();
        Self {
            operations: records.len(),
            failures: records.iter().filter(|record| record.outcome.failure.is_some()).count(),
            reads: Percentiles::of(times(Kind::Read).collect()),
            writes: Percentiles::of(times(Kind::Write).collect()),
            hedged: part(hedged as f64, records.len() as f64),
            extra_charge: part(extra, charge),
            most_extra_charge: part(most, charge),
        }
    }
}

/// How soon callers were served by a region that was not struck; by any region if none was. It counts from the fault, or
/// from when a caller began the first operation that met the fault: before that nobody waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovery {
    pub times: Percentiles,
    /// The longest time of the run in which no caller had a success.
    pub gap: Duration,
    /// The longest in which one of them had none.
    pub gap_of_one: Duration,
    /// Callers that were not, as long as the fault lasted.
    pub never: usize,
}

impl Recovery {
    fn new(run: &Run, struck: Option<usize>, concerned: impl Fn(&Record) -> bool) -> Self {
        let outage = run.outage;
        // The operations of a caller are in the order in which it made them.
        let (mut waits_from, mut served) = (vec![None; run.callers], vec![None; run.callers]);
        for record in run.records.iter().filter(|record| concerned(record)) {
            // What began before a fault that is everywhere may not have met it, and what the struck region has
            // answered has not.
            let met = struck.is_some() || record.started >= outage.from;
            let by_struck = record.outcome.region.is_some() && record.outcome.region == struck;
            if !met || by_struck || !(outage.from..=outage.to).contains(&record.ended) {
                continue;
            }
            let from = *waits_from[record.caller].get_or_insert(record.started.max(outage.from));
            if record.outcome.region.is_some() {
                served[record.caller].get_or_insert(record.ended - from);
            }
        }
        let times: Vec<Duration> = served.into_iter().flatten().collect();
        let mut successes: Vec<_> = run
            .records
            .iter()
            .filter(|record| record.outcome.failure.is_none() && concerned(record))
            .collect();
        successes.sort_by_key(|record| record.ended);
        let longest = |only: Option<usize>| {
            let of = successes.iter().filter(|record| only.is_none_or(|caller| record.caller == caller));
            Gap::longest(of.map(|record| record.ended), Duration::ZERO, run.ended).length()
        };
        Self {
            never: run.callers - times.len(),
            times: Percentiles::of(times),
            gap: longest(None),
            gap_of_one: (0..run.callers).map(|caller| longest(Some(caller))).max().unwrap_or_default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// In the order of [`Phase::ALL`].
    pub phases: [PhaseSummary; 3],
    pub recovery: Recovery,
    /// How often operations failed in which way.
    pub failures: BTreeMap<String, usize>,
}

impl Summary {
    /// `struck` is the region with the fault, if it is in one; `concerned` says of which operations callers are to be served again.
    pub fn new(run: &Run, struck: Option<usize>, concerned: impl Fn(&Record) -> bool) -> Self {
        let in_phase = |phase| -> Vec<&Record> {
            run.records.iter().filter(|record| Phase::of(record, run.outage) == phase).collect()
        };
        let mut failures = BTreeMap::new();
        for failure in run.records.iter().filter_map(|record| record.outcome.failure.as_ref()) {
            *failures.entry(failure.clone()).or_default() += 1;
        }
        Self {
            phases: Phase::ALL.map(|phase| PhaseSummary::new(&in_phase(phase))),
            recovery: Recovery::new(run, struck, concerned),
            failures,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::Outcome;
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn record(caller: usize, started: u64, ended: u64, region: Option<usize>) -> Record {
        let failure = region.is_none().then(|| "503".to_owned());
        let outcome = Outcome { failure, region, charge: 2.0, ..Outcome::default() };
        Record { caller, kind: Kind::Read, item: 0, started: ms(started), ended: ms(ended), outcome }
    }

    fn run(callers: usize, records: Vec<Record>) -> Run {
        Run { callers, outage: Outage { from: ms(100), to: ms(200) }, ended: ms(300), records }
    }

    #[test]
    fn percentiles_are_times_that_were_measured() {
        for (count, p50, p99) in [(1, 1, 1), (2, 1, 2), (99, 50, 99), (100, 50, 99), (200, 100, 198)] {
            let times = (1..=count).rev().map(ms).collect();
            let expected = Percentiles { p50: Some(ms(p50)), p99: Some(ms(p99)) };
            assert_eq!(Percentiles::of(times), expected, "{count}");
        }
        assert_eq!(Percentiles::of(Vec::new()), Percentiles::default());
    }

    #[test]
    fn what_overlaps_the_fault_is_a_part_of_it() {
        let outage = Outage { from: ms(100), to: ms(200) };
        for (started, ended, expected) in [
            (0, 99, Phase::Before),
            (99, 101, Phase::During),
            (120, 130, Phase::During),
            (199, 300, Phase::During),
            (201, 202, Phase::After),
        ] {
            assert_eq!(
                Phase::of(&record(0, started, ended, Some(1)), outage),
                expected,
                "{started}..{ended}"
            );
        }
    }

    #[test]
    fn callers_recover_by_their_first_answer_from_elsewhere() {
        let records = vec![
            record(0, 0, 50, Some(0)),    // before it happened
            record(0, 90, 130, Some(0)),  // this one
            record(0, 130, 140, Some(2)), // not the first
            record(1, 110, 120, Some(1)), // not elsewhere
            record(1, 120, 150, None),    // not served, but waiting from here on
            record(1, 150, 160, Some(2)), // this one
            record(2, 150, 210, Some(0)), // too late
        ];
        let summary = Summary::new(&run(3, records), Some(1), |_| true);
        assert_eq!(summary.recovery.never, 1);
        assert_eq!(summary.recovery.times, Percentiles { p50: Some(ms(30)), p99: Some(ms(40)) });
        assert_eq!(summary.failures, BTreeMap::from([("503".to_owned(), 1)]));
    }

    #[test]
    fn a_fault_of_no_region_is_recovered_from_by_what_began_after_it() {
        let records = vec![record(0, 90, 110, Some(0)), record(0, 110, 125, Some(1))];
        let recovery = Summary::new(&run(1, records), None, |_| true).recovery;
        assert_eq!((recovery.times.p50, recovery.never), (Some(ms(15)), 0));
    }

    #[test]
    fn the_longest_time_without_a_success_is_of_all_and_of_one_caller() {
        let records = vec![
            record(0, 0, 50, Some(1)),
            record(1, 0, 60, Some(1)),
            record(1, 60, 140, Some(1)),
            record(0, 50, 150, None), // a failure ends no gap
            record(1, 140, 250, Some(1)),
            record(0, 150, 260, Some(1)),
        ];
        let recovery = Summary::new(&run(2, records), Some(1), |_| true).recovery;
        assert_eq!((recovery.gap, recovery.gap_of_one), (ms(110), ms(210)));
    }

    #[test]
    fn only_operations_that_the_fault_concerns_show_a_recovery() {
        let records = vec![record(0, 110, 120, Some(0))];
        assert_eq!(Summary::new(&run(1, records), Some(1), |_| false).recovery.never, 1);
    }

    #[test]
    fn a_hedge_costs_what_was_reported_and_at_most_what_was_given_up_too() {
        let mut hedged = record(0, 110, 120, Some(0));
        hedged.outcome.hedged = true;
        hedged.outcome.extra = 1.0;
        hedged.outcome.unknown = 1;
        let summary = Summary::new(&run(1, vec![hedged, record(0, 120, 130, Some(0))]), Some(1), |_| true);
        let during = &summary.phases[1];
        assert_eq!((during.operations, during.failures, during.hedged), (2, 0, 0.5));
        assert_eq!((during.extra_charge, during.most_extra_charge), (0.25, 0.75));
        assert_eq!(summary.phases[0], PhaseSummary::default());
    }
}
