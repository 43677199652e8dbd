//! The runs as a picture: a row for each scenario, a column for each client, in each cell the latency over the regions
//! that answered.

use std::time::Duration;

use super::svg::{Anchor, Rect, Svg};
use super::timeline::{Bucket, STEP, Timeline};
use super::{REGIONS, Trial};

const P50: &str = "#1f2937";
const P99: &str = "#e07b00";
const FAILURE: &str = "#d62728";
const OUTAGE: &str = "#fbe3e4";
const GRID: &str = "#e3e3e3";
const FRAME: &str = "#888";
const REGION_COLOURS: [&str; REGIONS.len()] = ["#4c78a8", "#59a14f", "#b279a2"];

const MARGIN: f64 = 16.0;
const LEGEND: f64 = 64.0;
const CELL: (f64, f64) = (520.0, 236.0);
/// Left of a cell's panels: what the grid lines mean.
const LABELS: f64 = 46.0;

/// What the latency axis spans, and where it has lines.
const LEAST: Duration = Duration::from_millis(1);
const MOST: Duration = Duration::from_secs(10);
const LINES: [(Duration, &str); 5] = [
    (Duration::from_millis(1), "1 ms"),
    (Duration::from_millis(10), "10 ms"),
    (Duration::from_millis(100), "100 ms"),
    (Duration::from_secs(1), "1 s"),
    (Duration::from_secs(10), "10 s"),
];

pub fn draw(trials: &[Trial]) -> String {
    // The clients took turns in every scenario.
    let columns = trials.iter().take_while(|trial| trial.scenario == trials[0].scenario).count().max(1);
    let rows = trials.len().div_ceil(columns);
    let width = 2.0 * MARGIN + CELL.0 * columns as f64;
    let mut svg = Svg::new(width, 2.0 * MARGIN + LEGEND + CELL.1 * rows as f64);
    legend(&mut svg);
    for (number, trial) in trials.iter().enumerate() {
        let (row, column) = (number / columns, number % columns);
        let x = MARGIN + CELL.0 * column as f64;
        let y = MARGIN + LEGEND + CELL.1 * row as f64;
        cell(&mut svg, (x, y), trial);
    }
    svg.finish()
}

fn legend(svg: &mut Svg) {
    let lines = [("latency P50", P50), ("P99", P99), ("failures", FAILURE), ("fault", OUTAGE)];
    let regions = REGIONS.into_iter().zip(REGION_COLOURS).collect::<Vec<_>>();
    for (row, entries) in [&lines[..], &regions].into_iter().enumerate() {
        let y = MARGIN + 18.0 * row as f64;
        for (column, (name, colour)) in entries.iter().enumerate() {
            let x = MARGIN + LABELS + 110.0 * column as f64;
            svg.rect(Rect { x, y, width: 12.0, height: 12.0 }, colour);
            svg.text((x + 17.0, y + 10.0), Anchor::Start, name);
        }
    }
    let explanation = "In steps of 100 ms; the latency's scale is logarithmic; below, who answered how much.";
    svg.text((MARGIN + LABELS, MARGIN + 48.0), Anchor::Start, explanation);
}

fn cell(svg: &mut Svg, (x, y): (f64, f64), trial: &Trial) {
    svg.heading((x + LABELS, y + 12.0), &format!("{}: {}", trial.client, trial.scenario.name()));
    match &trial.outcome {
        Ok((_, timeline)) => {
            let width = CELL.0 - LABELS - MARGIN;
            let panel = Rect { x: x + LABELS, y: y + 20.0, width, height: 126.0 };
            let time = TimeAxis::new(&panel, timeline);
            latency(svg, &panel, &time, timeline);
            let share = Rect { y: panel.bottom() + 8.0, height: 40.0, ..panel };
            shares(svg, &share, &time, timeline);
            time.label(svg, share.bottom());
        }
        Err(error) => svg.text((x + LABELS, y + 32.0), Anchor::Start, &format!("not measured: {error}")),
    }
}

fn latency(svg: &mut Svg, panel: &Rect, time: &TimeAxis, timeline: &Timeline) {
    svg.rect(time.outage(panel, timeline), OUTAGE);
    for (line, name) in LINES {
        let y = height_of(panel, line);
        svg.line((panel.x, y), (panel.right(), y), GRID);
        svg.text((panel.x - 5.0, y + 4.0), Anchor::End, name);
    }
    let point = |number: usize, value: Option<Duration>| {
        value.map(|value| (time.middle_of(number), height_of(panel, value)))
    };
    let buckets = || timeline.buckets.iter().enumerate();
    svg.curve(buckets().map(|(number, bucket)| point(number, bucket.latency.p99)), P99);
    svg.curve(buckets().map(|(number, bucket)| point(number, bucket.latency.p50)), P50);
    let failed = buckets().filter(|(_, bucket)| bucket.failures > 0);
    svg.area(failed.map(|(number, _)| Rect { height: 5.0, ..time.step(panel, number) }), FAILURE);
    svg.frame(*panel, FRAME);
}

fn shares(svg: &mut Svg, panel: &Rect, time: &TimeAxis, timeline: &Timeline) {
    for (region, colour) in REGION_COLOURS.into_iter().enumerate() {
        let part = |(number, bucket): (usize, &Bucket)| {
            let below: f64 = bucket.share[..region].iter().sum();
            let height = panel.height * bucket.share[region];
            let y = panel.bottom() - panel.height * below - height;
            (height > 0.0).then(|| Rect { y, height, ..time.step(panel, number) })
        };
        svg.area(timeline.buckets.iter().enumerate().filter_map(part), colour);
    }
    svg.text((panel.x - 5.0, panel.y + 8.0), Anchor::End, "100 %");
    svg.text((panel.x - 5.0, panel.bottom()), Anchor::End, "0 %");
    svg.frame(*panel, FRAME);
}

