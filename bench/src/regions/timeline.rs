//! A run over time: latency, failures and who answered, in steps of a tenth of a second.

use std::time::Duration;

use super::REGIONS;
use super::summary::Percentiles;
use super::workload::{Outage, Run};

pub const STEP: Duration = Duration::from_millis(100);

/// The operations that ended within one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bucket {
    pub latency: Percentiles,
    pub failures: usize,
    /// The part of the answers that came from each of [`REGIONS`]; all 0 if there was none.
    pub share: [f64; REGIONS.len()],
}

pub struct Timeline {
    pub outage: Outage,
    pub buckets: Vec<Bucket>,
}

impl Timeline {
    pub fn new(run: &Run) -> Self {
        let steps = |time: Duration| (time.as_nanos() / STEP.as_nanos()) as usize;
        // Operations may end after the run does; the last step would be one of a few stragglers.
        let mut ended_in = vec![Vec::new(); steps(run.ended)];
        for record in &run.records {
            if let Some(records) = ended_in.get_mut(steps(record.ended)) {
                records.push(record);
            }
        }
        let bucket = |records: &Vec<&super::workload::Record>| {
            let mut answers = [0.0; REGIONS.len()];
            for region in records.iter().filter_map(|record| record.outcome.region) {
                answers[region] += 1.0;
            }
            let all: f64 = answers.iter().sum();
            Bucket {
                latency: Percentiles::of(
                    records.iter().map(|record| record.ended - record.started).collect(),
                ),
                failures: records.iter().filter(|record| record.outcome.failure.is_some()).count(),
                share: answers.map(|count| if all > 0.0 { count / all } else { 0.0 }),
            }
        };
        Self { outage: run.outage, buckets: ended_in.iter().map(bucket).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::Outcome;
    use super::super::workload::{Kind, Record};
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn record(started: u64, ended: u64, region: Option<usize>) -> Record {
        let failure = region.is_none().then(|| "late".to_owned());
        let outcome = Outcome { failure, region, ..Outcome::default() };
        Record { caller: 0, kind: Kind::Read, item: 0, started: ms(started), ended: ms(ended), outcome }
    }

    #[test]
    fn operations_count_where_they_end() {
        let records = vec![
            record(0, 20, Some(1)),
            record(0, 99, Some(0)),
            record(50, 250, Some(1)),
            record(200, 260, None),
            record(280, 500, Some(1)), // after the run
        ];
        let run = Run { callers: 1, outage: Outage { from: ms(100), to: ms(200) }, ended: ms(300), records };
        let buckets = Timeline::new(&run).buckets;
        assert_eq!(buckets.len(), 3);
        assert_eq!((buckets[0].share, buckets[0].failures), ([0.5, 0.5, 0.0], 0));
        assert_eq!(buckets[0].latency, Percentiles { p50: Some(ms(20)), p99: Some(ms(99)) });
        assert_eq!(buckets[1], Bucket::default());
        assert_eq!((buckets[2].share, buckets[2].failures), ([0.0, 1.0, 0.0], 1));
        assert_eq!(buckets[2].latency.p99, Some(ms(200)));
    }
}
