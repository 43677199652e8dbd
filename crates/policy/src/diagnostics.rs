//! Which finished operations are worth a report, and how many reports a minute are let through.
//!
//! Who gets the reports, and counting time, is the driver's business.

use std::time::Duration;

use cosmonaut_options::DiagnosticsOptionsView;
use cosmonaut_wire::CosmosStatus;

use crate::{LatencyKind, Moment, OperationType};

/// How long a count of reports lasts.
const WINDOW: Duration = Duration::from_secs(60);
/// So many reports are let through in one window.
const MOST_REPORTS: u32 = 100;
/// So many failures are let through beyond those.
const MOST_FURTHER_FAILURES: u32 = 10;

/// Why an operation is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DiagnosticsReason {
    /// It failed, and not in a way that is an ordinary answer.
    Failed,
    /// An operation on one resource took long.
    SlowPoint,
    /// Another operation took long.
    Slow,
    /// It cost many request units.
    Expensive,
    /// Its request or its answer is large.
    LargePayload,
}

impl DiagnosticsReason {
    /// A name for logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failure",
            Self::SlowPoint => "point_latency",
            Self::Slow => "non_point_latency",
            Self::Expensive => "request_charge",
            Self::LargePayload => "payload_size",
        }
    }
}

/// What is above the ordinary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiagnosticsThresholds {
    /// For operations on one resource.
    pub point_latency: Duration,
    /// For other operations.
    pub latency: Duration,
    /// In request units.
    pub request_charge: f64,
    /// In bytes.
    pub payload: u64,
}

impl DiagnosticsThresholds {
    /// As the options say.
    pub fn from_options(options: &DiagnosticsOptionsView<'_>) -> Self {
        Self {
            point_latency: options.point_latency_threshold(),
            latency: options.latency_threshold(),
            request_charge: options.request_charge_threshold(),
            payload: options.payload_threshold(),
        }
    }
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationEnding {
    /// With what was asked for.
    Completed,
    /// With another final answer.
    Refused(CosmosStatus),
    /// With no answer, or with one that leaves open what has happened.
    Failed,
}

/// What an operation came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperationSummary {
    /// What was done.
    pub operation: OperationType,
    /// How it ended.
    pub ending: OperationEnding,
    /// How long it took.
    pub elapsed: Duration,
    /// What it cost, in request units.
    pub request_charge: f64,
    /// The size of its request or of its answer, whichever is larger, in bytes.
    pub payload: u64,
}

/// Why the operation is reported: the gravest reason that holds, or `None`.
pub fn diagnostics_reason(
    summary: &OperationSummary,
    thresholds: &DiagnosticsThresholds,
) -> Option<DiagnosticsReason> {
    if is_failure(summary.ending) {
        return Some(DiagnosticsReason::Failed);
    }
    let (threshold, slow) = match summary.operation.item_latency_kind() {
        LatencyKind::PointRead | LatencyKind::PointWrite => {
            (thresholds.point_latency, DiagnosticsReason::SlowPoint)
        }
        LatencyKind::Page | LatencyKind::Program | LatencyKind::Metadata => {
            (thresholds.latency, DiagnosticsReason::Slow)
        }
    };
    if summary.elapsed > threshold {
        Some(slow)
    } else if summary.request_charge > thresholds.request_charge {
        Some(DiagnosticsReason::Expensive)
    } else if summary.payload > thresholds.payload {
        Some(DiagnosticsReason::LargePayload)
    } else {
        None
    }
}

/// Whether the ending is no ordinary answer. Programs ask for what is not there, and write what is there
/// already, as a matter of course.
fn is_failure(ending: OperationEnding) -> bool {
    match ending {
        OperationEnding::Completed => false,
        OperationEnding::Failed => true,
        OperationEnding::Refused(status) => {
            let is_ordinary = match status.code().as_u16() {
                304 => true,
                404 | 409 | 412 => status.sub_status() == 0,
                _ => false,
            };
            !is_ordinary
        }
    }
}

/// How many reports were let through lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiagnosticsRate {
    /// When the count began.
    since: Option<Moment>,
    reports: u32,
    further_failures: u32,
    /// Reports that were dropped and not yet told of.
    dropped: u64,
}

/// Whether a report is let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosticsAdmission {
    /// It is.
    Report {
        /// How many were dropped since the last one that was let through.
        dropped_before: u64,
    },
    /// There were too many.
    Drop,
}

