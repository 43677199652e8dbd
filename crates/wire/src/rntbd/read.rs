//! Reading frames where they lie.
//!
//! A frame is gone through once before anything of it is given out: every length, and the type of every token that has to
//! have its own. So what is read afterwards is there.

use std::fmt;

use super::error::Problem;
use super::token::Size;
use super::{FrameError, Guid, HEAD, Operation, Resource, Rule, Token, TokenType, Value, request, response};

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct RequestFrame<'a> {
    /// What it is about.
    pub resource: Resource,
    /// What is to be done.
    pub operation: Operation,
    /// Its activity id.
    pub activity: Guid,
    /// What goes with it, such as an item.
    pub payload: Option<&'a [u8]>,
    tokens: Tokens<'a>,
}

impl<'a> RequestFrame<'a> {
    /// Reads a request, which has to be all of the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FrameError> {
        let (head, tokens) = split(bytes, request::find)?;
        let [a, b, c, d, activity @ ..] = *head;
        let (resource, operation) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        let failed = |offset, problem| FrameError { offset, problem };
        let has_payload = check(tokens, request::ALL)?;
        let (payload, end) = payload(bytes, HEAD + tokens.bytes.len(), has_payload)?;
        if end < bytes.len() {
            return Err(failed(end, Problem::Trailing(bytes.len() - end)));
        }
        Ok(Self {
            resource: Resource::from_code(resource).ok_or(failed(4, Problem::Resource(resource)))?,
            operation: Operation::from_code(operation).ok_or(failed(6, Problem::Operation(operation)))?,
            activity: Guid::from_wire(activity),
            payload,
            tokens,
        })
    }

    /// The tokens that are known, in their order.
    pub fn tokens(&self) -> Tokens<'a> {
        self.tokens
    }
}

/// An answer.
#[derive(Clone, Copy, Debug)]
pub struct ResponseFrame<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The activity id of its request.
    pub activity: Guid,
    /// What goes with it, such as an item.
    pub payload: Option<&'a [u8]>,
    tokens: Tokens<'a>,
}

impl<'a> ResponseFrame<'a> {
    /// Reads an answer. Bytes after its end are nobody's.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FrameError> {
        let (head, tokens) = split(bytes, response::find)?;
        let [a, b, c, d, activity @ ..] = *head;
        let found = u32::from_le_bytes([a, b, c, d]);
        let is_status = |status: &u16| (100..600).contains(status);
        let unknown = FrameError { offset: 4, problem: Problem::Status(found) };
        let status = u16::try_from(found).ok().filter(is_status).ok_or(unknown)?;
        let has_payload = check(tokens, response::ALL)?;
        let (payload, _) = payload(bytes, HEAD + tokens.bytes.len(), has_payload)?;
        Ok(Self { status, activity: Guid::from_wire(activity), payload, tokens })
    }

    /// The tokens that are known, in their order.
    pub fn tokens(&self) -> Tokens<'a> {
        self.tokens
    }
}

/// The known tokens of a frame, in its order. Unknown ones, and those of which the type does not fit, are left out.
#[derive(Clone, Copy)]
pub struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
    known: fn(u16) -> Option<&'static Token>,
}

impl<'a> Tokens<'a> {
    /// The value of a token, if it is there.
    pub fn find(mut self, token: &Token) -> Option<Value<'a>> {
        self.find_map(|(found, value)| (found.id == token.id).then_some(value))
    }

    /// The next token, whatever it is.
    fn step(&mut self) -> Result<Option<Raw<'a>>, FrameError> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let start = self.at;
        let [low, high, code] = self.array()?;
        let id = u16::from_le_bytes([low, high]);
        let unknown = FrameError { offset: HEAD + start + 2, problem: Problem::UnknownType { id, code } };
        let kind = TokenType::from_code(code).ok_or(unknown)?;
        let length = match kind.size() {
            Size::Fixed(length) => length,
            Size::Prefixed(width) => {
                let mut wide = [0; 8];
                wide[..width].copy_from_slice(self.take(width)?);
                // More than there can be on any machine is more than there is here.
                usize::try_from(u64::from_le_bytes(wide)).unwrap_or(usize::MAX)
            }
        };
        Ok(Some(Raw { start, id, kind, value: self.take(length)? }))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn take(&mut self, wanted: usize) -> Result<&'a [u8], FrameError> {
        let left = self.bytes.len() - self.at;
        if wanted > left {
            return Err(FrameError { offset: HEAD + self.at, problem: Problem::Ends { wanted, left } });
        }
        let taken = &self.bytes[self.at..self.at + wanted];
        self.at += wanted;
        Ok(taken)
    }
}

