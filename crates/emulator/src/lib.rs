//! A Cosmos DB gateway in one process.
//!
//! A server first: everything it does is reachable over HTTP by any SDK. It shares no decision code with the
//! driver.

mod builder;
mod emulator;
mod start_error;

// A request's way through.
mod server;

mod gateway;

pub mod engine;
mod index;
#[cfg(feature = "scripts")]
mod scripts;
pub mod storage;

// What goes wrong on purpose, and who decides about it.
mod control;
mod faults;
mod management;

// What all of them share.
mod background;
mod failure;
mod pace;
mod packed;
mod request_log;
mod shown_headers;
mod world;

pub use builder::EmulatorBuilder;
pub use control::{Control, LinkStatus, NotALag, PartitionStatus, RegionState, RegionStatus};
pub use cosmonaut_wire::EMULATOR_KEY;
pub use emulator::Emulator;
pub use engine::query::TieOrder;
pub use engine::{Consistency, Failover, Lag, Link, Moved};
pub use failure::Failure;
pub use faults::{ActiveFault, Delay, Effect, Fault, FaultId, NotADelay, Operations, Outage, Struck};
pub use gateway::{AccountKey, EntraKeys, EntraKeysError, EntraTokens};
pub use pace::Pace;
pub use request_log::{Answered, Headers};
pub use server::{Accepted, BindError, Incoming, SocketStream, Sockets, Tls, TlsError};
pub use start_error::StartError;
pub use storage::{Volume, VolumeFile};
pub use world::{SystemWorld, Timestamp, World};

/// The program in the README of this crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
