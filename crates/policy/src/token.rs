//! When a token is used, fetched anew, waited for or given up.
//!
//! Only the decisions: asking the identity service, keeping the token and waking those who wait for it is the
//! driver's business.
//!
//! | token | last fetch | a request | the keeper of the token |
//! | --- | --- | --- | --- |
//! | fetched just now, whatever its life | | uses it | sleeps for a while |
//! | good, first half of its life | | uses it | sleeps until the half is over |
//! | good, second half | | uses it | fetches, with growing waits after failures |
//! | none that is good | none, or its wait is over | waits | fetches if a request waits |
//! | none that is good | under way for longer than a step | waits | fetches beside it if a request waits |
//! | none that is good | failed, worth a second try | waits | waits, then fetches if a request waits |
//! | none that is good | failed for now | fails with that failure | sleeps until a request waits |

use std::time::Duration;

use crate::Moment;
use crate::backoff::backoff;

/// A fetch that takes longer is given up, and the identity service is asked anew.
pub const TOKEN_FETCH_LIMIT: Duration = Duration::from_secs(65);
/// While a request waits, a fetch that has not ended after this time has another put beside it: an answer may be lost.
pub const TOKEN_FETCH_STEP: Duration = Duration::from_secs(3);
/// So many fetches are made beside each other at most.
pub const TOKEN_FETCHES_ABREAST: usize = 3;
/// A token is used for this long after it was fetched, and no other is fetched, even if it has expired by this
/// machine's clocks: they may be ahead, and a newer one would look no better. The service decides.
const LEAST_FETCH_INTERVAL: Duration = Duration::from_secs(5);
/// A token is not used for the last part of its life: the service's clock may be ahead of this machine's.
pub const TOKEN_CLOCK_ALLOWANCE: Duration = Duration::from_secs(10);
/// A new token is asked for at least this long before the old one expires, if it lives long enough.
const LEAST_TIME_AHEAD: Duration = Duration::from_secs(60);
/// The keeper of a token looks at the clock at least this often: a machine that slept has missed its timers.
const LONGEST_NAP: Duration = Duration::from_secs(60);
/// A request that waits sees so many fetches fail in a row before it fails too.
const TRIES_PER_WAIT: u32 = 2;

/// The first wait after a fetch that failed, and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(15);
/// The same after a refusal, which does not pass by itself.
const FIRST_WAIT_AFTER_REFUSAL: Duration = Duration::from_secs(5);
const LONGEST_WAIT_AFTER_REFUSAL: Duration = Duration::from_secs(60);

/// How long a token is good, by two clocks: the time of day stops for nothing but may be set back, the driver's
/// own time never goes back but may stop while the machine sleeps. The token is good while both say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLife {
    fetched: Moment,
    fetched_on: Duration,
    length: Duration,
    expires_on: Duration,
}

impl TokenLife {
    /// The life of a token that was fetched just now. Times of day count from the start of 1970.
    pub fn new(expires_on: Duration, time_of_day: Duration, now: Moment) -> Self {
        let length = expires_on.saturating_sub(time_of_day);
        Self { fetched: now, fetched_on: time_of_day, length, expires_on }
    }

    /// Whether requests may use the token.
    pub fn is_good(self, time_of_day: Duration, now: Moment) -> bool {
        self.left(time_of_day, now) > TOKEN_CLOCK_ALLOWANCE
            || !self.until_replaceable(time_of_day, now).is_zero()
    }

    /// How long until a new token is asked for; zero once that is due.
    pub fn until_refresh(self, time_of_day: Duration, now: Moment) -> Duration {
        let half = self.length / 2;
        // A token with a very short life must not be replaced all the time.
        let ahead = half.max(LEAST_TIME_AHEAD).min(self.length / 4 * 3);
        let until_due = self.left(time_of_day, now).saturating_sub(ahead);
        until_due.max(self.until_replaceable(time_of_day, now))
    }

    /// How long the token counts as fetched just now, by both clocks.
    fn until_replaceable(self, time_of_day: Duration, now: Moment) -> Duration {
        let age = now.since(self.fetched).max(time_of_day.saturating_sub(self.fetched_on));
        LEAST_FETCH_INTERVAL.saturating_sub(age)
    }

    fn left(self, time_of_day: Duration, now: Moment) -> Duration {
        let by_time_of_day = self.expires_on.saturating_sub(time_of_day);
        by_time_of_day.min(self.length.saturating_sub(now.since(self.fetched)))
    }
}

