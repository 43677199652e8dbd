//! How much of a bulk run may be under way in one partition.
//!
//! The service throttles each partition by itself and says how long to wait. So each has a window of operations, which
//! grows while nothing is throttled and shrinks when something is, and a pause, which ends when the service said.
//!
//! | what an answer says | window | pause |
//! | --- | --- | --- |
//! | everything accepted, the window was used, and nothing was ever throttled | twice as large | |
//! | everything accepted, and the window was used | larger by [`STEP`] | |
//! | something throttled, of a request sent since the last cut | ⅔ of it | as long as the service says |
//! | something throttled, of an older request | the same: it was cut for that already | as long as the service says |
//! | anything else, such as that the partition is gone | the same | |
//!
//! How long a partition has refused everything is counted by what it was asked, and by the waits that it asked for: not by
//! the clock, as nobody may have asked it for a while. So is how long one operation was refused while its partition has
//! accepted others.

use std::time::Duration;

use cosmonaut_driver::Moment;

/// How many operations the window grows by with each answer, once it was cut.
const STEP: usize = 20;
/// The window that is never cut.
const LEAST: usize = 10;
/// How many times as long as a partition one operation may be refused: where much is throttled, it may be the turn of
/// others for a while.
const OPERATION_PATIENCE: u32 = 10;
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
    /// How long everything was refused, since something was last accepted.
    refused: Duration,
}

/// What came of a request, as far as the pace is concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    pub(super) sent: Moment,
    pub(super) answered: Moment,
    /// How many operations it had.
    pub(super) operations: usize,
    /// How many of them the service has dealt with.
    pub(super) accepted: usize,
    /// How many of them were throttled.
    pub(super) throttled: usize,
    /// How long the service says to wait.
    pub(super) retry_after: Option<Duration>,
}

/// Whether what was throttled is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Throttled {
    SentAgain,
    GivenUp,
}

/// How long one operation was refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Refused(Duration);

impl Refused {
    /// Counts a refusal.
    pub(super) fn again(&mut self, answer: &Answered, patience: Duration) -> Throttled {
        self.0 = self.0.saturating_add(answer.refusal());
        match self.0 <= patience.saturating_mul(OPERATION_PATIENCE) {
            true => Throttled::SentAgain,
            false => Throttled::GivenUp,
        }
    }
}

impl Answered {
    /// How long the service says to wait.
    fn pause(&self) -> Duration {
        self.retry_after.unwrap_or(USUAL_PAUSE)
    }

    /// How long it took to be refused, with the wait that the service asks for.
    fn refusal(&self) -> Duration {
        self.answered.since(self.sent).saturating_add(self.pause())
    }
}

impl Pace {
    /// The window of a partition that nothing is known of: one request, and later at most so many operations.
    pub(super) fn new(first: usize, most: usize) -> Self {
        Self {
            window: first.min(most),
            most,
            in_flight: 0,
            requests: 0,
            paused_until: None,
            cut: None,
            refused: Duration::ZERO,
        }
    }

