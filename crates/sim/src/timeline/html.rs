//! The timeline as one page that needs nothing else: a lane for each session, one for each region, faults shaded, and the
//! violation marked.

use cosmonaut_plot::{Anchor, Rect, Svg};

use super::scene::{Bar, Scene, name_of_event, scene};
use crate::checker::Violation;
use crate::checker::words::moment;
use crate::history::{Event, Happening, History, Micros};

const STYLE: &str = include_str!("page.css");

const WIDTH: f64 = 960.0;
/// Where the lanes are: left of them their names, right of them room for the words beside the last bar.
const LEFT: f64 = 92.0;
const RIGHT: f64 = 930.0;
const ROW: f64 = 20.0;
const BAR: f64 = 12.0;
/// Above the lanes there is a line for each event.
const ABOVE: f64 = 16.0;
/// About how wide a letter is.
const LETTER: f64 = 6.2;

/// A page that a person can read.
pub fn html(history: &History, violation: &Violation) -> String {
    let scene = scene(history, violation);
    let regions = &history.account.regions;
    let mut key: String = regions
        .iter()
        .enumerate()
        .map(|(number, name)| {
            format!("<span><i style=\"background:{}\"></i>{}</span>", colour(number), escape(name))
        })
        .collect();
    if scene.events.iter().any(|event| breaks(event)) {
        key.push_str("<span><i style=\"background:var(--outage)\"></i>something is broken</span>");
    }
    let rows: String = lines(&scene).concat();
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Cosmonaut simulator: {rule}</title>
<style>
{STYLE}</style>
</head>
<body>
<header>
<p class="kicker">Cosmonaut simulator · {at}</p>
<h1>{rule}</h1>
<p class="lead">{message}</p>
</header>
<main>
<figure>
<figcaption><h2>Who did what when</h2><div class="key">{key}</div></figcaption>
<div class="plot">
{drawing}</div>
</figure>
<section>
<h2>Call by call</h2>
<div class="wide"><table>
<thead><tr><th>Begins</th><th>Ends</th><th>Who</th><th>Region</th><th>Call</th><th>Outcome</th></tr></thead>
<tbody>
{rows}</tbody>
</table></div>
{left_out}</section>
</main>
</body>
</html>
"#,
        rule = escape(violation.rule),
        at = moment(violation.at),
        message = escape(&violation.message),
        drawing = draw(&scene, regions, violation),
        left_out = match scene.left_out {
            0 => String::new(),
            more => format!("<p>And {more} more calls on the same items.</p>\n"),
        },
    )
}

/// The rows of the table, in the order of time.
fn lines(scene: &Scene<'_>) -> Vec<String> {
    let calls = scene.bars.iter().map(|bar| {
        let class = if bar.marked { " class=\"marked\"" } else { "" };
        let ends = bar.to.map_or_else(|| "–".to_owned(), moment);
        let cells = [&moment(bar.from), &ends, &bar.lane, bar.region.unwrap_or("–"), &bar.what, &bar.outcome];
        let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        (bar.from, format!("<tr{class}>{cells}</tr>\n"))
    });
    let events = scene.events.iter().map(|event| {
        let (at, what) = (moment(event.at), escape(&name_of_event(event)));
        (event.at, format!("<tr class=\"event\"><td>{at}</td><td colspan=\"5\">{what}</td></tr>\n"))
    });
    let mut lines: Vec<_> = events.chain(calls).collect();
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(_, line)| line).collect()
}

/// Where things are in the drawing.
struct Place<'s> {
    scene: &'s Scene<'s>,
}

impl Place<'_> {
    fn x(&self, at: Micros) -> f64 {
        let (from, to) = (self.scene.from, self.scene.to);
        let share = (at.clamp(from, to) - from) as f64 / (to - from).max(1) as f64;
        LEFT + share * (RIGHT - LEFT)
    }
}