/// Where a latency is on a panel's logarithmic axis.
fn height_of(panel: &Rect, latency: Duration) -> f64 {
    let ratio = |time: Duration| time.as_secs_f64() / LEAST.as_secs_f64();
    let part = ratio(latency.clamp(LEAST, MOST)).ln() / ratio(MOST).ln();
    panel.bottom() - panel.height * part
}

/// Where a moment is.
struct TimeAxis {
    left: f64,
    step: f64,
    steps: usize,
}

impl TimeAxis {
    fn new(panel: &Rect, timeline: &Timeline) -> Self {
        let steps = timeline.buckets.len().max(1);
        Self { left: panel.x, step: panel.width / steps as f64, steps }
    }

    fn at(&self, time: Duration) -> f64 {
        let steps = time.as_secs_f64() / STEP.as_secs_f64();
        self.left + self.step * steps.min(self.steps as f64)
    }

    fn middle_of(&self, number: usize) -> f64 {
        self.left + self.step * (number as f64 + 0.5)
    }

    /// The whole height of a panel over one step.
    fn step(&self, panel: &Rect, number: usize) -> Rect {
        Rect { x: self.left + self.step * number as f64, width: self.step, ..*panel }
    }

    fn outage(&self, panel: &Rect, timeline: &Timeline) -> Rect {
        let (from, to) = (self.at(timeline.outage.from), self.at(timeline.outage.to));
        Rect { x: from, width: to - from, ..*panel }
    }

    /// Every five seconds, below a panel.
    fn label(&self, svg: &mut Svg, bottom: f64) {
        let end = STEP.as_secs_f64() * self.steps as f64;
        for seconds in (0..).step_by(5).take_while(|&seconds| seconds as f64 <= end) {
            let x = self.at(Duration::from_secs(seconds));
            svg.line((x, bottom), (x, bottom + 4.0), FRAME);
            svg.text((x, bottom + 15.0), Anchor::Middle, &format!("{seconds} s"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scenario::Scenario;
    use super::super::summary::{Percentiles, Summary};
    use super::super::workload::{Outage, Run};
    use super::*;

    const PANEL: Rect = Rect { x: 10.0, y: 20.0, width: 200.0, height: 80.0 };

    fn timeline(buckets: usize) -> Timeline {
        let outage = Outage { from: Duration::from_millis(500), to: Duration::from_secs(1) };
        let share = [0.25, 0.75, 0.0];
        let bucket = Bucket { latency: Percentiles::default(), failures: 0, share };
        Timeline { outage, buckets: vec![bucket; buckets] }
    }

    #[test]
    fn each_power_of_ten_is_as_high_as_the_other_and_the_axis_ends_hold() {
        for (millis, expected) in
            [(0, 100.0), (1, 100.0), (10, 80.0), (100, 60.0), (1_000, 40.0), (10_000, 20.0), (60_000, 20.0)]
        {
            let y = height_of(&PANEL, Duration::from_millis(millis));
            assert!((y - expected).abs() < 1e-9, "{millis} ms is at {y}");
        }
    }

    #[test]
    fn moments_are_where_their_steps_are() {
        let timeline = timeline(20);
        let axis = TimeAxis::new(&PANEL, &timeline);
        assert_eq!(axis.at(Duration::ZERO), 10.0);
        assert_eq!(axis.at(Duration::from_secs(2)), 210.0);
        assert_eq!(axis.at(Duration::from_secs(9)), 210.0, "no further than the panel");
        assert_eq!(axis.middle_of(0), 15.0);
        assert_eq!(axis.outage(&PANEL, &timeline), Rect { x: 60.0, width: 50.0, ..PANEL });
        assert_eq!(axis.step(&PANEL, 19).right(), PANEL.right());
    }

    #[test]
    fn shares_are_stacked_from_the_bottom() {
        let mut svg = Svg::new(300.0, 200.0);
        let timeline = timeline(1);
        shares(&mut svg, &PANEL, &TimeAxis::new(&PANEL, &timeline), &timeline);
        let drawn = svg.finish();
        assert!(drawn.contains(r##"<path d="M10.0 80.0H210.0V100.0H10.0z" fill="#4c78a8""##), "{drawn}");
        assert!(drawn.contains(r##"<path d="M10.0 20.0H210.0V80.0H10.0z" fill="#59a14f""##), "{drawn}");
        assert!(!drawn.contains("#b279a2"), "a region that answered nothing is not drawn");
    }

    #[test]
    fn every_scenario_has_a_row_and_every_client_a_column() {
        let run = Run {
            callers: 1,
            outage: timeline(1).outage,
            ended: Duration::from_secs(2),
            records: Vec::new(),
        };
        let outcome = || Ok((Summary::new(&run, 0, |_| true), timeline(20)));
        let trial = |scenario, client| Trial { scenario, client, outcome: outcome() };
        let failed = Trial { outcome: Err("no <network>".into()), ..trial(Scenario::RegionSlow, "b") };
        let trials = [
            trial(Scenario::RegionDown, "a"),
            trial(Scenario::RegionDown, "b"),
            trial(Scenario::RegionSlow, "a"),
            failed,
        ];
        let drawn = draw(&trials);
        assert!(drawn.contains(r#"viewBox="0 0 1072 568""#), "{}", &drawn[..200]);
        for text in ["a: region-down", "b: region-down", "a: region-slow", "not measured: no &lt;network>"] {
            assert!(drawn.contains(text), "{text}");
        }
        assert_eq!(draw(&[]).matches("<path").count(), 0);
    }
}
