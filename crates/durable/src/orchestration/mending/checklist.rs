//! What is still to be looked at, part by part and page by page. Pure.
//!
//! A part that fails comes again after the others, from the page that failed on. A large one comes as two halves, from
//! their beginnings: a partition that does not answer is soon alone with what it holds up.

use std::collections::VecDeque;

use cosmonaut::{FeedRange, FeedScope};

use crate::lease::Slots;
use crate::store::Span;

/// So many slots are looked at together, whatever fails.
const SMALL: usize = 16;

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Deliveries of the last minutes, so many at most.
    Recent,
    /// Deliveries of a time whose writes may be lost.
    Lost(Span),
    /// Instances that have done something in a time whose writes may be lost, and whose deliveries are not kept any more.
    Forgotten(Span),
    /// Instances that a deletion has locked.
    Locked,
    /// Messages and work.
    Waiting,
}

/// A part of the container that is to be looked at.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) subject: Subject,
    range: FeedRange,
    slots: Slots,
    /// Where the next page begins.
    pub(super) continuation: Option<String>,
    /// How many pages were looked at.
    pub(super) pages: u32,
}

impl Part {
    /// The part as two, or as it is if it is small.
    fn halves(self) -> Vec<Self> {
        let slots: Vec<u8> = self.slots.iter().collect();
        if slots.len() < 2 * SMALL {
            return vec![self];
        }
        let halves =
            slots.chunks(slots.len().div_ceil(2)).map(|half| half.iter().copied().collect::<Slots>());
        halves.flat_map(|half| Self::of(self.subject, half)).collect()
    }

    /// The parts that slots are in.
    fn of(subject: Subject, slots: Slots) -> impl Iterator<Item = Self> {
        slots.ranges().into_iter().map(move |range| Self {
            subject,
            range,
            slots,
            continuation: None,
            pages: 0,
        })
    }

    pub(super) fn scope(&self) -> FeedScope {
        FeedScope::from(&self.range)
    }
}

/// The parts that are left.
#[derive(Default)]
pub(super) struct Checklist {
    own: Slots,
    parts: VecDeque<Part>,
    /// How many parts in a row have failed.
    failures: usize,
    /// What is to be looked at once more when this is done.
    again: Option<Loss>,
}

/// Writes that may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    pub(super) span: Span,
    /// A time of which deliveries are not kept any more.
    pub(super) forgotten: Option<Span>,
}

impl Checklist {
    /// These are the slots of this process now. What was delivered from those that are new is to be checked; those that
    /// are gone are for others to look at. Writes of a time may be `lost`.
    pub(super) fn own(&mut self, slots: Slots, lost: Option<Span>) {
        let gained = slots.without(&self.own);
        self.own = slots;
        self.parts.retain(|part| !part.slots.within(&slots).is_empty());
        self.begin();
        self.add(Subject::Recent, gained);
        // Whoever has had them may have ended before it was done.
        if let Some(span) = lost {
            self.add(Subject::Lost(span), gained);
            self.add(Subject::Locked, gained);
        }
    }

    /// Writes may be lost: everything is to be looked at. What is under way is done first, because signs of one failover
    /// come again and again.
    pub(super) fn everything(&mut self, loss: Loss) {
        let span = loss.span.with(self.again.map(|again| again.span));
        let before = self.again.and_then(|again| again.forgotten);
        let forgotten = loss.forgotten.map_or(before, |forgotten| Some(forgotten.with(before)));
        self.again = Some(Loss { span, forgotten });
        self.begin();
    }

    /// Begins to look at everything, if that is wanted, nothing is left to look at, and there is something to look at.
    fn begin(&mut self) {
        if !self.parts.is_empty() || self.own.is_empty() {
            return;
        }
        if let Some(Loss { span, forgotten }) = self.again.take() {
            self.add(Subject::Lost(span), self.own);
            self.add(Subject::Waiting, self.own);
            self.add(Subject::Locked, self.own);
            forgotten.iter().for_each(|span| self.add(Subject::Forgotten(*span), self.own));
        }
    }

    pub(super) fn owned(&self) -> Slots {
        self.own
    }

    /// The part whose turn it is.
    pub(super) fn first(&self) -> Option<&Part> {
        self.parts.front()
    }

    /// A page of the first part was looked at; the next one begins there, if there is one.
    pub(super) fn looked(&mut self, continuation: Option<String>) {
        self.failures = 0;
        match (self.parts.front_mut(), continuation) {
            (Some(part), Some(next)) => (part.continuation, part.pages) = (Some(next), part.pages + 1),
            (Some(_), None) => drop(self.parts.pop_front()),
            (None, _) => {}
        }
        self.begin();
    }

    /// The first part could not be looked at: others come before it.
    pub(super) fn put_off(&mut self) {
        self.failures += 1;
        let failed = self.parts.pop_front();
        self.parts.extend(failed.into_iter().flat_map(Part::halves));
    }

    /// Whether all parts that are left have failed since one was looked at.
    pub(super) fn is_failing(&self) -> bool {
        self.failures > 0 && self.failures >= self.parts.len()
    }

