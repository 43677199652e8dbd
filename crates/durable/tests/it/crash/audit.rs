//! What must hold of the stored documents in the end, whatever has happened. The provider is not asked.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cosmonaut::FeedScope;
use duroxide::{Event, EventKind, build_child_instance_id};
use serde_json::Value;

use super::ledger::{Ledger, Task};
use super::scenario::{CHILDREN, run_of};
use crate::harness::Home;

/// How long a test waits for what must come.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// What stays of instances that have ended, and of who shares them.
const LASTING: [&str; 10] =
    ["instance", "history", "execution", "kv", "seen", "delivered", "member", "shares", "failovers", "offer"];

/// Waits until all instances that were started have ended and nothing is on its way any more.
pub(super) async fn settled(home: &Home, roots: &[String]) -> Vec<Value> {
    let mut documents = Vec::new();
    let quiet = async {
        // First the ends, one read each: to read all there is takes much from those who work.
        for root in roots {
            while !has_ended(home, root).await {
                pause().await;
            }
        }
        loop {
            let all = home.documents().query_items("SELECT * FROM c", FeedScope::Container);
            // A region that is just being lost may not answer.
            if let Ok(found) = all.collect().await {
                documents = found;
                if documents.iter().all(is_quiet) {
                    return;
                }
            }
            pause().await;
        }
    };
    let settled = crate::waiting::timeout(PATIENCE, quiet).await;
    let left: Vec<_> = documents.iter().filter(|document| !is_quiet(document)).collect();
    assert!(settled.is_ok(), "never done; left are {left:#?}");
    documents
}

/// Between two looks at what others do.
async fn pause() {
    crate::waiting::sleep(Duration::from_millis(20)).await;
}

pub(super) async fn has_ended(home: &Home, instance: &str) -> bool {
    let head = home.documents().read_item::<Value>(instance, "instance").await;
    head.is_ok_and(|head| matches!(head.value()["state"]["status"].as_str(), Some("Completed" | "Failed")))
}

fn is_quiet(document: &Value) -> bool {
    match document["type"].as_str() {
        Some("message" | "work" | "intent") => false,
        Some("instance") => document["lock"].is_null() && document["stage"].is_null(),
        _ => true,
    }
}

/// Holds the documents against the ledger: each root and its children are there and have ended once, with the
/// output that there can be; histories are whole; what was scheduled has run and was consumed once; nothing else
/// is left. Processes have ended before, so that all that they say is in the ledger.
pub(super) fn audit(documents: &[Value], ledger: &Ledger, roots: &[String], output: &str) {
    audit_after_loss(documents, ledger, roots, output, &BTreeSet::new());
}

/// As [`audit`], after some instances have lost what they did last. One that does a turn once more may have more messages
/// for it than before. What the turn sends has another id then, which its target notes, and drops as it has it already.
pub(super) fn audit_after_loss(
    documents: &[Value],
    ledger: &Ledger,
    roots: &[String],
    output: &str,
    have_lost: &BTreeSet<String>,
) {
    no_left_overs(documents);
    let heads = documents.iter().filter(|document| document["type"] == "instance");
    let heads: BTreeMap<&str, &Value> = heads.map(|head| (text(head, "instanceId"), head)).collect();
    let mut books = Books { expected: roots.iter().cloned().collect(), ..Books::default() };
    for (instance, head) in &heads {
        let state = &head["state"];
        assert_eq!(state["status"], "Completed", "{instance}: {head}");
        assert_eq!(state["exists"], true, "{instance}: {head}");
        let executions = state["execution"].as_u64().unwrap();
        for execution in 1..=executions {
            let history = history(documents, head, execution);
            let place = format!("{instance}, execution {execution}");
            check(&history, execution == executions, &place);
            books.enter(&history, ledger, &place);
        }
    }
    assert_eq!(heads.keys().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), books.expected);
    assert_eq!(heads.len(), roots.len() * (1 + CHILDREN), "each with its children");
    assert_eq!(ledger.tasks(), books.scheduled, "what has run is what was scheduled");
    for (child, result) in &books.results {
        assert_eq!(books.outputs.get(child), Some(result), "{child}: what its parent got is what it gave");
    }
    for root in roots {
        assert_eq!(books.outputs.get(root).map(String::as_str), Some(output), "{root}");
    }
    // A child's start and its end are each delivered to another instance, once.
    for instance in heads.keys() {
        let of = |document: &&Value| document["type"] == "seen" && document["instanceId"] == *instance;
        let seen = documents.iter().filter(of).count();
        let senders: Vec<_> = books
            .parents
            .iter()
            .filter_map(|(child, parent)| match *instance {
                name if name == child => Some(parent),
                name if name == parent => Some(child),
                _ => None,
            })
            .collect();
        let is_excused = seen > senders.len() && senders.iter().any(|sender| have_lost.contains(*sender));
        assert!(seen == senders.len() || is_excused, "{instance}: {seen} deliveries of {senders:?}");
    }
}

/// Everything is for ever, or was prepared by somebody who died, seen by nobody, and goes after a while.
fn no_left_overs(documents: &[Value]) {
    let may_stay = |document: &Value| {
        let kind = document["type"].as_str().unwrap_or_default();
        LASTING.contains(&kind) || (is_prepared(document) && matches!(kind, "stage" | "chunk"))
    };
    let left: Vec<_> = documents.iter().filter(|document| !may_stay(document)).collect();
    assert!(left.is_empty(), "left behind: {left:#?}");
}