/// Without the values, one of which is a signature.
impl fmt::Debug for Tokens<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.map(|(token, _)| token.name)).finish()
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (&'static Token, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        // The frame was gone through before: no step fails.
        while let Ok(Some(raw)) = self.step() {
            if let Some(token) = (self.known)(raw.id).filter(|token| token.kind == raw.kind)
                && let Some(value) = Value::read(raw.kind, raw.value)
            {
                return Some((token, value));
            }
        }
        None
    }
}

/// A token as it lies in a frame.
struct Raw<'a> {
    /// Where it begins among the tokens.
    start: usize,
    id: u16,
    kind: TokenType,
    value: &'a [u8],
}

/// What a frame has behind its length, and its tokens.
fn split(
    bytes: &[u8],
    known: fn(u16) -> Option<&'static Token>,
) -> Result<(&[u8; HEAD - 4], Tokens<'_>), FrameError> {
    let ends = Problem::Ends { wanted: HEAD, left: bytes.len() };
    let whole = bytes.first_chunk::<HEAD>().ok_or(FrameError { offset: 0, problem: ends })?;
    let (length, head) = whole.split_first_chunk::<4>().expect("a head is longer than its length");
    let length = u32::from_le_bytes(*length);
    let tokens = usize::try_from(length).ok().and_then(|end| bytes.get(HEAD..end));
    let tokens = tokens.ok_or(FrameError { offset: 0, problem: Problem::Length(length) })?;
    let head = head.first_chunk().expect("a head has 24 bytes");
    Ok((head, Tokens { bytes: tokens, at: 0, known }))
}

/// Ids below this are kept account of, which are all that are known.
const IDS: usize = 320;

/// Goes through all tokens; says whether there is a payload.
fn check(mut tokens: Tokens<'_>, all: &'static [Token]) -> Result<bool, FrameError> {
    let mut seen = [0u64; IDS / 64];
    let mut has_payload = false;
    while let Some(raw) = tokens.step()? {
        let Some(token) = (tokens.known)(raw.id) else { continue };
        let failed = |problem| FrameError { offset: HEAD + raw.start, problem };
        let bit = 1 << (raw.id % 64);
        let word = &mut seen[usize::from(raw.id) / 64];
        if *word & bit != 0 {
            return Err(failed(Problem::Twice(token)));
        }
        *word |= bit;
        if token.rule == Rule::Loose {
            continue;
        }
        if raw.kind != token.kind {
            return Err(failed(Problem::WrongType { token, found: raw.kind }));
        }
        let value = Value::read(raw.kind, raw.value).ok_or(failed(Problem::NotText(token)))?;
        // It has another number in requests than in answers.
        if token.name == request::PAYLOAD_PRESENT.name {
            has_payload = match value {
                Value::Unsigned(flag @ (0 | 1)) => flag == 1,
                other => return Err(failed(Problem::PayloadFlag(other.unsigned().unwrap_or_default()))),
            };
        }
    }
    let is_seen = |token: &&Token| seen[usize::from(token.id) / 64] & 1 << (token.id % 64) != 0;
    match all.iter().filter(|token| token.rule == Rule::Required).find(|token| !is_seen(token)) {
        Some(token) => {
            Err(FrameError { offset: HEAD + tokens.bytes.len(), problem: Problem::Missing(token) })
        }
        None => Ok(has_payload),
    }
}

/// The payload, and where the frame ends.
fn payload(bytes: &[u8], at: usize, is_there: bool) -> Result<(Option<&[u8]>, usize), FrameError> {
    if !is_there {
        return Ok((None, at));
    }
    let ends = |wanted, left| FrameError { offset: at, problem: Problem::Ends { wanted, left } };
    let rest = &bytes[at..];
    let (length, rest) = rest.split_first_chunk::<4>().ok_or(ends(4, rest.len()))?;
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let payload = rest.get(..length).ok_or(ends(length, rest.len()))?;
    Ok((Some(payload), at + 4 + length))
}
