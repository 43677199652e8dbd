//! Who has read what since somebody asked: how a caller that does not wait sees what others have written.
//!
//! Pure bookkeeping. A reader that fails is not waited for.

use std::collections::BTreeMap;

use crate::lease::Slots;

/// The readers, and the requests to read that they have answered.
#[derive(Default)]
pub(super) struct Rounds {
    asked: u64,
    /// The slots that the readers are for; `None` before there are any.
    slots: Option<Slots>,
    /// Why there are no readers for the slots of this process.
    error: Option<cosmonaut::Error>,
    readers: BTreeMap<u64, Round>,
}

#[derive(Clone, Copy, Default)]
struct Round {
    answered: u64,
    is_failing: bool,
}

impl Rounds {
    /// Asks all readers to read once more; gives the number of the request.
    pub(super) fn ask(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    /// The requests that a read answers that begins now.
    pub(super) fn begin(&self) -> u64 {
        self.asked
    }

    /// A reader has answered all requests up to a number, or has failed to.
    pub(super) fn end(&mut self, reader: u64, number: u64, is_failing: bool) {
        if let Some(round) = self.readers.get_mut(&reader) {
            round.is_failing = is_failing;
            round.answered = if is_failing { round.answered } else { number };
        }
    }

    /// Whether a healthy reader has a request to answer.
    pub(super) fn is_asked(&self, reader: u64) -> bool {
        self.readers.get(&reader).is_some_and(|round| !round.is_failing && round.answered < self.asked)
    }

    /// These are the readers now, for these slots.
    pub(super) fn divide(&mut self, slots: Slots, readers: impl Iterator<Item = u64>) {
        let before = std::mem::take(&mut self.readers);
        self.readers =
            readers.map(|reader| (reader, before.get(&reader).copied().unwrap_or_default())).collect();
        self.slots = Some(slots);
        self.error = None;
    }

    /// Readers cannot be had.
    pub(super) fn fail(&mut self, error: cosmonaut::Error) {
        self.error = Some(error);
    }

    /// Whether all that was written in some slots before a request has been read.
    ///
    /// # Errors
    /// If nobody can read at all.
    pub(super) fn is_done(&self, number: u64, slots: &Slots) -> cosmonaut::Result<bool> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => {
                let read = self.readers.values().all(|round| round.is_failing || round.answered >= number);
                Ok(self.slots == Some(*slots) && read)
            }
        }
    }

    /// How many readers there are.
    pub(super) fn readers(&self) -> usize {
        self.readers.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_when_every_healthy_reader_has_read_after_it() {
        let mut rounds = Rounds::default();
        let slots = Slots::all();
        let number = rounds.ask();
        assert!(!rounds.is_done(number, &slots).unwrap(), "nobody reads");
        rounds.divide(slots, [1, 2].into_iter());
        assert!(!rounds.is_done(number, &slots).unwrap());
        let began = rounds.begin();
        rounds.end(1, began, false);
        assert!(rounds.is_asked(2) && !rounds.is_asked(1));
        rounds.end(2, began, true);
        assert!(rounds.is_done(number, &slots).unwrap(), "one that fails is not waited for");
        assert!(!rounds.is_asked(2), "nor asked before its time");
        assert!(!rounds.is_done(number, &Slots::none()).unwrap(), "the readers are for other slots");
        let number = rounds.ask();
        rounds.end(1, began, false);
        assert!(!rounds.is_done(number, &slots).unwrap(), "that read began before");
        rounds.divide(slots, [1, 3].into_iter());
        rounds.end(1, number, false);
        assert!(!rounds.is_done(number, &slots).unwrap(), "a new reader has yet to read");
    }
}
