//! The driver against an account of three regions over real sockets, while its regions fail, move, come and go.
//!
//! The emulator is broken through its control surface, and the tests look at results, at diagnostics and at what
//! each region was asked. Nothing is asserted on time: terms and intervals pass because a test moves the driver's
//! clock, see [`clock`].

pub(crate) mod account;
pub(crate) mod clock;
mod consistency;
mod forced_failover;
mod hedging;
mod load;
mod membership;
mod moved_partitions;
mod outages;
mod read_your_writes;
mod session;
mod splits;
mod startup;
mod storm;
mod tripped_partitions;
mod write_outages;
mod write_region;

pub(crate) const EAST: &str = "East US";
pub(crate) const WEST: &str = "West US";
pub(crate) const NORTH: &str = "North Europe";

/// `database/container`, as the control surface names it.
pub(crate) const LINK: &str = "d/c";
