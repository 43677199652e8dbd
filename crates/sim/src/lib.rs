//! One seed replays the world.
//!
//! Client, driver, emulator and durable provider run in one thread under virtual time, on a network and a disk that are
//! made of memory. [`disk`] is where the emulator's files are, [`history`] is what the callers in a world saw, [`checker`] decides whether they may have seen it.

pub mod checker;
pub mod disk;
pub mod history;
