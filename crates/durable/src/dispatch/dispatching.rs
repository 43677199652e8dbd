//! Whether this process fetches orchestrations or work: only who fetches holds slots.

use std::time::Duration;

use tokio::time::Instant;

use crate::lease::Role;

/// What is fetched by this process, and since when not.
#[derive(Default)]
pub(super) struct Dispatching {
    leads: Fetching,
    works: Fetching,
    /// As what this process has asked for slots last; `None` if it has let them go.
    held_as: Option<Role>,
}

#[derive(Default)]
struct Fetching {
    waiting: usize,
    last: Option<Instant>,
}

impl Fetching {
    fn goes_on(&self, now: Instant, patience: Duration) -> bool {
        self.waiting > 0 || self.last.is_some_and(|last| now < last + patience)
    }
}

impl Dispatching {
    /// Somebody begins to wait; true if slots have to be asked for.
    pub(super) fn begin(&mut self, role: Role) -> bool {
        self.fetching(role).waiting += 1;
        self.held_as.is_none_or(|held_as| held_as < role)
    }

    /// Somebody waits no longer.
    pub(super) fn end(&mut self, role: Role, now: Instant) {
        let fetching = self.fetching(role);
        fetching.waiting = fetching.waiting.saturating_sub(1);
        fetching.last = Some(now);
    }

    /// Nothing is fetched any more, as far as anybody knows.
    pub(super) fn stop(&mut self) {
        (self.leads.last, self.works.last, self.held_as) = (None, None, None);
    }

    /// As what this process should hold slots, if at all. A fetch that waits counts, and so does one that ended less
    /// than `patience` ago.
    pub(super) fn role(&self, now: Instant, patience: Duration) -> Option<Role> {
        if self.leads.goes_on(now, patience) {
            Some(Role::Leader)
        } else if self.works.goes_on(now, patience) {
            Some(Role::Worker)
        } else {
            None
        }
    }

    /// Slots were asked for.
    pub(super) fn hold_as(&mut self, role: Option<Role>) {
        self.held_as = role;
    }

    pub(super) fn held_as(&self) -> Option<Role> {
        self.held_as
    }

    fn fetching(&mut self, role: Role) -> &mut Fetching {
        match role {
            Role::Leader => &mut self.leads,
            Role::Worker => &mut self.works,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn slots_follow_what_is_fetched() {
        let (start, patience) = (clock::instant(), Duration::from_secs(2));
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut dispatching = Dispatching::default();
        assert_eq!(dispatching.role(start, patience), None);
        assert!(dispatching.begin(Role::Worker));
        assert_eq!(dispatching.role(at(99), patience), Some(Role::Worker), "a fetch that waits");
        dispatching.hold_as(Some(Role::Worker));
        assert!(dispatching.begin(Role::Leader), "more is wanted than is held");
        dispatching.hold_as(Some(Role::Leader));
        assert!(!dispatching.begin(Role::Worker));
        dispatching.end(Role::Leader, at(100));
        assert_eq!(dispatching.role(at(101), patience), Some(Role::Leader));
        assert_eq!(dispatching.role(at(102), patience), Some(Role::Worker));
        dispatching.end(Role::Worker, at(102));
        dispatching.end(Role::Worker, at(102));
        assert_eq!(dispatching.role(at(104), patience), None);
        dispatching.stop();
        assert_eq!(dispatching.role(at(102), patience), None);
    }
}
