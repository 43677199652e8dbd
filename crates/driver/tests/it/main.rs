//! The driver over real sockets against the emulator, and over a scripted network where a region must
//! misbehave.
#![expect(clippy::unwrap_used, reason = "helpers outside of test functions are tests too")]

mod account;
mod broken;
mod budget;
mod connecting;
mod dead_connections;
mod deadlines;
mod failover;
mod faults;
mod gateway;
mod harness;
mod hedging;
mod line;
mod names;
mod operations;
mod peer;
mod proxy;
mod regions;
mod scripted;
mod sessions;
mod shards;
mod splits;
mod streams;
mod throttling;
