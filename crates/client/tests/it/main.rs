//! The client over real sockets against the emulator.
#![expect(clippy::unwrap_used, reason = "helpers outside of test functions are tests too")]

mod batches;
mod bulk;
mod bulk_remade;
mod cancellation;
mod change_feed;
mod conflicts;
mod credentials;
mod errors;
mod examples;
mod explain;
mod harness;
mod items;
mod layers;
mod paging;
mod partition_keys;
mod partitioned;
mod peer;
mod processor;
mod queries;
mod queries_distinct;
mod queries_generated;
mod queries_generator;
mod queries_resumed;
mod queries_shared;
mod read_many;
mod reports;
mod requests;
mod resources;
mod scripted;
mod sendable;
mod shared_runtime;
mod splits;
mod streams;
mod throughput;
mod ties;
