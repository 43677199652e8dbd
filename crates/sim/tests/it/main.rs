//! The simulator's parts, a file per behaviour.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod disk;
mod power;
