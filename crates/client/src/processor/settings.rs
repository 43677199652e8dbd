//! How a processor is set: intervals, shares, where it starts. What makes no sense is refused before anything starts.

use std::time::Duration;

use super::balance::LeaseLimits;
use super::store::LeaseTimeouts;
use crate::change_feed::{Mode, Opening};
use crate::options::FeedOptions;
use crate::{ChangeFeedStart, Error, ErrorKind, Result};

/// What a processor is set to.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) mode: Mode,
    pub(super) start: ChangeFeedStart,
    pub(super) lease_expiry: Duration,
    pub(super) renew_interval: Duration,
    pub(super) acquire_interval: Duration,
    pub(super) poll_interval: Duration,
    pub(super) limits: LeaseLimits,
    pub(super) checkpoints_itself: bool,
    pub(super) options: FeedOptions,
}

/// How long one request for changes may take if nothing else is said, as in .NET.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(65);

/// How long a request to the lease container may take at least.
const LEASE_TIMEOUT: Duration = Duration::from_secs(10);

/// What a request about a lease that this instance has is given even if leases expire soon.
const LEAST_TIMEOUT: Duration = Duration::from_secs(1);

impl Settings {
    pub(super) fn new() -> Self {
        Self {
            mode: Mode::LatestVersion,
            start: ChangeFeedStart::Now,
            lease_expiry: Duration::from_secs(60),
            renew_interval: Duration::from_secs(17),
            acquire_interval: Duration::from_secs(13),
            poll_interval: Duration::from_secs(5),
            limits: LeaseLimits::default(),
            checkpoints_itself: true,
            options: FeedOptions::default(),
        }
    }

