//! When the account is read anew because an answer gave a reason to.
//!
//! | the attempt that gives the reason | the last reads | then |
//! | --- | --- | --- |
//! | began before the last read did | any | nothing: the account has been asked since |
//! | began later | there was none | at once |
//! | began later | the last one changed something | a tenth of a second after the last one: two nodes may describe the account in two ways |
//! | began later | the last n changed nothing | at the earliest a growing interval after the last one |
//!
//! Reading it is the driver's business: one read at a time serves all who gave a reason.

use std::time::Duration;

use crate::Moment;

/// The least time between two reads for a reason.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);
/// The wait after the second read that changed nothing; twice as long after each further one.
const FIRST_INTERVAL: Duration = Duration::from_millis(100);
/// The longest wait. A failover is noticed this late at most.
const LONGEST_INTERVAL: Duration = Duration::from_secs(1);

/// How long an operation waits for a read of the account that it cannot go on without.
pub const LONGEST_ACCOUNT_WAIT: Duration = Duration::from_secs(2);

/// How long one endpoint has to answer for the account before another is asked beside it.
pub const ACCOUNT_READ_STEP: Duration = Duration::from_secs(1);

/// How long one endpoint may take to answer for the account.
pub const ACCOUNT_READ_TIMEOUT: Duration = Duration::from_secs(20);

/// How often the account is read anew without a reason.
pub const ACCOUNT_REFRESH_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// What is known about the reads of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountReads {
    /// When the last one began.
    began: Option<Moment>,
    /// Attempts that began before this give no reason any more: of a read that told something new its end, because they
    /// went by what was known before.
    dealt_with: Option<Moment>,
    /// How many in a row have changed nothing.
    fruitless: u32,
}

/// What is done about a reason to read the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountRefresh {
    /// It has been read since.
    NotNeeded,
    /// It is read at this moment, or now if that has passed.
    At(Moment),
}

impl AccountReads {
    /// What is done about a reason that an attempt gives which began at this moment.
    pub fn refresh_for(&self, attempt_began: Moment, now: Moment) -> AccountRefresh {
        let Some(began) = self.began else { return AccountRefresh::At(now) };
        if self.dealt_with.is_some_and(|dealt_with| attempt_began < dealt_with) {
            return AccountRefresh::NotNeeded;
        }
        AccountRefresh::At((began + self.interval()).max(now))
    }

    /// After a read that began and ended at these moments; `changed` if it told something new about the regions.
    #[must_use]
    pub fn after_read(&self, began: Moment, ended: Moment, changed: bool) -> Self {
        // Changes in quick succession tell that nodes contradict each other, not that reading helps.
        let is_news = changed && self.began.is_none_or(|last| began.since(last) >= LONGEST_INTERVAL);
        let fruitless = if is_news { 0 } else { self.fruitless.saturating_add(1) };
        let dealt_with = if changed { ended } else { began };
        Self { began: Some(began), dealt_with: Some(dealt_with), fruitless }
    }

    fn interval(&self) -> Duration {
        match self.fruitless.checked_sub(1) {
            None => LEAST_INTERVAL,
            Some(earlier) => FIRST_INTERVAL.saturating_mul(1 << earlier.min(16)).min(LONGEST_INTERVAL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms;

    fn moment(millis: u64) -> Moment {
        Moment::START + ms(millis)
    }

    #[test]
    fn a_refusal_of_an_attempt_that_began_after_the_last_read_refreshes() {
        let never = AccountReads::default();
        let fruitful = never.after_read(moment(1000), moment(1000), true);
        let slow = never.after_read(moment(1000), moment(1050), true);
        let once = fruitful.after_read(moment(1000), moment(1005), false);
        let fruitless = |reads: AccountReads, _| reads.after_read(moment(1000), moment(1005), false);
        let often = (0..20).fold(fruitful, fruitless);
        for (case, reads, began, now, expected) in [
            ("never read", never, 0, 5, AccountRefresh::At(moment(5))),
            ("asked since", fruitful, 999, 1100, AccountRefresh::NotNeeded),
            ("begun before its news came", slow, 1049, 1060, AccountRefresh::NotNeeded),
            ("begun when its news were there", slow, 1050, 1060, AccountRefresh::At(moment(1100))),
            ("begun before it told nothing new", once, 1004, 1020, AccountRefresh::At(moment(1100))),
            ("a moment after it was read", fruitful, 1000, 1001, AccountRefresh::At(moment(1100))),
            ("after it was read", fruitful, 1100, 1101, AccountRefresh::At(moment(1101))),
            ("nothing new the last time", once, 1010, 1020, AccountRefresh::At(moment(1100))),
            ("nothing new, long ago", once, 1500, 1510, AccountRefresh::At(moment(1510))),
            ("nothing new for long", often, 1500, 1510, AccountRefresh::At(moment(2000))),
        ] {
            assert_eq!(reads.refresh_for(moment(began), moment(now)), expected, "{case}");
        }
    }
}
