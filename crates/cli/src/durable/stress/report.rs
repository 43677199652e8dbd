//! The result of a run, for people and as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use super::load::Outcome;
use crate::cell::whole;
use crate::failure::Failure;

/// A run that is over.
pub(super) struct Report {
    pub(super) container: String,
    pub(super) concurrency: u16,
    pub(super) activities: u32,
    pub(super) outcome: Outcome,
}

/// The quantiles that are shown.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)];

impl Report {
    pub(super) fn text(&self) -> String {
        let Outcome { time, is_stopped, .. } = &self.outcome;
        let early = if *is_stopped { ", stopped early" } else { "" };
        let mut text = format!(
            "{}: {} at a time, {} activities each, {:.1} s{early}\n\n",
            self.container,
            self.concurrency,
            self.activities,
            time.as_secs_f64()
        );
        let latencies: Vec<_> = self
            .latencies()
            .into_iter()
            .map(|(name, millis)| {
                format!("{name} {}", crate::time::span(Duration::from_secs_f64(millis / 1000.0)))
            })
            .collect();
        let (calls, background) = (self.each(), self.background());
        for (name, value) in [
            ("orchestrations", format!("{} done, {} failed", self.done(), self.failed())),
            (
                "rate",
                format!("{:.1}/s, {:.1} activities/s", self.rate(), self.rate() * f64::from(self.activities)),
            ),
            ("latency", latencies.join(", ")),
            ("each took", format!("{:.1} requests, {:.1} RU", calls.0, calls.1)),
            ("waiting took", format!("{:.1} requests/s, {:.1} RU/s", background.0, background.1)),
        ] {
            text += &format!("{name:14}  {value}\n");
        }
        for (why, count) in &self.outcome.failures {
            text += &format!("  {count} x {}\n", whole(why));
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let (calls, background) = (self.each(), self.background());
        let latencies: serde_json::Map<String, Value> =
            self.latencies().into_iter().map(|(name, millis)| (name.to_owned(), millis.into())).collect();
        json!({
            "container": self.container,
            "concurrency": self.concurrency,
            "activities": self.activities,
            "seconds": self.outcome.time.as_secs_f64(),
            "stopped": self.outcome.is_stopped,
            "done": self.done(),
            "failed": self.failed(),
            "perSecond": self.rate(),
            "activitiesPerSecond": self.rate() * f64::from(self.activities),
            "latencyMs": latencies,
            "each": { "requests": calls.0, "requestUnits": calls.1 },
            "backgroundPerSecond": { "requests": background.0, "requestUnits": background.1 },
            "failures": self.outcome.failures,
        })
    }

    /// A failure unless all went well.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        match (self.done(), self.failed()) {
            (0, 0) if self.outcome.is_stopped => Err(Failure::Stopped),
            (0, 0) => Err(Failure::Work("not one orchestration was started".to_owned())),
            (_, 0) => Ok(()),
            (done, failed) => {
                Err(Failure::Work(format!("{failed} of {} orchestrations failed", done + failed)))
            }
        }
    }

    fn done(&self) -> u64 {
        self.outcome.latencies.len()
    }

    fn failed(&self) -> u64 {
        self.outcome.failures.values().sum()
    }

    fn rate(&self) -> f64 {
        self.done() as f64 / self.outcome.time.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// In milliseconds.
    fn latencies(&self) -> Vec<(&'static str, f64)> {
        let at = |quantile: f64| self.outcome.latencies.value_at_quantile(quantile) as f64 / 1000.0;
        QUANTILES.into_iter().map(|(name, quantile)| (name, at(quantile))).collect()
    }

    /// Requests and request units of an orchestration, whatever became of it.
    fn each(&self) -> (f64, f64) {
        let all = (self.done() + self.failed()).max(1) as f64;
        (self.outcome.calls.requests as f64 / all, self.outcome.calls.charge / all)
    }

    /// Requests and request units of waiting, by the second.
    fn background(&self) -> (f64, f64) {
        let seconds = self.outcome.time.as_secs_f64().max(f64::MIN_POSITIVE);
        (self.outcome.background.requests as f64 / seconds, self.outcome.background.charge / seconds)
    }
}

#[cfg(test)]
mod tests {
    use duroxide_cosmonaut::Usage;
    use hdrhistogram::Histogram;

    use super::*;

    fn report(done: u64, failed: u64) -> Report {
        let mut latencies = Histogram::new_with_bounds(1, 1_000_000, 3).unwrap();
        (0..done).for_each(|_| latencies.record(40_000).unwrap());
        let failures = if failed > 0 { [("failed: poison".to_owned(), failed)].into() } else { [].into() };
        Report {
            container: "d/c".into(),
            concurrency: 20,
            activities: 5,
            outcome: Outcome {
                time: Duration::from_secs(2),
                latencies,
                failures,
                calls: Usage { requests: 200, charge: 1_000.0, ..Usage::default() },
                background: Usage { requests: 8, charge: 10.0, ..Usage::default() },
                is_stopped: false,
            },
        }
    }

    #[test]
    fn a_report_says_rates_latencies_and_costs() {
        let text = report(8, 2).text();
        for part in [
            "d/c: 20 at a time, 5 activities each, 2.0 s\n",
            "orchestrations  8 done, 2 failed\n",
            "rate            4.0/s, 20.0 activities/s\n",
            "latency         p50 40 ms, p90 40 ms, p99 40 ms, max 40 ms\n",
            "each took       20.0 requests, 100.0 RU\n",
            "waiting took    4.0 requests/s, 5.0 RU/s\n",
            "  2 x failed: poison\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let json = report(8, 2).json();
        assert_eq!((&json["each"]["requestUnits"], &json["perSecond"]), (&json!(100.0), &json!(4.0)));
    }

    #[test]
    fn only_a_run_without_failures_is_a_success() {
        assert!(report(1, 0).verdict().is_ok());
        for (done, failed, part) in [(0, 0, "not one"), (8, 2, "2 of 10")] {
            let Err(Failure::Work(message)) = report(done, failed).verdict() else { panic!("{part}") };
            assert!(message.contains(part), "{message}");
        }
    }
}
