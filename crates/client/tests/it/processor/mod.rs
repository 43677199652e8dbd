//! The change-feed processor, over real sockets against the emulator.

mod checkpoints;
mod estimating;
mod failing;
mod formats;
mod harness;
mod losing;
mod moving;
mod pausing;
mod processes;
mod renewing;
mod replacing;
mod restoring;
mod sharing;
mod starting;
mod storm;
