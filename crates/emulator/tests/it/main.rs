//! The emulator as a client sees it, a file per behaviour.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod account;
mod client;
mod containers;
mod items;
mod malformed;
mod throttling;
mod transport;
