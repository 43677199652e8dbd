//! Queries compiled once and run over stored documents.
//!
//! [`Program::compile`] resolves names, folds constants and gathers the document paths that a query touches; what
//! remains is a tree of nodes that reads a document's bytes in place. It neither parses nor plans, and it never asks
//! for the time or a random number: both come in with the [`Environment`].

mod block;
mod collect;
mod compile;
mod condition;
mod environment;
mod error;
mod execution;
mod group;
mod interrupt;
mod like;
mod node;
mod operators;
mod placed;
mod program;
mod rows;
mod scope;
mod search;
mod spatial_call;
mod user_functions;
mod val;

pub use collect::{KeyedRow, Progress};
pub use condition::ConditionError;
pub use environment::{ComputedProperty, Environment, Limits};
pub use error::{CompileError, EvalError};
pub use execution::Execution;
pub use interrupt::Interrupt;
pub use placed::{Place, PlacedRow, PlacedRows, PlacedRun};
pub use program::Program;
pub use rows::Rows;
pub use user_functions::UserFunctions;
pub(crate) use val::Val;