/// The fetches that have failed since the last one that brought a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenFailure {
    failures: u32,
    is_refusal: bool,
    retry_at: Moment,
}

impl TokenFailure {
    /// What is known after one more failure. `is_refusal`: the identity service has answered, with a no.
    /// `chance`, from 0 to 1, spreads the waits of clients that failed together.
    #[must_use]
    pub fn after(previous: Option<Self>, is_refusal: bool, now: Moment, chance: f64) -> Self {
        let earlier = previous.map_or(0, |previous| previous.failures);
        let (first, most) = match is_refusal {
            true => (FIRST_WAIT_AFTER_REFUSAL, LONGEST_WAIT_AFTER_REFUSAL),
            false => (FIRST_WAIT, LONGEST_WAIT),
        };
        let wait = backoff(first, 2.0, most, earlier, chance);
        Self { failures: earlier.saturating_add(1), is_refusal, retry_at: now + wait }
    }

    /// Whether the requests that wait for a token fail with this failure, instead of waiting for another try.
    pub fn ends_waits(self) -> bool {
        self.is_refusal || self.failures >= TRIES_PER_WAIT
    }
}

/// What is known about the token of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenState {
    /// The token that was fetched last.
    pub token: Option<TokenLife>,
    /// The fetches that have failed since.
    pub failure: Option<TokenFailure>,
}

/// What a request does that needs a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenUse {
    /// It uses the token.
    Use,
    /// It waits for a fetch.
    Wait,
    /// It fails with the last failure: the identity service was asked just before.
    Fail,
}

/// When the next token is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenFetch {
    /// At once.
    Now,
    /// Look again after this time.
    In(Duration),
    /// When a request waits for it.
    WhenAwaited,
}

/// What a request does that needs a token.
pub fn token_use(state: &TokenState, time_of_day: Duration, now: Moment) -> TokenUse {
    if state.token.is_some_and(|token| token.is_good(time_of_day, now)) {
        return TokenUse::Use;
    }
    match state.failure {
        Some(failure) if failure.ends_waits() && failure.retry_at > now => TokenUse::Fail,
        Some(_) | None => TokenUse::Wait,
    }
}

