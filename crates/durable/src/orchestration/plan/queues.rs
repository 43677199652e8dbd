//! What a turn takes from queues, and puts into them.

use std::collections::HashSet;

use cosmonaut::mutation;
use duroxide::providers::{ProviderError, ScheduledActivityIdentifier, WorkItem};

use super::{NewWork, OPERATION, Owed, Planner};
use crate::hub::sibling;
use crate::model::{
    AT_ONCE, Document, Intent, IntentTarget, MAX_TEXT, Message, Tombstone, TombstoneKind, Work, Write,
    chunk_id, target_instance, visible_at,
};
use crate::orchestration::send::to_text;

impl Planner<'_> {
    /// The messages of the turn go. One that may be delivered again leaves a trace by which that is noticed.
    pub(super) fn consume(&mut self) {
        for (nth, message) in self.held.messages.iter().enumerate() {
            if nth > 0 && mutation!("message-is-delivered-twice") {
                continue;
            }
            self.plan.state.timers.iter_mut().for_each(|timers| timers.remove(&message.id));
            let write = Write::taken(self.instance(), &message.id, message.digest.clone());
            self.plan.writes.push(write);
            let chunks = (0..message.chunks).map(|n| Write::delete(chunk_id(&message.id, n)));
            self.plan.writes.extend(chunks);
        }
    }

    pub(super) fn enqueue(&mut self, messages: Vec<WorkItem>) -> Result<(), ProviderError> {
        for (n, mut item) in messages.into_iter().enumerate() {
            if let WorkItem::ContinueAsNew { carry_forward_events, .. } = &mut item
                && mutation!("events-are-not-carried-over")
            {
                carry_forward_events.clear();
            }
            let text = to_text(OPERATION, &item)?;
            let visible_at =
                visible_at(&item).map_or(AT_ONCE, |at| at.saturating_add_signed(self.setting.shift));
            let visible_at = if mutation!("timer-fires-at-once") { AT_ONCE } else { visible_at };
            let turn = self.plan.state.turn;
            let target = sibling(self.instance(), target_instance(&item)).into_owned();
            if target == self.instance() {
                let id = Message::own_id(turn, n);
                let stored = self.seal(text)?;
                let (body, chunks) = self.pack(&id, stored, MAX_TEXT);
                let content = Message { visible_at, sent_at: self.now, body, chunks };
                let document = Document::new(self.instance(), &*id, content);
                self.plan.writes.push(Write::create(&document));
                if visible_at > self.now {
                    self.plan.state.timers.get_or_insert_default().add(&id, visible_at);
                }
                self.plan.sent.push((id, visible_at));
            } else {
                let target_id = Message::delivered_id(&self.plan.state.nonce, turn, n);
                let target = (target, target_id, IntentTarget::Message);
                self.owe(Intent::id(turn, n), target, visible_at, text)?;
            }
        }
        Ok(())
    }

    pub(super) fn schedule(
        &mut self,
        work: Vec<WorkItem>,
        cancelled: &[ScheduledActivityIdentifier],
    ) -> Result<(), ProviderError> {
        let mut ids = HashSet::new();
        for (n, item) in work.into_iter().enumerate() {
            let WorkItem::ActivityExecute { instance, execution_id, id: activity, session_id, tag, .. } =
                &item
            else {
                let message = format!("{item:?} is no work for a worker");
                return Err(ProviderError::permanent(OPERATION, message));
            };
            let is_cancelled = cancelled.iter().any(|it| {
                (&it.instance, it.execution_id, it.activity_id) == (instance, *execution_id, *activity)
            });
            if is_cancelled {
                continue;
            }
            let turn = self.plan.state.turn;
            let text = to_text(OPERATION, &item)?;
            let mut id = Work::id(*execution_id, *activity);
            if !ids.insert(id.clone()) {
                id = format!("{id}.{turn}.{n}");
            }
            let instance = sibling(self.instance(), instance);
            if instance != self.instance() {
                let target = (instance.into_owned(), id, IntentTarget::Work);
                self.owe(format!("{}w", Intent::id(turn, n)), target, AT_ONCE, text)?;
                continue;
            }
            let stored = self.seal(text)?;
            let (body, chunks) = self.pack(&id, stored, MAX_TEXT);
            let (session, tag) = (session_id.clone(), tag.clone());
            let content = Work {
                visible_at: AT_ONCE,
                sent_at: self.now,
                attempts: 0,
                lock: None,
                session: session.clone(),
                tag: tag.clone(),
                delivered: false,
                body,
                chunks,
            };
            self.plan.writes.push(Write::create(&Document::new(self.instance(), &*id, content)));
            self.plan.work.push(NewWork { id, session, tag });
        }
        Ok(())
    }

    /// Whoever has a cancelled item notices when it is next touched.
    pub(super) fn cancel(&mut self, cancelled: Vec<ScheduledActivityIdentifier>) {
        let mut seen = HashSet::new();
        for ScheduledActivityIdentifier { instance, execution_id, activity_id } in cancelled {
            let id = Work::id(execution_id, activity_id);
            let instance = sibling(self.instance(), &instance);
            if instance != self.instance() {
                self.plan.cancelled_elsewhere.push((instance.into_owned(), id));
            } else if seen.insert(id.clone()) {
                let document = Tombstone::document(self.instance(), &id, TombstoneKind::Cancelled);
                self.plan.writes.push(Write::upsert(&document));
                self.plan.cancelled.push(id);
            }
        }
    }

    fn owe(
        &mut self,
        id: String,
        (target, target_id, what): (String, String, IntentTarget),
        target_visible_at: u64,
        text: String,
    ) -> Result<(), ProviderError> {
        let stored = self.seal(text.clone())?;
        let (body, chunks) = self.pack(&id, stored.clone(), MAX_TEXT);
        let visible_at = Some(self.setting.owed_until);
        let content = Intent { target, target_id, what, target_visible_at, visible_at, body, chunks };
        let intent = Document::new(self.instance(), id, content);
        self.plan.writes.push(Write::create(&intent));
        self.plan.owed.push(Owed { intent, text: Ok(text), stored });
        Ok(())
    }
}
