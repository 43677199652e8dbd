//! The tables: what was measured, per orchestration or step, and how it compares.

use std::ops::Sub;
use std::time::Duration;

use super::fan_out::Measured as FannedOut;
use super::model::{self, Load, Model};
use super::processes::{self, Measured};
use super::steps::Measured as Stepped;
use super::store::Kind;

/// Requests, and what they were charged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub requests: u64,
    pub charge: f64,
}

impl Sub for Cost {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self { requests: self.requests - earlier.requests, charge: self.charge - earlier.charge }
    }
}

/// What was measured, or why nothing was.
type Outcome<T> = std::result::Result<T, String>;

impl FannedOut {
    fn per_second(&self) -> f64 {
        self.completed as f64 / self.time.as_secs_f64()
    }

    fn cpu_each(&self) -> Duration {
        self.cpu.div_f64(self.completed.max(1) as f64)
    }
}

pub fn fan_out(outcomes: &[(Kind, Outcome<FannedOut>)]) -> Vec<Vec<String>> {
    let columns =
        ["provider", "data", "rate", "cosmonaut's", "CPU each", "requests each", "charge each", "failed"];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    for (kind, outcome) in outcomes {
        let mut row = vec![kind.name().to_owned(), kind.place().to_owned()];
        match outcome {
            Ok(measured) => {
                let rate = measured.per_second();
                row.push(format!("{rate:.1}/s"));
                row.push(ratio(*kind, outcomes, |ours| ours.per_second() / rate));
                row.push(time(measured.cpu_each()));
                row.extend(costs(measured.cost, measured.completed));
                row.push(if measured.failed == 0 { String::new() } else { measured.failed.to_string() });
            }
            Err(error) => row.push(format!("not measured: {error}")),
        }
        rows.push(row);
    }
    rows
}

pub fn steps(outcomes: &[(Kind, Outcome<Stepped>)]) -> Vec<Vec<String>> {
    let columns = ["provider", "data", "P50", "P99", "of cosmonaut's P50", "requests each", "charge each"];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    for (kind, outcome) in outcomes {
        let mut row = vec![kind.name().to_owned(), kind.place().to_owned()];
        match outcome {
            Ok(measured) => {
                row.extend([time(measured.p50), time(measured.p99)]);
                row.push(ratio(*kind, outcomes, |ours| measured.p50.div_duration_f64(ours.p50)));
                row.extend(costs(measured.cost, measured.steps));
            }
            Err(error) => row.push(format!("not measured: {error}")),
        }
        rows.push(row);
    }
    rows
}

pub fn dormant(measured: &[(u32, FannedOut)]) -> Vec<Vec<String>> {
    let columns = ["dormant", "rate", "of the first", "CPU each", "requests each", "charge each", "failed"];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    let first = measured.first().map(|(_, first)| first.per_second());
    for (count, measured) in measured {
        let rate = measured.per_second();
        let mut row = vec![count.to_string(), format!("{rate:.1}/s")];
        row.push(first.map_or_else(String::new, |first| format!("{:.2} ×", rate / first)));
        row.push(time(measured.cpu_each()));
        row.extend(costs(measured.cost, measured.completed));
        row.push(if measured.failed == 0 { String::new() } else { measured.failed.to_string() });
        rows.push(row);
    }
    rows
}