    /// An error if the settings cannot be used together.
    pub(super) fn check(&self) -> Result<()> {
        let LeaseLimits { min, max } = self.limits;
        let intervals = [
            ("lease expiry", self.lease_expiry),
            ("renew interval", self.renew_interval),
            ("acquire interval", self.acquire_interval),
            ("poll interval", self.poll_interval),
        ];
        let zero = intervals.iter().find(|(_, interval)| interval.is_zero());
        let problem = if let Some((name, _)) = zero {
            format!("the {name} of a change feed processor is zero (leave it out for the usual one)")
        } else if self.renew_interval >= self.lease_expiry {
            let (renew, expiry) = (self.renew_interval, self.lease_expiry);
            format!(
                "leases are renewed each {renew:?} and expire after {expiry:?} (renew at least twice until then)"
            )
        } else if self.options.continuation.is_some() {
            "`continuation` says nothing to a change feed processor (leases say where to go on)".to_owned()
        } else if max > 0 && min > max {
            format!("an instance is to have at least {min} leases and at most {max} (raise the maximum)")
        } else if self.mode == Mode::AllVersionsAndDeletes && self.start != ChangeFeedStart::Now {
            "all versions and deletes can be read from now on only (use `ChangeFeedStart::Now`)".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Configuration, problem))
    }

    /// Where leases start that say nothing, for a processor that is started at this time of day. It is fixed once, so
    /// that leases which are acquired later lose nothing. Accounts with several write regions take no time.
    pub(super) fn opening(&self, now: Duration, has_several_writers: bool) -> Opening {
        match (self.start, self.mode) {
            (ChangeFeedStart::Now, Mode::LatestVersion) if !has_several_writers => {
                Opening::from_second_of(now)
            }
            (start, Mode::LatestVersion | Mode::AllVersionsAndDeletes) => start.into(),
        }
    }

    /// The second behind which leases are read that say nothing, where that depends on when the processor was started.
    pub(super) fn start(&self, opening: Opening) -> Option<u64> {
        match (self.start, opening) {
            (ChangeFeedStart::Now, Opening::Time(second)) => Some(second),
            (_, Opening::Time(_) | Opening::Beginning | Opening::Now) => None,
        }
    }

    /// How long requests to the lease container may take. Of those about a lease that this instance has, several must
    /// fail before the lease expires.
    pub(super) fn lease_timeouts(&self) -> LeaseTimeouts {
        let other = self.renew_interval.max(LEASE_TIMEOUT);
        let least = LEAST_TIMEOUT.min(self.lease_expiry / 2);
        LeaseTimeouts { held: (self.lease_expiry / 6).max(least).min(other), other }
    }

    /// How long to wait after a failed renewal of a lease that was last written so long ago: not for the next interval,
    /// until the lease has expired. `asked` is how long the service wants to be left alone.
    pub(super) fn renew_pause(&self, age: Duration, asked: Option<Duration>) -> Duration {
        if age >= self.lease_expiry {
            return self.renew_interval;
        }
        asked.unwrap_or_default().max(self.lease_expiry / 12).min(self.renew_interval)
    }

    /// The options of requests for changes.
    pub(super) fn request_options(&self) -> FeedOptions {
        let mut options = self.options.clone();
        options.request.end_to_end_timeout.get_or_insert(REQUEST_TIMEOUT);
        options
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let with = |change: &dyn Fn(&mut Settings)| {
            let mut settings = Settings::new();
            change(&mut settings);
            settings.check().map_err(|error| error.to_string())
        };
        assert_eq!(with(&|_| ()), Ok(()));
        for (change, word) in [
            (
                &(|settings: &mut Settings| settings.poll_interval = Duration::ZERO)
                    as &dyn Fn(&mut Settings),
                "poll",
            ),
            (&|settings| settings.lease_expiry = Duration::from_secs(17), "renew"),
            (&|settings| settings.limits = LeaseLimits { min: 3, max: 2 }, "at least 3"),
            (&|settings| settings.options = FeedOptions::default().continue_from("token"), "leases say"),
            (
                &|settings| {
                    settings.mode = Mode::AllVersionsAndDeletes;
                    settings.start = ChangeFeedStart::Beginning;
                },
                "from now on",
            ),
        ] {
            let problem = with(change).unwrap_err();
            assert!(problem.contains(word), "{problem}");
        }
    }

    #[test]
    fn several_renewals_may_fail_before_a_lease_expires() {
        let seconds = Duration::from_secs;
        for (expiry, renewal, held, pause) in [
            (seconds(60), seconds(17), seconds(10), seconds(5)),
            (seconds(24), seconds(8), seconds(4), seconds(2)),
            (seconds(36_000), seconds(1), seconds(10), seconds(1)),
            (seconds(2), Duration::from_millis(300), seconds(1), Duration::from_secs(1) / 6),
            (seconds(1), Duration::from_millis(300), Duration::from_millis(500), Duration::from_secs(1) / 12),
        ] {
            let settings = Settings { lease_expiry: expiry, renew_interval: renewal, ..Settings::new() };
            assert_eq!(settings.lease_timeouts().held, held, "{expiry:?}");
            assert_eq!(settings.renew_pause(renewal, None), pause, "{expiry:?}");
        }
        let usual = Settings::new();
        for (age, asked, pause) in [
            (17, Some(1), 5),
            (17, Some(9), 9),
            (17, Some(99), 17),
            (59, None, 5),
            // It may be another's: there is no hurry any more.
            (60, None, 17),
        ] {
            assert_eq!(
                usual.renew_pause(seconds(age), asked.map(seconds)),
                seconds(pause),
                "{age} {asked:?}"
            );
        }
    }

    #[test]
    fn a_processor_starts_where_it_is_told() {
        let now = Duration::from_millis(100_500);
        let time = ChangeFeedStart::Time(UNIX_EPOCH + Duration::from_secs(7));
        for (start, mode, several, expected) in [
            (ChangeFeedStart::Now, Mode::LatestVersion, false, Opening::Time(99)),
            (ChangeFeedStart::Now, Mode::LatestVersion, true, Opening::Now),
            (ChangeFeedStart::Now, Mode::AllVersionsAndDeletes, false, Opening::Now),
            (ChangeFeedStart::Beginning, Mode::LatestVersion, true, Opening::Beginning),
            (time, Mode::LatestVersion, false, Opening::Time(6)),
        ] {
            let settings = Settings { start, mode, ..Settings::new() };
            assert_eq!(settings.opening(now, several), expected, "{start:?} {mode:?}");
        }
    }
}
