//! Which figures the report has, and what of the run is in them.

use std::time::Duration;

use cosmonaut_plot::{Bucket, Span, Timeline, in_words};

use super::figure::{Figure, Frame, Series, Shape};
use crate::demo::account::REGIONS;
use crate::demo::meter::Kind;
use crate::demo::phase::Phase;
use crate::demo::summary::{Run, Summary};
use crate::demo::words::moment;

const REGION_COLOURS: [&str; REGIONS.len()] = ["var(--east)", "var(--west)", "var(--north)"];
const P50: &str = "var(--p50)";
const P99: &str = "var(--p99)";

/// The figures, and what they have in common.
pub(super) struct Figures {
    pub(super) frame: Frame,
    pub(super) figures: Vec<Figure>,
}

pub(super) fn figures(run: &Run, summary: &Summary) -> Figures {
    let span = Span { length: run.length, step: step(run.length) };
    let timeline = |kinds: &[Kind]| {
        let samples = run.records.iter().filter(|record| kinds.contains(&record.kind));
        Timeline::new(samples.map(|record| record.sample()), REGIONS.len(), span, run.outage)
    };
    let (reads, writes, queries) =
        (timeline(&[Kind::Read]), timeline(&[Kind::Write]), timeline(&[Kind::Query]));
    let figures = vec![
        latency("latency-reads", "Latency of reads", summary, Kind::Read, &reads),
        latency("latency-writes", "Latency of writes", summary, Kind::Write, &writes),
        latency("latency-queries", "Latency of queries", summary, Kind::Query, &queries),
        throughput([&reads, &writes, &queries]),
        shares("region-reads", "Who answered reads and queries", &timeline(&[Kind::Read, Kind::Query])),
        shares("region-writes", "Who took the writes", &writes),
        orchestrations(run, span),
    ];
    Figures { frame: Frame { span, outage: run.outage, label: run.scenario.label() }, figures }
}

/// About a hundred steps to the run, and none shorter than a tenth of a second.
fn step(length: Duration) -> Duration {
    const STEPS: u32 = 120;
    const LEAST: u64 = 50;
    let millis = u64::try_from((length / STEPS).as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis((millis / LEAST * LEAST).max(2 * LEAST))
}

fn latency(
    id: &'static str,
    title: &'static str,
    summary: &Summary,
    kind: Kind,
    timeline: &Timeline,
) -> Figure {
    let series = |name, colour, percentile: fn(&Bucket) -> Option<Duration>| Series {
        name,
        colour,
        values: timeline.buckets.iter().map(percentile).map(|time| Some(time?.as_secs_f64())).collect(),
    };
    let by_phase: Vec<_> = summary
        .phases
        .iter()
        .zip(Phase::ALL)
        .map(|(summary, phase)| {
            let figures = summary.kinds[kind as usize].latency;
            format!("{}: P50 {}, P99 {}", phase.name(), in_words(figures.p50), in_words(figures.p99))
        })
        .collect();
    Figure {
        id,
        title,
        description: format!("P50 and P99 over time, on a logarithmic axis. {}.", by_phase.join("; ")),
        shape: Shape::Latency,
        series: vec![
            series("P99", P99, |bucket| bucket.latency.p99),
            series("P50", P50, |bucket| bucket.latency.p50),
        ],
        failures: failures(timeline),
    }
}

fn throughput(timelines: [&Timeline; 3]) -> Figure {
    let names = [("reads", "var(--reads)"), ("writes", "var(--writes)"), ("queries", "var(--queries)")];
    let series = timelines.into_iter().zip(names).map(|(timeline, (name, colour))| {
        let step = timeline.span.step.as_secs_f64();
        let values = timeline.buckets.iter().map(|bucket| Some(bucket.operations as f64 / step)).collect();
        Series { name, colour, values }
    });
    Figure {
        id: "throughput",
        title: "Operations per second",
        description: "Reads, writes and queries that ended in each second, on top of each other.".to_owned(),
        shape: Shape::Stack,
        series: series.collect(),
        failures: timelines.into_iter().flat_map(failures).collect(),
    }
}

fn shares(id: &'static str, title: &'static str, timeline: &Timeline) -> Figure {
    let series = REGIONS.into_iter().zip(REGION_COLOURS).enumerate().map(|(region, (name, colour))| Series {
        name,
        colour,
        values: timeline.buckets.iter().map(|bucket| Some(bucket.share[region])).collect(),
    });
    Figure {
        id,
        title,
        description: "The part of the answers that came from each region.".to_owned(),
        shape: Shape::Shares,
        series: series.collect(),
        failures: Vec::new(),
    }
}

fn orchestrations(run: &Run, span: Span) -> Figure {
    let ends = (1..=span.steps()).map(|step| span.step * u32::try_from(step).unwrap_or(u32::MAX));
    let ends: Vec<_> = ends.collect();
    let count = |of: fn(&crate::demo::orchestrations::Course, Duration) -> bool| {
        let at = |end: &Duration| Some(run.courses.iter().filter(|course| of(course, *end)).count() as f64);
        ends.iter().map(at).collect()
    };
    let completed = count(|course, end| course.completed.is_some_and(|time| time < end));
    let under_way =
        count(|course, end| course.started < end && course.completed.is_none_or(|time| time >= end));
    let times: Vec<_> =
        run.courses.iter().filter_map(|course| Some(course.completed? - course.started)).collect();
    let longest =
        times.iter().max().map_or_else(String::new, |time| format!(" The longest took {}.", moment(*time)));
    Figure {
        id: "orchestrations",
        title: "Durable orchestrations",
        description: format!("Those under way, and those completed so far.{longest}"),
        shape: Shape::Lines,
        series: vec![
            Series { name: "completed", colour: "var(--east)", values: completed },
            Series { name: "under way", colour: P99, values: under_way },
        ],
        failures: Vec::new(),
    }
}

fn failures(timeline: &Timeline) -> Vec<usize> {
    let failed = timeline.buckets.iter().enumerate().filter(|(_, bucket)| bucket.failures > 0);
    failed.map(|(step, _)| step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::summary::tests::{ms, record, run};

    #[test]
    fn every_figure_has_a_number_for_every_step() {
        let run = run(vec![
            record(Kind::Read, 0, 10, Some(1)),
            record(Kind::Write, 100, 150, Some(0)),
            record(Kind::Query, 5_000, 5_020, None),
        ]);
        let Figures { frame, figures } = figures(&run, &Summary::new(&run));
        assert_eq!(frame.span.steps(), 100);
        let mut ids: Vec<_> = figures.iter().map(|figure| figure.id).collect();
        for series in figures.iter().flat_map(|figure| &figure.series) {
            assert_eq!(series.values.len(), 100, "{}", series.name);
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), figures.len(), "ids differ");
        let of = |id: &str| figures.iter().find(|figure| figure.id == id).unwrap();
        assert_eq!(of("region-reads").series[1].values[0], Some(1.0));
        assert_eq!(of("latency-queries").failures, [50]);
        assert_eq!(of("throughput").series[1].values[1], Some(10.0), "one in a tenth of a second");
        let under_way = &of("orchestrations").series[1].values;
        assert_eq!((under_way[0], under_way[4], under_way[5]), (Some(1.0), Some(1.0), Some(0.0)));
    }

    #[test]
    fn a_run_has_about_a_hundred_steps() {
        for (length, expected) in [(3_000, 100), (20_000, 150), (30_000, 250), (3_600_000, 30_000)] {
            assert_eq!(step(ms(length)), ms(expected));
        }
    }
}
