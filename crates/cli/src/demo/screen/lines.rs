//! The run as plain lines, for logs and for those who pipe it. No escape code is ever written.

use std::io::Write;
use std::time::Duration;

use cosmonaut_plot::in_words;

use super::Status;
use crate::demo::account::REGIONS;
use crate::demo::meter::Answers;
use crate::demo::phase::Plan;
use crate::demo::words::{gaps, percent};

pub(crate) struct Lines {
    plan: Plan,
    to_stderr: bool,
}

impl Lines {
    pub(crate) fn to_stdout(plan: Plan) -> Self {
        Self { plan, to_stderr: false }
    }

    pub(crate) fn to_stderr(plan: Plan) -> Self {
        Self { plan, to_stderr: true }
    }

    pub(crate) fn say(&self, text: &str) {
        self.write(text);
    }

    pub(crate) fn event(&self, moment: Duration, text: &str) {
        self.write(&format!("{:>5.1} s  *** {text} ***", moment.as_secs_f64()));
    }

    pub(crate) fn update(&self, status: &Status) {
        self.write(&line(&self.plan, status));
    }

    fn write(&self, line: &str) {
        // The run is worth finishing for its report and its status, even if nobody reads along any more.
        let _ = if self.to_stderr {
            writeln!(std::io::stderr(), "{line}")
        } else {
            writeln!(std::io::stdout(), "{line}")
        };
    }
}

fn line(plan: &Plan, status: &Status) -> String {
    let Status { elapsed, glance, orchestrations } = status;
    let (phase, totals) = (plan.phase_at(*elapsed).name(), glance.totals);
    format!(
        "{:>5.1} s  {phase:<7}  {:>5} op/s  P50 {:>8}  P99 {:>8}  reads {}  writes {}  no success for: {}  \
         failovers {}  hedges {}  retries {}  errors {}  orchestrations {} of {}",
        elapsed.as_secs_f64(),
        glance.rate,
        in_words(glance.latency.p50),
        in_words(glance.latency.p99),
        shares(glance.reads),
        shares(glance.writes),
        gaps(glance.gaps),
        totals.failovers,
        totals.hedges,
        totals.retries,
        totals.failures,
        orchestrations.completed,
        orchestrations.started,
    )
}

/// The regions that answered something.
fn shares(answers: Answers) -> String {
    let shares = REGIONS.iter().zip(percent(answers)).filter(|(_, percent)| *percent > 0);
    let shares: Vec<_> = shares.map(|(region, percent)| format!("{region} {percent}%")).collect();
    if shares.is_empty() { "-".to_owned() } else { shares.join(" ") }
}

#[cfg(test)]
mod tests {
    use cosmonaut_plot::Percentiles;

    use super::*;
    use crate::demo::meter::{Glance, Totals};
    use crate::demo::orchestrations::Counts;

    #[test]
    fn a_line_says_it_all() {
        let ms = |ms| Some(Duration::from_millis(ms));
        let glance = Glance {
            rate: 1_240,
            latency: Percentiles { p50: ms(31), p99: ms(144) },
            reads: [970, 0, 30],
            writes: [0, 0, 0],
            gaps: [20, 3_210, 150].map(Duration::from_millis),
            totals: Totals { operations: 9, failures: 1, failovers: 2, hedges: 3, retries: 4 },
        };
        let status = Status {
            elapsed: Duration::from_secs(5),
            glance,
            orchestrations: Counts { started: 8, completed: 7 },
        };
        let expected = "  5.0 s  fault     1240 op/s  P50  31.0 ms  P99   144 ms  reads East US 97% North Europe 3%  \
                        writes -  no success for: reads 20.0 ms, writes 3.21 s, queries 150 ms  failovers 2  hedges 3  \
                        retries 4  errors 1  orchestrations 7 of 8";
        assert_eq!(line(&Plan::new(20), &status), expected);
    }
}
