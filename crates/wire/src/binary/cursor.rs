//! A place in a binary document, with reads that never go past the end of the container that it is in.

use super::error::{BinaryError, Problem};

/// A place in a document.
pub(super) struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
    end: usize,
}

impl<'b> Cursor<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0, end: bytes.len() }
    }

    /// The same document at an earlier place, of which nothing behind `end` is read.
    pub(super) fn back_to(&self, at: usize, end: usize) -> Self {
        Self { bytes: self.bytes, at, end: end.min(self.bytes.len()) }
    }

    /// How many bytes are before this place.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Where the innermost container ends.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Goes into a container that ends `length` bytes from here.
    pub(super) fn enter(&mut self, length: usize) -> Result<(), BinaryError> {
        match self.at.checked_add(length).filter(|end| *end <= self.end) {
            Some(end) => {
                self.end = end;
                Ok(())
            }
            None => Err(self.fail(Problem::Ends)),
        }
    }

    /// Leaves a container for the one around it, which ends at `end`.
    pub(super) fn leave(&mut self, end: usize) {
        self.end = end;
    }

    /// The next bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'b [u8], BinaryError> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.end);
        let taken = end.and_then(|end| Some((end, self.bytes.get(self.at..end)?)));
        let Some((end, taken)) = taken else { return Err(self.fail(Problem::Ends)) };
        self.at = end;
        Ok(taken)
    }

    /// The next bytes, as many as the type says.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], BinaryError> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| self.fail(Problem::Ends))
    }

    /// The next byte.
    pub(super) fn byte(&mut self) -> Result<u8, BinaryError> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A length, count or offset of at most four bytes.
    pub(super) fn length(&mut self, width: usize) -> Result<usize, BinaryError> {
        let bytes = self.take(width)?;
        Ok(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
    }

    /// What is wrong here.
    pub(super) fn fail(&self, problem: Problem) -> BinaryError {
        BinaryError { offset: self.at, problem }
    }
}
