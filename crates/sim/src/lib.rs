//! One seed replays the world.
//!
//! Client, driver, emulator and durable provider run in one thread under virtual time, on a network and a disk that are
//! made of memory. [`disk`] is where the emulator's files are, [`history`] is what the callers in a world saw, [`checker`]
//! decides whether they may have seen it, and [`timeline`] shows where they may not.

mod bulk;
pub mod checker;
mod credentials;
pub mod disk;
pub mod fault_plan;
mod faults;
mod feeds;
pub mod history;
pub mod host;
mod items;
pub mod network;
mod orchestrations;
pub mod plan;
mod process;
mod queries;
pub mod random;
mod recorder;
pub mod timeline;
mod witness;
pub mod world;
