//! The run as a picture that moves: a bar with its phases, and below it how the account does.

use std::fmt::Write;
use std::time::Duration;

use console::Style;
use cosmonaut_plot::in_words;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::{Event, Status};
use crate::demo::account::REGIONS;
use crate::demo::meter::Answers;
use crate::demo::phase::{Phase, Plan};
use crate::demo::words::{counted, gaps, grouped, moment, percent};

/// How wide the bar is: with the time behind it, less than the 80 columns that a terminal has at least.
const BAR: usize = 52;
/// How wide the bars of the regions are, and from how many columns on.
const SHARE: usize = 24;
const SHARE_IF_NARROW: usize = 10;
const WIDE: u16 = 100;

pub(crate) struct Live {
    bar: ProgressBar,
    plan: Plan,
    ink: Ink,
    share: usize,
}

impl Live {
    pub(crate) fn new(plan: Plan, coloured: bool, columns: u16) -> Self {
        let share = if columns >= WIDE { SHARE } else { SHARE_IF_NARROW };
        let ink = Ink { coloured };
        let length = u64::try_from(plan.whole().as_millis()).unwrap_or(u64::MAX);
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stdout());
        let phases = move |state: &ProgressState, out: &mut dyn Write| {
            // Nobody could be told of an error, and there is none in writing to a string.
            let _ = out.write_str(&phase_bar(&plan, ink, Duration::from_millis(state.pos())));
        };
        let style = ProgressStyle::with_template("{phases}\n{msg}").expect("a template that was tried");
        bar.set_style(style.with_key("phases", phases));
        Self { bar, plan, ink, share }
    }

    pub(crate) fn say(&self, text: &str) {
        self.bar.println(self.ink.paint(Style::new().dim(), text));
    }

    pub(crate) fn event(&self, at: Duration, event: Event, text: &str) {
        let (sign, style) = match event {
            Event::Broken => ("▼", Style::new().red().bold()),
            Event::Mended => ("▲", Style::new().green().bold()),
        };
        let at = format!("{:>7}", moment(at));
        self.bar.println(format!("{at}  {}", self.ink.paint(style, &format!("{sign} {text}"))));
    }

    pub(crate) fn update(&self, status: &Status) {
        let position = status.elapsed.min(self.plan.whole());
        self.bar.set_message(picture(self.ink, self.share, status));
        self.bar.set_position(u64::try_from(position.as_millis()).unwrap_or(u64::MAX));
    }

    pub(crate) fn close(&self) {
        self.bar.finish_and_clear();
    }
}

/// Colours, or none.
#[derive(Clone, Copy)]
struct Ink {
    coloured: bool,
}

impl Ink {
    fn paint(self, style: Style, text: &str) -> String {
        style.force_styling(self.coloured).apply_to(text).to_string()
    }
}

fn colour_of(phase: Phase) -> Style {
    match phase {
        Phase::Healthy => Style::new().green(),
        Phase::Fault => Style::new().red(),
        Phase::Mended => Style::new().cyan(),
    }
}

/// Colours and, for those who have none, patterns.
fn regions() -> [(Style, char); REGIONS.len()] {
    [(Style::new().blue(), '█'), (Style::new().green(), '▓'), (Style::new().magenta(), '░')]
}

/// The time that has passed, and below it the names of the phases where they begin.
fn phase_bar(plan: &Plan, ink: Ink, elapsed: Duration) -> String {
    let cell = plan.whole() / BAR as u32;
    let passed = cells(elapsed, plan.whole());
    let mut bar = String::new();
    for place in 0..BAR {
        let style = colour_of(plan.phase_at(cell * place as u32));
        let (style, mark) = if place < passed { (style, "━") } else { (style.dim(), "─") };
        bar.push_str(&ink.paint(style, mark));
    }
    let names: String = Phase::ALL
        .into_iter()
        .zip([plan.healthy, plan.fault, plan.mended])
        .map(|(phase, time)| {
            let now = phase == plan.phase_at(elapsed);
            let name = if now { format!("● {}", phase.name()) } else { format!("  {}", phase.name()) };
            let style = if now { colour_of(phase).bold() } else { Style::new().dim() };
            ink.paint(style, &format!("{name:<width$}", width = cells(time, plan.whole())))
        })
        .collect();
    format!("\n  {bar}  {} of {}\n  {names}", moment(elapsed), moment(plan.whole()))
}

fn cells(time: Duration, whole: Duration) -> usize {
    (time.div_duration_f64(whole) * BAR as f64).round() as usize
}

