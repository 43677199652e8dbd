//! Which endpoints and partitions are in service, as the driver keeps it.
//!
//! What an event does to it is decided by `cosmonaut-policy`; this swaps the outcome in.

mod latency;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use latency::LatencyBook;
pub(crate) use store::{LocationStateStore, ProbeGuard};
