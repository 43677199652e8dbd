//! The Cosmos DB SQL dialect: parse, plan, evaluate, merge.
//!
//! Pure functions over text and bytes; it knows nothing of HTTP, storage or time.

// Text to tree and back.
pub mod ast;
mod lexer;
mod parser;
mod place;
mod printer;
mod walk;
mod wording;

// What a tree means, before any document is looked at.
pub mod access;
mod check;
mod constant;
pub mod functions;
mod parameters;
pub mod plan;
pub mod search;
mod setting;

// Documents in, rows out.
pub mod eval;
pub mod raw;
pub mod spatial;
pub mod value;

// Rows of many partitions to one result.
pub mod merge;

pub use check::{CheckError, check};
pub use parameters::{ParameterError, Parameters};
pub use parser::{MAX_DEPTH, MAX_TEXT_LENGTH, SyntaxError, parse};
pub use place::Place;
pub use plan::{PlanError, plan};
pub use setting::{Setting, TextPath, VectorPath, member_path};
pub use wording::Wording;

/// The program in the README of this crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