    fn add(&mut self, subject: Subject, slots: Slots) {
        for run in slots.runs() {
            let slots: Slots = run.clone().map(|slot| slot as u8).collect();
            self.parts.extend(Part::of(subject, slots));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(run: std::ops::RangeInclusive<u8>) -> Slots {
        run.collect()
    }

    fn left(checklist: &Checklist) -> Vec<(Subject, usize, Option<&str>)> {
        let part = |part: &Part| (part.subject, part.slots.len(), part.continuation.clone());
        let parts = checklist.parts.iter().map(part);
        parts.map(|(subject, len, at)| (subject, len, at.map(|at| &*at.leak()))).collect()
    }

    #[test]
    fn new_slots_are_checked_and_lost_ones_left_alone() {
        let mut checklist = Checklist::default();
        checklist.own(slots(0..=9), None);
        checklist.own(slots(5..=14), None);
        assert_eq!(left(&checklist), [(Subject::Recent, 10, None), (Subject::Recent, 5, None)]);
        checklist.own(slots(10..=14), None);
        assert_eq!(left(&checklist), [(Subject::Recent, 5, None)]);
        checklist.own(Slots::none(), None);
        assert!(checklist.first().is_none());
        // Whoever has them again does not know what has happened meanwhile.
        checklist.own(slots(10..=14), None);
        assert_eq!(left(&checklist).len(), 1);
    }

    #[test]
    fn a_part_goes_on_where_it_was_and_keeps_no_other_from_its_turn() {
        let mut checklist = Checklist::default();
        checklist.own([1, 2, 7].into_iter().collect(), None);
        checklist.looked(Some("page 2".into()));
        checklist.put_off();
        assert!(!checklist.is_failing(), "the other part was not tried");
        checklist.looked(None);
        checklist.put_off();
        assert!(checklist.is_failing());
        assert_eq!(left(&checklist), [(Subject::Recent, 2, Some("page 2"))]);
        checklist.looked(None);
        assert!(checklist.first().is_none() && !checklist.is_failing());
    }

    #[test]
    fn a_large_part_that_fails_comes_again_in_halves_until_they_are_small() {
        let mut checklist = Checklist::default();
        checklist.own(Slots::all(), None);
        checklist.looked(Some("page 2".into()));
        checklist.put_off();
        assert_eq!(left(&checklist), [(Subject::Recent, 128, None); 2]);
        // Whatever is left of the ring is looked at, whichever piece of it fails.
        for _ in 0..100 {
            checklist.put_off();
        }
        let sizes: Vec<usize> = left(&checklist).iter().map(|(_, size, _)| *size).collect();
        assert_eq!(sizes, [SMALL; 256 / SMALL]);
        assert!(checklist.is_failing());
    }

    #[test]
    fn after_a_loss_everything_is_looked_at_and_signs_of_it_do_not_begin_it_anew() {
        let loss = |from, to| Loss { span: Span { from, to }, forgotten: None };
        let all = |from, to| {
            let lost = Subject::Lost(Span { from, to });
            [lost, Subject::Waiting, Subject::Locked].map(|subject| (subject, 256, None))
        };
        let mut checklist = Checklist::default();
        checklist.own(Slots::all(), None);
        checklist.looked(Some("page 2".into()));
        checklist.everything(loss(1, 2));
        assert_eq!(left(&checklist), [(Subject::Recent, 256, Some("page 2"))]);
        checklist.looked(None);
        assert_eq!(left(&checklist), all(1, 2));
        checklist.looked(None);
        // What was looked at before the sign may be lost by now.
        checklist.everything(loss(3, 5));
        checklist.everything(loss(2, 4));
        checklist.looked(None);
        checklist.looked(None);
        assert_eq!(left(&checklist), all(2, 5));
        for _ in 0..3 {
            checklist.looked(None);
        }
        assert!(checklist.first().is_none());
        checklist.everything(loss(7, 8));
        assert_eq!(left(&checklist), all(7, 8));
    }

    #[test]
    fn whoever_gets_slots_looks_at_a_loss_that_was_noticed_before_and_at_what_is_forgotten_of_it_once() {
        let span = Span { from: 1, to: 2 };
        let mut checklist = Checklist::default();
        checklist.own(slots(0..=9), Some(span));
        let subjects = [Subject::Recent, Subject::Lost(span), Subject::Locked];
        assert_eq!(left(&checklist), subjects.map(|subject| (subject, 10, None)));
        subjects.iter().for_each(|_| checklist.looked(None));
        // A sign that comes while this process has nothing to look at is not forgotten.
        checklist.own(Slots::none(), Some(span));
        checklist.everything(Loss { span, forgotten: Some(span) });
        assert!(checklist.first().is_none());
        checklist.own(slots(0..=9), None);
        assert_eq!(left(&checklist).pop(), Some((Subject::Recent, 10, None)));
        checklist.parts.pop_back();
        let subjects: Vec<_> = left(&checklist).into_iter().map(|(subject, ..)| subject).collect();
        assert_eq!(
            subjects,
            [Subject::Lost(span), Subject::Waiting, Subject::Locked, Subject::Forgotten(span)]
        );
    }
}
