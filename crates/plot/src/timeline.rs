//! A run over time: latency, failures and who answered, in equal steps.

use std::time::Duration;

use crate::Percentiles;

/// One operation. Times are from the beginning of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When it ended.
    pub ended: Duration,
    /// How long it took.
    pub latency: Duration,
    /// Whether it failed.
    pub failed: bool,
    /// Which region answered, if one did.
    pub region: Option<usize>,
}

/// From a fault to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outage {
    /// When it began.
    pub from: Duration,
    /// When it was over.
    pub to: Duration,
}

/// What a timeline covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// How long the run took.
    pub length: Duration,
    /// How long a step is.
    pub step: Duration,
}

impl Span {
    /// How many whole steps there are. What is left would be a step of a few stragglers.
    pub fn steps(&self) -> usize {
        self.step_of(self.length)
    }

    /// Which step a moment is in.
    pub fn step_of(&self, moment: Duration) -> usize {
        usize::try_from(moment.as_nanos() / self.step.as_nanos().max(1)).unwrap_or(usize::MAX)
    }
}

/// The operations that ended within one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bucket {
    /// How many they were.
    pub operations: usize,
    /// How many of them failed.
    pub failures: usize,
    /// How long they took.
    pub latency: Percentiles,
    /// The part of the answers that came from each region; all 0 if there was none.
    pub share: Vec<f64>,
}

/// A run, step by step.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// What it covers.
    pub span: Span,
    /// When something was broken, if anything was.
    pub outage: Option<Outage>,
    /// The steps.
    pub buckets: Vec<Bucket>,
}

impl Timeline {
    /// Sorts operations into steps, by when they ended. Those that ended after the run are left out.
    pub fn new(
        samples: impl IntoIterator<Item = Sample>,
        regions: usize,
        span: Span,
        outage: Option<Outage>,
    ) -> Self {
        let mut ended_in = vec![Vec::new(); span.steps()];
        for sample in samples {
            if let Some(samples) = ended_in.get_mut(span.step_of(sample.ended)) {
                samples.push(sample);
            }
        }
        let buckets = ended_in.iter().map(|samples| Bucket::new(samples, regions)).collect();
        Self { span, outage, buckets }
    }
}

impl Bucket {
    fn new(samples: &[Sample], regions: usize) -> Self {
        let mut answers = vec![0.0; regions];
        for region in samples.iter().filter_map(|sample| sample.region) {
            answers[region] += 1.0;
        }
        let all: f64 = answers.iter().sum();
        if all > 0.0 {
            answers.iter_mut().for_each(|count| *count /= all);
        }
        Self {
            operations: samples.len(),
            failures: samples.iter().filter(|sample| sample.failed).count(),
            latency: Percentiles::of(samples.iter().map(|sample| sample.latency).collect()),
            share: answers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn sample(started: u64, ended: u64, region: Option<usize>) -> Sample {
        Sample { ended: ms(ended), latency: ms(ended - started), failed: region.is_none(), region }
    }

    #[test]
    fn operations_count_where_they_end() {
        let samples = [
            sample(0, 20, Some(1)),
            sample(0, 99, Some(0)),
            sample(50, 250, Some(1)),
            sample(200, 260, None),
            sample(280, 500, Some(1)), // after the run
        ];
        let span = Span { length: ms(310), step: ms(100) };
        let buckets = Timeline::new(samples, 3, span, None).buckets;
        assert_eq!(buckets.len(), 3);
        assert_eq!((&*buckets[0].share, buckets[0].failures), (&[0.5, 0.5, 0.0][..], 0));
        assert_eq!(buckets[0].latency, Percentiles { p50: Some(ms(20)), p99: Some(ms(99)) });
        assert_eq!(buckets[1], Bucket { share: vec![0.0; 3], ..Bucket::default() });
        assert_eq!((&*buckets[2].share, buckets[2].failures), (&[0.0, 1.0, 0.0][..], 1));
        assert_eq!((buckets[2].operations, buckets[2].latency.p99), (2, Some(ms(200))));
    }
}
