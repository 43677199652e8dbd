//! The driver over real sockets against the emulator, and over a scripted network where a region must
//! misbehave.
#![expect(clippy::unwrap_used, reason = "helpers outside of test functions are tests too")]

mod account;
mod background;
mod binary;
mod broken;
mod budget;
mod clear_text;
mod cold_start;
mod connecting;
mod dead_connections;
mod deadlines;
mod failover;
mod faults;
mod frames;
mod gateway;
mod gateway2;
mod goodbyes;

mod harness;
mod headers;
mod hedging;
mod identity;
mod idle_connections;
mod line;
mod merges;
mod names;
mod operations;
mod options;
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
mod streams;
#[cfg(feature = "opentelemetry")]
mod telemetry;
mod throttling;
mod trouble;
mod unusable_region;
mod waiting;
