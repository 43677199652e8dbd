//! A Cosmos DB gateway in one process.
//!
//! A server first: everything it does is reachable over HTTP by any SDK. It shares no decision code with the
//! driver.

mod builder;

// A request's way through.
mod server;

mod gateway;

pub mod engine;
mod index;
pub mod storage;

// What all of them share.
mod failure;
mod world;

pub use builder::{Emulator, EmulatorBuilder, StartError};
pub use cosmonaut_wire::EMULATOR_KEY;
pub use failure::Failure;
pub use server::{BindError, Tls, TlsError};
pub use world::{SystemWorld, Timestamp, World};
