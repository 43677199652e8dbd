//! How far a command is, on a terminal: a bar or a wheel, items, rate and bytes. Elsewhere nothing.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::cell::whole;
use crate::runtime;
use crate::screen::note;

/// How often it is drawn at most.
const DRAWN: Duration = Duration::from_millis(100);

/// What is shown while items travel.
pub(crate) struct Bar {
    bar: ProgressBar,
    pub(crate) began: Instant,
    drawn: Option<Instant>,
    /// Items that an earlier run has done, which do not count for the rate.
    before: u64,
}

impl Bar {
    /// A bar of so many bytes, or a wheel if nobody knows how many there are.
    pub(crate) fn new(name: &str, length: Option<u64>, before: u64) -> Self {
        let bar = match (io::stderr().is_terminal(), length) {
            (false, _) => ProgressBar::hidden(),
            (true, Some(length)) => ProgressBar::new(length),
            (true, None) => ProgressBar::new_spinner(),
        };
        let template = match length {
            Some(_) => "{prefix} {bar:20} {percent}% {wide_msg}",
            None => "{spinner} {prefix} {wide_msg}",
        };
        bar.set_style(ProgressStyle::with_template(template).expect("the template is one"));
        bar.set_prefix(whole(name));
        Self { bar, began: runtime::now(), drawn: None, before }
    }

    /// Shows how far it is, unless that was shown just now.
    pub(crate) fn show(&mut self, items: u64, position: u64, more: &str) {
        let now = runtime::now();
        if self.bar.is_hidden() || self.drawn.is_some_and(|drawn| now.duration_since(drawn) < DRAWN) {
            return;
        }
        self.drawn = Some(now);
        self.bar.set_position(position);
        let rate = per_second(items - self.before.min(items), now.duration_since(self.began));
        self.bar.set_message(format!("{items} items, {rate}/s{more}"));
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// Says something above the bar, on the standard error.
    pub(crate) fn say(&self, text: &str) {
        self.bar.suspend(|| {
            note(text);
        });
    }
}

/// How many a second, without a fraction.
pub(crate) fn per_second(count: u64, time: Duration) -> u64 {
    (count as f64 / time.as_secs_f64().max(0.001)) as u64
}

/// `17 B`, `1.2 KB`, `34.5 MB`
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if count < 1000 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_a_unit_that_fits() {
        for (count, text) in
            [(0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (999_999, "1.0 MB"), (34_500_000, "34.5 MB")]
        {
            assert_eq!(bytes(count), text);
        }
        assert_eq!(per_second(10, Duration::from_secs(2)), 5);
    }
}
