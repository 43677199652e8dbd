//! The run in figures: by phase and kind, how soon it recovered, and whether anything is missing.

mod json;
mod recovery;
mod text;

use std::collections::BTreeMap;
use std::time::Duration;

use cosmonaut_plot::{Gap, Outage, Percentiles};

use super::ledger::Audit;
use super::meter::{Kind, Record, Totals};
use super::orchestrations::{Counts, Course};
use super::phase::Phase;
use super::scenario::Scenario;
use super::words::counted;
pub(crate) use recovery::Recovery;

/// All that happened.
pub(crate) struct Run {
    pub(crate) scenario: Scenario,
    /// How long it was to take.
    pub(crate) seconds: u32,
    /// Whether it was stopped early.
    pub(crate) stopped: bool,
    /// How long it took, without setting up and reading back.
    pub(crate) length: Duration,
    /// From the fault to its end, if it came to that.
    pub(crate) outage: Option<Outage>,
    /// In the order in which they ended.
    pub(crate) records: Vec<Record>,
    pub(crate) courses: Vec<Course>,
    pub(crate) audit: Audit,
}

impl Run {
    /// The longest time between two moments in which no operation of a kind succeeded.
    fn longest_gap(&self, kind: Kind, (from, to): (Duration, Duration)) -> Gap {
        let successes = self.records.iter().filter(|record| record.kind == kind && record.succeeded());
        Gap::longest(successes.map(|record| record.ended), from, to)
    }
}

/// One kind of operation in one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) operations: u64,
    pub(crate) failures: u64,
    pub(crate) latency: Percentiles,
    /// The longest time of the phase without a success.
    pub(crate) gap: Gap,
}

/// One phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PhaseSummary {
    pub(crate) phase: Phase,
    pub(crate) length: Duration,
    /// In the order of [`Kind::ALL`].
    pub(crate) kinds: [Figures; 3],
}

impl PhaseSummary {
    /// How many operations of a kind ended in a second.
    pub(crate) fn rate(&self, figures: &Figures) -> f64 {
        let seconds = self.length.as_secs_f64();
        if seconds > 0.0 { figures.operations as f64 / seconds } else { 0.0 }
    }
}

pub(crate) struct Summary {
    pub(crate) scenario: Scenario,
    pub(crate) seconds: u32,
    pub(crate) stopped: bool,
    pub(crate) length: Duration,
    pub(crate) outage: Option<Outage>,
    pub(crate) phases: [PhaseSummary; 3],
    /// The longest time of the whole run without a success, in the order of [`Kind::ALL`].
    pub(crate) gaps: [Gap; Kind::ALL.len()],
    pub(crate) totals: Totals,
    pub(crate) recovery: Recovery,
    pub(crate) audit: Audit,
    pub(crate) orchestrations: Counts,
    /// How often operations failed in which way.
    pub(crate) failures: BTreeMap<String, u64>,
}

impl Summary {
    pub(crate) fn new(run: &Run) -> Self {
        let mut totals = Totals::default();
        let mut failures = BTreeMap::new();
        for record in &run.records {
            totals.add(&record.outcome);
            if let Some(failure) = &record.outcome.failure {
                *failures.entry(failure.clone()).or_default() += 1;
            }
        }
        let completed = run.courses.iter().filter(|course| course.completed.is_some()).count();
        Self {
            scenario: run.scenario,
            seconds: run.seconds,
            stopped: run.stopped,
            length: run.length,
            outage: run.outage,
            phases: Phase::ALL.map(|phase| phase_summary(run, phase)),
            gaps: Kind::ALL.map(|kind| run.longest_gap(kind, (Duration::ZERO, run.length))),
            totals,
            recovery: Recovery::new(run),
            audit: run.audit,
            orchestrations: Counts { started: run.courses.len() as u64, completed: completed as u64 },
            failures,
        }
    }

    /// What must not happen and did, in words.
    pub(crate) fn harm(&self) -> Option<String> {
        let unfinished = self.orchestrations.started - self.orchestrations.completed;
        let harm = [
            (self.audit.lost, "acknowledged write was lost", "acknowledged writes were lost"),
            (self.audit.duplicated, "write was applied twice", "writes were applied twice"),
            (unfinished, "orchestration did not complete", "orchestrations did not complete"),
        ];
        let harm = harm.into_iter().filter(|(count, ..)| *count > 0);
        let harm: Vec<_> = harm.map(|(count, one, many)| counted(count, one, many)).collect();
        (!harm.is_empty()).then(|| harm.join(", "))
    }

    /// The kind that went without a success for longest.
    pub(crate) fn worst_gap(&self) -> (Kind, Gap) {
        let mut worst = (Kind::ALL[0], self.gaps[0]);
        for (kind, gap) in Kind::ALL.into_iter().zip(self.gaps) {
            if gap.length() > worst.1.length() {
                worst = (kind, gap);
            }
        }
        worst
    }

    /// How many operations failed once all was mended.
    pub(crate) fn failures_after(&self) -> u64 {
        let mended = self.phases.iter().filter(|phase| phase.phase == Phase::Mended);
        mended.flat_map(|phase| phase.kinds).map(|figures| figures.failures).sum()
    }
}

