//! What the driver keeps of the service's metadata: the account, containers, and the partitions of each.
//!
//! Each is fetched by one request at a time, however many wait for it. Reading what is there takes no lock.

mod container;
mod ranges;
mod single_flight;

pub(crate) use container::{Container, ContainerCache, container_path};
pub(crate) use ranges::{PartitionRange, RangeMap};
pub(crate) use single_flight::SingleFlight;
