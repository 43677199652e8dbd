//! What orchestrations do, through the runtime: the behaviours that duroxide shows with its own provider in its
//! samples and suites, shown with this one.
//!
//! What a single call of the provider does is told by the files beside this folder.

mod cancelling;
mod cancelling_activities;
mod cancelling_children;
mod children;
mod control_flow;
mod failures;
mod patterns;
mod races;
mod session_limits;
mod sessions;
mod tags;
mod typed;
mod versions;
