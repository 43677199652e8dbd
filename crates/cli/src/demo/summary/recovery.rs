//! How soon the application was served again, and served as before.

use std::time::Duration;

use cosmonaut_plot::{Bucket, Percentiles, Span, Timeline};

use super::Run;
use crate::demo::account::{DISTANCES, REGIONS};
use crate::demo::meter::Record;
use crate::demo::phase::Phase;

/// How finely it is looked at.
const STEP: Duration = Duration::from_millis(200);
/// How many steps in a row it takes to believe it.
const IN_A_ROW: usize = 3;
/// How many times the usual latency is still usual.
const USUAL: u32 = 2;

/// Of the operations that go where the fault strikes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Recovery {
    /// From the fault to the first success, from elsewhere if it strikes a region.
    pub(crate) first_success: Option<Duration>,
    /// From the fault until P99 was at most twice what is usual, or what the way to the farthest region takes.
    pub(crate) settled: Option<Duration>,
    /// From the mend until the region that was struck served most of them again, as fast as before.
    pub(crate) home: Option<Duration>,
}

impl Recovery {
    pub(crate) fn new(run: &Run) -> Self {
        let Some(outage) = run.outage else { return Self::default() };
        let concerned: Vec<_> =
            run.records.iter().filter(|record| run.scenario.concerns(record.kind)).collect();
        let struck = run.scenario.region();
        let elsewhere = |record: &&&Record| {
            // What began before a fault that is everywhere may not have met it.
            let met = struck.is_some() || record.started >= outage.from;
            let served = record.outcome.region.is_some_and(|region| Some(region) != struck);
            met && served && (outage.from..=outage.to).contains(&record.ended)
        };
        let first = concerned.iter().filter(elsewhere).map(|record| record.ended).min();

        let limit = usual(run, &concerned);
        let span = Span { length: run.length, step: STEP };
        let samples = concerned.iter().map(|record| record.sample());
        let timeline = Timeline::new(samples, REGIONS.len(), span, None);
        let fast =
            |bucket: &Bucket| bucket.failures == 0 && bucket.latency.p99.is_some_and(|p99| p99 <= limit);
        let at_home = |bucket: &Bucket| run.scenario.home().is_some_and(|region| bucket.share[region] > 0.5);
        let settled = first_of(&timeline, outage.from, fast).filter(|settled| *settled <= outage.to);
        let home = first_of(&timeline, outage.to, |bucket| fast(bucket) && at_home(bucket));
        Self {
            first_success: first.map(|first| first - outage.from),
            settled: settled.map(|settled| settled - outage.from),
            home: home.map(|home| home - outage.to),
        }
    }
}

/// The latency up to which all is well.
fn usual(run: &Run, concerned: &[&Record]) -> Duration {
    let healthy = concerned
        .iter()
        .filter(|record| Phase::of(record.started, record.ended, run.outage) == Phase::Healthy)
        .map(|record| record.latency());
    let farthest = DISTANCES.into_iter().max().unwrap_or_default();
    Percentiles::of(healthy.collect()).p99.unwrap_or_default().max(farthest) * USUAL
}

/// When something began to hold, looking from a moment on.
fn first_of(timeline: &Timeline, from: Duration, holds: impl Fn(&Bucket) -> bool) -> Option<Duration> {
    let step = timeline.span.step;
    let first = timeline.span.step_of(from);
    let buckets = timeline.buckets.get(first..)?;
    let place = buckets.windows(IN_A_ROW).position(|row| row.iter().all(&holds))?;
    // The first step holds what was before, too.
    Some((step * u32::try_from(first + place).ok()?).max(from))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ms, record, run};
    use super::*;
    use crate::demo::meter::Kind;
    use crate::demo::scenario::Scenario;

    /// A read in each tenth of a second: by which region, and how late.
    fn reads(course: impl Fn(u64) -> (Option<usize>, u64)) -> Vec<Record> {
        (0..100)
            .map(|tenth| {
                let (region, latency) = course(tenth);
                record(Kind::Read, tenth * 100, tenth * 100 + latency, region)
            })
            .collect()
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
        assert_eq!(recovery.home, Some(ms(2_000)));
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
