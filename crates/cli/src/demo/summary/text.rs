//! The summary for people: a table by phase, and the rest in sentences.

use std::time::Duration;

use cosmonaut_plot::in_words;

use super::Summary;
use crate::demo::account::REGIONS;
use crate::demo::meter::Kind;
use crate::demo::words::{counted, grouped, moment};
use crate::table;

/// Ways to fail that are shown; the rest is a number.
const MOST_FAILURES: usize = 4;

impl Summary {
    /// Everything. `report` is where the report is, if there is one.
    pub(crate) fn text(&self, report: Option<&str>) -> String {
        let mut text = format!("\n{}\n", self.scenario.description());
        if let Some(outage) = self.outage {
            text.push_str(&format!("Broken at {}, mended at {}.\n", moment(outage.from), moment(outage.to)));
        }
        text.push_str(&format!("\n{}\n", self.phase_table()));
        text.push_str(&table::table(&["", ""], self.facts(report)).replacen('\n', "", 1));
        text
    }

    fn phase_table(&self) -> String {
        let header = ["PHASE", "", "OPERATIONS", "FAILED", "PER SECOND", "P50", "P99"];
        let mut rows = vec![header.map(str::to_owned)];
        for summary in self.phases.iter().filter(|summary| !summary.length.is_zero()) {
            for (kind, figures) in Kind::ALL.into_iter().zip(&summary.kinds) {
                let name = if kind == Kind::Read { summary.phase.name() } else { "" };
                rows.push([
                    name.to_owned(),
                    kind.plural().to_owned(),
                    grouped(figures.operations),
                    grouped(figures.failures),
                    grouped(summary.rate(figures).round() as u64),
                    in_words(figures.latency.p50),
                    in_words(figures.latency.p99),
                ]);
            }
        }
        let rows: Vec<_> = rows.into_iter().map(Vec::from).collect();
        let widths = table::widths(&rows);
        rows.into_iter().map(|row| table::line(&numbers_right(row, &widths), &widths)).collect()
    }

    /// What there is to say beside the table, each with its name.
    pub(crate) fn facts(&self, report: Option<&str>) -> Vec<Vec<String>> {
        let totals = self.totals;
        let mut facts = vec![
            ("Recovery", self.recovery_in_words()),
            ("Writes", self.writes_in_words()),
            (
                "Orchestrations",
                format!(
                    "{} started, {} completed",
                    grouped(self.orchestrations.started),
                    grouped(self.orchestrations.completed)
                ),
            ),
            (
                "Driver",
                format!(
                    "{}, {}, {}",
                    counted(totals.failovers, "failover", "failovers"),
                    counted(totals.hedges, "hedge", "hedges"),
                    counted(totals.retries, "retry", "retries")
                ),
            ),
        ];
        if totals.failures > 0 {
            facts.push(("Failures", self.failures_in_words()));
        }
        if self.stopped {
            facts.push(("Stopped", format!("after {} of {} s", moment(self.length), self.seconds)));
        }
        if let Some(report) = report {
            facts.push(("Report", report.to_owned()));
        }
        facts.into_iter().map(|(name, fact)| vec![name.to_owned(), fact]).collect()
    }

    fn recovery_in_words(&self) -> String {
        if self.outage.is_none() {
            return "nothing was broken yet".to_owned();
        }
        let recovery = self.recovery;
        let elsewhere = if self.scenario.region().is_some() { " from elsewhere" } else { "" };
        let mut words = Vec::new();
        match recovery.first_success {
            Some(time) => words.push(format!("first success{elsewhere} after {}", in_words(Some(time)))),
            None => words.push(format!("no success{elsewhere} while it lasted")),
        }
        match recovery.settled {
            Some(Duration::ZERO) => words.push("P99 normal throughout".to_owned()),
            Some(time) => words.push(format!("P99 back to normal after {}", in_words(Some(time)))),
            None => words.push("P99 not back to normal while it lasted".to_owned()),
        }
        match (recovery.home, self.scenario.home()) {
            (_, None) => {}
            (Some(time), Some(region)) => {
                words.push(format!(
                    "{} in use again {} after the mend",
                    REGIONS[region],
                    in_words(Some(time))
                ));
            }
            (None, Some(region)) => words.push(format!("{} not in use again by the end", REGIONS[region])),
        }
        words.join("; ")
    }

    fn writes_in_words(&self) -> String {
        let audit = self.audit;
        let mut words = format!(
            "{} acknowledged, {} lost, {} duplicated",
            grouped(audit.acknowledged),
            grouped(audit.lost),
            grouped(audit.duplicated)
        );
        if audit.unknown > 0 {
            let (unknown, applied) = (grouped(audit.unknown), grouped(audit.unknown_applied));
            words.push_str(&format!("; {unknown} of unknown outcome, of which {applied} were applied"));
        }
        format!("{words} (everything was read back)")
    }

    fn failures_in_words(&self) -> String {
        let mut ways: Vec<_> = self.failures.iter().collect();
        ways.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let mut words: Vec<_> =
            ways.iter().take(MOST_FAILURES).map(|(way, count)| format!("{count} × {way}")).collect();
        if ways.len() > MOST_FAILURES {
            words.push(format!("and {} other ways", ways.len() - MOST_FAILURES));
        }
        format!("{}; {} after the mend", words.join(", "), self.failures_after())
    }
}

/// The cells behind the first two end where their columns do.
fn numbers_right(row: Vec<String>, widths: &[usize]) -> Vec<String> {
    let right = |(place, cell): (usize, String)| {
        if place < 2 { cell } else { format!("{cell:>width$}", width = widths[place]) }
    };
    row.into_iter().enumerate().map(right).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{record, run};
    use super::*;

    #[test]
    fn people_get_a_table_and_sentences() {
        let summary = Summary::new(&run(vec![
            record(Kind::Read, 0, 10, Some(1)),
            record(Kind::Read, 2_500, 2_540, Some(0)),
            record(Kind::Write, 5_000, 5_040, None),
        ]));
        let text = summary.text(Some("a.html"));
        for part in [
            "West US, the nearest region, refuses connections.\nBroken at 2.0 s, mended at 4.0 s.\n",
            "PHASE             OPERATIONS  FAILED  PER SECOND      P50      P99\n",
            "healthy  reads             1       0           1  10.0 ms  10.0 ms\n",
            "first success from elsewhere after 540 ms; P99 not back to normal while it lasted; West US not in use",
            "5 acknowledged, 0 lost, 0 duplicated; 2 of unknown outcome, of which 1 were applied (everything",
            "Orchestrations  1 started, 1 completed\n",
            "1 × Unavailable 503; 1 after the mend",
            "Report          a.html\n",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
    }
}
