//! How soon the application was served again, and served as before.
//!
//! That all is well again is said only of a moment after which no second tells otherwise.

use std::time::Duration;

use cosmonaut_plot::{Bucket, Percentiles, Sample, Span, Timeline};

use super::Run;
use crate::demo::account::{DISTANCES, REGIONS};
use crate::demo::meter::Record;
use crate::demo::phase::Phase;

/// How finely it is looked at.
const STEP: Duration = Duration::from_millis(200);
/// How many steps in a row it takes to believe it.
const IN_A_ROW: u32 = 3;
/// What may contradict it later: this much time at once, so that one late answer of hundreds does not.
const SECOND: Duration = Duration::from_secs(1);
/// How many times the usual latency is still usual.
const USUAL: u32 = 2;

/// Of the operations that go where the fault strikes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Recovery {
    /// From the fault to the first success, from elsewhere if it strikes a region.
    pub(crate) first_success: Option<Duration>,
    /// From the fault until P99 was at most twice what is usual, or what the way to the farthest region takes, and
    /// stayed so for as long as the fault lasted.
    pub(crate) settled: Option<Duration>,
    /// From the mend until P99 was that, and stayed so to the end of the run.
    pub(crate) settled_after_mend: Option<Duration>,
    /// From the mend until the region that was struck served most of them again, as fast as before, to the end.
    pub(crate) home: Option<Duration>,
}

impl Recovery {
    pub(crate) fn new(run: &Run) -> Self {
        let Some(outage) = run.outage else { return Self::default() };
        let concerned: Vec<_> =
            run.records.iter().filter(|record| run.scenario.concerns(record.kind)).collect();
        let struck = run.scenario.region();
        let elsewhere = |record: &&&Record| {
            // What was due before a fault that is everywhere may not have met it.
            let met = struck.is_some() || record.due >= outage.from;
            let served = record.outcome.region.is_some_and(|region| Some(region) != struck);
            met && served && (outage.from..=outage.to).contains(&record.ended)
        };
        let first = concerned.iter().filter(elsewhere).map(|record| record.ended).min();

        let limit = usual(run, &concerned);
        let samples: Vec<_> = concerned.iter().map(|record| record.sample()).collect();
        let fast =
            |bucket: &Bucket| bucket.failures == 0 && bucket.latency.p99.is_some_and(|p99| p99 <= limit);
        let at_home = |bucket: &Bucket| run.scenario.home().is_some_and(|region| bucket.share[region] > 0.5);
        let settled = lasting(&samples, (outage.from, outage.to), fast);
        let settled_after_mend = lasting(&samples, (outage.to, run.length), fast);
        let home = lasting(&samples, (outage.to, run.length), |bucket| fast(bucket) && at_home(bucket));
        Self {
            first_success: first.map(|first| first - outage.from),
            settled: settled.map(|settled| settled - outage.from),
            settled_after_mend: settled_after_mend.map(|settled| settled - outage.to),
            home: home.map(|home| home - outage.to),
        }
    }

    /// Whether P99 was as usual from the fault to the end of the run.
    pub(crate) fn was_unnoticed(&self) -> bool {
        (self.settled, self.settled_after_mend) == (Some(Duration::ZERO), Some(Duration::ZERO))
    }
}

/// The latency up to which all is well.
fn usual(run: &Run, concerned: &[&Record]) -> Duration {
    let healthy = concerned
        .iter()
        .filter(|record| Phase::of(record.due, record.ended, run.outage) == Phase::Healthy)
        .map(|record| record.latency());
    let farthest = DISTANCES.into_iter().max().unwrap_or_default();
    Percentiles::of(healthy.collect()).p99.unwrap_or_default().max(farthest) * USUAL
}

/// When something began to hold for good, between two moments: in some steps in a row, and in every second that begins
/// with or after them. The samples come in the order in which they ended.
fn lasting(
    samples: &[Sample],
    (from, to): (Duration, Duration),
    holds: impl Fn(&Bucket) -> bool,
) -> Option<Duration> {
    let between = |from: Duration, length: Duration| {
        let place = |moment: Duration| samples.partition_point(|sample| sample.ended < moment);
        let samples = &samples[place(from)..place((from + length).min(to).max(from))];
        holds(&bucket(samples))
    };
    let least = STEP * IN_A_ROW;
    let mut begun = None;
    let mut moment = from;
    while moment + least <= to {
        if !between(moment, SECOND) {
            begun = None;
        } else if begun.is_none() && (0..IN_A_ROW).all(|step| between(moment + STEP * step, STEP)) {
            begun = Some(moment);
        }
        // Further steps begin where those of the whole run do.
        moment =
            (moment + STEP) - Duration::from_nanos(((moment + STEP).as_nanos() % STEP.as_nanos()) as u64);
    }
    begun
}

