//! The result of a run, for people and as JSON.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

use super::load::Pace;
use super::tally::{OfKind, Tally};
use crate::table::fitted;

/// How long the longest bar is.
const BAR: usize = 50;
/// What stands on a line beside a bar.
const AROUND_BAR: usize = 23;

/// A run that is over.
pub(super) struct Report {
    pub(super) container: String,
    pub(super) pace: Pace,
    pub(super) concurrency: usize,
    /// How long operations were counted.
    pub(super) counted: Duration,
    pub(super) not_started: u64,
    /// Whether it was ended early.
    pub(super) stopped: bool,
    pub(super) tally: Tally,
}

impl Report {
    /// `screen` is how wide the terminal is, if it goes to one.
    pub(super) fn text(&self, screen: Option<usize>) -> String {
        let all = self.tally.all();
        let way = match self.pace {
            Pace::Closed => format!("{} at a time", self.concurrency),
            Pace::Open(rate) => format!("{rate} a second"),
        };
        let early = if self.stopped { ", stopped early" } else { "" };
        let mut text =
            format!("{}: {way}, {:.1} s counted{early}\n\n", self.container, self.counted.as_secs_f64());
        text += &self.operations(&all, screen);
        if self.not_started > 0 {
            text += &format!(
                "\n{} operations were due and not started: more than this account, or --concurrency {}, can do. \
                 Then latencies grow as long as it lasts.\n",
                self.not_started, self.concurrency
            );
        }
        if all.succeeded() > 0 {
            text += &format!("\n{}", chart(&all.latencies, screen));
        }
        text += &counts("served by", &self.tally.regions);
        text += &counts("failures", &self.tally.failures);
        text
    }

    fn operations(&self, all: &OfKind, screen: Option<usize>) -> String {
        let row = |name: &str, of: &OfKind| {
            let mut row = vec![
                name.to_owned(),
                of.succeeded().to_string(),
                of.failed.to_string(),
                format!("{:.1}", self.per_second(of.succeeded() as f64)),
                format!("{:.2}", each(of)),
            ];
            row.extend(quantiles(&of.latencies).into_iter().map(|(_, micros)| time(micros)));
            row
        };
        let mut rows: Vec<_> = self.tally.kinds().map(|(kind, of)| row(kind.name(), of)).collect();
        if rows.len() != 1 {
            rows.push(row("all", all));
        }
        let header =
            ["OPERATION", "DONE", "FAILED", "PER SECOND", "RU EACH", "P50", "P90", "P99", "P99.9", "MAX"];
        fitted(&header, rows, screen)
    }

    pub(super) fn json(&self) -> Value {
        let all = self.tally.all();
        let of = |of: &OfKind| {
            let millis = |micros: u64| micros as f64 / 1000.0;
            let latencies: Map<String, Value> = quantiles(&of.latencies)
                .into_iter()
                .map(|(name, micros)| (name.to_owned(), millis(micros).into()))
                .collect();
            json!({
                "done": of.succeeded(),
                "failed": of.failed,
                "perSecond": self.per_second(of.succeeded() as f64),
                "requestCharge": of.charge,
                "latencyMs": latencies,
            })
        };
        let kinds: Map<String, Value> =
            self.tally.kinds().map(|(kind, found)| (kind.name().to_owned(), of(found))).collect();
        let (mode, rate) = match self.pace {
            Pace::Closed => ("closed", None),
            Pace::Open(rate) => ("open", Some(rate)),
        };
        json!({
            "container": self.container,
            "loop": mode,
            "rate": rate,
            "concurrency": self.concurrency,
            "seconds": self.counted.as_secs_f64(),
            "stopped": self.stopped,
            "notStarted": self.not_started,
            "all": of(&all),
            "operations": kinds,
            "failures": self.tally.failures,
            "regions": self.tally.regions,
        })
    }

    fn per_second(&self, number: f64) -> f64 {
        let seconds = self.counted.as_secs_f64();
        if seconds > 0.0 { number / seconds } else { 0.0 }
    }
}

