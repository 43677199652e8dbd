//! What turns become, without a container.

use std::sync::Arc;
use std::time::Duration;

use duroxide::INITIAL_EXECUTION_ID;
use duroxide::providers::WorkItem;

use super::*;
use crate::clock::{self, Clock, End};
use crate::codec::Texts;
use crate::model::{Head, Kv, KvChange, KvValue, Lock, WriteKind};
use crate::orchestration::turns::HeldMessage;

const NOW: u64 = 1_000;

/// An instance that is held with some messages, in a state.
fn held(state: State, messages: &[&str]) -> Held {
    let mut head = Head::unborn("i", "nonce".into(), NOW);
    head.content.state = State { nonce: "nonce".into(), ..state };
    let ids = messages.iter().map(|id| (*id).to_owned()).collect();
    head.content.lock = Some(Lock::of_turn("t".into(), NOW + 1, ids));
    for id in messages.iter().chain(&["m:c held back"]) {
        head.content.deliveries.insert((*id).to_owned(), Delivery { attempts: 1, not_before: 0 });
    }
    let messages =
        messages.iter().map(|id| HeldMessage { id: (*id).to_owned(), chunks: 0, digest: None }).collect();
    Held::new(
        head,
        messages,
        Vec::new(),
        Some(Arc::default()),
        End::after(&Clock::default(), clock::reading(), Duration::ZERO),
    )
}

fn turn(execution: u64, events: Vec<Event>) -> Turn {
    let (work, messages, cancelled) = (Vec::new(), Vec::new(), Vec::new());
    Turn { execution, events, work, messages, metadata: ExecutionMetadata::default(), cancelled }
}

fn event(id: u64, kind: EventKind) -> Event {
    Event::with_event_id(id, "i", INITIAL_EXECUTION_ID, None, kind)
}

fn planned(held: &Held, turn: Turn) -> Result<Plan, ProviderError> {
    plan(
        held,
        "t",
        turn,
        None,
        Setting { now: NOW, owed_until: NOW + 10, shift: -5, texts: Texts::default() },
    )
}

fn running(execution: u64, last_event: u64) -> State {
    State { exists: true, execution, last_event, events: last_event, ..State::default() }
}

fn completed() -> EventKind {
    EventKind::OrchestrationCompleted { output: String::new() }
}

fn timer(instance: &str) -> WorkItem {
    WorkItem::TimerFired { instance: instance.into(), execution_id: 1, id: 1, fire_at_ms: 7_777 }
}

#[test]
fn events_follow_each_other_and_none_comes_twice() {
    for (before, ids, allowed) in [
        (0, vec![1, 2, 3], true),
        (3, vec![4], true),
        (3, vec![9, 6], true),
        (3, vec![3], false),
        (3, vec![4, 4], false),
        (3, vec![2], false),
        (0, vec![0], false),
        (3, vec![], true),
    ] {
        let events = ids.iter().map(|id| event(*id, completed())).collect();
        let plan = planned(&held(running(1, before), &[]), turn(1, events));
        assert_eq!(plan.is_ok(), allowed, "{ids:?} behind {before}");
        match plan {
            Ok(plan) => assert_eq!(plan.state.last_event, ids.iter().copied().max().unwrap_or(before)),
            Err(error) => assert!(!error.is_retryable()),
        }
    }
}

#[test]
fn a_long_history_is_a_chain_of_documents_that_fit() {
    let kind = || EventKind::OrchestrationCompleted { output: "x".repeat(200_000) };
    let events = (4..=13).map(|id| event(id, kind())).collect();
    let plan = planned(&held(running(1, 3), &[]), turn(1, events)).unwrap();
    let links: Vec<_> = plan.history.iter().map(|part| (part.content.after, part.content.last)).collect();
    assert_eq!(links, [(3, 6), (6, 9), (9, 12), (12, 13)]);
    assert!(plan.history.iter().all(|part| part.content.body.len() < 700_000) && plan.chunks.is_empty());
}

#[test]
fn the_next_execution_starts_afresh_and_the_last_is_written_down() {
    let state = State { status: "ContinuedAsNew".into(), pinned: Some("1.0.0".into()), ..running(1, 5) };
    let plan = planned(&held(state, &[]), turn(2, vec![event(1, completed())])).unwrap();
    let state = &plan.state;
    assert_eq!((state.execution, state.last_event, &*state.status), (2, 1, RUNNING));
    assert_eq!((state.started_at, &state.pinned), (NOW, &None));
    let past = plan.writes.iter().find(|write| write.id == "e:1").unwrap();
    assert!(past.document.as_ref().unwrap().get().contains("\"status\":\"ContinuedAsNew\""));
}

#[test]
fn the_messages_of_the_turn_go_and_a_delivered_one_leaves_a_trace() {
    let plan = planned(&held(running(1, 1), &["m:c1", "m:once.1.0"]), turn(1, vec![])).unwrap();
    let kinds: Vec<_> = plan.writes.iter().map(|write| (&*write.id, write.kind)).collect();
    assert_eq!(kinds, [("m:c1", WriteKind::Delete), ("m:once.1.0", WriteKind::Upsert)]);
    assert_eq!(plan.deliveries.keys().collect::<Vec<_>>(), ["m:c held back"]);
}