    /// How many more operations may be sent now.
    pub(super) fn room(&self, now: Moment) -> usize {
        match self.paused_until(now) {
            Some(_) => 0,
            None => self.window.saturating_sub(self.in_flight),
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

    /// How many requests are under way.
    pub(super) fn requests(&self) -> usize {
        self.requests
    }

    /// A request is sent.
    pub(super) fn sent(&mut self, operations: usize) {
        self.requests += 1;
        self.in_flight += operations;
    }

    /// A request was answered, or has failed.
    pub(super) fn answered(&mut self, answer: Answered, patience: Duration) -> Throttled {
        let was_used = self.in_flight * 2 >= self.window;
        self.requests = self.requests.saturating_sub(1);
        self.in_flight = self.in_flight.saturating_sub(answer.operations);
        if answer.accepted > 0 {
            self.refused = Duration::ZERO;
        }
        if answer.throttled == 0 {
            if was_used && answer.accepted == answer.operations {
                let grown = if self.cut.is_none() { self.window * 2 } else { self.window + STEP };
                self.window = grown.min(self.most);
            }
            return Throttled::SentAgain;
        }
        let pause = answer.pause();
        // Whatever the service says, nobody sleeps longer than somebody has patience.
        self.pause(answer.answered + pause.min(patience));
        if self.cut.is_none_or(|cut| cut <= answer.sent) {
            self.cut = Some(answer.answered);
            self.window = (self.window * 2 / 3).max(LEAST.min(self.most));
            self.refused = self.refused.saturating_add(answer.refusal());
        }
        if self.refused <= patience && pause <= patience {
            return Throttled::SentAgain;
        }
        // Those that are sent later get patience of their own.
        self.refused = Duration::ZERO;
        Throttled::GivenUp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn at(ms: u64) -> Moment {
        Moment::after_start(Duration::from_millis(ms))
    }

    fn answer(sent: u64, answered: u64, operations: usize, throttled: usize) -> Answered {
        let retry_after = (throttled > 0).then_some(Duration::from_millis(50));
        let accepted = operations - throttled;
        Answered { sent: at(sent), answered: at(answered), operations, accepted, throttled, retry_after }
    }

    #[test]
    fn the_window_grows_until_something_is_throttled_and_more_slowly_then() {
        let mut pace = Pace::new(100, 1000);
        let steps = [(0, 200), (0, 400), (0, 800), (0, 1000), (7, 666), (0, 686), (0, 706), (100, 470)];
        for (step, (throttled, window)) in steps.into_iter().enumerate() {
            let (sent, size) = (step as u64 * 100, pace.room(at(step as u64 * 100)));
            pace.sent(size);
            pace.answered(answer(sent, sent + 10, size, throttled), PATIENCE);
            assert_eq!(pace.window, window, "step {step}");
        }
    }

    #[test]
    fn a_window_that_is_not_used_or_whose_requests_fail_does_not_grow() {
        let mut pace = Pace::new(100, 1000);
        pace.sent(10);
        pace.answered(answer(0, 1, 10, 0), PATIENCE);
        assert_eq!(pace.window, 100);
        pace.sent(100);
        pace.answered(Answered { accepted: 0, ..answer(2, 3, 100, 0) }, PATIENCE);
        assert_eq!(pace.window, 100);
    }

    #[test]
    fn requests_that_were_under_way_together_cut_the_window_once_and_the_longest_pause_counts() {
        let mut pace = Pace::new(300, 1000);
        for _ in 0..3 {
            pace.sent(100);
        }
        assert_eq!(pace.room(at(0)), 0);
        pace.answered(answer(0, 10, 100, 1), PATIENCE);
        pace.answered(answer(0, 20, 100, 100), PATIENCE);
        pace.answered(answer(0, 15, 100, 50), PATIENCE);
        assert_eq!((pace.window, pace.room(at(69)), pace.paused_until(at(69))), (200, 0, Some(at(70))));
        assert_eq!((pace.room(at(70)), pace.paused_until(at(70))), (200, None));
    }

    #[test]
    fn patience_is_counted_by_what_was_asked_and_not_by_the_clock() {
        let mut pace = Pace::new(100, 1000);
        // Each round takes 10 ms and asks for 50 more, so that the fourth is one too many. Nobody asks for days between.
        for (round, expected) in
            [Throttled::SentAgain, Throttled::SentAgain, Throttled::SentAgain, Throttled::GivenUp]
                .into_iter()
                .enumerate()
        {
            let now = round as u64 * 100_000_000;
            let size = pace.room(at(now));
            assert!(size >= LEAST, "round {round}");
            pace.sent(size);
            let throttled = pace.answered(answer(now, now + 10, size, size), Duration::from_millis(200));
            assert_eq!(throttled, expected, "round {round}");
        }
        // What is sent later begins anew.
        pace.sent(10);
        let later = answer(999_000_000, 999_000_010, 10, 10);
        assert_eq!(pace.answered(later, Duration::from_millis(200)), Throttled::SentAgain);
    }

    #[test]
    fn an_operation_is_given_up_after_ten_times_the_patience_with_its_partition() {
        let mut refused = Refused::default();
        let patience = Duration::from_millis(60);
        // Each round takes 10 ms and asks for 50 more.
        for round in 1..=10 {
            assert_eq!(refused.again(&answer(0, 10, 100, 1), patience), Throttled::SentAgain, "{round}");
        }
        assert_eq!(refused.again(&answer(0, 10, 100, 1), patience), Throttled::GivenUp);
        let endless = Answered { retry_after: Some(Duration::MAX), ..answer(0, 10, 100, 1) };
        assert_eq!(Refused::default().again(&endless, Duration::MAX), Throttled::SentAgain);
    }

    #[test]
    fn a_wait_longer_than_patience_is_not_waited_for() {
        let mut pace = Pace::new(100, 1000);
        pace.sent(100);
        let answer = Answered { retry_after: Some(Duration::MAX), ..answer(0, 10, 100, 1) };
        assert_eq!(pace.answered(answer, PATIENCE), Throttled::GivenUp);
        assert_eq!(pace.paused_until(at(10)), Some(at(60_010)));
    }
}
