//! The dialect from outside: one file per behaviour.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod clauses;
mod depth;
mod execution;
mod functions;
mod generated;
mod harness;
mod print;
mod resume_filters;
mod search;
mod semantics;
mod spread;
mod superset;
mod user_functions;
