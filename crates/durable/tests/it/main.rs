//! The provider against the emulator, by the contract of duroxide and by what users rely on.
#![expect(clippy::unwrap_used, reason = "helpers outside of test functions are tests too")]

mod cipher;
mod clocks;
mod compressing;
mod connecting;
mod costs;
mod crash;
mod dead_letters;
mod deleting;
mod depths;
mod documents;
mod encoding;
mod erasing;
mod faults;
mod findings;
mod finishing;
mod following;
mod harness;
mod hubs;
mod isolation;
mod listing;
mod long_outages;
mod long_texts;
mod losses;
mod lost_answers;
mod lost_deletions;
mod naming;
mod ordering;
mod outages;
mod outbox;
mod pinning;
mod redelivering;
mod requests;
mod retaining;
mod said;
mod scenarios;
mod sharing;
mod steps;
#[cfg(feature = "opentelemetry")]
mod telemetry;
mod throughput;
mod turns;
mod unborn_children;
mod validation;
mod waiting;
mod world;