impl DiagnosticsRate {
    /// The count after a report with this reason is wanted, and whether the report is let through.
    ///
    /// A hundred reports a minute are let through, and ten failures beyond those. Each report that is dropped
    /// is told of once, by the next one that is let through.
    pub fn admit(self, reason: DiagnosticsReason, now: Moment) -> (Self, DiagnosticsAdmission) {
        let mut rate = match self.since {
            Some(since) if now.since(since) < WINDOW => self,
            Some(_) | None => Self { since: Some(now), reports: 0, further_failures: 0, ..self },
        };
        if rate.reports < MOST_REPORTS {
            rate.reports += 1;
        } else if reason == DiagnosticsReason::Failed && rate.further_failures < MOST_FURTHER_FAILURES {
            rate.further_failures += 1;
        } else {
            rate.dropped = rate.dropped.saturating_add(1);
            return (rate, DiagnosticsAdmission::Drop);
        }
        (Self { dropped: 0, ..rate }, DiagnosticsAdmission::Report { dropped_before: rate.dropped })
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    const ORDINARY: OperationSummary = OperationSummary {
        operation: OperationType::Read,
        ending: OperationEnding::Completed,
        elapsed: Duration::from_secs(1),
        request_charge: 1000.0,
        payload: 1 << 20,
    };

    fn thresholds() -> DiagnosticsThresholds {
        let none = cosmonaut_options::DiagnosticsOptions::default();
        DiagnosticsThresholds::from_options(&DiagnosticsOptionsView::new(&none, &none, &none))
    }

    #[test]
    fn what_is_above_a_threshold_is_reported_with_the_gravest_reason() {
        let long = Duration::from_millis(1001);
        let longer = Duration::from_millis(3001);
        let query = OperationSummary { operation: OperationType::Query, ..ORDINARY };
        for (summary, expected) in [
            (ORDINARY, None),
            (OperationSummary { elapsed: long, ..ORDINARY }, Some(DiagnosticsReason::SlowPoint)),
            (OperationSummary { elapsed: long, ..query }, None),
            (OperationSummary { elapsed: longer, ..query }, Some(DiagnosticsReason::Slow)),
            (OperationSummary { operation: OperationType::Batch, elapsed: long, ..ORDINARY }, None),
            (
                OperationSummary { operation: OperationType::Patch, elapsed: long, ..ORDINARY },
                Some(DiagnosticsReason::SlowPoint),
            ),
            (OperationSummary { request_charge: 1000.5, ..ORDINARY }, Some(DiagnosticsReason::Expensive)),
            (OperationSummary { payload: (1 << 20) + 1, ..ORDINARY }, Some(DiagnosticsReason::LargePayload)),
            (
                OperationSummary { elapsed: long, request_charge: 2e3, payload: 1 << 21, ..ORDINARY },
                Some(DiagnosticsReason::SlowPoint),
            ),
            (
                OperationSummary { ending: OperationEnding::Failed, elapsed: long, ..ORDINARY },
                Some(DiagnosticsReason::Failed),
            ),
        ] {
            assert_eq!(diagnostics_reason(&summary, &thresholds()), expected, "{summary:?}");
        }
    }

    #[test]
    fn a_failure_is_reported_unless_it_is_an_ordinary_answer() {
        for (code, sub_status, is_reported) in [
            (304, 0, false),
            (304, 7, false),
            (404, 0, false),
            (404, 1002, true),
            (409, 0, false),
            (409, 3206, true),
            (412, 0, false),
            (412, 1110, true),
            (400, 0, true),
            (401, 0, true),
            (408, 0, true),
            (429, 3200, true),
            (503, 0, true),
        ] {
            let status = CosmosStatus::new(StatusCode::from_u16(code).unwrap(), sub_status);
            let summary = OperationSummary { ending: OperationEnding::Refused(status), ..ORDINARY };
            let reason = diagnostics_reason(&summary, &thresholds());
            assert_eq!(reason, is_reported.then_some(DiagnosticsReason::Failed), "{status}");
        }
    }

    #[test]
    fn an_ordinary_answer_that_is_slow_is_reported_as_slow() {
        let status = CosmosStatus::new(StatusCode::NOT_FOUND, 0);
        let slow = OperationSummary {
            ending: OperationEnding::Refused(status),
            elapsed: Duration::from_secs(2),
            ..ORDINARY
        };
        assert_eq!(diagnostics_reason(&slow, &thresholds()), Some(DiagnosticsReason::SlowPoint));
    }

    #[test]
    fn a_hundred_reports_a_minute_and_ten_failures_more_are_let_through() {
        let mut rate = DiagnosticsRate::default();
        let mut wanted = |count: u32, reason, at: u64| {
            let now = Moment::START + Duration::from_secs(at);
            let mut admissions = Vec::new();
            for _ in 0..count {
                let (after, admission) = rate.admit(reason, now);
                rate = after;
                admissions.push(admission);
            }
            admissions
        };
        let report = |dropped_before| DiagnosticsAdmission::Report { dropped_before };
        let slow = wanted(103, DiagnosticsReason::Slow, 5);
        assert!(slow[..100].iter().all(|admission| *admission == report(0)));
        assert_eq!(slow[100..], [DiagnosticsAdmission::Drop; 3]);
        let failed = wanted(12, DiagnosticsReason::Failed, 64);
        assert_eq!(failed[0], report(3), "what was dropped is told of");
        assert!(failed[1..10].iter().all(|admission| *admission == report(0)), "and only once");
        assert_eq!(failed[10..], [DiagnosticsAdmission::Drop; 2]);
        assert_eq!(wanted(2, DiagnosticsReason::Slow, 65), [report(2), report(0)], "a minute later");
    }
}
