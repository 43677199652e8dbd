//! Instances whose first turn is written by hand, as a runtime of some version would have left it.
//!
//! So a test decides what arrives in one turn, and by which version's rules the runtime goes on.

use duroxide::providers::{ExecutionMetadata, Provider, WorkItem};
use duroxide::{Event, EventKind};
use semver::Version;

use crate::harness::Home;
use crate::steps::{fetch, send, start, started};

/// The last version that carried messages by their number, and the first that does so by their places.
pub(super) const OLD: Version = Version::new(0, 1, 30);
pub(super) const NEW: Version = Version::new(0, 1, 31);

/// The one orchestration that these instances are of; see [`start`].
pub(super) const ORCHESTRATION: &str = "Test";

pub(super) struct Seed<'a> {
    pub(super) instance: &'a str,
    pub(super) stamp: Version,
    /// The events behind the start, which has number 1.
    pub(super) events: Vec<EventKind>,
    /// What is yet to come, all in the next turn.
    pub(super) messages: Vec<WorkItem>,
}

impl Seed<'_> {
    pub(super) async fn store(self, home: &Home) {
        let provider = home.provider().await;
        let instance = self.instance;
        send(&provider, start(instance)).await;
        // Seeds that were stored before have something to do, too.
        let mut others = Vec::new();
        let token = loop {
            let (item, token) = fetch(&provider).await;
            if item.instance == instance {
                break token;
            }
            others.push(token);
        };
        let mut history = vec![started(instance, 1)];
        let events = (2..).zip(self.events);
        history.extend(events.map(|(id, kind)| Event::with_event_id(id, instance, 1, source(&kind), kind)));
        for event in &mut history {
            event.duroxide_version = self.stamp.to_string();
        }
        let metadata = ExecutionMetadata {
            orchestration_name: Some(ORCHESTRATION.into()),
            orchestration_version: Some("1.0.0".into()),
            pinned_duroxide_version: Some(self.stamp),
            ..ExecutionMetadata::default()
        };
        provider
            .ack_orchestration_item(&token, 1, history, Vec::new(), self.messages, metadata, Vec::new())
            .await
            .unwrap();
        for token in others {
            provider.abandon_orchestration_item(&token, None, true).await.unwrap();
        }
    }
}

/// The event that one of these answers. In all seeds the first read has number 2 and the timer that ends it 3.
fn source(kind: &EventKind) -> Option<u64> {
    match kind {
        EventKind::QueueSubscriptionCancelled { .. } => Some(2),
        EventKind::TimerFired { .. } => Some(3),
        _ => None,
    }
}

pub(super) fn read(queue: &str) -> EventKind {
    EventKind::QueueSubscribed { name: queue.into() }
}

pub(super) fn wait(name: &str) -> EventKind {
    EventKind::ExternalSubscribed { name: name.into() }
}

pub(super) fn timer() -> EventKind {
    EventKind::TimerCreated { fire_at_ms: 1000 }
}

/// A timer that is due.
pub(super) fn fired(instance: &str, execution_id: u64, id: u64) -> WorkItem {
    WorkItem::TimerFired { instance: instance.into(), execution_id, id, fire_at_ms: 1000 }
}

pub(super) fn message(instance: &str, queue: &str, data: &str) -> WorkItem {
    WorkItem::QueueMessage { instance: instance.into(), name: queue.into(), data: data.into() }
}

pub(super) fn event(instance: &str, name: &str, data: &str) -> WorkItem {
    WorkItem::ExternalRaised { instance: instance.into(), name: name.into(), data: data.into() }
}