/// What ended together, as one step of a timeline.
fn bucket(samples: &[Sample]) -> Bucket {
    let here = samples.iter().map(|sample| Sample { ended: Duration::ZERO, ..*sample });
    let span = Span { length: STEP, step: STEP };
    Timeline::new(here, REGIONS.len(), span, None).buckets.into_iter().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ms, record, run};
    use super::*;
    use crate::demo::meter::Kind;
    use crate::demo::scenario::Scenario;

    /// A read in each tenth of a second: by which region, and how late.
    fn reads(course: impl Fn(u64) -> (Option<usize>, u64)) -> Vec<Record> {
        let mut reads: Vec<_> = (0..100)
            .map(|tenth| {
                let (region, latency) = course(tenth);
                record(Kind::Read, tenth * 100, tenth * 100 + latency, region)
            })
            .collect();
        reads.sort_by_key(|read| read.ended);
        reads
    }

    #[test]
    fn recovery_is_from_the_fault_to_elsewhere_and_from_the_mend_back_home() {
        let records = reads(|tenth| match tenth {
            0..20 => (Some(1), 10),
            20..26 => (None, 50),
            26..30 => (Some(0), 90),
            30..60 => (Some(0), 30),
            _ => (Some(1), 10),
        });
        let recovery = Recovery::new(&run(records));
        assert_eq!(recovery.first_success, Some(ms(690)));
        assert_eq!(recovery.settled, Some(ms(1_000)));
        assert_eq!(recovery.settled_after_mend, Some(ms(0)));
        assert_eq!(recovery.home, Some(ms(2_000)));
        assert!(!recovery.was_unnoticed());
    }

    #[test]
    fn what_a_later_second_contradicts_is_not_claimed() {
        // The fault is from 2 s to 4 s; a read in a tenth of a second, and one of them late.
        let late_at =
            |late: u64| Recovery::new(&run(reads(|tenth| (Some(1), if tenth == late { 90 } else { 10 }))));
        for (late, settled, after_mend, unnoticed) in [
            (10, Some(0), Some(0), true),      // before the fault
            (25, Some(600), Some(0), false),   // a while after the fault
            (33, Some(1_400), Some(0), false), // long after three good steps
            (38, None, Some(0), false),        // too late to be believed
            (45, Some(0), Some(600), false),   // after the mend
            (98, Some(0), None, false),        // at the very end
        ] {
            let recovery = late_at(late);
            let expected = (settled.map(ms), after_mend.map(ms), unnoticed);
            let told = (recovery.settled, recovery.settled_after_mend, recovery.was_unnoticed());
            assert_eq!(told, expected, "late at {late} tenths");
        }
    }

    #[test]
    fn a_second_in_which_nothing_ended_contradicts_too() {
        let mut silent = run(reads(|_| (Some(1), 10)));
        silent.records.retain(|record| !(ms(6_000)..ms(7_500)).contains(&record.ended));
        let recovery = Recovery::new(&silent);
        assert_eq!(recovery.settled, Some(ms(0)));
        assert_eq!(recovery.settled_after_mend, Some(ms(3_400)));
    }

    #[test]
    fn what_does_not_happen_has_no_time() {
        let never = Recovery::new(&run(reads(|tenth| if tenth < 20 { (Some(1), 10) } else { (None, 10) })));
        assert_eq!(never, Recovery::default());
        let mut early = run(reads(|_| (Some(1), 10)));
        early.outage = None;
        assert_eq!(Recovery::new(&early), Recovery::default());
    }

    #[test]
    fn a_fault_of_no_region_is_recovered_from_anywhere_and_nowhere_is_home() {
        let throttled = super::super::Run { scenario: Scenario::Throttling, ..run(reads(|_| (Some(1), 10))) };
        let recovery = Recovery::new(&throttled);
        assert_eq!((recovery.first_success, recovery.settled), (Some(ms(10)), Some(ms(0))));
        assert_eq!(recovery.home, None);
    }
}
