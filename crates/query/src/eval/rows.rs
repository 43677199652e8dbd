//! Result rows as JSON texts in one buffer.
//!
//! It knows nothing of pages; whoever answers a request cuts them.

use std::collections::HashSet;

use crate::raw::RawJson;

/// Rows of a result, each the JSON text of one value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Rows {
    /// No rows.
    pub fn new() -> Rows {
        Rows::default()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many bytes the rows have together.
    pub fn byte_len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The row at `index`.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        Some(&self.bytes[start..end])
    }

    /// The rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Appends a row.
    pub fn push(&mut self, row: &[u8]) {
        self.bytes.extend_from_slice(row);
        self.ends.push(self.bytes.len());
    }

    /// Forgets all rows, keeping the buffer.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Keeps the first of equal rows.
    pub fn make_distinct(&mut self) {
        let mut seen = HashSet::new();
        if self.len() > 1 {
            let all = std::mem::take(self);
            for row in all.iter().filter(|row| seen.insert(canonical(row))) {
                self.push(row);
            }
        }
    }

    /// Appends the row that `write` writes; none if it answers that there is nothing to write.
    pub(super) fn push_with<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let start = self.bytes.len();
        let wrote = write(&mut self.bytes);
        match wrote {
            Ok(true) => self.ends.push(self.bytes.len()),
            Ok(false) | Err(_) => self.bytes.truncate(start),
        }
        wrote
    }
}

/// Bytes that are equal for equal rows only.
pub(super) fn canonical(row: &[u8]) -> Vec<u8> {
    RawJson::new(row).to_value().canonical()
}