/// When the next token is fetched. `is_awaited`: a request waits for one.
pub fn next_token_fetch(
    state: &TokenState,
    is_awaited: bool,
    time_of_day: Duration,
    now: Moment,
) -> TokenFetch {
    let until_due = match state.token.filter(|token| token.is_good(time_of_day, now)) {
        Some(token) => token.until_refresh(time_of_day, now),
        None if is_awaited => Duration::ZERO,
        None => return TokenFetch::WhenAwaited,
    };
    let until_retry = state.failure.map_or(Duration::ZERO, |failure| failure.retry_at.since(now));
    match until_due.max(until_retry) {
        Duration::ZERO => TokenFetch::Now,
        time => TokenFetch::In(time.min(LONGEST_NAP)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Duration = Duration::from_secs(1_700_000_000);

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn at(seconds: u64) -> Moment {
        Moment::START + s(seconds)
    }

    /// A token that was fetched at the start and lives this long.
    fn living(seconds: u64) -> Option<TokenLife> {
        Some(TokenLife::new(NOON + s(seconds), NOON, Moment::START))
    }

    fn failed(times: u32, is_refusal: bool, seconds: u64) -> Option<TokenFailure> {
        (0..times).fold(None, |previous, _| Some(TokenFailure::after(previous, is_refusal, at(seconds), 1.0)))
    }

    #[test]
    fn a_token_is_used_until_shortly_before_it_expires() {
        for (case, life, set, second, expected) in [
            ("fresh", 3600, 0, 0, true),
            ("in its last minute", 3600, 0, 3589, true),
            ("within the allowance", 3600, 0, 3590, false),
            ("expired", 3600, 0, 4000, false),
            ("the time of day was set back", 3600, -3600, 3589, true),
            ("set back, and the driver knows better", 3600, -3600, 3590, false),
            ("the machine slept", 3600, 3000, 600, false),
            ("expired when it came", 0, 0, 4, true),
            ("expired when it came, and that is a while ago", 0, 0, 5, false),
            ("expired when it came, and the machine slept", 0, 5, 1, false),
        ] {
            let token = living(life).unwrap();
            let time_of_day = (NOON + s(second)).as_secs().checked_add_signed(set).unwrap();
            assert_eq!(token.is_good(s(time_of_day), at(second)), expected, "{case}");
        }
    }

    #[test]
    fn a_token_is_replaced_at_half_of_its_life() {
        for (case, life, second, expected) in [
            ("an hour", 3600, 0, 1800),
            ("half an hour later", 3600, 1800, 0),
            ("long due", 3600, 3000, 0),
            ("a day", 86_400, 0, 43_200),
            ("two minutes", 120, 0, 60),
            ("a minute and a half: a minute ahead", 90, 0, 30),
            ("a minute: not at once", 60, 0, 15),
            ("no life at all", 0, 0, 5),
            ("no life at all, and that is a while ago", 0, 5, 0),
        ] {
            let token = living(life).unwrap();
            assert_eq!(token.until_refresh(NOON + s(second), at(second)), s(expected), "{case}");
        }
    }

    #[test]
    fn a_request_waits_only_without_a_good_token_and_fails_only_after_a_failure_that_lasts() {
        for (case, token, failure, second, expected) in [
            ("nothing was fetched yet", None, None, 0, TokenUse::Wait),
            ("a good token", living(3600), None, 10, TokenUse::Use),
            ("refresh is due", living(3600), None, 3000, TokenUse::Use),
            ("refresh fails", living(3600), failed(9, true, 3000), 3000, TokenUse::Use),
            ("the token has expired", living(3600), None, 3600, TokenUse::Wait),
            ("one failure: a second try comes soon", None, failed(1, false, 5), 5, TokenUse::Wait),
            ("two failures", None, failed(2, false, 5), 5, TokenUse::Fail),
            ("two failures, and the wait is over", None, failed(2, false, 5), 6, TokenUse::Wait),
            ("one refusal", None, failed(1, true, 5), 9, TokenUse::Fail),
            ("one refusal, and the wait is over", None, failed(1, true, 5), 10, TokenUse::Wait),
            ("expired while refresh failed", living(60), failed(3, false, 60), 61, TokenUse::Fail),
        ] {
            let state = TokenState { token, failure };
            assert_eq!(token_use(&state, NOON + s(second), at(second)), expected, "{case}");
        }
    }

    #[test]
    fn the_keeper_fetches_ahead_of_expiry_and_otherwise_for_those_who_wait() {
        use TokenFetch::{In, Now, WhenAwaited};
        for (case, token, failure, is_awaited, second, expected) in [
            ("nobody waits", None, None, false, 0, WhenAwaited),
            ("the first request", None, None, true, 0, Now),
            ("a fresh token", living(3600), None, false, 0, In(s(60))),
            ("soon due", living(3600), None, false, 1790, In(s(10))),
            ("due", living(3600), None, false, 1800, Now),
            ("due, and it has just failed", living(3600), failed(1, true, 1800), false, 1801, In(s(4))),
            ("due, and the wait is over", living(3600), failed(1, true, 1800), false, 1805, Now),
            ("expired when it came", living(0), None, true, 1, In(s(4))),
            ("expired when it came a while ago", living(0), None, true, 5, Now),
            ("expired, and nobody waits", living(3600), failed(1, true, 3600), false, 3700, WhenAwaited),
            ("expired, and a request waits", living(3600), None, true, 3700, Now),
            ("failed, and a request waits", None, failed(2, false, 5), true, 5, In(s(1))),
        ] {
            let state = TokenState { token, failure };
            assert_eq!(
                next_token_fetch(&state, is_awaited, NOON + s(second), at(second)),
                expected,
                "{case}"
            );
        }
    }

    #[test]
    fn waits_after_failures_grow_to_a_limit() {
        for (times, is_refusal, expected) in [
            (1, false, Duration::from_millis(500)),
            (2, false, s(1)),
            (20, false, s(15)),
            (1, true, s(5)),
            (20, true, s(60)),
        ] {
            let failure = failed(times, is_refusal, 0).unwrap();
            assert_eq!(failure.retry_at, at(0) + expected, "{times}, {is_refusal}");
        }
        assert!(!failed(1, false, 0).unwrap().ends_waits(), "those who wait see a second try");
        assert!(failed(2, false, 0).unwrap().ends_waits());
        assert!(failed(1, true, 0).unwrap().ends_waits());
    }
}
