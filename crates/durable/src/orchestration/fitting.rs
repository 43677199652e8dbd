//! Which messages from other instances fit the history that goes with them?
//!
//! A forced failover sets an instance back, and what it had sent before has happened all the same. So its children may
//! answer to turns that it has lost, and it may start children again that are there. The runtime takes an answer to
//! nothing for an orchestration that is not deterministic, and the start of a child that has ended for one of somebody
//! else, and fails the orchestration. Nothing is read or written here.
//!
//! Only messages of other instances are looked at: those of an instance to itself, of its activities and of its timers are
//! in its own partition, which goes back as a whole.

use duroxide::providers::WorkItem;
use duroxide::{Event, EventKind};

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// The runtime gets it.
    Fits,
    /// It waits: the history may come to have what it answers to.
    NotYet,
    /// It goes: the history has come by another way, or the message was processed before.
    NoMore,
}

/// The current execution of an instance, and its history.
#[derive(Clone, Copy)]
pub(super) struct Past<'a> {
    pub(super) execution: u64,
    pub(super) history: &'a [Event],
}

/// What an answer is about.
struct Answer {
    execution: u64,
    /// The event that it answers to.
    id: u64,
    is_asked_by: fn(&EventKind) -> bool,
}

/// Whether a message from another instance fits.
pub(super) fn fit(item: &WorkItem, past: Past<'_>) -> Fit {
    if is_start_again(item, past.history) {
        return Fit::NoMore;
    }
    let Some(Answer { execution, id, is_asked_by }) = answer(item) else { return Fit::Fits };
    let Some(last) = past.history.iter().map(|event| event.event_id).max() else { return Fit::NotYet };
    let has = |is_it: fn(&EventKind) -> bool| past.history.iter().any(|event| is_it(&event.kind));
    // The runtime drops what comes after the end, and what comes to another execution.
    if has(is_end) || execution < past.execution {
        return Fit::Fits;
    }
    if execution > past.execution {
        return Fit::NotYet;
    }
    if has(is_succession) || past.history.iter().any(|event| event.event_id == id && is_asked_by(&event.kind))
    {
        return Fit::Fits;
    }
    if id > last { Fit::NotYet } else { Fit::NoMore }
}

fn answer(item: &WorkItem) -> Option<Answer> {
    let (execution, id, is_asked_by): (_, _, fn(&EventKind) -> bool) = match item {
        WorkItem::ActivityCompleted { execution_id, id, .. }
        | WorkItem::ActivityFailed { execution_id, id, .. } => {
            (execution_id, id, |kind| matches!(kind, EventKind::ActivityScheduled { .. }))
        }
        WorkItem::TimerFired { execution_id, id, .. } => {
            (execution_id, id, |kind| matches!(kind, EventKind::TimerCreated { .. }))
        }
        WorkItem::SubOrchCompleted { parent_execution_id, parent_id, .. }
        | WorkItem::SubOrchFailed { parent_execution_id, parent_id, .. } => {
            (parent_execution_id, parent_id, |kind| {
                matches!(kind, EventKind::SubOrchestrationScheduled { .. })
            })
        }
        WorkItem::StartOrchestration { .. }
        | WorkItem::ContinueAsNew { .. }
        | WorkItem::ActivityExecute { .. }
        | WorkItem::ExternalRaised { .. }
        | WorkItem::QueueMessage { .. }
        | WorkItem::CancelInstance { .. } => return None,
    };
    Some(Answer { execution: *execution, id: *id, is_asked_by })
}

fn is_end(kind: &EventKind) -> bool {
    matches!(kind, EventKind::OrchestrationCompleted { .. } | EventKind::OrchestrationFailed { .. })
}

fn is_succession(kind: &EventKind) -> bool {
    matches!(kind, EventKind::OrchestrationContinuedAsNew { .. })
}

