//! The summary as one JSON object.

use std::time::Duration;

use cosmonaut_plot::Gap;
use serde_json::{Value, json};

use super::{Figures, PhaseSummary, Summary};
use crate::demo::account::{DISTANCES, REGIONS};

impl Summary {
    /// Everything. `report` is where the report is, if there is one.
    pub(crate) fn json(&self, report: Option<&str>) -> Value {
        let regions = REGIONS.iter().zip(DISTANCES);
        json!({
            "scenario": self.scenario.name(),
            "description": self.scenario.description(),
            "seconds": self.seconds,
            "ranSeconds": rounded(self.length.as_secs_f64()),
            "stopped": self.stopped,
            "regions": regions.map(|(name, distance)| json!({"name": name, "distanceMs": millis(Some(distance))})).collect::<Vec<_>>(),
            "operations": self.totals.operations,
            "failures": self.totals.failures,
            "failuresAfterMend": self.failures_after(),
            "failureKinds": self.failures,
            "lost": self.audit.lost,
            "duplicated": self.audit.duplicated,
            "unknown": self.audit.unknown,
            "unknownApplied": self.audit.unknown_applied,
            "acknowledged": self.audit.acknowledged,
            "refused": self.audit.refused,
            "phases": self.phases.iter().map(phase).collect::<Vec<_>>(),
            "longestGapMs": gaps(self.gaps),
            "recovery": {
                "firstSuccessMs": millis(self.recovery.first_success),
                "settledMs": millis(self.recovery.settled),
                "settledAfterMendMs": millis(self.recovery.settled_after_mend),
                "homeMs": millis(self.recovery.home),
            },
            "orchestrations": {"started": self.orchestrations.started, "completed": self.orchestrations.completed},
            "failovers": self.totals.failovers,
            "hedges": self.totals.hedges,
            "retries": self.totals.retries,
            "report": report,
        })
    }
}

fn phase(summary: &PhaseSummary) -> Value {
    let figures = |figures: &Figures| {
        json!({
            "operations": figures.operations,
            "failures": figures.failures,
            "perSecond": rounded(summary.rate(figures)),
            "p50Ms": millis(figures.latency.p50),
            "p99Ms": millis(figures.latency.p99),
        })
    };
    let [reads, writes, queries] = &summary.kinds;
    json!({
        "phase": summary.phase.name(),
        "seconds": rounded(summary.length.as_secs_f64()),
        "operations": summary.kinds.iter().map(|figures| figures.operations).sum::<u64>(),
        "failures": summary.kinds.iter().map(|figures| figures.failures).sum::<u64>(),
        "longestGapMs": gaps(summary.kinds.map(|figures| figures.gap)),
        "reads": figures(reads),
        "writes": figures(writes),
        "queries": figures(queries),
    })
}

/// The longest times without a success, by kind.
fn gaps([reads, writes, queries]: [Gap; 3]) -> Value {
    let length = |gap: Gap| millis(Some(gap.length()));
    json!({"reads": length(reads), "writes": length(writes), "queries": length(queries)})
}

fn millis(time: Option<Duration>) -> Option<f64> {
    time.map(|time| rounded(time.as_secs_f64() * 1e3))
}

/// No more digits than were measured.
fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::super::tests::{record, run};
    use super::*;
    use crate::demo::meter::Kind;

    #[test]
    fn one_object_has_it_all() {
        let run = run(vec![record(Kind::Read, 0, 10, Some(1)), record(Kind::Read, 2_500, 2_540, Some(0))]);
        let json = Summary::new(&run).json(Some("a.html"));
        assert_eq!(json["phases"][0]["reads"]["p99Ms"], 10.0);
        assert_eq!(json["phases"][1]["writes"]["p50Ms"], Value::Null);
        assert_eq!(json["recovery"]["firstSuccessMs"], 540.0);
        assert_eq!(json["regions"][1], json!({"name": "West US", "distanceMs": 10.0}));
        assert_eq!(json["orchestrations"], json!({"started": 1, "completed": 1}));
        for (name, expected) in
            [("operations", 2), ("failures", 0), ("lost", 0), ("duplicated", 0), ("unknown", 2)]
        {
            assert_eq!(json[name], expected, "{name}");
        }
        assert_eq!(json["longestGapMs"], json!({"reads": 7460.0, "writes": 10000.0, "queries": 10000.0}));
        assert_eq!(json["phases"][0]["longestGapMs"]["reads"], 1990.0);
        assert_eq!(json["report"], "a.html");
    }
}
