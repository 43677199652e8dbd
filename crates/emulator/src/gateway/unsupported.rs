//! Running what users have written, in a build that runs no scripts: they are kept, and running one is refused.

use super::Gateway;
use super::call::Call;
use super::items::ItemWrite;
use super::located::Located;
use super::reply::Reply;
use crate::Failure;
use crate::engine::query::Callable;

impl Gateway {
    /// Runs a stored procedure: 501.
    pub(super) fn execute_procedure(&self, _: &Call<'_>) -> Result<Reply, Failure> {
        Err(Failure::not_implemented("running a stored procedure"))
    }

    /// A write that is to run a trigger must not succeed without it: 501.
    pub(super) fn write_with_triggers(&self, _: &Call<'_>, _: ItemWrite) -> Result<Reply, Failure> {
        Err(Failure::not_implemented("running a trigger"))
    }

    /// The user-defined functions that a query may call: none.
    pub(super) fn callable(&self, _: &Call<'_>, _: &Located<'_>, _: &str) -> Callable {
        Callable::default()
    }
}
