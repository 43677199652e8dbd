//! Which requests may take long, and so are not done on the threads that move bytes.

use super::action::Action;
use super::call::Call;

/// How long an operation may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// No longer than its request is: it is done at once.
    Short,
    /// As long as there is data to look at. It changes nothing, so that it can stop when its client leaves.
    Read,
    /// As long as there is data to change, to its end.
    Write,
    /// As long as a script runs. It can stop when its client leaves.
    Script,
}

/// The longest text whose plan is made at once.
const SHORT_QUERY: usize = 2048;

impl Action {
    pub(super) fn length(self, call: &Call<'_>) -> Length {
        let is_short_plan = self == Self::PlanQuery && call.body.len() <= SHORT_QUERY;
        let is_item_write =
            matches!(self, Self::CreateItem | Self::UpsertItem | Self::ReplaceItem | Self::DeleteItem);
        if self == Self::ExecuteProcedure || (is_item_write && call.has_triggers().unwrap_or(false)) {
            return Length::Script;
        }
        match self.may_be_long() && !is_short_plan {
            false => Length::Short,
            true if self.writes() => Length::Write,
            true => Length::Read,
        }
    }
}