fn phase_summary(run: &Run, phase: Phase) -> PhaseSummary {
    let records: Vec<_> = run
        .records
        .iter()
        .filter(|record| Phase::of(record.due, record.ended, run.outage) == phase)
        .collect();
    let (from, to) = phase.span(run.outage, run.length);
    let figures = |kind: Kind| {
        let of_kind = || records.iter().filter(move |record| record.kind == kind);
        Figures {
            operations: of_kind().count() as u64,
            failures: of_kind().filter(|record| !record.succeeded()).count() as u64,
            latency: Percentiles::of(of_kind().map(|record| record.latency()).collect()),
            gap: run.longest_gap(kind, (from, to)),
        }
    };
    PhaseSummary { phase, length: to - from, kinds: Kind::ALL.map(figures) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::demo::outcome::Outcome;

    pub(crate) fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    pub(crate) fn record(kind: Kind, due: u64, ended: u64, region: Option<usize>) -> Record {
        let failure = region.is_none().then(|| "Unavailable 503".to_owned());
        let outcome = Outcome { failure, region, hedges: 1, ..Outcome::default() };
        Record { kind, due: ms(due), ended: ms(ended), outcome }
    }

    pub(crate) fn run(records: Vec<Record>) -> Run {
        Run {
            scenario: Scenario::RegionDown,
            seconds: 10,
            stopped: false,
            length: ms(10_000),
            outage: Some(Outage { from: ms(2_000), to: ms(4_000) }),
            records,
            courses: vec![Course { started: ms(10), completed: Some(ms(500)) }],
            audit: Audit { acknowledged: 5, unknown: 2, unknown_applied: 1, ..Audit::default() },
        }
    }

    #[test]
    fn figures_are_by_phase_and_kind() {
        let summary = Summary::new(&run(vec![
            record(Kind::Read, 0, 10, Some(1)),
            record(Kind::Read, 0, 30, Some(1)),
            record(Kind::Write, 2_500, 2_540, Some(0)),
            record(Kind::Read, 2_500, 2_600, None),
            record(Kind::Query, 5_000, 5_020, Some(1)),
        ]));
        let [healthy, fault, mended] = summary.phases;
        let reads = Figures {
            operations: 2,
            failures: 0,
            latency: Percentiles { p50: Some(ms(10)), p99: Some(ms(30)) },
            gap: Gap { from: ms(30), to: ms(2_000) },
        };
        assert_eq!((healthy.kinds[0], healthy.length, healthy.rate(&reads)), (reads, ms(2_000), 1.0));
        assert_eq!((fault.kinds[0].failures, fault.kinds[1].operations), (1, 1));
        assert_eq!((mended.kinds[2].operations, mended.length), (1, ms(6_000)));
        assert_eq!((summary.totals.operations, summary.totals.hedges, summary.totals.failures), (5, 5, 1));
        assert_eq!(summary.failures, BTreeMap::from([("Unavailable 503".to_owned(), 1)]));
        assert_eq!(summary.failures_after(), 0);
    }

    #[test]
    fn the_longest_time_without_a_success_is_by_kind_for_the_run_and_its_phases() {
        let summary = Summary::new(&run(vec![
            record(Kind::Write, 0, 500, Some(0)),
            record(Kind::Write, 400, 1_500, Some(0)),
            record(Kind::Write, 2_000, 3_000, None), // a failure ends no gap
            record(Kind::Write, 2_500, 4_500, Some(0)),
            record(Kind::Write, 9_000, 9_500, Some(0)),
        ]));
        let gap = |from, to| Gap { from: ms(from), to: ms(to) };
        assert_eq!(summary.gaps, [gap(0, 10_000), gap(4_500, 9_500), gap(0, 10_000)]);
        let phases = summary.phases.map(|phase| phase.kinds[1].gap);
        assert_eq!(phases, [gap(500, 1_500), gap(2_000, 4_000), gap(4_500, 9_500)]);
        assert_eq!(summary.worst_gap(), (Kind::Read, gap(0, 10_000)), "the first of equal ones");
    }

    #[test]
    fn a_run_that_was_stopped_before_the_fault_was_healthy_throughout() {
        let run = Run { outage: None, length: ms(900), ..run(vec![record(Kind::Read, 0, 10, Some(1))]) };
        let summary = Summary::new(&run);
        assert_eq!(summary.phases.map(|phase| phase.length), [ms(900), ms(0), ms(0)]);
        assert_eq!(summary.phases[1].rate(&summary.phases[1].kinds[0]), 0.0);
    }

    #[test]
    fn what_is_lost_twice_there_or_unfinished_is_harm_and_what_is_unknown_is_not() {
        assert_eq!(Summary::new(&run(vec![])).harm(), None);
        let mut bad = run(vec![]);
        bad.audit.lost = 2;
        bad.courses.push(Course { started: ms(10), completed: None });
        let harm = Summary::new(&bad).harm().unwrap();
        assert_eq!(harm, "2 acknowledged writes were lost, 1 orchestration did not complete");
    }
}