fn picture(ink: Ink, share: usize, status: &Status) -> String {
    let Status { glance, orchestrations, .. } = status;
    let totals = glance.totals;
    let strong = |text: String| ink.paint(Style::new().bold(), &text);
    let dim = |text: &str| ink.paint(Style::new().dim(), text);
    let errors = counted(totals.failures, "error", "errors");
    let errors = if totals.failures == 0 { errors } else { ink.paint(Style::new().red().bold(), &errors) };
    let rows = [
        (
            "operations",
            format!(
                "{} /s    {} {}    {} {}",
                strong(format!("{:>6}", grouped(glance.rate as u64))),
                dim("P50"),
                strong(format!("{:>8}", in_words(glance.latency.p50))),
                dim("P99"),
                strong(format!("{:>8}", in_words(glance.latency.p99))),
            ),
        ),
        ("reads from", shares(ink, share, glance.reads)),
        ("writes to", shares(ink, share, glance.writes)),
        ("no success for", format!("{} {}", dim("at most"), gaps(glance.gaps))),
        (
            "driver",
            format!(
                "{}   {}   {}   {errors}",
                counted(totals.failovers, "failover", "failovers"),
                counted(totals.hedges, "hedge", "hedges"),
                counted(totals.retries, "retry", "retries"),
            ),
        ),
        (
            "orchestrations",
            format!(
                "{} started   {} completed   {} under way",
                grouped(orchestrations.started),
                grouped(orchestrations.completed),
                grouped(orchestrations.started - orchestrations.completed),
            ),
        ),
    ];
    rows.into_iter()
        .fold(String::new(), |text, (name, row)| format!("{text}\n  {}  {row}", dim(&format!("{name:<14}"))))
}

/// A bar of the regions' parts, and their names with them.
fn shares(ink: Ink, whole: usize, answers: Answers) -> String {
    let parts = percent(answers);
    let mut bar = String::new();
    let mut legend = String::new();
    // Rounded where each ends, so that all together are as wide as the bar.
    let (mut upto, mut drawn) = (0, 0);
    for ((region, part), (style, mark)) in REGIONS.iter().zip(parts).zip(regions()) {
        upto += part;
        let end = (upto as usize * whole).div_ceil(100).min(whole);
        let width = end.saturating_sub(drawn);
        drawn += width;
        bar.push_str(&ink.paint(style.clone(), &mark.to_string().repeat(width)));
        legend.push_str(&format!("  {} {region} {part}%", ink.paint(style, &mark.to_string())));
    }
    bar.push_str(&" ".repeat(whole - drawn));
    format!("{bar}{legend}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::meter::Glance;
    use crate::demo::orchestrations::Counts;

    const PLAIN: Ink = Ink { coloured: false };

    #[test]
    fn the_bar_grows_and_names_the_phase() {
        let plan = Plan::new(20);
        let bar = phase_bar(&plan, PLAIN, Duration::from_secs(5));
        assert_eq!((bar.matches('━').count(), bar.matches('─').count()), (13, 39), "{bar}");
        assert!(bar.contains("● fault") && bar.contains("5.0 s of 20.0 s"), "{bar}");
        let names = bar.lines().last().unwrap();
        assert_eq!(names.find("healthy"), Some(4));
        assert_eq!(names.chars().position(|letter| letter == '●'), Some(2 + 10));
    }

    #[test]
    fn shares_fill_the_bar() {
        for (answers, full, text) in [
            ([1, 0, 0], SHARE, "█ East US 100%"),
            ([1, 2, 0], SHARE, "▓ West US 67%"),
            ([98, 1, 1], SHARE, "░ North Europe 1%"),
            ([0, 0, 0], 0, "█ East US 0%"),
        ] {
            let drawn = shares(PLAIN, SHARE, answers);
            let bar: String = drawn.chars().take(SHARE).collect();
            assert_eq!(bar.trim_end().chars().count(), full, "{drawn}");
            assert!(drawn.contains(text), "{drawn}");
        }
    }

    #[test]
    fn eighty_columns_are_enough() {
        let glance = Glance {
            rate: 12_345,
            reads: [33, 33, 34],
            writes: [33, 33, 34],
            gaps: [12_340, 12_340, 12_340].map(Duration::from_millis),
            ..Glance::default()
        };
        let elapsed = Duration::from_secs(25);
        let status =
            Status { elapsed, glance, orchestrations: Counts { started: 12_345, completed: 12_300 } };
        let drawn = phase_bar(&Plan::new(30), PLAIN, elapsed) + &picture(PLAIN, SHARE_IF_NARROW, &status);
        for line in drawn.lines() {
            assert!(line.chars().count() < 80, "{line}");
        }
        assert!(drawn.contains("at most reads 12.34 s, writes 12.34 s"), "{drawn}");
    }

    #[test]
    fn no_escape_code_is_written_without_colour() {
        let status = Status {
            elapsed: Duration::from_secs(1),
            glance: Glance { reads: [1, 2, 3], ..Glance::default() },
            orchestrations: Counts { started: 3, completed: 1 },
        };
        let plain = picture(PLAIN, SHARE_IF_NARROW, &status);
        assert!(!plain.contains('\x1b') && plain.contains("2 under way"), "{plain}");
        assert!(picture(Ink { coloured: true }, SHARE, &status).contains("\x1b["));
    }
}
