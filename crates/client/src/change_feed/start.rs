//! Where a change feed starts, and how a request says so.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cosmonaut_driver::{CosmosOperation, Precondition};
use http::{HeaderValue, header};
use serde::{Deserialize, Serialize};

/// Where a change feed starts, unless it [goes on](crate::Items::continue_from) behind a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeFeedStart {
    /// With the first change.
    Beginning,
    /// With the next change after the first was asked for.
    Now,
    /// With the first change in the second of a time, or after it.
    Time(SystemTime),
}

/// Where the parts of a feed start that nothing was read of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Opening {
    Beginning,
    Now,
    /// Behind a second, counted since 1970.
    Time(u64),
}

impl From<ChangeFeedStart> for Opening {
    fn from(start: ChangeFeedStart) -> Self {
        match start {
            ChangeFeedStart::Beginning => Self::Beginning,
            ChangeFeedStart::Now => Self::Now,
            ChangeFeedStart::Time(time) => {
                Self::from_second_of(time.duration_since(UNIX_EPOCH).unwrap_or_default())
            }
        }
    }
}

impl Opening {
    /// With the changes of the second of a time of day, and all that came later.
    pub(crate) fn from_second_of(time: Duration) -> Self {
        // A header names the second behind which changes are wanted.
        Self::Time(time.as_secs().saturating_sub(1))
    }

    /// Makes a request start here.
    pub(super) fn apply(self, operation: CosmosOperation) -> CosmosOperation {
        match self {
            Self::Beginning => operation,
            Self::Now => {
                operation.with_precondition(Precondition::IfNoneMatch(HeaderValue::from_static("*")))
            }
            Self::Time(seconds) => {
                // The last second that a header can name; later than any change.
                const LAST: u64 = 253_402_300_799;
                let time = UNIX_EPOCH + Duration::from_secs(seconds.min(LAST));
                let date = HeaderValue::try_from(httpdate::fmt_http_date(time))
                    .expect("a date is written in letters, digits, commas, colons and spaces");
                operation.with_header(header::IF_MODIFIED_SINCE, date)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_asked_for_by_the_second_before() {
        for (time, second) in
            [(Duration::ZERO, 0), (Duration::from_secs(7), 6), (Duration::from_millis(7999), 6)]
        {
            let start = ChangeFeedStart::Time(UNIX_EPOCH + time);
            assert_eq!(Opening::from(start), Opening::Time(second), "{time:?}");
        }
    }
}