/// Whether a message is the very start that the instance began with, sent by a parent that had lost it.
fn is_start_again(item: &WorkItem, history: &[Event]) -> bool {
    let WorkItem::StartOrchestration { parent_instance, parent_id, parent_execution_id, .. } = item else {
        return false;
    };
    let asked = (parent_instance, parent_id, parent_execution_id);
    let is_known = parent_instance.is_some() && parent_id.is_some() && parent_execution_id.is_some();
    is_known
        && history.iter().any(|event| match &event.kind {
            EventKind::OrchestrationStarted { parent_instance, parent_id, parent_execution_id, .. } => {
                (parent_instance, parent_id, parent_execution_id) == asked
            }
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: u64, kind: EventKind) -> Event {
        Event::with_event_id(id, "i", 2, None, kind)
    }

    fn started(parent: Option<(&str, u64, u64)>) -> Event {
        event(
            1,
            EventKind::OrchestrationStarted {
                name: "o".into(),
                version: "1.0.0".into(),
                input: String::new(),
                parent_instance: parent.map(|(name, ..)| name.into()),
                parent_id: parent.map(|(_, id, _)| id),
                parent_execution_id: parent.map(|(.., execution)| execution),
                carry_forward_events: None,
                initial_custom_status: None,
            },
        )
    }

    fn child_scheduled(id: u64) -> Event {
        let kind = EventKind::SubOrchestrationScheduled {
            name: "o".into(),
            instance: "c".into(),
            input: String::new(),
        };
        event(id, kind)
    }

    fn activity_scheduled(id: u64) -> Event {
        let kind = EventKind::ActivityScheduled {
            name: "a".into(),
            input: String::new(),
            session_id: None,
            tag: None,
        };
        event(id, kind)
    }

    fn child_completed(execution: u64, id: u64) -> WorkItem {
        WorkItem::SubOrchCompleted {
            parent_instance: "i".into(),
            parent_execution_id: execution,
            parent_id: id,
            result: String::new(),
        }
    }

    fn start(parent: Option<(&str, u64, u64)>) -> WorkItem {
        WorkItem::StartOrchestration {
            instance: "i".into(),
            orchestration: "o".into(),
            input: String::new(),
            version: None,
            parent_instance: parent.map(|(name, ..)| name.into()),
            parent_id: parent.map(|(_, id, _)| id),
            parent_execution_id: parent.map(|(.., execution)| execution),
            execution_id: 1,
        }
    }

    #[test]
    fn an_answer_waits_for_its_question_and_goes_when_that_cannot_come() {
        let ended = || event(3, EventKind::OrchestrationCompleted { output: String::new() });
        let continued = || event(3, EventKind::OrchestrationContinuedAsNew { input: String::new() });
        for (history, item, expected) in [
            (vec![], child_completed(1, 2), Fit::NotYet),
            (vec![started(None)], child_completed(2, 2), Fit::NotYet),
            (vec![started(None), child_scheduled(2)], child_completed(2, 2), Fit::Fits),
            (vec![started(None), child_scheduled(2)], child_completed(2, 3), Fit::NotYet),
            // Something else has the number of what was lost.
            (vec![started(None), activity_scheduled(2)], child_completed(2, 2), Fit::NoMore),
            // The execution that has asked is over, or is lost.
            (vec![started(None)], child_completed(1, 2), Fit::Fits),
            (vec![started(None)], child_completed(3, 2), Fit::NotYet),
            (vec![started(None), continued()], child_completed(3, 2), Fit::NotYet),
            (vec![started(None), continued()], child_completed(2, 2), Fit::Fits),
            // The instance has ended.
            (vec![started(None), ended()], child_completed(2, 9), Fit::Fits),
            (vec![started(None), ended()], child_completed(3, 9), Fit::Fits),
        ] {
            let past = Past { execution: 2, history: &history };
            assert_eq!(fit(&item, past), expected, "{item:?} with {history:?}");
        }
    }

    #[test]
    fn each_answer_has_a_question_of_its_own_kind() {
        let completed = WorkItem::ActivityCompleted {
            instance: "i".into(),
            execution_id: 2,
            id: 2,
            result: String::new(),
        };
        let fired = WorkItem::TimerFired { instance: "i".into(), execution_id: 2, id: 2, fire_at_ms: 1 };
        let timer = event(2, EventKind::TimerCreated { fire_at_ms: 1 });
        let questions = [activity_scheduled(2), timer, child_scheduled(2)];
        for (n, item) in [completed, fired, child_completed(2, 2)].iter().enumerate() {
            for (k, question) in questions.iter().enumerate() {
                let history = [started(None), question.clone()];
                let expected = if n == k { Fit::Fits } else { Fit::NoMore };
                assert_eq!(fit(item, Past { execution: 2, history: &history }), expected, "{item:?}");
            }
        }
    }

    #[test]
    fn what_answers_to_nothing_always_fits() {
        let event = WorkItem::ExternalRaised { instance: "i".into(), name: "e".into(), data: String::new() };
        let cancel = WorkItem::CancelInstance { instance: "i".into(), reason: String::new() };
        for item in [event, cancel, start(Some(("p", 2, 1)))] {
            for history in [vec![], vec![started(None)]] {
                assert_eq!(fit(&item, Past { execution: 1, history: &history }), Fit::Fits, "{item:?}");
            }
        }
    }

    #[test]
    fn only_the_start_that_an_instance_began_with_is_one_that_comes_again() {
        let own = Some(("p", 2, 1));
        for (began, item, expected) in [
            (own, own, Fit::NoMore),
            (own, Some(("p", 3, 1)), Fit::Fits),
            (own, Some(("p", 2, 2)), Fit::Fits),
            (own, Some(("q", 2, 1)), Fit::Fits),
            (own, None, Fit::Fits),
            (None, own, Fit::Fits),
            (None, None, Fit::Fits),
        ] {
            let past = Past { execution: 1, history: &[started(began)] };
            assert_eq!(fit(&start(item), past), expected, "{item:?} to {began:?}");
        }
    }
}
