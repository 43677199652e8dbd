//! The runs as a picture: a row for each scenario, a column for each client, in each cell the latency over the regions
//! that answered.

use std::time::Duration;

use cosmonaut_plot::{Anchor, Bucket, Palette, Panel, Rect, Scale, Svg, Timeline};

use super::{REGIONS, Trial};

const P50: &str = "#1f2937";
const P99: &str = "#e07b00";
const FAILURE: &str = "#d62728";
const OUTAGE: &str = "#fbe3e4";
const PALETTE: Palette = Palette { outage: OUTAGE, grid: "#e3e3e3", frame: "#888" };
const REGION_COLOURS: [&str; REGIONS.len()] = ["#4c78a8", "#59a14f", "#b279a2"];

const MARGIN: f64 = 16.0;
const LEGEND: f64 = 64.0;
const CELL: (f64, f64) = (520.0, 236.0);
/// Left of a cell's panels: what the grid lines mean.
const LABELS: f64 = 46.0;

/// What the latency axis spans.
const LEAST: Duration = Duration::from_millis(1);
const MOST: Duration = Duration::from_secs(10);

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
            let upper = Rect { x: x + LABELS, y: y + 20.0, width, height: 126.0 };
            let lower = Rect { y: upper.bottom() + 8.0, height: 40.0, ..upper };
            latency(svg, &Panel::new(upper, timeline.span, &PALETTE), timeline);
            let lower = Panel::new(lower, timeline.span, &PALETTE);
            shares(svg, &lower, timeline);
            lower.label_time(svg);
        }
        Err(error) => svg.text((x + LABELS, y + 32.0), Anchor::Start, &format!("not measured: {error}")),
    }
}

fn latency(svg: &mut Svg, panel: &Panel<'_>, timeline: &Timeline) {
    panel.shade(svg, timeline.outage);
    let scale = Scale::latency(LEAST, MOST);
    panel.grid(svg, &scale);
    let mut curve = |percentile: fn(&Bucket) -> Option<Duration>, colour| {
        let values = timeline.buckets.iter().map(percentile).map(|time| Some(time?.as_secs_f64()));
        panel.curve(svg, &scale, values, colour);
    };
    curve(|bucket| bucket.latency.p99, P99);
    curve(|bucket| bucket.latency.p50, P50);
    let failed = timeline.buckets.iter().enumerate().filter(|(_, bucket)| bucket.failures > 0);
    panel.marks(svg, failed.map(|(step, _)| step), FAILURE);
    panel.frame(svg);
}

fn shares(svg: &mut Svg, panel: &Panel<'_>, timeline: &Timeline) {
    panel.stack(svg, timeline.buckets.iter().map(|bucket| &*bucket.share), &REGION_COLOURS);
    svg.text((panel.rect.x - 5.0, panel.rect.y + 8.0), Anchor::End, "100 %");
    svg.text((panel.rect.x - 5.0, panel.rect.bottom()), Anchor::End, "0 %");
    panel.frame(svg);
}

#[cfg(test)]
mod tests {
    use cosmonaut_plot::Outage;

    use super::super::scenario::Scenario;
    use super::super::summary::Summary;
    use super::super::timeline;
    use super::super::workload::Run;
    use super::*;

    #[test]
    fn every_scenario_has_a_row_and_every_client_a_column() {
        let run = Run {
            callers: 1,
            outage: Outage { from: Duration::from_millis(500), to: Duration::from_secs(1) },
            ended: Duration::from_secs(2),
            records: Vec::new(),
        };
        let outcome = || Ok((Summary::new(&run, Some(0), |_| true), timeline(&run)));
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
