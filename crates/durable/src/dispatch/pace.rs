//! How often an idle process asks: feeds soon again while others write, seldom when nothing happens; searches for what
//! was left behind within what the feeds leave of the budget.
//!
//! The budget of a process with nothing to do is two requests a second, and half a request for each further partition.

use std::time::Duration;

/// The pause of a reader while other processes write.
const SHORTEST: Duration = Duration::from_millis(20);
/// The least pause when nothing happens.
pub(super) const IDLE: Duration = Duration::from_secs(1);
/// The part of the budget that the feeds may use.
const FEEDS: f64 = 0.8;
/// The part of what is left that searches may use.
const SEARCHES: f64 = 0.7;
/// What a process that shares the container asks beside: leases, and offers of work. Requests a second.
const SHARING: f64 = 0.9;

/// How many readers a process has, and whether it shares the container.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readers {
    pub(super) count: usize,
    pub(super) is_sharing: bool,
}

impl Readers {
    /// Requests a second, for feeds and searches.
    fn budget(self) -> f64 {
        let sharing = if self.is_sharing { SHARING } else { 0.0 };
        2.0 + 0.5 * (self.count.max(1) - 1) as f64 - sharing
    }

    /// The pause of each reader when nothing happens.
    pub(super) fn idle_pause(self) -> Duration {
        Duration::from_secs_f64(self.count as f64 / (FEEDS * self.budget())).max(IDLE)
    }

    /// The pause of each reader between two pages of its search for what was left behind.
    pub(super) fn search_pause(self, wanted: Duration) -> Duration {
        let feeds = self.count as f64 / self.idle_pause().as_secs_f64();
        let left = (self.budget() - feeds) * SEARCHES;
        wanted.max(Duration::from_secs_f64(self.count as f64 / left))
    }
}

/// The pause of one reader between two reads.
#[derive(Debug)]
pub(super) struct Pace {
    pause: Duration,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { pause: SHORTEST }
    }

    /// How long to wait after a read that had something new or not, at most so long.
    pub(super) fn after(&mut self, news: bool, longest: Duration) -> Duration {
        self.pause = if news { SHORTEST } else { (self.pause * 2).min(longest) };
        self.pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_reader_slows_down_and_news_speed_it_up() {
        let mut pace = Pace::new();
        let pauses: Vec<_> = (0..8).map(|_| pace.after(false, IDLE).as_millis()).collect();
        assert_eq!(pauses, [40, 80, 160, 320, 640, 1000, 1000, 1000]);
        assert_eq!(pace.after(true, IDLE), SHORTEST);
    }

    #[test]
    fn an_idle_process_keeps_to_its_budget_and_reads_often_however_many_partitions_there_are() {
        for count in [1, 2, 4, 12, 50, 500] {
            for is_sharing in [false, true] {
                let readers = Readers { count, is_sharing };
                let (feed, search) = (readers.idle_pause(), readers.search_pause(Duration::from_secs(2)));
                let asked = count as f64 / feed.as_secs_f64() + count as f64 / search.as_secs_f64();
                let budget = 2.0 + 0.5 * (count as f64 - 1.0) - if is_sharing { SHARING } else { 0.0 };
                assert!(asked <= budget + 0.01, "{count}: {asked} a second");
                assert!(feed <= Duration::from_millis(2500), "{count}: {feed:?}");
                assert!(search <= Duration::from_secs(20), "{count}: {search:?}");
            }
        }
    }
}
