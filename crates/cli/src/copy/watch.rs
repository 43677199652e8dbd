//! What the user sees of a copy: how far it is, when it has caught up, and how far it is behind if not.

use std::fmt;
use std::time::{Duration, Instant};

use super::part::Step;
use super::state::State;
use crate::data::bar::Bar;
use crate::runtime;
use crate::time::{millis, span};

/// How many refusals are shown.
const SHOWN: u64 = 10;
/// How often it is said at most that it has caught up.
const SAID: Duration = Duration::from_secs(10);

/// How the copy stands to its original.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    /// Every part was at its end.
    CaughtUp,
    /// So many parts were not, and the change that was copied last of one of them is so old.
    Behind(usize, Option<Duration>),
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CaughtUp => f.write_str("caught up"),
            Self::Behind(parts, age) => {
                let are = if *parts == 1 { "1 partition is" } else { &format!("{parts} partitions are") };
                write!(f, "{are} behind")?;
                age.map_or(Ok(()), |age| write!(f, ", by at most {}", span(age)))
            }
        }
    }
}

/// What is known of the parts.
pub(super) struct Watch {
    pub(super) bar: Bar,
    pub(super) charge: f64,
    items: u64,
    refused: u64,
    parts: Vec<Seen>,
    /// When it was last said that it has caught up.
    said: Option<Instant>,
    /// Whether it was behind since.
    was_behind: bool,
}

#[derive(Clone, Default)]
struct Seen {
    is_at_end: bool,
    /// When the change was made that was copied last, in seconds since 1970.
    time: Option<u64>,
}

impl Watch {
    pub(super) fn new(state: &State, bar: Bar) -> Self {
        let parts = vec![Seen::default(); state.parts.len()];
        Self { bar, charge: 0.0, items: state.items, refused: 0, parts, said: None, was_behind: true }
    }

    pub(super) fn take(&mut self, step: &Step) {
        self.charge += step.charge;
        self.items += step.items;
        for refusal in &step.refused {
            self.refused += 1;
            if self.refused <= SHOWN {
                let id = refusal.id.as_deref().unwrap_or("without a name");
                let again = if refusal.item().is_some() { " (it will be tried again)" } else { "" };
                self.bar.say(&crate::cell::cell(&format!("item {id:?}: {}{again}", refusal.message), 500));
            }
        }
        let seen = &mut self.parts[step.index];
        seen.is_at_end = step.is_at_end;
        seen.time = step.time.or(seen.time);
        let standing = self.standing();
        let more = format!(", {:.0} RU, {standing}", self.charge);
        self.bar.show(self.items, 0, &more);
        match standing {
            Standing::CaughtUp => self.say_so(),
            Standing::Behind(..) => self.was_behind = true,
        }
    }

    /// Says that it has caught up, but not all the time while little is written.
    fn say_so(&mut self) {
        let now = runtime::now();
        if self.was_behind && self.said.is_none_or(|said| now.duration_since(said) >= SAID) {
            self.said = Some(now);
            self.bar.say(&format!("caught up behind {} items", self.items));
        }
        self.was_behind = false;
    }

    /// How it stands, as far as the last answer of each part says.
    pub(super) fn standing(&self) -> Standing {
        let behind: Vec<_> = self.parts.iter().filter(|part| !part.is_at_end).collect();
        if behind.is_empty() {
            return Standing::CaughtUp;
        }
        let now = millis(runtime::time_of_day()) / 1000;
        let oldest = behind.iter().map(|part| part.time).min().flatten();
        Standing::Behind(behind.len(), oldest.map(|time| Duration::from_secs(now.saturating_sub(time))))
    }
}
