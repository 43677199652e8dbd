//! One seed replays the world.
//!
//! Client, driver, emulator and durable provider run in one thread under virtual time, on a network and a disk that are
//! made of memory. [`history`] is what the callers in a world saw, [`checker`] decides whether they may have seen it,
//! and [`timeline`] shows where they may not.

pub mod checker;
pub mod history;
pub mod timeline;
