//! Gateway 2.0's frames: one in the body of each request to it, and one in the body of each answer.
//!
//! A frame is a head of 24 bytes, tokens and a payload. A token is an id, a type and a value; ids of requests and of
//! answers mean different things. Everything is little-endian. Frames are read where they lie, without a copy and
//! without an allocation; lengths in them are believed as far as there are bytes. Tokens that nobody knows are skipped.
//!
//! ```
//! use cosmonaut_wire::rntbd::{FrameWriter, Guid, Operation, RequestFrame, RequestHead, Resource, request};
//!
//! let head = RequestHead { resource: Resource::Document, operation: Operation::Read, activity: Guid::default() };
//! let mut bytes = Vec::new();
//! let mut frame = FrameWriter::request(&mut bytes, head, None);
//! frame.text(&request::DATABASE_NAME, "db1")?;
//! frame.finish()?;
//!
//! let frame = RequestFrame::parse(&bytes)?;
//! assert_eq!(frame.tokens().find(&request::DATABASE_NAME).and_then(|value| value.text()), Some("db1"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod carried;
mod codes;
mod error;
mod guid;
mod read;
#[cfg(test)]
mod tests;
mod token;
mod tokens;
mod write;

pub use carried::{Carried, Form, REQUEST_HEADERS, RESPONSE_HEADERS};
pub use codes::{Operation, Resource};
pub use error::FrameError;
pub use guid::{Guid, NotAGuid};
pub use read::{RequestFrame, ResponseFrame, Tokens};
pub use token::{Rule, Token, TokenType, Value};
pub use tokens::{request, response};
pub use write::{FrameWriter, RequestHead};

/// The bytes of a frame before its tokens.
const HEAD: usize = 24;
