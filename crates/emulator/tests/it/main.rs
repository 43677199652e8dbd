//! The emulator as a client sees it, a file per behaviour.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod account;
mod admission;
mod binary;
mod client;
mod conflicts;
mod containers;
mod definitions;
mod entra;
mod faults;
mod global;
mod item_text;
mod items;
mod key_values;
mod keys;
mod long_work;
mod malformed;
mod management;
mod no_threads;
mod offers;
mod outages;
mod queries;
mod recreated;
mod regions;
mod replication;
mod resource_tokens;
mod resources;
mod scripts;
mod searches;
mod socket;
mod texts;
mod throttling;
mod transport;
mod unpartitioned;
mod versions_feed;
mod words;
