//! Queries run over replicas that hold just what a test needs, without an engine around them.

mod answers;
mod cost;
mod engine;
mod paging;
mod properties;
mod resume;
mod store;
