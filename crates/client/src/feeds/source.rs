//! Where pages come from.

use cosmonaut_driver::transport::BoxFuture;

use super::RawPage;
use crate::{Error, ErrorKind, Result};

/// What gives pages, one after the other.
pub(crate) trait Source: Send {
    /// Makes the next page.
    fn next(self: Box<Self>) -> Making;

    /// Whether a page that cannot be read comes again, instead of ending the feed.
    fn outlasts_errors(&self) -> bool {
        false
    }
}

/// A page that is being made.
pub(crate) type Making = BoxFuture<'static, Made>;

/// What came of making a page.
pub(crate) struct Made {
    /// The page; `None` if there is none now.
    pub(crate) page: Result<Option<RawPage>>,
    /// What makes the next one; `None` if there is no next one.
    pub(crate) rest: Option<Box<dyn Source>>,
}

impl Made {
    /// The last that there is.
    pub(crate) fn last(page: Result<Option<RawPage>>) -> Self {
        Self { page, rest: None }
    }
}

/// An error if a page has no rows and goes on where it began: asking for the next one would never end.
pub(crate) fn check_progress(rows: usize, from: Option<&str>, next: Option<&str>) -> Result<()> {
    if rows > 0 || next.is_none() || from != next {
        return Ok(());
    }
    let message = "a page without rows goes on where it began, so that asking again would never end";
    Err(Error::new(ErrorKind::InvalidResponse, message))
}