/// Whether a document belongs to a turn that was never committed.
fn is_prepared(document: &Value) -> bool {
    document["ttl"].as_i64().is_some_and(|ttl| ttl > 0)
}

/// The committed events of an execution, and nothing beside them.
fn history(documents: &[Value], head: &Value, execution: u64) -> Vec<Event> {
    let instance = text(head, "instanceId");
    let own = |kind: &'static str| {
        documents.iter().filter(move |document| {
            document["type"] == kind
                && document["instanceId"] == instance
                && document["execution"] == execution
        })
    };
    let last = if head["state"]["execution"] == execution {
        head["state"]["lastEvent"].as_u64()
    } else {
        let mut past = own("execution");
        let document = past.next().unwrap_or_else(|| panic!("{instance}: execution {execution} is lost"));
        assert_eq!(document["status"], "ContinuedAsNew", "{document}");
        document["lastEvent"].as_u64()
    };
    let mut parts: Vec<&Value> = own("history").filter(|part| !is_prepared(part)).collect();
    parts.sort_by_key(|part| part["after"].as_u64());
    let events =
        parts.iter().flat_map(|part| serde_json::from_str::<Vec<Event>>(text(part, "body")).unwrap());
    let events: Vec<Event> = events.collect();
    assert_eq!(events.last().map(|event| event.event_id), last, "{instance}, execution {execution}");
    events
}

/// A history is whole, each of its steps was completed once, and it has one end.
fn check(history: &[Event], is_current: bool, place: &str) {
    let ids: Vec<_> = history.iter().map(|event| event.event_id).collect();
    assert_eq!(ids, (1..=history.len() as u64).collect::<Vec<_>>(), "{place}: without gaps");
    let mut open = BTreeMap::new();
    for event in history {
        let step = match &event.kind {
            EventKind::ActivityScheduled { .. } => Some("activity"),
            EventKind::TimerCreated { .. } => Some("timer"),
            EventKind::SubOrchestrationScheduled { .. } => Some("child"),
            _ => None,
        };
        let done = match &event.kind {
            EventKind::ActivityCompleted { .. } => Some("activity"),
            EventKind::TimerFired { .. } => Some("timer"),
            EventKind::SubOrchestrationCompleted { .. } => Some("child"),
            _ => None,
        };
        if let Some(step) = step {
            open.insert(event.event_id, step);
        }
        if let Some(done) = done {
            let step = event.source_event_id.and_then(|source| open.remove(&source));
            assert_eq!(step, Some(done), "{place}: {event:?} completes what is not open");
        }
    }
    assert!(open.is_empty(), "{place}: never completed: {open:?}");
    assert_eq!(history.iter().filter(|event| event.is_terminal()).count(), 1, "{place}: one end");
    match &history.last().unwrap().kind {
        EventKind::OrchestrationCompleted { .. } => assert!(is_current, "{place}"),
        EventKind::OrchestrationContinuedAsNew { .. } => assert!(!is_current, "{place}"),
        other => panic!("{place}: ends with {other:?}"),
    }
}

/// What the histories say, over all instances.
#[derive(Default)]
struct Books {
    /// Instances that were started.
    expected: BTreeSet<String>,
    scheduled: BTreeSet<Task>,
    /// Of each child.
    parents: BTreeMap<String, String>,
    /// What parents got from their children, and what instances gave.
    results: BTreeMap<String, String>,
    outputs: BTreeMap<String, String>,
}

impl Books {
    fn enter(&mut self, history: &[Event], ledger: &Ledger, place: &str) {
        let source = |event: &Event| event.source_event_id.and_then(|id| history.get(id as usize - 1));
        for event in history {
            let Event { instance_id: instance, .. } = event;
            match &event.kind {
                EventKind::ActivityScheduled { .. } => {
                    assert!(self.scheduled.insert(task(event)), "{place}: {event:?} is there twice");
                }
                EventKind::ActivityCompleted { result } => {
                    let task = task(source(event).unwrap());
                    assert!(ledger.has_run(&task, run_of(result)), "{place}: nobody has run {event:?}");
                }
                EventKind::SubOrchestrationScheduled { instance: child, .. } => {
                    let child = build_child_instance_id(instance, child);
                    self.parents.insert(child.clone(), instance.clone());
                    self.expected.insert(child);
                }
                EventKind::SubOrchestrationCompleted { result } => {
                    let Some(EventKind::SubOrchestrationScheduled { instance: child, .. }) =
                        source(event).map(|event| &event.kind)
                    else {
                        panic!("{place}: {event:?}")
                    };
                    self.results.insert(build_child_instance_id(instance, child), result.clone());
                }
                EventKind::OrchestrationCompleted { output } => {
                    self.outputs.insert(instance.clone(), output.clone());
                }
                _ => {}
            }
        }
    }
}

fn task(scheduled: &Event) -> Task {
    let EventKind::ActivityScheduled { input, .. } = &scheduled.kind else { panic!("{scheduled:?}") };
    (scheduled.instance_id.clone(), scheduled.execution_id, input.clone())
}

fn text<'a>(document: &'a Value, member: &str) -> &'a str {
    document[member].as_str().unwrap_or_default()
}
