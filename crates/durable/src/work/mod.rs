//! The worker queue: activities to be run, one at a time, each with its lock.

mod queue;
mod sessions;

pub(crate) use queue::{abandon, ack, enqueue, fetch, renew};
pub(crate) use sessions::{clean_up, renew_all};