/// What an operation costs in the mean.
fn each(of: &OfKind) -> f64 {
    if of.succeeded() == 0 { 0.0 } else { of.charge / of.succeeded() as f64 }
}

fn quantiles(latencies: &Histogram<u64>) -> [(&'static str, u64); 5] {
    let at = |quantile| latencies.value_at_quantile(quantile);
    [("p50", at(0.5)), ("p90", at(0.9)), ("p99", at(0.99)), ("p999", at(0.999)), ("max", latencies.max())]
}

/// A bar for each step of 1, 2, 5, 10, …, from the first that has anything to the last.
fn chart(latencies: &Histogram<u64>, screen: Option<usize>) -> String {
    let longest = screen.map_or(BAR, |screen| screen.saturating_sub(AROUND_BAR).clamp(5, BAR));
    let steps = (0..12).flat_map(|decade| [1, 2, 5].map(|step| step * 10_u64.pow(decade)));
    let (mut from, mut bars) = (0, Vec::new());
    for to in steps {
        let count = if latencies.max() >= from { latencies.count_between(from, to - 1) } else { 0 };
        if count > 0 || (!bars.is_empty() && latencies.max() >= from) {
            bars.push((to, count));
        }
        from = to;
    }
    let most = bars.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    let total = latencies.len().max(1);
    let row = |(to, count): &(u64, u64)| {
        let length = (count * longest as u64).div_ceil(most);
        let share = *count as f64 * 100.0 / total as f64;
        let bar = "█".repeat(usize::try_from(length).unwrap_or(0));
        format!("  < {:>7}  {bar:width$}{share:6.2}%\n", time(*to), width = longest + 1)
    };
    bars.iter().map(row).collect()
}

/// `850 µs`, `3.2 ms`, `120 ms` or `4.5 s`
fn time(micros: u64) -> String {
    match micros {
        0..1000 => format!("{micros} µs"),
        1000..100_000 => trimmed(micros as f64 / 1000.0, "ms"),
        100_000..1_000_000 => format!("{} ms", micros / 1000),
        _ => trimmed(micros as f64 / 1_000_000.0, "s"),
    }
}

fn trimmed(number: f64, unit: &str) -> String {
    let text = format!("{number:.1}");
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

fn counts(name: &str, counts: &std::collections::BTreeMap<String, u64>) -> String {
    let parts: Vec<_> = counts.iter().map(|(what, count)| format!("{what} {count}")).collect();
    if parts.is_empty() { String::new() } else { format!("\n{name:9}  {}\n", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_that_fits() {
        for (micros, text) in [
            (0, "0 µs"),
            (850, "850 µs"),
            (1000, "1 ms"),
            (3230, "3.2 ms"),
            (120_400, "120 ms"),
            (4_500_000, "4.5 s"),
        ] {
            assert_eq!(time(micros), text);
        }
    }

    #[test]
    fn a_chart_has_a_bar_for_each_step_between_the_first_and_the_last() {
        let mut latencies = Histogram::new(3).unwrap();
        for (micros, count) in [(1500, 90), (700, 9), (15_000, 1)] {
            latencies.record_n(micros, count).unwrap();
        }
        let narrow = chart(&latencies, Some(40));
        assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
        let chart = chart(&latencies, None);
        let steps: Vec<_> = chart.lines().map(|line| line.split('█').next().unwrap().trim()).collect();
        assert_eq!(steps.len(), 5, "{chart}");
        assert!(steps[0].starts_with("<    1 ms") && steps[4].starts_with("<   20 ms"), "{chart}");
        assert!(chart.contains(&"█".repeat(50)) && !chart.contains(&"█".repeat(51)), "{chart}");
        assert!(chart.lines().nth(1).unwrap().ends_with(" 90.00%"), "{chart}");
        assert!(chart.lines().nth(2).unwrap().ends_with("  0.00%"), "{chart}");
    }
}
