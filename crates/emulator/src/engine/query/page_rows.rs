//! The rows of a page: `OFFSET`, `LIMIT` and `TOP` applied, cut to the size asked for.

use cosmonaut_query::eval::{Program, Progress, Rows};

use super::request::PageSize;

/// The rows of a page so far.
pub(super) struct Output {
    pub(super) rows: Rows,
    pub(super) progress: Progress,
    offset: u64,
    limit: Option<u64>,
    max_rows: usize,
    max_bytes: usize,
    /// Whether a row was turned away because the page has too many bytes.
    overflowed: bool,
}

impl Output {
    pub(super) fn new(program: &Program, size: PageSize, progress: Progress) -> Output {
        Output {
            rows: Rows::new(),
            progress,
            offset: program.offset(),
            limit: program.limit(),
            max_rows: size.rows(),
            max_bytes: size.bytes(),
            overflowed: false,
        }
    }

    /// From here on rows come with `OFFSET`, `LIMIT` and `TOP` applied.
    pub(super) fn pass_through(&mut self) {
        (self.offset, self.limit) = (0, None);
    }

    /// Whether the page takes no further row.
    pub(super) fn is_full(&self) -> bool {
        self.overflowed || self.rows.len() >= self.max_rows || self.rows.byte_len() >= self.max_bytes
    }

    /// Whether the query takes no further row.
    pub(super) fn is_done(&self) -> bool {
        self.limit.is_some_and(|limit| self.progress.emitted >= limit)
    }

    /// How many rows it may still take, those that `OFFSET` passes over included, and one more.
    pub(super) fn wanted(&self) -> usize {
        self.room().saturating_add(self.skipping()).saturating_add(1)
    }

    /// How many rows the query still takes, those that `OFFSET` passes over included, if the page has room for them all.
    pub(super) fn last_wanted(&self) -> Option<usize> {
        let left = usize::try_from(self.limit?.saturating_sub(self.progress.emitted)).ok()?;
        (left <= self.room()).then(|| left.saturating_add(self.skipping()))
    }

    /// How many bytes of rows it may still take; the last row may have more.
    pub(super) fn wanted_bytes(&self) -> usize {
        // Rows that are passed over take no room.
        if self.skipping() == 0 { self.max_bytes } else { usize::MAX }
    }

    fn room(&self) -> usize {
        self.max_rows.saturating_sub(self.rows.len())
    }

    /// How many rows `OFFSET` still passes over.
    fn skipping(&self) -> usize {
        usize::try_from(self.offset.saturating_sub(self.progress.skipped)).unwrap_or(usize::MAX)
    }

    /// Takes a row; false if it belongs on the next page.
    pub(super) fn take(&mut self, row: &[u8]) -> bool {
        if self.is_done() {
            return true;
        }
        if self.progress.skipped < self.offset {
            self.progress.skipped += 1;
            return true;
        }
        if !self.rows.is_empty() && self.rows.byte_len() + row.len() > self.max_bytes {
            self.overflowed = true;
        }
        if self.is_full() {
            return false;
        }
        self.rows.push(row);
        self.progress.emitted += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(offset: u64, limit: Option<u64>, max_rows: usize) -> Output {
        let progress = Progress::default();
        let max_bytes = PageSize::Any.bytes();
        Output { rows: Rows::new(), progress, offset, limit, max_rows, max_bytes, overflowed: false }
    }

    #[test]
    fn rows_are_skipped_limited_and_turned_away() {
        for (offset, limit, max_rows, given, done) in [
            (0, None, 10, 5, false),
            (0, None, 3, 3, false),
            (2, None, 10, 3, false),
            (2, Some(2), 10, 2, true),
            (0, Some(0), 10, 0, true),
            (9, Some(1), 10, 0, false),
        ] {
            let mut output = output(offset, limit, max_rows);
            let taken = (0..5).take_while(|_| output.take(b"1")).count();
            assert_eq!((output.rows.len(), output.is_done()), (given, done), "{offset} {limit:?} {max_rows}");
            assert_eq!(taken < 5, given == 3 && max_rows == 3);
        }
    }

    #[test]
    fn a_page_is_no_larger_than_a_response_unless_one_row_is() {
        let (mut output, row) = (output(0, None, usize::MAX), vec![b'1'; PageSize::MAX_BYTES / 2 + 1]);
        assert!(output.take(&row));
        assert!(!output.take(&row));
        assert!(output.is_full());
        assert_eq!(output.rows.len(), 1);
    }
}
