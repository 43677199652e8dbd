//! Every operation of the run, and what the last second of it was like.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cosmonaut_plot::{Percentiles, Sample};

use super::account::REGIONS;
use super::gap::Gaps;
use super::outcome::Outcome;
use crate::runtime;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    Query,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Query];

    pub(crate) fn singular(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Query => "query",
        }
    }

    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Query => "queries",
        }
    }
}

/// One operation. Times are from the beginning of the run.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    /// When it was to begin, whether or not it could.
    pub(crate) due: Duration,
    pub(crate) ended: Duration,
    pub(crate) outcome: Outcome,
}

impl Record {
    /// Counted from when the operation was due: what waits for its turn is late too.
    pub(crate) fn latency(&self) -> Duration {
        self.ended.saturating_sub(self.due)
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.outcome.failure.is_none()
    }

    /// What is drawn of it.
    pub(crate) fn sample(&self) -> Sample {
        Sample {
            ended: self.ended,
            latency: self.latency(),
            failed: !self.succeeded(),
            region: self.outcome.region,
        }
    }
}

/// Counts of the whole run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) operations: u64,
    pub(crate) failures: u64,
    pub(crate) failovers: u64,
    pub(crate) hedges: u64,
    pub(crate) retries: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.operations += 1;
        self.failures += u64::from(outcome.failure.is_some());
        self.failovers += outcome.failovers;
        self.hedges += outcome.hedges;
        self.retries += outcome.retries;
    }
}

/// The answers that each of [`REGIONS`] gave.
pub(crate) type Answers = [u64; REGIONS.len()];

/// The last second, and the totals.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Glance {
    /// How many operations ended in it.
    pub(crate) rate: usize,
    pub(crate) latency: Percentiles,
    /// Who answered reads and queries in it.
    pub(crate) reads: Answers,
    /// Who took writes in it.
    pub(crate) writes: Answers,
    /// The longest time without a success so far, in the order of [`Kind::ALL`].
    pub(crate) gaps: [Duration; Kind::ALL.len()],
    pub(crate) totals: Totals,
}

pub(crate) struct Meter {
    start: Instant,
    /// When the run was over: nothing is due from then on.
    over: OnceLock<Duration>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// In the order in which they ended.
    records: Vec<Record>,
    totals: Totals,
    gaps: Gaps,
}

impl Meter {
    /// Begins now.
    pub(crate) fn start() -> Self {
        Self { start: runtime::now(), over: OnceLock::new(), kept: Mutex::default() }
    }

    /// How long ago that was.
    pub(crate) fn elapsed(&self) -> Duration {
        runtime::now() - self.start
    }

    /// Ends the run now, and tells how long it was. What is under way is still noted.
    pub(crate) fn stop(&self) -> Duration {
        *self.over.get_or_init(|| self.elapsed())
    }

    /// Whether the run was over at a moment.
    pub(crate) fn is_over_at(&self, moment: Duration) -> bool {
        self.over.get().is_some_and(|over| moment >= *over)
    }

    /// Notes an operation that ends now.
    pub(crate) fn note(&self, kind: Kind, due: Duration, outcome: Outcome) {
        let mut kept = self.lock();
        kept.totals.add(&outcome);
        let record = Record { kind, due, ended: self.elapsed(), outcome };
        if record.succeeded() && !self.is_over_at(record.ended) {
            kept.gaps.succeed(kind, record.ended);
        }
        kept.records.push(record);
    }

    pub(crate) fn glance(&self) -> Glance {
        let now = self.elapsed();
        let kept = self.lock();
        let gaps = kept.gaps.upto(self.over.get().copied().unwrap_or(now));
        Glance { totals: kept.totals, gaps, ..glance(&kept.records, now) }
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        self.lock().records.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Nothing is left half done by a panic between two lines.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn glance(records: &[Record], now: Duration) -> Glance {
    const SECOND: Duration = Duration::from_secs(1);
    let recent = || records.iter().rev().take_while(|record| record.ended + SECOND > now);
    let mut glance = Glance { rate: recent().count(), ..Glance::default() };
    glance.latency = Percentiles::of(recent().map(Record::latency).collect());
    for record in recent() {
        let answers = match record.kind {
            Kind::Read | Kind::Query => &mut glance.reads,
            Kind::Write => &mut glance.writes,
        };
        if let Some(region) = record.outcome.region {
            answers[region] += 1;
        }
    }
    glance
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_glance_is_of_the_last_second_alone() {
        let record = |kind, due, ended, region| Record {
            kind,
            due: ms(due),
            ended: ms(ended),
            outcome: Outcome { region, ..Outcome::default() },
        };
        let records = [
            record(Kind::Read, 0, 900, Some(0)), // too long ago
            record(Kind::Read, 1_000, 1_010, Some(1)),
            record(Kind::Query, 1_000, 1_030, Some(2)),
            record(Kind::Write, 1_000, 1_020, Some(0)),
            record(Kind::Read, 1_000, 1_050, None),
        ];
        let glance = glance(&records, ms(1_950));
        assert_eq!((glance.rate, glance.reads, glance.writes), (4, [0, 1, 1], [1, 0, 0]));
        assert_eq!(glance.latency, Percentiles { p50: Some(ms(20)), p99: Some(ms(50)) });
    }

    #[test]
    fn latency_counts_from_when_an_operation_was_due() {
        let record = Record { kind: Kind::Read, due: ms(100), ended: ms(350), outcome: Outcome::default() };
        assert_eq!(record.latency(), ms(250));
    }

    #[test]
    fn nothing_is_due_once_the_run_is_over() {
        let meter = Meter::start();
        assert!(!meter.is_over_at(Duration::MAX), "it goes on until it is stopped");
        let length = meter.stop();
        assert_eq!(meter.stop(), length, "a run ends once");
        assert_eq!([length - ms(0), length + ms(1)].map(|moment| meter.is_over_at(moment)), [true, true]);
        assert!(!meter.is_over_at(Duration::ZERO) || length.is_zero());
    }

    #[test]
    fn totals_are_of_everything() {
        let meter = Meter::start();
        meter.note(Kind::Read, ms(0), Outcome { failovers: 2, retries: 1, ..Outcome::default() });
        meter.note(Kind::Write, ms(0), Outcome { failure: Some("503".into()), ..Outcome::default() });
        let expected = Totals { operations: 2, failures: 1, failovers: 2, hedges: 0, retries: 1 };
        assert_eq!(meter.glance().totals, expected);
        assert_eq!(meter.records().len(), 2);
    }
}
