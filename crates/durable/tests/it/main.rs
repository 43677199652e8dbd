//! The provider against the emulator, by the contract of duroxide and by what users rely on.
#![expect(clippy::unwrap_used, reason = "helpers outside of test functions are tests too")]

mod connecting;
mod crash;
mod deleting;
mod faults;
mod finishing;
mod following;
mod harness;
mod isolation;
mod long_texts;
mod lost_answers;
mod naming;
mod ordering;
mod outbox;
mod requests;
mod scenarios;
mod sharing;
mod steps;
mod turns;
mod validation;
mod waiting;
mod world;
