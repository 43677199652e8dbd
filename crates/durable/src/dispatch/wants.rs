//! What the workers of this process take, and whether one of them waits.

use duroxide::providers::{SessionFetchConfig, TagFilter};

use super::sessions::Holder;
use super::work::WorkFilter;

/// For how long a worker that does not ask counts as one that will ask again.
const REMEMBERED_MS: u64 = 30_000;

/// The kinds of workers that have asked lately.
#[derive(Default)]
pub(super) struct Wants {
    known: Vec<Want>,
}

struct Want {
    tags: TagFilter,
    session: Option<SessionFetchConfig>,
    waiting: usize,
    asked_at: u64,
}

impl Wants {
    /// A worker begins to wait.
    pub(super) fn begin(&mut self, wanted: WorkFilter<'_>, now: u64) {
        self.known.retain(|want| want.waiting > 0 || now < want.asked_at + REMEMBERED_MS);
        match self.find(wanted) {
            Some(want) => want.waiting += 1,
            None => {
                let (tags, session) = (wanted.tags.clone(), wanted.session.cloned());
                self.known.push(Want { tags, session, waiting: 1, asked_at: now });
            }
        }
    }

    /// A worker waits no longer.
    pub(super) fn end(&mut self, wanted: WorkFilter<'_>, now: u64) {
        if let Some(want) = self.find(wanted) {
            want.waiting = want.waiting.saturating_sub(1);
            want.asked_at = now;
        }
    }

    /// Whether some worker takes items of a tag that must be run by some holder.
    pub(super) fn takes(&self, tag: Option<&str>, holder: &Holder, now: u64) -> bool {
        let asks = |want: &&Want| want.waiting > 0 || now < want.asked_at + REMEMBERED_MS;
        self.known
            .iter()
            .filter(asks)
            .any(|want| want.tags.matches(tag) && holder.lets(want.session.as_ref()))
    }

    /// Whether some worker has nothing to do.
    pub(super) fn is_hungry(&self) -> bool {
        self.known.iter().any(|want| want.waiting > 0)
    }

    fn find(&mut self, wanted: WorkFilter<'_>) -> Option<&mut Want> {
        let owner = |session: Option<&SessionFetchConfig>| session.map(|session| session.owner_id.clone());
        let is_same = |want: &&mut Want| {
            want.tags == *wanted.tags && owner(want.session.as_ref()) == owner(wanted.session)
        };
        self.known.iter_mut().find(is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_counts_while_it_waits_and_for_some_time_after() {
        let mut wants = Wants::default();
        let gpu = TagFilter::tags(["gpu"]);
        let wanted = WorkFilter { session: None, tags: &gpu };
        assert!(!wants.is_hungry() && !wants.takes(Some("gpu"), &Holder::Anybody, 0));
        wants.begin(wanted, 0);
        assert!(wants.is_hungry());
        for (tag, holder, takes) in [
            (Some("gpu"), Holder::Anybody, true),
            (None, Holder::Anybody, false),
            (Some("gpu"), Holder::Free, false),
        ] {
            assert_eq!(wants.takes(tag, &holder, REMEMBERED_MS * 2), takes, "{tag:?} {holder:?}");
        }
        wants.end(wanted, 10);
        assert!(!wants.is_hungry());
        assert!(wants.takes(Some("gpu"), &Holder::Anybody, 9 + REMEMBERED_MS));
        assert!(!wants.takes(Some("gpu"), &Holder::Anybody, 10 + REMEMBERED_MS));
    }
}
