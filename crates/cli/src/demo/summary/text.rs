//! The summary for people: a table by phase, and the rest in sentences.

use std::time::Duration;

use cosmonaut_plot::in_words;

use super::Summary;
use crate::cell::wrapped;
use crate::demo::account::REGIONS;
use crate::demo::meter::Kind;
use crate::demo::words::{counted, gaps, grouped, moment};
use crate::table;

/// As wide as a terminal is at least.
const WIDTH: usize = 80;

/// Ways to fail that are shown; the rest is a number.
const MOST_FAILURES: usize = 4;

impl Summary {
    /// Everything. `report` is where the report is, if there is one.
    pub(crate) fn text(&self, report: Option<&str>) -> String {
        let mut text = format!("\n{}\n", wrapped(self.scenario.description(), WIDTH, 0));
        if let Some(outage) = self.outage {
            text.push_str(&format!("Broken at {}, mended at {}.\n", moment(outage.from), moment(outage.to)));
        }
        text.push_str(&format!("\n{}\n", self.phase_table()));
        let facts = self.facts(report);
        let widest = facts.iter().map(|[name, _]| name.chars().count()).max().unwrap_or(0);
        for [name, fact] in facts {
            text.push_str(&wrapped(&format!("{name:<widest$}  {fact}"), WIDTH, widest + 2));
            text.push('\n');
        }
        text
    }

    fn phase_table(&self) -> String {
        let header = ["PHASE", "", "OPERATIONS", "FAILED", "PER SECOND", "P50", "P99", "GAP"];
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
                    in_words(Some(figures.gap.length())),
                ]);
            }
        }
        let rows: Vec<_> = rows.into_iter().map(Vec::from).collect();
        let widths = table::widths(&rows);
        rows.into_iter().map(|row| table::line(&numbers_right(row, &widths), &widths)).collect()
    }

    /// What there is to say beside the table, each with its name.
    pub(crate) fn facts(&self, report: Option<&str>) -> Vec<[String; 2]> {
        let totals = self.totals;
        let mut facts = vec![
            ("Longest gap", self.gaps_in_words()),
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
        facts.into_iter().map(|(name, fact)| [name.to_owned(), fact]).collect()
    }

    /// What a reader in a hurry takes along.
    pub(crate) fn headline(&self) -> String {
        let unharmed = match (self.harm(), self.stopped) {
            (Some(harm), _) => format!("It went wrong: {harm}"),
            (None, true) => "Stopped early, with nothing lost".to_owned(),
            (None, false) => "Nothing lost, nothing twice, every orchestration complete".to_owned(),
        };
        let (kind, gap) = self.worst_gap();
        format!("{unharmed}; at worst no {} succeeded for {}", kind.singular(), in_words(Some(gap.length())))
    }

    fn gaps_in_words(&self) -> String {
        let (kind, gap) = self.worst_gap();
        format!(
            "without a success: {}; the longest, of {}, began at {}",
            gaps(self.gaps.map(|gap| gap.length())),
            kind.plural(),
            moment(gap.from)
        )
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
            Some(_) if recovery.was_unnoticed() => words.push("P99 normal throughout".to_owned()),
            Some(Duration::ZERO) => words.push("P99 normal while it lasted".to_owned()),
            Some(time) => words.push(format!("P99 back to normal after {}", in_words(Some(time)))),
            None => words.push("P99 not back to normal while it lasted".to_owned()),
        }
        match recovery.settled_after_mend {
            Some(Duration::ZERO) => {}
            Some(time) => words.push(format!("normal for good {} after the mend", in_words(Some(time)))),
            None => words.push("not normal for good by the end".to_owned()),
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
            "PHASE             OPERATIONS  FAILED  PER SECOND      P50      P99     GAP\n",
            "healthy  reads             1       0           1  10.0 ms  10.0 ms  1.99 s\n",
            "Longest gap     without a success: reads 7.46 s, writes 10.00 s, queries 10.00",
            "the longest, of writes, began at 0.0 s",
            "first success from elsewhere after 540 ms; P99 not back to",
            "not in use again by the end",
            "5 acknowledged, 0 lost, 0 duplicated; 2 of unknown outcome, of",
            "Orchestrations  1 started, 1 completed\n",
            "1 × Unavailable 503; 1 after the mend",
            "Report          a.html\n",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }

    #[test]
    fn the_headline_says_the_worst_that_happened() {
        let mut bad = run(vec![record(Kind::Read, 0, 10, Some(1))]);
        bad.audit.lost = 1;
        for (run, expected) in [
            (
                run(vec![]),
                "Nothing lost, nothing twice, every orchestration complete; at worst no read succeeded for 10.00 s",
            ),
            (bad, "It went wrong: 1 acknowledged write was lost; at worst no write succeeded for 10.00 s"),
        ] {
            assert_eq!(Summary::new(&run).headline(), expected);
        }
    }

    #[test]
    fn normal_throughout_is_claimed_only_if_nothing_later_contradicts_it() {
        let quick = |late: Option<u64>| {
            let reads = (0..100).map(|tenth| {
                let latency = if Some(tenth) == late { 99 } else { 10 };
                record(Kind::Read, tenth * 100, tenth * 100 + latency, Some(1))
            });
            Summary::new(&run(reads.collect())).recovery_in_words()
        };
        for (late, part) in [
            (None, "P99 normal throughout"),
            (Some(30), "P99 back to normal after 1.20 s"),
            (Some(50), "P99 normal while it lasted; normal for good 1.20 s after the mend"),
            (Some(99), "P99 normal while it lasted; not normal for good by the end"),
        ] {
            let words = quick(late);
            assert!(words.contains(part), "{part} is not in {words}");
            assert_eq!(words.contains("throughout"), late.is_none(), "{words}");
        }
    }
}
