//! The runs as tables.

use std::time::Duration;

use cosmonaut_plot::{Percentiles, in_words as time};

use super::Trial;
use super::scenario::Scenario;
use super::summary::{Phase, PhaseSummary, Recovery};
use crate::table;

/// Ways to fail that are shown; the rest is a number.
const MOST_FAILURES: usize = 4;

pub fn print_scenario<'a>(scenario: Scenario, trials: impl Iterator<Item = &'a Trial> + Clone) {
    table::print(&format!("{}: {}", scenario.name(), scenario.title()), &phases(trials.clone()));
    for trial in trials {
        for line in failures(trial) {
            println!("  {line}");
        }
    }
}

pub fn print_recoveries(in_flight: usize, trials: &[Trial]) {
    let title = format!(
        "From the fault, or the first operation after it, to the first success elsewhere, over the {in_flight} callers; and the \
         longest time without any success; of operations that the fault concerns"
    );
    table::print(&title, &recoveries(trials));
}

fn phases<'a>(trials: impl Iterator<Item = &'a Trial>) -> Vec<Vec<String>> {
    let columns = [
        "client",
        "phase",
        "operations",
        "failures",
        "reads P50",
        "P99",
        "writes P50",
        "P99",
        "hedged",
        "extra charge",
        "at most",
    ];
    let mut rows = vec![columns.map(String::from).to_vec()];
    for trial in trials {
        match &trial.outcome {
            Ok((summary, _)) => {
                for (phase, figures) in Phase::ALL.into_iter().zip(&summary.phases) {
                    let client = if phase == Phase::Before { trial.client } else { "" };
                    rows.push(phase_row(client, phase, figures));
                }
            }
            Err(error) => rows.push(vec![trial.client.to_owned(), format!("not measured: {error}")]),
        }
    }
    rows
}

fn phase_row(client: &str, phase: Phase, figures: &PhaseSummary) -> Vec<String> {
    vec![
        client.to_owned(),
        phase.name().to_owned(),
        figures.operations.to_string(),
        figures.failures.to_string(),
        time(figures.reads.p50),
        time(figures.reads.p99),
        time(figures.writes.p50),
        time(figures.writes.p99),
        percent(figures.hedged),
        percent(figures.extra_charge),
        percent(figures.most_extra_charge),
    ]
}

/// How the operations of a client failed, the most frequent first.
fn failures(trial: &Trial) -> Vec<String> {
    let Ok((summary, _)) = &trial.outcome else { return Vec::new() };
    let mut ways: Vec<_> = summary.failures.iter().collect();
    ways.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let mut lines: Vec<_> = ways
        .iter()
        .take(MOST_FAILURES)
        .map(|(way, count)| format!("{} failed {count} × with {way}", trial.client))
        .collect();
    if ways.len() > MOST_FAILURES {
        lines.push(format!("{} failed in {} more ways", trial.client, ways.len() - MOST_FAILURES));
    }
    lines
}

fn recoveries(trials: &[Trial]) -> Vec<Vec<String>> {
    let columns = [
        "scenario",
        "client",
        "P50",
        "P99",
        "of the first's P50",
        "P99",
        "callers without",
        "longest gap",
        "of one caller",
    ];
    let mut rows = vec![columns.map(String::from).to_vec()];
    let mut first: Option<(Scenario, Percentiles)> = None;
    for trial in trials {
        let Ok((summary, _)) = &trial.outcome else { continue };
        let Recovery { times, never, gap, gap_of_one } = summary.recovery;
        let base = first.filter(|(scenario, _)| *scenario == trial.scenario).map(|(_, times)| times);
        rows.push(vec![
            if base.is_none() { trial.scenario.name().to_owned() } else { String::new() },
            trial.client.to_owned(),
            time(times.p50),
            time(times.p99),
            ratio(times.p50, base.and_then(|base| base.p50)),
            ratio(times.p99, base.and_then(|base| base.p99)),
            if never > 0 { never.to_string() } else { String::new() },
            time(Some(gap)),
            time(Some(gap_of_one)),
        ]);
        if base.is_none() {
            first = Some((trial.scenario, times));
        }
    }
    rows
}

fn percent(part: f64) -> String {
    if part == 0.0 { "0".to_owned() } else { format!("{:.2} %", part * 100.0) }
}

fn ratio(time: Option<Duration>, base: Option<Duration>) -> String {
    match (time, base) {
        (Some(time), Some(base)) if !base.is_zero() => format!("{:.2} ×", time.div_duration_f64(base)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::Outcome;
    use super::super::summary::Summary;
    use super::super::timeline;
    use super::super::workload::{Kind, Record, Run};
    use super::*;
    use cosmonaut_plot::Outage;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A caller that is served elsewhere so long after the fault, and one that fails.
    fn trial(client: &'static str, after: u64) -> Trial {
        let record = |caller, ended, failure: Option<&str>| {
            let region = failure.is_none().then_some(0);
            let outcome =
                Outcome { failure: failure.map(str::to_owned), region, charge: 1.0, ..Outcome::default() };
            Record { caller, kind: Kind::Read, item: 0, started: ms(100), ended: ms(ended), outcome }
        };
        let records = vec![record(0, 100 + after, None), record(1, 150, Some("Unavailable 503"))];
        let run =
            Run { callers: 2, outage: Outage { from: ms(100), to: ms(9_000) }, ended: ms(9_000), records };
        let outcome = Ok((Summary::new(&run, Some(1), |_| true), timeline(&run)));
        Trial { scenario: Scenario::RegionDown, client, outcome }
    }

    #[test]
    fn a_client_has_a_row_for_each_phase_and_one_that_cannot_run_says_why() {
        let absent = Trial { outcome: Err("no peer".into()), ..trial("b", 1) };
        let rows = phases([trial("a", 40), absent].iter());
        assert_eq!(rows[1], ["a", "before", "0", "0", "–", "–", "–", "–", "0", "0", "0"]);
        assert_eq!(rows[2][..6], ["", "during", "2", "1", "40.0 ms", "50.0 ms"]);
        assert_eq!(rows[4], ["b", "not measured: no peer"]);
    }

    #[test]
    fn recoveries_are_compared_with_the_first_client_of_the_scenario() {
        let rows = recoveries(&[trial("a", 40), trial("b", 100), trial("c", 1_500)]);
        assert_eq!(rows[1], ["region-down", "a", "40.0 ms", "40.0 ms", "", "", "1", "8.86 s", "9.00 s"]);
        assert_eq!(rows[2], ["", "b", "100 ms", "100 ms", "2.50 ×", "2.50 ×", "1", "8.80 s", "9.00 s"]);
        assert_eq!(rows[3][2], "1.50 s");
    }

    #[test]
    fn ways_to_fail_are_counted() {
        assert_eq!(failures(&trial("a", 40)), ["a failed 1 × with Unavailable 503"]);
    }
}
