//! The worker queue: activities to be run, one at a time, each with its lock.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `queue` | how does an activity get into the queue, and to a worker? |
//! | `locks` | which locks does this process hold, and for how long? |
//! | `holding` | how is an activity prolonged, or given up? |
//! | `ack` | how does an activity end, and its completion reach the orchestration? |
//! | `sessions` | which worker gets the activities of a session? |

mod ack;
mod holding;
mod locks;
mod queue;
mod sessions;

pub(crate) use ack::ack;
pub(crate) use holding::{abandon, renew};
pub(crate) use locks::WorkLocks;
pub(crate) use queue::{enqueue, fetch};
pub(crate) use sessions::{clean_up, renew_all};
