//! The page around the figures: what came of it, the table, what was done, and how to do it again.

use std::time::{Duration, SystemTime};

use cosmonaut_plot::in_words;
use serde_json::json;

use super::figure::{self, Figure};
use super::html::{escape, row, script_data};
use super::plots::Figures;
use crate::demo::account::{DISTANCES, LAG, REGIONS};
use crate::demo::meter::Kind;
use crate::demo::summary::Summary;
use crate::demo::words::{grouped, moment};
use crate::demo::workload;
use crate::time;

const STYLE: &str = include_str!("page.css");
/// A time without a success that an application feels.
const LONG_GAP: Duration = Duration::from_secs(1);

const SCRIPT: &str = include_str!("page.js");

pub(super) fn page(summary: &Summary, figures: &Figures, now: SystemTime) -> String {
    let title = format!("Cosmonaut demo: {}", summary.scenario.name());
    let drawn: String = figures.figures.iter().map(|figure| section(figure, figures)).collect();
    let data = json!({
        "place": figure::place(),
        "step": figures.frame.span.step.as_secs_f64(),
        "figures": figures.figures.iter().map(Figure::data).collect::<Vec<_>>(),
    });
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
<style>
{STYLE}</style>
</head>
<body>
<header>
<p class="kicker">Cosmonaut demo · {scenario}</p>
<h1>{headline}</h1>
<p class="lead">{description}{times}</p>
</header>
<main>
{tiles}
{drawn}
{table}
{done}
</main>
<footer>{footer}</footer>
<div id="tip" hidden></div>
<script type="application/json" id="data">{data}</script>
<script>
{SCRIPT}</script>
</body>
</html>
"#,
        title = escape(&title),
        scenario = escape(summary.scenario.name()),
        headline = escape(&summary.headline()),
        description = escape(summary.scenario.description()),
        times = escape(&times(summary)),
        tiles = tiles(summary),
        table = table(summary),
        done = done(summary),
        footer = escape(&footer(now)),
        data = script_data(&data),
    )
}

fn times(summary: &Summary) -> String {
    let length = moment(summary.length);
    match summary.outage {
        Some(outage) => {
            format!(" Broken at {}, mended at {}, {length} in all.", moment(outage.from), moment(outage.to))
        }
        None => format!(" It was stopped after {length}, before anything broke."),
    }
}

/// The figures that matter most.
fn tiles(summary: &Summary) -> String {
    let audit = summary.audit;
    let elsewhere = if summary.scenario.region().is_some() {
        "to the first success elsewhere"
    } else {
        "to the first success"
    };
    let tiles = [
        (grouped(summary.totals.operations), "operations".to_owned(), None),
        (
            grouped(summary.totals.failures),
            format!("failed, {} after the mend", summary.failures_after()),
            Some(summary.failures_after() == 0),
        ),
        (in_words(summary.recovery.first_success), elsewhere.to_owned(), None),
        (
            grouped(audit.lost),
            format!("of {} acknowledged writes lost", grouped(audit.acknowledged)),
            Some(audit.lost == 0),
        ),
        (grouped(audit.duplicated), "writes applied twice".to_owned(), Some(audit.duplicated == 0)),
        (
            format!(
                "{} / {}",
                grouped(summary.orchestrations.completed),
                grouped(summary.orchestrations.started)
            ),
            "orchestrations completed".to_owned(),
            Some(summary.orchestrations.completed == summary.orchestrations.started),
        ),
    ];
    let gaps = Kind::ALL.into_iter().zip(summary.gaps).map(|(kind, gap)| {
        let what = format!("at most without a successful {}", kind.singular());
        (in_words(Some(gap.length())), what, Some(gap.length() < LONG_GAP))
    });
    let tiles: String = tiles
        .into_iter()
        .chain(gaps)
        .map(|(value, what, good)| {
            let class = match good {
                None => "tile",
                Some(true) => "tile good",
                Some(false) => "tile bad",
            };
            format!("<div class=\"{class}\"><b>{}</b><span>{}</span></div>\n", escape(&value), escape(&what))
        })
        .collect();
    format!("<section class=\"tiles\" aria-label=\"In short\">\n{tiles}</section>")
}

/// A figure with its title, and what its colours mean.
fn section(figure: &Figure, figures: &Figures) -> String {
    let key: String = figure
        .series
        .iter()
        .map(|series| {
            format!("<span><i style=\"background:{}\"></i>{}</span>", series.colour, escape(series.name))
        })
        .collect();
    let failed = if figure.failures.is_empty() {
        ""
    } else {
        "<span><i style=\"background:var(--failure)\"></i>failures</span>"
    };
    format!(
        "<figure>\n<figcaption><h2>{}</h2><div class=\"key\">{key}{failed}</div></figcaption>\n<div class=\"plot\">\n{}</div>\n</figure>\n",
        escape(figure.title),
        figure.draw(&figures.frame)
    )
}

