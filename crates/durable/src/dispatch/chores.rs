//! What was left half done, to be finished by whoever is free: an instance's deliveries and staged turns, and
//! records of deletions.
//!
//! The states are the [`Agenda`]'s.

use std::sync::Arc;

use super::agenda::{Agenda, Handed, Limits, News, Outcome};
use super::{Dispatch, Shared};
use crate::clock;

/// The partitions with something half done.
pub(super) struct Chores {
    agenda: Agenda<Arc<str>, ()>,
}

impl Chores {
    pub(super) fn new() -> Self {
        Self { agenda: Agenda::new(Limits::USUAL) }
    }

    /// Somebody should finish what is half done there, from then on.
    pub(super) fn add(&mut self, partition: &str, from: u64, now: u64) {
        self.agenda.news(Arc::from(partition), (), News { at: from, mark: 0 }, now);
    }

    /// A search has found something half done.
    pub(super) fn found(&mut self, partition: &str, from: u64, now: u64) {
        self.agenda.hint(Arc::from(partition), (), from, now);
    }

    fn take(&mut self, now: u64) -> Result<Handed<Arc<str>>, Option<u64>> {
        self.agenda.claim(now, |()| true, |_| true).ok_or_else(|| self.agenda.next_after(now))
    }

    fn settle(&mut self, handed: &Handed<Arc<str>>, outcome: Finished, now: u64) {
        // Who could not finish something says so on the way: it is tried again, after a pause.
        let is_finished = matches!(outcome, Finished::Yes) && !self.agenda.has_news(handed);
        let outcome = match outcome {
            Finished::Yes if is_finished => Outcome::Idle { seen: &[], later: None },
            Finished::Yes | Finished::No => Outcome::Failed,
            Finished::NotTried => Outcome::Back,
        };
        self.agenda.settle(handed, outcome, now);
    }

    pub(super) fn agenda(&mut self) -> &mut Agenda<Arc<str>, ()> {
        &mut self.agenda
    }
}

#[derive(Clone, Copy)]
enum Finished {
    Yes,
    No,
    NotTried,
}

/// Something half done, handed to one finisher. Dropped, it is available again at once.
#[must_use = "a dropped chore is handed out again"]
pub(crate) struct Chore {
    dispatch: Dispatch,
    handed: Handed<Arc<str>>,
    finished: Finished,
}

impl Chore {
    pub(crate) fn partition(&self) -> &str {
        &self.handed.key
    }

    /// It was tried to finish it.
    pub(crate) fn tried(mut self, finished: bool) {
        self.finished = if finished { Finished::Yes } else { Finished::No };
    }
}

impl Drop for Chore {
    fn drop(&mut self) {
        self.dispatch.0.state().chores.settle(&self.handed, self.finished, self.dispatch.0.now_ms());
        self.dispatch.0.chores_changed.notify_waiters();
    }
}

impl Shared {
    async fn next_chore(&self) -> Handed<Arc<str>> {
        loop {
            let changed = self.chores_changed.notified();
            let now = self.now_ms();
            let taken = self.state().chores.take(now);
            match taken {
                Ok(handed) => return handed,
                Err(Some(at)) => {
                    let end = clock::instant() + std::time::Duration::from_millis(at - now);
                    clock::until(end, changed).await;
                }
                Err(None) => changed.await,
            }
        }
    }
}

impl Dispatch {
    /// The next thing that was left half done long enough ago. Waits until there is one.
    pub(crate) async fn next_chore(&self) -> Chore {
        let handed = self.0.next_chore().await;
        Chore { dispatch: self.clone(), handed, finished: Finished::NotTried }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chore_is_given_once_from_its_time_on_and_again_only_after_a_pause() {
        let mut chores = Chores::new();
        chores.add("a", 10, 0);
        chores.add("a", 20, 0);
        assert_eq!(chores.take(9), Err(Some(10)));
        let handed = chores.take(10).unwrap();
        assert_eq!(chores.take(99), Err(None));
        chores.settle(&handed, Finished::No, 10);
        assert_eq!(chores.take(10), Err(Some(110)));
        let handed = chores.take(110).unwrap();
        // Its finisher puts something off.
        chores.add("a", 110, 110);
        chores.settle(&handed, Finished::Yes, 110);
        assert_eq!(chores.take(110), Err(Some(310)));
        let handed = chores.take(310).unwrap();
        chores.settle(&handed, Finished::Yes, 310);
        assert_eq!(chores.take(9999), Err(None));
    }

    #[test]
    fn one_that_cannot_be_finished_does_not_keep_others_waiting() {
        let mut chores = Chores::new();
        chores.add("a", 0, 0);
        chores.add("b", 0, 0);
        let handed = chores.take(0).unwrap();
        chores.settle(&handed, Finished::No, 0);
        assert_eq!(&*chores.take(0).unwrap().key, "b");
    }
}
