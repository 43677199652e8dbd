//! How much of a bulk run may be under way in one partition.
//!
//! The service throttles each partition by itself and says how long to wait. So each has a window of operations, which
//! grows while nothing is throttled and shrinks when something is, and a pause, which ends when the service said.
//!
//! | what an answer says | window | pause |
//! | --- | --- | --- |
//! | nothing throttled, and nothing ever was | twice as large | |
//! | nothing throttled | larger by [`STEP`] | |
//! | something throttled, of a request sent since the last cut | ⅔ of it | as long as the service says |
//! | something throttled, of an older request | the same: it was cut for that already | as long as the service says |

use std::time::Duration;

use cosmonaut_driver::Moment;

/// How many operations the window grows by with each answer, once it was cut.
const STEP: usize = 20;
/// The window that is never cut.
const LEAST: usize = 10;
/// The pause if the service does not say how long to wait.
const USUAL_PAUSE: Duration = Duration::from_millis(100);

/// The window of one partition.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    window: usize,
    most: usize,
    in_flight: usize,
    requests: usize,
    paused_until: Option<Moment>,
    /// When the window was last cut.
    cut: Option<Moment>,
    /// When something was last done that was not throttled.
    accepted: Moment,
}

/// What came of a request, as far as the pace is concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    /// When it was sent.
    pub(super) sent: Moment,
    /// How many operations it had.
    pub(super) operations: usize,
    /// How many of them were throttled.
    pub(super) throttled: usize,
    /// How long the service says to wait.
    pub(super) retry_after: Option<Duration>,
}

impl Pace {
    /// The window of a partition that nothing is known of: one request, and later at most so many operations.
    pub(super) fn new(first: usize, most: usize, now: Moment) -> Self {
        Self {
            window: first.min(most),
            most,
            in_flight: 0,
            requests: 0,
            paused_until: None,
            cut: None,
            accepted: now,
        }
    }

    /// How many more operations may be sent now.
    pub(super) fn room(&self, now: Moment) -> usize {
        match self.paused_until {
            Some(until) if now < until => 0,
            Some(_) | None => self.window.saturating_sub(self.in_flight),
        }
    }

    /// When the pause ends, if there is one.
    pub(super) fn paused_until(&self, now: Moment) -> Option<Moment> {
        self.paused_until.filter(|until| now < *until)
    }

    /// Nothing is sent until then.
    pub(super) fn pause(&mut self, until: Moment) {
        self.paused_until = self.paused_until.max(Some(until));
    }

    /// Whether no request is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.requests == 0
    }

    /// How long nothing has been accepted.
    pub(super) fn stalled(&self, now: Moment) -> Duration {
        now.since(self.accepted)
    }

    /// A request is sent.
    pub(super) fn sent(&mut self, operations: usize, now: Moment) {
        if self.requests == 0 && self.in_flight == 0 && self.paused_until.is_none() {
            self.accepted = self.accepted.max(now);
        }
        self.requests += 1;
        self.in_flight += operations;
    }

    /// A request was answered, or has failed.
    pub(super) fn answered(&mut self, answer: Answered, now: Moment) {
        self.requests = self.requests.saturating_sub(1);
        self.in_flight = self.in_flight.saturating_sub(answer.operations);
        if answer.throttled < answer.operations {
            self.accepted = now;
        }
        if answer.throttled == 0 {
            self.paused_until = self.paused_until.filter(|until| now < *until);
            let grown = if self.cut.is_none() { self.window * 2 } else { self.window + STEP };
            self.window = grown.min(self.most);
            return;
        }
        let until = now + answer.retry_after.unwrap_or(USUAL_PAUSE);
        self.pause(until);
        if self.cut.is_none_or(|cut| cut <= answer.sent) {
            self.cut = Some(now);
            self.window = (self.window * 2 / 3).max(LEAST.min(self.most));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Moment {
        Moment::after_start(Duration::from_millis(ms))
    }

    fn answer(sent: u64, operations: usize, throttled: usize) -> Answered {
        let retry_after = (throttled > 0).then_some(Duration::from_millis(50));
        Answered { sent: at(sent), operations, throttled, retry_after }
    }

    #[test]
    fn the_window_grows_until_something_is_throttled_and_more_slowly_then() {
        let mut pace = Pace::new(100, 1000, at(0));
        for (step, (throttled, window)) in
            [(0, 200), (0, 400), (0, 800), (0, 1000), (7, 666), (0, 686), (0, 706), (100, 470)]
                .into_iter()
                .enumerate()
        {
            let (sent, now) = (step as u64 * 100, step as u64 * 100 + 10);
            pace.sent(100, at(sent));
            pace.answered(answer(sent, 100, throttled), at(now));
            assert_eq!(pace.window, window, "step {step}");
        }
    }

    #[test]
    fn requests_that_were_under_way_together_cut_the_window_once_and_the_longest_pause_counts() {
        let mut pace = Pace::new(300, 1000, at(0));
        for _ in 0..3 {
            pace.sent(100, at(0));
        }
        assert_eq!(pace.room(at(0)), 0);
        pace.answered(answer(0, 100, 1), at(10));
        pace.answered(answer(0, 100, 100), at(20));
        pace.answered(answer(0, 100, 50), at(15));
        assert_eq!((pace.window, pace.room(at(69)), pace.paused_until(at(69))), (200, 0, Some(at(70))));
        assert_eq!((pace.room(at(70)), pace.paused_until(at(70))), (200, None));
    }

    #[test]
    fn a_partition_that_takes_nothing_is_still_asked_now_and_then() {
        let mut pace = Pace::new(100, 1000, at(0));
        for round in 0..20 {
            let now = round * 100;
            let size = pace.room(at(now));
            assert!(size >= LEAST, "round {round}");
            pace.sent(size, at(now));
            pace.answered(answer(now, size, size), at(now + 1));
        }
        assert_eq!(pace.stalled(at(2000)), Duration::from_millis(2000));
        pace.sent(10, at(2000));
        pace.answered(answer(2000, 10, 9), at(2001));
        assert_eq!(pace.stalled(at(2001)), Duration::ZERO);
    }

    #[test]
    fn waiting_for_something_to_send_is_no_stall() {
        let mut pace = Pace::new(100, 1000, at(0));
        pace.sent(10, at(90_000));
        assert_eq!(pace.stalled(at(90_001)), Duration::from_millis(1));
    }
}
