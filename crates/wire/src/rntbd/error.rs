//! Why bytes are not a frame, or what cannot be put into one.

use std::fmt;

use super::{Token, TokenType};

/// Why bytes are not a frame, or why something cannot be put into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameError {
    pub(super) offset: usize,
    pub(super) problem: Problem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    Ends { wanted: usize, left: usize },
    Length(u32),
    Status(u32),
    Resource(u16),
    Operation(u16),
    UnknownType { id: u16, code: u8 },
    WrongType { token: &'static Token, found: TokenType },
    NotText(&'static Token),
    Twice(&'static Token),
    Missing(&'static Token),
    PayloadFlag(u64),
    Trailing(usize),
    TooLong { token: Token, length: usize },
    OtherKind(Token),
    Payload(usize),
    Whole(usize),
}

impl FrameError {
    /// The byte of the frame at which it stops being one.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The token that had to be there and is not.
    pub fn missing(&self) -> Option<&'static Token> {
        if let Problem::Missing(token) = self.problem { Some(token) } else { None }
    }

    /// Whether a value is longer than its token can say.
    pub fn is_too_long(&self) -> bool {
        matches!(self.problem, Problem::TooLong { .. } | Problem::Payload(_) | Problem::Whole(_))
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid frame at byte {}: ", self.offset)?;
        match &self.problem {
            Problem::Ends { wanted, left } => write!(f, "{wanted} bytes were to come, and {left} are left"),
            Problem::Length(length) => {
                write!(f, "it says that it has {length} bytes without its payload, which it does not have")
            }
            Problem::Status(status) => write!(f, "{status} is no status"),
            Problem::Resource(code) => write!(f, "{code:#04x} is no kind of resource"),
            Problem::Operation(code) => write!(f, "{code:#04x} is no operation"),
            Problem::UnknownType { id, code } => {
                write!(f, "token {id:#04x} is of type {code:#04x}, which there is not")
            }
            Problem::WrongType { token, found } => {
                write!(f, "token {} is {found:?} instead of {:?}", token.name, token.kind)
            }
            Problem::NotText(token) => write!(f, "token {} is not UTF-8", token.name),
            Problem::Twice(token) => write!(f, "token {} is there twice", token.name),
            Problem::Missing(token) => write!(f, "token {} is missing", token.name),
            Problem::PayloadFlag(value) => write!(f, "token PayloadPresent is {value} instead of 0 or 1"),
            Problem::Trailing(bytes) => write!(f, "{bytes} bytes follow its end"),
            Problem::TooLong { token, length } => {
                write!(f, "{length} bytes are more than token {} can have", token.name)
            }
            Problem::OtherKind(token) => {
                write!(f, "token {} takes {:?}, and another was given", token.name, token.kind)
            }
            Problem::Payload(length) => write!(f, "{length} bytes are more than a payload can have"),
            Problem::Whole(length) => write!(f, "{length} bytes are more than a frame can have"),
        }
    }
}

impl std::error::Error for FrameError {}
