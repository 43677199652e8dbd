//! An event of a history in a few words: what happened, to what, and with which data.

use std::collections::HashSet;

use duroxide::{Event, EventKind};

/// What a line of a timeline says, beside when.
pub(super) struct Told<'e> {
    pub(super) what: &'static str,
    /// The activity, orchestration, event or key; for an answer it is that of the question.
    pub(super) name: &'e str,
    /// What went in or came out.
    pub(super) data: Data<'e>,
}

/// Data of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Data<'e> {
    None,
    /// As it is stored.
    Text(&'e str),
    /// Put together for people.
    Words(String),
}

/// Tells an event. `history` has the events that it may be an answer to.
pub(super) fn told<'e>(event: &'e Event, history: &'e [Event]) -> Told<'e> {
    let asked = asked(event, history);
    let (what, name, data) = match &event.kind {
        EventKind::OrchestrationStarted { name, input, .. } => ("started", &**name, Data::Text(input)),
        EventKind::OrchestrationCompleted { output } => ("completed", "", Data::Text(output)),
        EventKind::OrchestrationFailed { details } => ("failed", "", Data::Words(details.display_message())),
        EventKind::OrchestrationContinuedAsNew { input } => ("goes on as new", "", Data::Text(input)),
        EventKind::OrchestrationCancelRequested { reason } => ("cancel asked for", "", Data::Text(reason)),
        EventKind::ActivityScheduled { name, input, tag, session_id } => {
            ("activity", &**name, labelled(input, &[("tag", tag), ("session", session_id)]))
        }
        EventKind::ActivityCompleted { result } => ("activity done", asked, Data::Text(result)),
        EventKind::ActivityFailed { details } => {
            ("activity failed", asked, Data::Words(details.display_message()))
        }
        EventKind::ActivityCancelRequested { reason } => ("activity cancelled", asked, Data::Text(reason)),
        EventKind::TimerCreated { fire_at_ms } => {
            let wait = std::time::Duration::from_millis(fire_at_ms.saturating_sub(event.timestamp_ms));
            ("timer", "", Data::Words(format!("for {}", crate::time::span(wait))))
        }
        EventKind::TimerFired { .. } => ("timer fired", "", Data::None),
        EventKind::ExternalSubscribed { name } => ("waits for event", &**name, Data::None),
        EventKind::ExternalEvent { name, data } => ("event", &**name, Data::Text(data)),
        EventKind::ExternalSubscribedCancelled { reason } => ("waits no more", asked, Data::Text(reason)),
        EventKind::QueueSubscribed { name } => ("reads queue", &**name, Data::None),
        EventKind::QueueEventDelivered { name, data } => ("queue message", &**name, Data::Text(data)),
        EventKind::QueueSubscriptionCancelled { reason } => ("reads no more", asked, Data::Text(reason)),
        EventKind::OrchestrationChained { name, instance, input } => {
            ("starts another", &**name, Data::Words(format!("{instance}: {input}")))
        }
        EventKind::SubOrchestrationScheduled { name, instance, input } => {
            ("child", &**name, Data::Words(format!("{instance}: {input}")))
        }
        EventKind::SubOrchestrationCompleted { result } => ("child done", asked, Data::Text(result)),
        EventKind::SubOrchestrationFailed { details } => {
            ("child failed", asked, Data::Words(details.display_message()))
        }
        EventKind::SubOrchestrationCancelRequested { reason } => {
            ("child cancelled", asked, Data::Text(reason))
        }
        EventKind::CustomStatusUpdated { status } => {
            ("status", "", status.as_deref().map_or_else(|| Data::Words("(none)".to_owned()), Data::Text))
        }
        EventKind::KeyValueSet { key, value, .. } => ("key set", &**key, Data::Text(value)),
        EventKind::KeyValueCleared { key } => ("key cleared", &**key, Data::None),
        EventKind::KeyValuesCleared => ("all keys cleared", "", Data::None),
    };
    Told { what, name, data }
}

/// The name in what an event answers.
fn asked<'e>(event: &Event, history: &'e [Event]) -> &'e str {
    match question(event, history).map(|question| &question.kind) {
        Some(
            EventKind::ActivityScheduled { name, .. }
            | EventKind::SubOrchestrationScheduled { name, .. }
            | EventKind::ExternalSubscribed { name }
            | EventKind::QueueSubscribed { name },
        ) => name,
        Some(_) | None => "",
    }
}

/// What an execution was started with.
pub(super) fn input(history: &[Event]) -> Option<String> {
    history.iter().find_map(|event| match &event.kind {
        EventKind::OrchestrationStarted { input, .. } => Some(input.clone()),
        _ => None,
    })
}

