//! Whether bytes are one JSON value, checked once before a document is stored.
//!
//! It keeps nothing of what it reads. A name that occurs twice in an object is allowed; readers take the last.

use std::fmt;

/// How deeply arrays and objects may be nested, as in the service.
pub const MAX_DEPTH: usize = 128;

/// Why a text is not acceptable JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The byte at which the text stops being acceptable.
    pub offset: usize,
    /// What was needed there.
    pub expected: &'static str,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid JSON at byte {}: expected {}", self.offset, self.expected)
    }
}

impl std::error::Error for JsonError {}

/// Checks that `text` is exactly one JSON value in UTF-8, nested at most [`MAX_DEPTH`] deep.
pub fn validate(text: &[u8]) -> Result<(), JsonError> {
    if let Err(error) = std::str::from_utf8(text) {
        return Err(JsonError { offset: error.valid_up_to(), expected: "UTF-8" });
    }
    let mut reader = Reader { text, at: 0 };
    reader.document()?;
    reader.blank();
    if reader.at < text.len() { reader.fail("the end of the text") } else { Ok(()) }
}

struct Reader<'d> {
    text: &'d [u8],
    at: usize,
}

impl Reader<'_> {
    /// One value, with an explicit stack of closing brackets so that depth costs no call stack.
    fn document(&mut self) -> Result<(), JsonError> {
        let mut closers: Vec<u8> = Vec::new();
        loop {
            self.blank();
            let closer = match self.peek() {
                Some(b'[') => Some(b']'),
                Some(b'{') => Some(b'}'),
                _ => None,
            };
            match closer {
                Some(closer) => self.open(&mut closers, closer)?,
                None => self.scalar()?,
            }
            if !self.advance(&mut closers, closer.is_some())? {
                return Ok(());
            }
        }
    }

    fn open(&mut self, closers: &mut Vec<u8>, closer: u8) -> Result<(), JsonError> {
        if closers.len() == MAX_DEPTH {
            return self.fail("at most 128 levels of nesting");
        }
        closers.push(closer);
        self.at += 1;
        Ok(())
    }

    /// Moves to the start of the next value, closing what ends here; `false` at the end of the document.
    fn advance(&mut self, closers: &mut Vec<u8>, mut opened: bool) -> Result<bool, JsonError> {
        loop {
            let Some(closer) = closers.last().copied() else { return Ok(false) };
            self.blank();
            if self.peek() == Some(closer) {
                self.at += 1;
                closers.pop();
                opened = false;
                continue;
            }
            if !opened {
                self.take(b',', if closer == b']' { "`,` or `]`" } else { "`,` or `}`" })?;
            }
            if closer == b'}' {
                self.blank();
                if self.peek() != Some(b'"') {
                    return self.fail("a member name in double quotes");
                }
                self.string()?;
                self.blank();
                self.take(b':', "`:`")?;
            }
            return Ok(true);
        }
    }

    fn scalar(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            _ => self.fail("a value"),
        }
    }

    fn word(&mut self, word: &'static [u8]) -> Result<(), JsonError> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(())
        } else {
            self.fail("a value")
        }
    }

    fn string(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        loop {
            self.at = super::scan::special(self.text, self.at).unwrap_or(self.text.len());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(0..=0x1f) => {
                    return self.fail("an escape, as control characters may not stand in a string");
                }
                Some(_) => self.at += 1,
                None => return self.fail("the closing quote of the string"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        match self.text.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = self.text.get(self.at + 2..self.at + 6);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return self.fail("four hexadecimal digits after `\\u`");
                }
                self.at += 6;
            }
            _ => return self.fail("a valid escape"),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let length = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += length;
        if length == 0 { self.fail("a digit") } else { Ok(()) }
    }

    fn take(&mut self, byte: u8, expected: &'static str) -> Result<(), JsonError> {
        if self.peek() != Some(byte) {
            return self.fail(expected);
        }
        self.at += 1;
        Ok(())
    }

    fn blank(&mut self) {
        self.at = super::scan::skip_blank(self.text, self.at);
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn fail<T>(&self, expected: &'static str) -> Result<T, JsonError> {
        Err(JsonError { offset: self.at, expected })
    }
}
