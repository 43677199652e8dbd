//! Feeds: items in a stable order, and changes in the order in which they happened.
//!
//! Queries have their own way through the partitions.

mod changes;
mod incremental;
mod position;
mod read_feed;
mod versions;

pub use changes::{ChangePage, ChangeRequest, FeedMode, FeedStart};
pub use position::FeedPosition;
pub use read_feed::{FeedPage, FeedRequest};

use cosmonaut_wire::CosmosStatus;

use crate::Failure;

/// How many items a page has if the request does not say.
const DEFAULT_PAGE: usize = 100;
/// How many bytes of items a page has at most, one item at least.
const PAGE_BYTES: usize = 4 * 1024 * 1024;
/// How many documents are looked at while a replica is held.
///
/// Few in tests, so that their small containers are read in several slices.
const SLICE: usize = if cfg!(test) { 3 } else { 1024 };

/// The failure of a page that nobody can be waiting for any more.
fn timed_out() -> Failure {
    Failure::new(
        CosmosStatus::REQUEST_TIMEOUT,
        "Request timed out. The feed has not come to a place where its page can end for longer than clients wait (ask for \
         one partition at a time)",
    )
}
