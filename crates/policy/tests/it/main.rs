//! The decisions in the order in which a driver asks for them, through the public API.

mod allocations;
mod operation_loop;
mod world;
