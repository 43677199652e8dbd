//! What is shown while the demo runs: a picture that moves in a terminal, a line a second elsewhere.

mod lines;
mod live;

use std::io::IsTerminal;
use std::time::Duration;

use super::meter::Glance;
use super::orchestrations::Counts;
use super::phase::Plan;
use lines::Lines;
use live::Live;

/// How the run is at the moment.
pub(crate) struct Status {
    pub(crate) elapsed: Duration,
    pub(crate) glance: Glance,
    pub(crate) orchestrations: Counts,
}

/// Something that happens to the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Broken,
    Mended,
}

pub(crate) enum Screen {
    Live(Live),
    Lines(Lines),
}

impl Screen {
    /// With `json`, the output is for a program, and what is for people goes to the error stream.
    pub(crate) fn new(json: bool, plan: Plan) -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let moves = std::io::stdout().is_terminal() && set("TERM").is_none_or(|term| term != "dumb");
        match (json, moves) {
            (true, _) => Self::Lines(Lines::to_stderr(plan)),
            (false, true) => {
                let columns = console::Term::stdout().size().1;
                Self::Live(Live::new(plan, set("NO_COLOR").is_none(), columns))
            }
            (false, false) => Self::Lines(Lines::to_stdout(plan)),
        }
    }

    /// How often it wants to know.
    pub(crate) fn period(&self) -> Duration {
        match self {
            Self::Live(_) => Duration::from_millis(125),
            Self::Lines(_) => Duration::from_secs(1),
        }
    }

    /// Tells what is being done; it stays.
    pub(crate) fn say(&self, text: &str) {
        match self {
            Self::Live(live) => live.say(text),
            Self::Lines(lines) => lines.say(text),
        }
    }

    pub(crate) fn event(&self, moment: Duration, event: Event, text: &str) {
        match self {
            Self::Live(live) => live.event(moment, event, text),
            Self::Lines(lines) => lines.event(moment, text),
        }
    }

    pub(crate) fn update(&self, status: &Status) {
        match self {
            Self::Live(live) => live.update(status),
            Self::Lines(lines) => lines.update(status),
        }
    }

    /// Leaves the terminal to what follows.
    pub(crate) fn close(&self) {
        match self {
            Self::Live(live) => live.close(),
            Self::Lines(_) => {}
        }
    }
}