/// What an execution that has not ended waits for: every question without an answer.
pub(super) fn waits_for(history: &[Event]) -> Vec<String> {
    let has_ended = history.iter().any(|event| {
        matches!(
            event.kind,
            EventKind::OrchestrationCompleted { .. }
                | EventKind::OrchestrationFailed { .. }
                | EventKind::OrchestrationContinuedAsNew { .. }
        )
    });
    if has_ended {
        return Vec::new();
    }
    let answered: HashSet<u64> = history.iter().filter_map(|event| event.source_event_id).collect();
    let open = history.iter().filter(|event| !answered.contains(&event.event_id));
    // An event is answered by its name, and each one by another.
    let mut arrived: Vec<&str> = history.iter().filter_map(arrival).collect();
    let waits = |event: &Event| match &event.kind {
        EventKind::ActivityScheduled { name, .. } => Some(format!("activity {name}")),
        EventKind::TimerCreated { fire_at_ms } => Some(format!("timer at {}", crate::time::utc(*fire_at_ms))),
        EventKind::SubOrchestrationScheduled { name, instance, .. } => {
            Some(format!("child {name} {instance}"))
        }
        EventKind::ExternalSubscribed { name } | EventKind::QueueSubscribed { name } => {
            match arrived.iter().position(|known| known == name) {
                Some(at) => {
                    arrived.remove(at);
                    None
                }
                None => Some(format!("event {name}")),
            }
        }
        _ => None,
    };
    open.filter_map(waits).collect()
}

fn arrival(event: &Event) -> Option<&str> {
    match &event.kind {
        EventKind::ExternalEvent { name, .. } | EventKind::QueueEventDelivered { name, .. } => {
            event.source_event_id.is_none().then_some(&**name)
        }
        _ => None,
    }
}

/// What an event answers.
pub(super) fn question<'e>(event: &Event, history: &'e [Event]) -> Option<&'e Event> {
    let source = event.source_event_id?;
    // Events are numbered in order, so that this finds what is there without looking at all of them.
    let at = history.binary_search_by_key(&source, |event| event.event_id).ok()?;
    history.get(at)
}

fn labelled<'e>(input: &'e str, labels: &[(&str, &Option<String>)]) -> Data<'e> {
    let labels: Vec<_> = labels
        .iter()
        .filter_map(|(label, value)| value.as_ref().map(|value| format!("{label} {value}")))
        .collect();
    match labels.is_empty() {
        true => Data::Text(input),
        false => Data::Words(format!("{input} ({})", labels.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: u64, source: Option<u64>, kind: EventKind) -> Event {
        Event::with_event_id(id, "i", 1, source, kind)
    }

    #[test]
    fn what_has_no_answer_is_waited_for_until_the_end() {
        let activity = |name: &str| EventKind::ActivityScheduled {
            name: name.into(),
            input: String::new(),
            session_id: None,
            tag: None,
        };
        let mut history = vec![
            event(1, None, activity("Reserve")),
            event(2, None, activity("Pay")),
            event(3, Some(1), EventKind::ActivityCompleted { result: String::new() }),
            event(4, None, EventKind::ExternalSubscribed { name: "approved".into() }),
            event(5, None, EventKind::ExternalSubscribed { name: "approved".into() }),
            event(6, None, EventKind::ExternalEvent { name: "approved".into(), data: String::new() }),
        ];
        assert_eq!(waits_for(&history), ["activity Pay", "event approved"]);
        history.push(event(7, None, EventKind::OrchestrationCompleted { output: String::new() }));
        assert!(waits_for(&history).is_empty());
    }

    #[test]
    fn an_answer_is_told_by_the_name_of_its_question() {
        let scheduled = EventKind::ActivityScheduled {
            name: "Reserve".into(),
            input: "7".into(),
            session_id: None,
            tag: Some("gpu".into()),
        };
        let history = [
            event(1, None, EventKind::KeyValuesCleared),
            event(2, None, scheduled),
            event(3, Some(2), EventKind::ActivityCompleted { result: "ok".into() }),
            event(4, Some(99), EventKind::ActivityCompleted { result: "lost".into() }),
        ];
        let told = |at: usize| told(&history[at], &history);
        assert_eq!(told(1).data, Data::Words("7 (tag gpu)".into()));
        assert_eq!(
            (told(2).what, told(2).name, told(2).data),
            ("activity done", "Reserve", Data::Text("ok"))
        );
        assert_eq!(told(3).name, "");
    }
}
