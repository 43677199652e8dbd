//! The partitions' results as they arrive: pages of rows, buffered until their turn comes.

use std::collections::VecDeque;

use serde_json::value::RawValue;

use super::repeats::RepeatWatch;

/// One partition's results.
#[derive(Default)]
pub(super) struct Source {
    rows: VecDeque<Fed>,
    /// Whether the last page has arrived.
    pub(super) ended: bool,
    /// Whether the page that is fed next has documents that sort alike with falling `_rid`s; `None` if it did not say.
    pub(super) falling: Option<bool>,
    pub(super) repeats: RepeatWatch,
}

/// A row, and what its page said of documents that sort alike.
pub(super) struct Fed {
    pub(super) row: Box<RawValue>,
    pub(super) falling: Option<bool>,
}

impl Source {
    pub(super) fn push(&mut self, rows: Vec<Box<RawValue>>) {
        let falling = self.falling;
        self.rows.extend(rows.into_iter().map(|row| Fed { row, falling }));
    }

    pub(super) fn pop(&mut self) -> Option<Fed> {
        self.rows.pop_front()
    }

    /// How many rows wait for their turn.
    pub(super) fn waiting(&self) -> usize {
        self.rows.len()
    }
}

/// What pulling a row gives.
pub(super) enum Pull<T> {
    Row(T),
    /// A row that was given before; it only has to be remembered.
    Again(T),
    /// Nothing can be said before this source's next page.
    NeedPage(usize),
    Done,
}

/// All rows of the first source, then all of the second, and so on.
pub(super) fn concatenate(sources: &mut [Source]) -> Pull<Box<RawValue>> {
    for (at, source) in sources.iter_mut().enumerate() {
        if let Some(fed) = source.pop() {
            return Pull::Row(fed.row);
        }
        if !source.ended {
            return Pull::NeedPage(at);
        }
    }
    Pull::Done
}
