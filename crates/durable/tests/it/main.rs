//! The provider against the emulator, by the contract of duroxide and by what users rely on.
#![expect(clippy::unwrap_used, reason = "helpers outside of test functions are tests too")]

mod clocks;
mod connecting;
mod costs;
mod crash;
mod deleting;
mod faults;
mod harness;
mod long_texts;
mod losses;
mod lost_answers;
mod naming;
mod ordering;
mod outages;
mod outbox;
mod requests;
mod scenarios;
mod sharing;
mod steps;
mod turns;
mod validation;
mod waiting;
mod world;
