//! The emulator as a client sees it, a file per behaviour.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod account;
mod client;
mod conflicts;
mod containers;
mod faults;
mod items;
mod malformed;
mod management;
mod outages;
mod queries;
mod regions;
mod replication;
mod socket;
mod throttling;
mod transport;
