//! Processes that die, stop or lose their region in the middle, and others that go on from what is stored.
//!
//! The scenario has sub-orchestrations, timers, a fan-out of 150 activities, continue-as-new and keys. Whatever
//! happens to the processes, the audit at the end is the same: it reads the stored documents itself, and holds
//! them against a ledger in which the activities have written down each of their runs.
//!
//! | file | what it is |
//! | --- | --- |
//! | `sweep` | a process in memory dies before, during and after each of its requests |
//! | `killed`, `paused`, `region`, `rolling` | the same with processes of the operating system |
//! | `prepared` | what is written ahead of a transaction that never comes, or comes too late |
//! | `scenario`, `ledger`, `audit` | what is run, what the activities say of it, what is stored of it |
//! | `wire`, `process` | a process in memory, and a network on which it dies at the chosen request |
//! | `worker` | a process of the operating system |
//!
//! `cargo test` tries a few of the sweep's runs. All of them, some thousands, are tried by
//! `DURABLE_CRASH_STRIDE=1 cargo test -p duroxide-cosmonaut --test it sweep`.

mod audit;
mod killed;
mod ledger;
mod paused;
mod prepared;
mod process;
mod region;
mod rolling;
mod scenario;
mod sweep;
mod wire;
mod worker;