fn draw(scene: &Scene<'_>, regions: &[String], violation: &Violation) -> String {
    let place = Place { scene };
    let inside: Vec<_> = scene
        .events
        .iter()
        .copied()
        .filter(|event| event.until >= scene.from && event.at <= scene.to)
        .collect();
    let mut lanes: Vec<&str> = Vec::new();
    for bar in &scene.bars {
        if !lanes.contains(&bar.lane.as_str()) {
            lanes.push(&bar.lane);
        }
    }
    let top = ABOVE * (inside.len() + 1) as f64 + 8.0;
    let answered = if scene.bars.iter().any(|bar| bar.region.is_some()) { regions.len() } else { 0 };
    let height = top + ROW * (scene.bars.len() + answered) as f64 + 10.0 * (lanes.len() + 1) as f64 + 6.0;
    let mut svg = Svg::new(WIDTH, height + 22.0);
    shade(&mut svg, &place, top, height);
    for step in 0..=4 {
        let at = scene.from + (scene.to - scene.from) / 4 * step;
        let x = place.x(at);
        svg.line((x, top), (x, height), "var(--grid)");
        let anchor = match step {
            0 => Anchor::Start,
            4 => Anchor::End,
            _ => Anchor::Middle,
        };
        svg.text((x, height + 16.0), anchor, &moment(at));
    }
    for (number, event) in inside.iter().enumerate() {
        let (x, y) = (place.x(event.at), ABOVE * (number + 1) as f64);
        svg.line((x, y - 4.0), (x, height), "var(--frame)");
        let (x, anchor) = if x > WIDTH / 2.0 { (x - 5.0, Anchor::End) } else { (x + 5.0, Anchor::Start) };
        svg.text((x, y), anchor, &name_of_event(event));
    }
    let x = place.x(violation.at);
    svg.line((x, top - 8.0), (x, height), "var(--failure)");
    let mut y = top;
    for lane in lanes {
        svg.line((0.0, y), (WIDTH, y), "var(--edge)");
        svg.text((4.0, y + 17.0), Anchor::Start, lane);
        y += 5.0;
        for bar in scene.bars.iter().filter(|bar| bar.lane == lane) {
            draw_bar(&mut svg, &place, bar, y, regions);
            y += ROW;
        }
        y += 5.0;
    }
    svg.line((0.0, y), (WIDTH, y), "var(--frame)");
    if answered > 0 {
        draw_regions(&mut svg, &place, regions, y + 5.0);
    }
    let description = format!("{} calls of {} on a timeline", scene.bars.len(), violation.rule);
    svg.finish_inline("timeline", violation.rule, &description)
}

/// From the first fault that is shown to the end of the last one.
fn shade(svg: &mut Svg, place: &Place<'_>, top: f64, height: f64) {
    let mut broken = None;
    for event in &place.scene.events {
        if breaks(event) {
            broken = broken.or(Some(event.at));
        } else if matches!(event.what, Happening::Healed { .. })
            && let Some(from) = broken.take()
        {
            box_between(svg, place, (from, event.at), (top, height));
        }
    }
    if let Some(from) = broken {
        box_between(svg, place, (from, place.scene.to), (top, height));
    }
}

fn box_between(svg: &mut Svg, place: &Place<'_>, time: (Micros, Micros), (top, bottom): (f64, f64)) {
    let (x, right) = (place.x(time.0), place.x(time.1));
    svg.rect(Rect { x, y: top, width: right - x, height: bottom - top }, "var(--outage)");
}

fn draw_bar(svg: &mut Svg, place: &Place<'_>, bar: &Bar<'_>, y: f64, regions: &[String]) {
    let x = place.x(bar.from);
    let right = bar.to.map_or(RIGHT, |to| place.x(to)).max(x + 4.0);
    let fill = bar.region.and_then(|name| regions.iter().position(|region| region == name));
    let fill = fill.map_or("var(--none)", colour);
    let rect = Rect { x, y: y + 2.0, width: right - x, height: BAR };
    // A call whose process ended is open to the right.
    match bar.to {
        Some(_) => svg.rect(rect, fill),
        None => svg.frame(rect, fill),
    }
    if bar.marked {
        svg.frame(
            Rect { x: x - 2.5, y: y - 0.5, width: rect.width + 5.0, height: BAR + 5.0 },
            "var(--failure)",
        );
    }
    let words = shortened(&format!("{} → {}", bar.what, bar.outcome), 78);
    let wide = words.chars().count() as f64 * LETTER;
    let baseline = y + 12.0;
    if right + 6.0 + wide < WIDTH || x - LEFT < wide {
        let at = (right + 6.0).min(WIDTH - wide - 4.0).max(LEFT);
        svg.text((at, baseline), Anchor::Start, &words);
    } else {
        svg.text((x - 6.0, baseline), Anchor::End, &words);
    }
}

/// What each region answered, as marks at the ends of the calls.
fn draw_regions(svg: &mut Svg, place: &Place<'_>, regions: &[String], top: f64) {
    for (number, region) in regions.iter().enumerate() {
        let y = top + ROW * number as f64;
        svg.text((4.0, y + 12.0), Anchor::Start, region);
        for bar in place.scene.bars.iter().filter(|bar| bar.region == Some(region)) {
            let Some(to) = bar.to else { continue };
            let x = place.x(to);
            let fill = if bar.marked { "var(--failure)" } else { colour(number) };
            svg.rect(Rect { x: x - 2.0, y: y + 2.0, width: 4.0, height: BAR }, fill);
        }
    }
}

fn breaks(event: &Event) -> bool {
    match event.what {
        Happening::Healed { .. } | Happening::Graceful { .. } | Happening::Split => false,
        Happening::Forced { .. }
        | Happening::PartitionForced { .. }
        | Happening::RegionLost(_)
        | Happening::RegionRemoved(_)
        | Happening::KeyLapsed
        | Happening::ServerCrashed
        | Happening::Fault(_) => true,
    }
}

fn colour(region: usize) -> &'static str {
    ["var(--region-0)", "var(--region-1)", "var(--region-2)", "var(--region-3)"][region % 4]
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// A text as it may stand in an element.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
