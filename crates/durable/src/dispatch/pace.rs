//! How often the change feed is read: soon again while others write, seldom when nothing happens.

use std::time::Duration;

/// The pause while other processes write.
const SHORTEST: Duration = Duration::from_millis(20);
/// The pause when nothing happens, for a container of one partition.
pub(super) const LONGEST: Duration = Duration::from_secs(1);
/// What reading a container of many partitions is slowed down to: this long for each of them, so that an idle
/// process stays below two requests a second whatever the number.
const PER_REQUEST: Duration = Duration::from_millis(750);

/// The pause between two reads.
#[derive(Debug)]
pub(super) struct Pace {
    pause: Duration,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { pause: SHORTEST }
    }

    /// How long to wait after a read that took so many requests, and had something new or not.
    pub(super) fn after(&mut self, news: bool, requests: usize) -> Duration {
        let longest = LONGEST.max(PER_REQUEST * u32::try_from(requests).unwrap_or(u32::MAX).min(1000));
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
        let pauses: Vec<_> = (0..8).map(|_| pace.after(false, 1).as_millis()).collect();
        assert_eq!(pauses, [40, 80, 160, 320, 640, 1000, 1000, 1000]);
        assert_eq!(pace.after(true, 1), SHORTEST);
    }

    #[test]
    fn an_idle_reader_of_many_partitions_sends_less_than_two_requests_a_second() {
        for partitions in [1, 2, 10, 500] {
            let mut pace = Pace::new();
            let pause = (0..30).map(|_| pace.after(false, partitions)).last().unwrap();
            assert!(partitions as f64 / pause.as_secs_f64() < 1.5, "{partitions}");
        }
    }
}
