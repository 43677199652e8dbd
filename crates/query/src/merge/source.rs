//! The partitions' results as they arrive: pages of rows, buffered until their turn comes.

use std::collections::VecDeque;

use serde_json::value::RawValue;

use super::repeats::RepeatWatch;

/// One partition's results.
#[derive(Default)]
pub(super) struct Source {
    pub(super) rows: VecDeque<Box<RawValue>>,
    /// Whether the last page has arrived.
    pub(super) ended: bool,
    /// Whether it gives documents that sort alike with falling `_rid`s; `None` if it did not say.
    pub(super) falling: Option<bool>,
    pub(super) repeats: RepeatWatch,
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
        if let Some(row) = source.rows.pop_front() {
            return Pull::Row(row);
        }
        if !source.ended {
            return Pull::NeedPage(at);
        }
    }
    Pull::Done
}
