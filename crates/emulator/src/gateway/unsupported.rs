//! Running what users have written: scripts are kept, and running one is refused.

use cosmonaut_wire::headers;

use super::Gateway;
use super::call::Call;
use super::reply::Reply;
use crate::Failure;

impl Gateway {
    /// Runs a stored procedure: 501.
    pub(super) fn execute_procedure(&self, _: &Call<'_>) -> Result<Reply, Failure> {
        Err(Failure::not_implemented("running a stored procedure"))
    }
}

/// A write that is to run a trigger must not succeed without it.
pub(super) fn refuse_triggers(call: &Call<'_>) -> Result<(), Failure> {
    for name in [headers::PRE_TRIGGER_INCLUDE, headers::POST_TRIGGER_INCLUDE] {
        if call.text(&name)?.is_some_and(|triggers| !triggers.trim().is_empty()) {
            return Err(Failure::not_implemented("running a trigger"));
        }
    }
    Ok(())
}
