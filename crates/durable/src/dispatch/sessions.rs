//! Which worker has a session, until when, and which items wait for that.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use duroxide::providers::SessionFetchConfig;

/// By whose hands an item must be run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    /// Anybody's: it belongs to no session.
    Anybody,
    /// Those of a worker that takes its session, which nobody is known to have.
    Free,
    /// Those of the worker that has its session.
    Owner(Arc<str>),
}

impl Holder {
    /// Whether a worker may have the item.
    pub(super) fn lets(&self, worker: Option<&SessionFetchConfig>) -> bool {
        match self {
            Self::Anybody => true,
            Self::Free => worker.is_some(),
            Self::Owner(owner) => worker.is_some_and(|worker| worker.owner_id == **owner),
        }
    }
}

/// The sessions that items belong to, or somebody has.
pub(super) struct Sessions<K> {
    known: HashMap<String, Session<K>>,
    ends: BTreeSet<(u64, String)>,
    /// How many items there are.
    count: usize,
}

struct Session<K> {
    owner: Option<(Arc<str>, u64)>,
    items: HashSet<K>,
}

impl<K: Clone + Eq + Hash> Sessions<K> {
    pub(super) fn new() -> Self {
        Self { known: HashMap::new(), ends: BTreeSet::new(), count: 0 }
    }

    /// An item belongs to a session.
    pub(super) fn add(&mut self, session: &str, item: K) {
        self.count += usize::from(self.session(session).items.insert(item));
    }

    /// An item is gone.
    pub(super) fn remove(&mut self, session: &str, item: &K) {
        self.count -= usize::from(self.session(session).items.remove(item));
        self.tidy(session);
    }

    /// Whose hands an item of a session, or of none, must be run by.
    pub(super) fn holder(&self, session: Option<&str>) -> Holder {
        let Some(session) = session else { return Holder::Anybody };
        match self.known.get(session).and_then(|session| session.owner.as_ref()) {
            Some((owner, _)) => Holder::Owner(Arc::clone(owner)),
            None => Holder::Free,
        }
    }

    /// The session has an owner until then; gives the items whose holder changes.
    pub(super) fn own(&mut self, session: &str, owner: &str, until: u64) -> Vec<K> {
        let before = self.session(session).owner.replace((Arc::from(owner), until));
        self.ends.insert((until, session.to_owned()));
        match before {
            Some((_, end)) if end != until => {
                self.ends.remove(&(end, session.to_owned()));
            }
            Some(_) | None => {}
        }
        let same = before.is_some_and(|(before, _)| *before == *owner);
        if same { Vec::new() } else { self.items_of(session) }
    }

    /// The session has no owner; gives the items whose holder changes.
    pub(super) fn free(&mut self, session: &str) -> Vec<K> {
        let Some(known) = self.known.get_mut(session) else { return Vec::new() };
        let Some((_, end)) = known.owner.take() else { return Vec::new() };
        self.ends.remove(&(end, session.to_owned()));
        let items = self.items_of(session);
        self.tidy(session);
        items
    }

    /// Until when the session has an owner.
    pub(super) fn owned_until(&self, session: &str) -> Option<u64> {
        self.known.get(session)?.owner.as_ref().map(|(_, until)| *until)
    }

    /// Frees the sessions whose time is over; gives the items whose holder changes.
    pub(super) fn end(&mut self, now: u64) -> Vec<K> {
        let mut changed = Vec::new();
        while let Some((until, session)) = self.ends.first().cloned()
            && until <= now
        {
            changed.extend(self.free(&session));
        }
        changed
    }

    /// When the next session ends.
    pub(super) fn next_after(&self, now: u64) -> Option<u64> {
        self.ends.iter().map(|(until, _)| *until).find(|until| *until > now)
    }

    /// How many items belong to sessions.
    pub(super) fn items(&self) -> usize {
        self.count
    }

    /// Forgets items that are not to be kept.
    pub(super) fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        self.known.values_mut().for_each(|session| session.items.retain(&keep));
        self.known.retain(|_, session| session.owner.is_some() || !session.items.is_empty());
        self.count = self.known.values().map(|session| session.items.len()).sum();
    }

    fn session(&mut self, session: &str) -> &mut Session<K> {
        self.known.entry(session.to_owned()).or_insert_with(|| Session { owner: None, items: HashSet::new() })
    }

    fn items_of(&self, session: &str) -> Vec<K> {
        self.known.get(session).map_or_else(Vec::new, |session| session.items.iter().cloned().collect())
    }

    fn tidy(&mut self, session: &str) {
        if self.known.get(session).is_some_and(|known| known.owner.is_none() && known.items.is_empty()) {
            self.known.remove(session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_follow_the_owner_of_their_session_and_nothing_is_left_of_one_that_ended() {
        let mut sessions = Sessions::new();
        sessions.add("s", 1);
        assert_eq!(sessions.holder(Some("s")), Holder::Free);
        assert_eq!(sessions.own("s", "me", 10), [1]);
        assert_eq!(sessions.own("s", "me", 20), [] as [i32; 0], "prolonged");
        assert_eq!(sessions.holder(Some("s")), Holder::Owner("me".into()));
        assert_eq!((sessions.end(19), sessions.next_after(0)), (Vec::new(), Some(20)));
        assert_eq!(sessions.end(20), [1]);
        sessions.remove("s", &1);
        assert!(sessions.known.is_empty() && sessions.ends.is_empty());
        assert_eq!(sessions.holder(None), Holder::Anybody);
    }
}
