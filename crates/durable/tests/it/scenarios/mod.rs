//! What orchestrations do, through the runtime: the behaviours that duroxide shows with its own provider in its
//! samples and suites, shown with this one.
//!
//! What a single call of the provider does is told by the files beside this folder.

mod cancelling;
mod cancelling_activities;
mod cancelling_children;
mod children;
mod continuing;
mod control_flow;
mod deleting;
mod events;
mod failures;
mod kv_elsewhere;
mod kv_limits;
mod kv_values;
mod managing;
mod patterns;
mod pruning;
mod queues;
mod queues_carried;
mod races;
mod replay;
mod seeding;
mod session_limits;
mod sessions;
mod statistics;
mod tags;
mod timers;
mod typed;
mod versions;