#[test]
fn own_messages_are_in_the_turn_and_others_are_owed() {
    let turn = Turn { messages: vec![timer("i"), timer("other")], ..turn(1, vec![]) };
    let plan = planned(&held(State { turn: 4, ..running(1, 1) }, &[]), turn).unwrap();
    assert_eq!(plan.sent, [("m:t5.0".to_owned(), 7_772)]);
    let owed = &plan.owed[0].intent;
    assert_eq!(
        (&*owed.id, &*owed.content.target, &*owed.content.target_id),
        ("o:5.1", "other", "m:ononce.5.1")
    );
    assert_eq!((owed.content.target_visible_at, owed.content.visible_at), (7_772, Some(NOW + 10)));
}

#[test]
fn what_is_scheduled_and_cancelled_at_once_never_was() {
    let work = |id| WorkItem::ActivityExecute {
        instance: "i".into(),
        execution_id: 1,
        id,
        name: String::new(),
        input: String::new(),
        session_id: None,
        tag: None,
    };
    let cancelled =
        |id| ScheduledActivityIdentifier { instance: "i".into(), execution_id: 1, activity_id: id };
    let turn = Turn {
        work: vec![work(1), work(2), work(2)],
        cancelled: vec![cancelled(1), cancelled(3)],
        ..turn(1, vec![])
    };
    let plan = planned(&held(running(1, 1), &[]), turn).unwrap();
    let ids: Vec<_> = plan.work.iter().map(|work| &*work.id).collect();
    assert_eq!(ids, ["w:1:2", "w:1:2.1.2"], "two items of one activity have two ids");
    assert_eq!(plan.cancelled, ["w:1:1", "w:1:3"]);
}

#[test]
fn a_turn_that_leaves_no_instance_leaves_nothing() {
    let unborn = || held(State::default(), &["m:c1"]);
    assert!(planned(&unborn(), turn(1, vec![])).unwrap().is_nothing);
    assert!(!planned(&unborn(), turn(1, vec![event(1, completed())])).unwrap().is_nothing);
}

#[test]
fn a_key_without_a_value_goes_as_soon_as_no_execution_begins_with_one() {
    let value = |text: &str| Some(KvValue { value: text.into(), at: 1 });
    let kv = |store: Option<KvValue>, delta: Option<(u64, Option<KvValue>)>| Kv {
        key: "k".into(),
        store,
        delta: delta.map(|(execution, value)| KvChange { execution, value }),
    };
    let clear =
        || vec![Event::with_event_id(2, "i", 1, None, EventKind::KeyValueCleared { key: "k".into() })];
    let (none, open, ended) = (None::<Kv>, None, Some("Completed".to_owned()));
    for (before, events, status, expected) in [
        // Written by this execution alone: nobody begins with it.
        (Some(kv(None, Some((1, value("a"))))), clear(), &open, Some(WriteKind::Delete)),
        // In the store: this execution begins with it until it ends.
        (Some(kv(value("a"), None)), clear(), &open, Some(WriteKind::Upsert)),
        (Some(kv(value("a"), None)), clear(), &ended, Some(WriteKind::Delete)),
        // Cleared by an earlier turn, and the execution ends now.
        (Some(kv(value("a"), Some((1, None)))), vec![], &ended, Some(WriteKind::Delete)),
        (Some(kv(value("a"), Some((1, None)))), vec![], &open, None),
        (Some(kv(value("a"), None)), vec![], &ended, None),
        // It never was there.
        (none.clone(), clear(), &open, None),
    ] {
        let mut held = held(running(1, 1), &[]);
        held.keys = before.clone().into_iter().collect();
        let mut turn = turn(1, events);
        turn.metadata.status.clone_from(status);
        let plan = planned(&held, turn).unwrap();
        let write = plan.writes.iter().find(|write| write.id == crate::model::key_id("k"));
        assert_eq!(write.map(|write| write.kind), expected, "{before:?} {status:?}");
    }
}

#[test]
fn clearing_all_keys_hides_what_the_store_has() {
    let stored = |key: &str| Kv { store: Some(KvValue { value: "s".into(), at: 1 }), ..Kv::new(key) };
    let mut held = held(running(2, 1), &[]);
    held.keys = vec![stored("a"), stored("b")];
    let set = EventKind::KeyValueSet { key: "b".into(), value: "new".into(), last_updated_at_ms: 5 };
    let events = vec![event(2, EventKind::KeyValuesCleared), event(3, set)];
    let plan = planned(&held, turn(2, events)).unwrap();
    let keys: Vec<Kv> = plan
        .writes
        .iter()
        .map(|write| serde_json::from_str(write.document.as_ref().unwrap().get()).unwrap())
        .collect();
    let change = |value: Option<&str>| {
        Some(KvChange { execution: 2, value: value.map(|value| KvValue { value: value.into(), at: 5 }) })
    };
    assert_eq!(keys[0], Kv { delta: change(None), ..stored("a") });
    assert_eq!(keys[1], Kv { delta: change(Some("new")), ..stored("b") });
}
