//! What documents that are seen mean for the queues.

use serde_json::value::RawValue;

use super::row::{Row, Sighting};
use super::{Shared, State, arrival};
use crate::clock;
use crate::lease::slot_of;

impl Shared {
    /// Puts what a feed shows into the queues; false if nothing of it is news.
    pub(super) fn seen(&self, changes: &[Box<RawValue>]) -> bool {
        // Documents of other hubs, and of somebody else's making, may be in the container, too.
        let rows = changes.iter().filter_map(|change| serde_json::from_str::<Row>(change.get()).ok());
        let rows = rows.filter(|row| self.hub.has(row.partition()));
        let mut news = false;
        for sighting in rows.filter_map(|row| row.read(clock::millis(self.settings.age))) {
            news |= self.state().see(sighting, self.now_ms());
        }
        self.notify_all();
        news
    }

    /// Puts what a search finds into the queues, unless more is known of it.
    pub(super) fn found(&self, mut rows: Vec<Row>) {
        rows.retain(|row| self.hub.has(row.partition()));
        // What has waited longer comes first.
        rows.sort_by_key(Row::visible_at);
        let sightings: Vec<_> =
            rows.into_iter().filter_map(|row| row.read(clock::millis(self.settings.age))).collect();
        let now = self.now_ms();
        let mut state = self.state();
        sightings.into_iter().for_each(|sighting| state.find(sighting, now));
        drop(state);
        self.notify_all();
    }

    pub(super) fn notify_all(&self) {
        self.instances_changed.notify_waiters();
        self.work_changed.notify_waiters();
        self.chores_changed.notify_waiters();
    }
}

impl State {
    /// A feed shows something; false if it was known.
    fn see(&mut self, sighting: Sighting, now: u64) -> bool {
        match sighting {
            Sighting::Message { instance, id, visible_at_ms } => {
                self.work.completed(&id);
                self.misfits.stir(&instance);
                self.slots.contains(slot_of(&instance))
                    && self.instances.message(&instance, &id, visible_at_ms, now)
            }
            Sighting::Instance { instance } => {
                self.misfits.stir(&instance);
                self.instances.changed(&instance, now);
                false
            }
            Sighting::Work { item, completion } => self.work.seen(item, completion, now),
            Sighting::Cancelled { instance, id } => {
                self.work.remove(&instance, &id);
                false
            }
            Sighting::Session { session, owner, until_ms } => {
                self.work.session_seen(&session, &owner, until_ms);
                false
            }
            // Most are finished at once by whoever began them, and never seen.
            Sighting::Unfinished { partition, from_ms } => {
                self.chores.add(&partition, from_ms, now);
                false
            }
        }
    }

    /// A search finds something.
    fn find(&mut self, sighting: Sighting, now: u64) {
        match sighting {
            Sighting::Message { instance, visible_at_ms, .. } if self.slots.contains(slot_of(&instance)) => {
                self.instances.look(&instance, arrival(visible_at_ms, now), now);
            }
            Sighting::Work { item, .. } => self.work.found(item, now),
            Sighting::Unfinished { partition, from_ms } => self.chores.found(&partition, from_ms, now),
            Sighting::Message { .. }
            | Sighting::Instance { .. }
            | Sighting::Cancelled { .. }
            | Sighting::Session { .. } => {}
        }
    }
}