/// Processes as they were measured, each beside the model, and what the model says of more of them.
pub fn processes(measured: &[Measured], rate: u32, further: &[u32]) -> Vec<Vec<String>> {
    let columns = [
        "processes",
        "started",
        "completed",
        "requests each",
        "of the first",
        "by the model",
        "charge each",
        "of the first",
        "by the model",
        "idle requests of a process",
        "by the model",
    ];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    let Some(first) = measured.first() else { return rows };
    let rate = f64::from(rate);
    let model = Model::of(Load { processes: first.processes, rate }, first.each());
    let idle = format!("{:.2}/s", model::idle_requests(processes::LEASE));
    let row = |count: u32, found: Option<&Measured>| {
        let (expected, first) = (model.each(Load { processes: count, rate }), first.each());
        let each = found.map(Measured::each);
        let number = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
        let text = |value: Option<f64>, unit: &str| {
            value.map_or_else(String::new, |value| format!("{value:.1}{unit}"))
        };
        let ratio = |value: f64, first: f64| format!("{:.2} ×", value / first);
        vec![
            count.to_string(),
            number(found.map(|found| found.started)),
            number(found.map(|found| found.completed)),
            text(each.map(|each| each.requests), ""),
            ratio(each.unwrap_or(expected).requests, first.requests),
            text(Some(expected.requests), ""),
            text(each.map(|each| each.charge), " RU"),
            ratio(each.unwrap_or(expected).charge, first.charge),
            text(Some(expected.charge), " RU"),
            found
                .map_or_else(String::new, |found| format!("{:.2}/s", found.idle_requests / f64::from(count))),
            idle.clone(),
        ]
    };
    rows.extend(measured.iter().map(|found| row(found.processes, Some(found))));
    rows.extend(further.iter().map(|count| row(*count, None)));
    rows
}

/// How a row compares with its rival, unless it is that itself.
fn ratio<T>(kind: Kind, outcomes: &[(Kind, Outcome<T>)], compared: impl Fn(&T) -> f64) -> String {
    let rival = outcomes.iter().find(|(other, _)| *other == kind.rival() && *other != kind);
    match rival {
        Some((_, Ok(ours))) => format!("{:.1} ×", compared(ours)),
        Some((_, Err(_))) | None => String::new(),
    }
}

fn costs(cost: Option<Cost>, among: u64) -> [String; 2] {
    let among = among.max(1) as f64;
    cost.map_or_else(Default::default, |cost| {
        [format!("{:.1}", cost.requests as f64 / among), format!("{:.1} RU", cost.charge / among)]
    })
}

fn time(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::super::store::Medium;
    use super::*;

    fn measured(completed: u64, requests: u64) -> FannedOut {
        let cost = (requests > 0).then_some(Cost { requests, charge: requests as f64 * 2.0 });
        let time = Duration::from_secs(2);
        FannedOut { completed, failed: 0, time, cpu: Duration::from_secs(1), cost }
    }

    #[test]
    fn a_row_is_compared_with_ours_in_the_same_place() {
        let rows = fan_out(&[
            (Kind::Ours(Medium::Memory), Ok(measured(1000, 20_000))),
            (Kind::Cdb(Medium::Memory), Ok(measured(50, 5_000))),
            (Kind::Ours(Medium::Disk), Ok(measured(200, 4_000))),
            (Kind::Cdb(Medium::Disk), Err("no disk".to_owned())),
            (Kind::Sqlite, Ok(FannedOut { failed: 3, ..measured(100, 0) })),
        ]);
        let row = |n: usize| rows[n].iter().map(String::as_str).skip(2).collect::<Vec<_>>();
        assert_eq!(row(1), ["500.0/s", "", "1.00 ms", "20.0", "40.0 RU", ""]);
        assert_eq!(row(2), ["25.0/s", "20.0 ×", "20.00 ms", "100.0", "200.0 RU", ""]);
        assert_eq!(row(4), ["not measured: no disk"]);
        assert_eq!(row(5), ["50.0/s", "2.0 ×", "10.00 ms", "", "", "3"]);
    }

    #[test]
    fn steps_are_compared_by_their_medians() {
        let step = |ms| {
            let time = Duration::from_millis(ms);
            Stepped { p50: time, p99: time * 2, steps: 10, cost: None }
        };
        let rows = steps(&[(Kind::Ours(Medium::Disk), Ok(step(2))), (Kind::Sqlite, Ok(step(5)))]);
        assert_eq!(rows[2][2..], ["5.00 ms", "10.00 ms", "2.5 ×", "", ""]);
    }

    #[test]
    fn dormant_instances_are_compared_with_the_fewest() {
        let rows = dormant(&[(10, measured(100, 1000)), (1000, measured(90, 900))]);
        assert_eq!(rows[2], ["1000", "45.0/s", "0.90 ×", "11.11 ms", "10.0", "20.0 RU", ""]);
    }
}
