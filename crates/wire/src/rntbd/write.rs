//! Writing frames, into a buffer of the caller's and without any other.

use super::error::Problem;
use super::token::Size;
use super::{FrameError, Guid, HEAD, Operation, Resource, Token, TokenType, Value, request, response};

/// What a request is, before its tokens say more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// What it is about.
    pub resource: Resource,
    /// What is to be done.
    pub operation: Operation,
    /// Its activity id.
    pub activity: Guid,
}

/// Appends a frame to a buffer. What was appended is taken out again unless the frame is finished.
#[must_use = "a frame that is not finished is none"]
pub struct FrameWriter<'b> {
    into: &'b mut Vec<u8>,
    start: usize,
    payload: Option<&'b [u8]>,
    payload_present: &'static Token,
    says_payload: bool,
    is_finished: bool,
}

impl<'b> FrameWriter<'b> {
    /// Begins a request.
    pub fn request(into: &'b mut Vec<u8>, head: RequestHead, payload: Option<&'b [u8]>) -> Self {
        let (resource, operation) = (head.resource.code().to_le_bytes(), head.operation.code().to_le_bytes());
        let [a, b, c, d] = [resource[0], resource[1], operation[0], operation[1]];
        Self::begin(into, [a, b, c, d], head.activity, payload, &request::PAYLOAD_PRESENT)
    }

    /// Begins an answer.
    pub fn response(into: &'b mut Vec<u8>, status: u16, activity: Guid, payload: Option<&'b [u8]>) -> Self {
        let status = u32::from(status).to_le_bytes();
        Self::begin(into, status, activity, payload, &response::PAYLOAD_PRESENT)
    }

    fn begin(
        into: &'b mut Vec<u8>,
        kind: [u8; 4],
        activity: Guid,
        payload: Option<&'b [u8]>,
        payload_present: &'static Token,
    ) -> Self {
        let start = into.len();
        into.extend([0; 4]);
        into.extend(kind);
        into.extend(activity.to_wire());
        Self { into, start, payload, payload_present, says_payload: false, is_finished: false }
    }

    /// Says here whether there is a payload, instead of behind all other tokens.
    pub fn payload_present(&mut self) {
        if !self.says_payload {
            self.says_payload = true;
            self.head(self.payload_present);
            self.into.push(self.payload.is_some().into());
        }
    }

    /// Appends a token of text.
    pub fn text(&mut self, token: &Token, text: &str) -> Result<(), FrameError> {
        self.push(token, Value::Text(text))
    }

    /// Appends a token of bytes.
    pub fn bytes(&mut self, token: &Token, bytes: &[u8]) -> Result<(), FrameError> {
        self.push(token, Value::Bytes(bytes))
    }

    /// Appends a token of a number without a sign.
    pub fn number(&mut self, token: &Token, number: u64) -> Result<(), FrameError> {
        self.push(token, Value::Unsigned(number))
    }

    /// Appends a token; refuses a value that the token cannot have, and then appends nothing.
    pub fn push(&mut self, token: &Token, value: Value<'_>) -> Result<(), FrameError> {
        let other = self.failed(Problem::OtherKind(*token));
        match (token.kind, value) {
            (
                TokenType::Byte | TokenType::UShort | TokenType::ULong | TokenType::ULongLong,
                Value::Unsigned(number),
            ) => {
                let Size::Fixed(width) = token.kind.size() else { return Err(other) };
                let number = number.to_le_bytes();
                let (kept, cut) = number.split_at(width);
                if cut.iter().any(|byte| *byte != 0) {
                    return Err(self.failed(Problem::TooLong { token: *token, length: 8 }));
                }
                self.whole(token, kept);
            }
            (TokenType::Long, Value::Signed(number)) => {
                let number = i32::try_from(number);
                let number =
                    number.map_err(|_| self.failed(Problem::TooLong { token: *token, length: 8 }))?;
                self.whole(token, &number.to_le_bytes());
            }
            (TokenType::LongLong, Value::Signed(number)) => self.whole(token, &number.to_le_bytes()),
            (TokenType::Guid, Value::Guid(guid)) => self.whole(token, &guid.to_wire()),
            (TokenType::Float, Value::Float(number)) => self.whole(token, &(number as f32).to_le_bytes()),
            (TokenType::Double, Value::Float(number)) => self.whole(token, &number.to_le_bytes()),
            (TokenType::SmallString | TokenType::String | TokenType::ULongString, Value::Text(text)) => {
                self.prefixed(token, text.as_bytes())?;
            }
            (TokenType::SmallBytes | TokenType::Bytes | TokenType::ULongBytes, Value::Bytes(bytes)) => {
                self.prefixed(token, bytes)?;
            }
            _ => return Err(other),
        }
        Ok(())
    }

    fn whole(&mut self, token: &Token, value: &[u8]) {
        self.head(token);
        self.into.extend_from_slice(value);
    }

    fn prefixed(&mut self, token: &Token, value: &[u8]) -> Result<(), FrameError> {
        let Size::Prefixed(width) = token.kind.size() else {
            return Err(self.failed(Problem::OtherKind(*token)));
        };
        let length = (value.len() as u64).to_le_bytes();
        if length[width..].iter().any(|byte| *byte != 0) {
            return Err(self.failed(Problem::TooLong { token: *token, length: value.len() }));
        }
        self.head(token);
        self.into.extend_from_slice(&length[..width]);
        self.into.extend_from_slice(value);
        Ok(())
    }

    fn head(&mut self, token: &Token) {
        self.into.extend_from_slice(&token.id.to_le_bytes());
        self.into.push(token.kind.code());
    }

    fn failed(&self, problem: Problem) -> FrameError {
        FrameError { offset: self.into.len() - self.start, problem }
    }

    /// Ends the frame with its payload.
    pub fn finish(mut self) -> Result<(), FrameError> {
        self.payload_present();
        let length = self.into.len() - self.start;
        let length = u32::try_from(length).map_err(|_| self.failed(Problem::Whole(length)))?;
        self.into[self.start..self.start + 4].copy_from_slice(&length.to_le_bytes());
        if let Some(payload) = self.payload {
            let length = u32::try_from(payload.len());
            let length = length.map_err(|_| self.failed(Problem::Payload(payload.len())))?;
            self.into.extend_from_slice(&length.to_le_bytes());
            self.into.extend_from_slice(payload);
        }
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for FrameWriter<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.into.truncate(self.start);
        }
    }
}

const _: () = assert!(HEAD == 4 + 4 + 16);
