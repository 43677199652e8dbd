//! Which operations may take long, and so are not done on the threads that move bytes.

use super::call::Call;
use super::route::Action;

/// How long an operation may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// No longer than its request is: it is done at once.
    Short,
    /// As long as there is data to look at. It changes nothing, so that it can stop when its client leaves.
    Read,
    /// As long as there is data to change, to its end.
    Write,
}

/// The longest text whose plan is made at once.
const SHORT_QUERY: usize = 2048;

impl Action {
    pub(super) fn length(self, call: &Call<'_>) -> Length {
        match self {
            Self::QueryItems
            | Self::ListItems
            | Self::ReadChanges
            | Self::QueryDatabases
            | Self::QueryContainers
            | Self::QueryOffers
            | Self::QueryConflicts
            | Self::ListConflicts => Length::Read,
            Self::PlanQuery if call.body.len() > SHORT_QUERY => Length::Read,
            Self::DeleteDatabase
            | Self::ReplaceContainer
            | Self::DeleteContainer
            | Self::DeleteByPartitionKey
            | Self::ReplaceOffer => Length::Write,
            Self::ReadAccount
            | Self::CreateDatabase
            | Self::ListDatabases
            | Self::ReadDatabase
            | Self::CreateContainer
            | Self::ListContainers
            | Self::ReadContainer
            | Self::CreateItem
            | Self::UpsertItem
            | Self::ReadItem
            | Self::ReplaceItem
            | Self::PatchItem
            | Self::DeleteItem
            | Self::PlanQuery
            | Self::Batch
            | Self::ReadConflict
            | Self::DeleteConflict
            | Self::ListRanges
            | Self::ListOffers
            | Self::ReadOffer
            | Self::ListNone(_)
            | Self::ReadNone(_)
            | Self::Unsupported(_) => Length::Short,
        }
    }
}