fn table(summary: &Summary) -> String {
    let header =
        ["Phase", "", "Operations", "Failed", "Per second", "P50", "P99", "Longest gap"].map(str::to_owned);
    let mut rows = String::new();
    for phase in &summary.phases {
        for (kind, figures) in Kind::ALL.into_iter().zip(&phase.kinds) {
            rows.push_str(&row(
                "td",
                [
                    if kind == Kind::Read { phase.phase.name().to_owned() } else { String::new() },
                    kind.plural().to_owned(),
                    grouped(figures.operations),
                    grouped(figures.failures),
                    grouped(phase.rate(figures).round() as u64),
                    in_words(figures.latency.p50),
                    in_words(figures.latency.p99),
                    in_words(Some(figures.gap.length())),
                ],
            ));
        }
    }
    let facts: String = summary
        .facts(None)
        .into_iter()
        .map(|[name, fact]| format!("<dt>{}</dt><dd>{}</dd>\n", escape(&name), escape(&fact)))
        .collect();
    format!(
        "<section>\n<h2>In figures</h2>\n<div class=\"wide\"><table>\n<thead>{}</thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n<dl>\n{facts}</dl>\n</section>",
        row("th", header)
    )
}

fn done(summary: &Summary) -> String {
    let regions = REGIONS.iter().zip(DISTANCES);
    let regions: Vec<_> =
        regions.map(|(region, distance)| format!("{region} ({} ms away)", distance.as_millis())).collect();
    let account = format!(
        "An account of three regions ran in one process, each region with a port of its own: {}. East US took the \
         writes, the application was nearest to West US, and commits arrived in the other regions {} to {} ms later.",
        regions.join(", "),
        LAG.0.as_millis(),
        LAG.1.as_millis()
    );
    let load = format!(
        "{} Every write left a number behind, so that reading all items at the end told how often each was applied.",
        workload::in_words()
    );
    let command = format!(
        "cargo run --release -- demo --scenario {} --seconds {}",
        summary.scenario.name(),
        summary.seconds
    );
    format!(
        "<section>\n<h2>What was done</h2>\n<p>{}</p>\n<p>{}</p>\n<h2>How to repeat it</h2>\n<pre><code>{}</code></pre>\n</section>",
        escape(&account),
        escape(&load),
        escape(&command)
    )
}

fn footer(now: SystemTime) -> String {
    let build = if cfg!(debug_assertions) { ", built without optimization: slower than it is" } else { "" };
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!(
        "cosmonaut {}{build}; {} on {}, {processors} processors; {}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        time::utc(time::millis(now))
    )
}

#[cfg(test)]
mod tests {
    use super::super::plots;
    use super::*;
    use crate::demo::summary::tests::{record, run};

    fn drawn(change: impl FnOnce(&mut crate::demo::summary::Run)) -> String {
        let mut run = run(vec![record(Kind::Read, 0, 10, Some(1)), record(Kind::Write, 2_500, 2_540, None)]);
        change(&mut run);
        let summary = Summary::new(&run);
        page(&summary, &plots::figures(&run, &summary), SystemTime::UNIX_EPOCH)
    }

    #[test]
    fn the_page_is_whole_and_asks_for_nothing() {
        let page = drawn(|_| {});
        assert_eq!(page.matches("<svg").count(), 7);
        assert_eq!(page.matches("West US down").count(), 7, "the outage is labelled in all of them");
        for part in [
            "Nothing lost, nothing twice",
            "<b>9.99 s</b><span>at most without a successful read</span>",
            "--scenario region-down --seconds 10",
            "default-src 'none'",
            "1970-01-01 00:00:00Z",
        ] {
            assert!(page.contains(part), "{part}");
        }
        for part in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(part), "{part}");
        }
    }

    #[test]
    fn words_from_outside_cannot_become_markup() {
        let page = drawn(|run| run.records[1].outcome.failure = Some("<script>alert(1)</script>".into()));
        assert!(page.contains("&lt;script&gt;alert(1)"), "it is told");
        assert!(!page.contains("<script>alert"));
    }

    #[test]
    fn harm_is_the_headline() {
        let page = drawn(|run| run.audit.lost = 3);
        assert!(
            page.contains("<h1>It went wrong: 3 acknowledged writes were lost; at worst no write succeeded")
        );
        assert!(page.contains("tile bad"));
        assert!(drawn(|run| run.stopped = true).contains("<h1>Stopped early"));
    }
}
