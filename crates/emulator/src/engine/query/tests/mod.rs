//! Queries run over replicas that hold just what a test needs, without an engine around them.

mod answers;
mod beside_writes;
mod cost;
mod engine;
mod long_keys;
mod paging;
mod properties;
mod resume;
mod searches;
mod spatial;
mod store;
mod summaries;
