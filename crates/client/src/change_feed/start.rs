//! Where a change feed starts, and how a request says so.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cosmonaut_driver::{CosmosOperation, Precondition};
use http::{HeaderValue, header};
use serde::{Deserialize, Serialize};

/// Where a change feed starts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeFeedStart {
    /// With the first change.
    Beginning,
    /// With the next change after the first page was asked for.
    Now,
    /// With the first change at or after a time, to the second.
    Time(SystemTime),
    /// Behind the page that had this [continuation](super::ChangeFeedPage::continuation). The scope may be a
    /// part of what the token covers.
    Token(String),
}

/// Where the parts of a feed start that nothing was read of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Opening {
    Beginning,
    Now,
    /// In seconds since 1970.
    Time(u64),
}

impl Opening {
    pub(crate) fn at(time: SystemTime) -> Self {
        Self::Time(time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
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
