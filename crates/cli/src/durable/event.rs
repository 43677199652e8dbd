//! An event of a history in a few words: what happened, to what, and with which data.

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
