//! A bar that shows how far a load is, and how it does.

use std::convert::Infallible;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::load::Load;
use crate::runtime;

/// How often it is drawn.
const DRAWN: Duration = Duration::from_millis(200);

/// How far it is, on a terminal; nothing elsewhere.
pub(super) struct Bar {
    bar: ProgressBar,
    began: Instant,
}

impl Bar {
    pub(super) fn new(load: &Load) -> Self {
        let began = runtime::now();
        let length = load.ends.saturating_duration_since(began);
        let bar = ProgressBar::new(u64::try_from(length.as_millis()).unwrap_or(u64::MAX));
        let style = ProgressStyle::with_template("{bar:30} {msg}").expect("the template is one");
        bar.set_style(style);
        Self { bar, began }
    }

    /// Draws for as long as it is polled.
    pub(super) async fn draw(&self, load: &Load) -> Infallible {
        loop {
            runtime::sleep(DRAWN).await;
            self.show(load, runtime::now());
        }
    }

    fn show(&self, load: &Load, now: Instant) {
        let at = now.saturating_duration_since(self.began);
        self.bar.set_position(u64::try_from(at.as_millis()).unwrap_or(u64::MAX));
        if now < load.counted_from {
            self.bar.set_message("warming up");
            return;
        }
        let counted = now.min(load.ends).saturating_duration_since(load.counted_from);
        let all = load.tally().all();
        let per_second = all.succeeded() as f64 / counted.as_secs_f64().max(0.001);
        let p99 = all.latencies.value_at_quantile(0.99) as f64 / 1000.0;
        let left = load.ends.saturating_duration_since(now).as_secs();
        self.bar
            .set_message(format!("{per_second:.0}/s, P99 {p99:.1} ms, {} failed, {left} s left", all.failed));
    }

    /// Takes the bar away; one that was stopped stays, because the key that did it is shown behind it.
    pub(super) fn end(self, is_stopped: bool) {
        if !is_stopped || self.bar.is_hidden() {
            return self.bar.finish_and_clear();
        }
        self.bar.abandon();
        // If nobody sees it, nobody misses it.
        let _ = writeln!(io::stderr());
    }
}
