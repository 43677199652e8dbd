//! The checker against histories written by hand, and against a store that is right unless it is told to err; the
//! simulator's disk under power failures; worlds that are the same whenever they are lived.
#![expect(clippy::unwrap_used, reason = "helpers outside of test functions are tests too")]

mod script;
mod store;

mod ends;
mod items;
mod views;

mod timelines;

mod faults;
mod legal;
mod nonsense;

mod disk;
mod power;

mod replay;
mod seeds;
