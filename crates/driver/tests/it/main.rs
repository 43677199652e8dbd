//! The driver over real sockets against the emulator, and over a scripted network where a region must
//! misbehave.
#![expect(clippy::unwrap_used, reason = "helpers outside of test functions are tests too")]

mod account;
mod broken;
mod budget;
mod deadlines;
mod failover;
mod faults;
mod gateway;
mod harness;
mod hedging;
mod operations;
mod peer;
mod proxy;
mod regions;
mod reports;
mod scripted;
mod sessions;
mod shards;
#[cfg(feature = "tracing")]
mod spans;
mod splits;
#[cfg(feature = "opentelemetry")]
mod telemetry;
mod throttling;
