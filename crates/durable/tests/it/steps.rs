//! The steps of which tests are made: one call of a runtime each.

use std::time::Duration;

use duroxide::providers::{
    ExecutionMetadata, OrchestrationItem, Provider, ProviderError, TagFilter, WorkItem,
};
use duroxide::{Event, EventKind};

/// Longer than any test works on an item.
pub(crate) const LOCK: Duration = Duration::from_secs(60);
/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn start(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.into(),
        orchestration: "Test".into(),
        input: "{}".into(),
        version: Some("1.0.0".into()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

pub(crate) fn child(instance: &str, parent: &str) -> WorkItem {
    match start(instance) {
        WorkItem::StartOrchestration { instance, orchestration, input, version, execution_id, .. } => {
            WorkItem::StartOrchestration {
                instance,
                orchestration,
                input,
                version,
                parent_instance: Some(parent.into()),
                parent_id: Some(2),
                parent_execution_id: Some(1),
                execution_id,
            }
        }
        other => other,
    }
}

pub(crate) fn signal(instance: &str, data: impl ToString) -> WorkItem {
    WorkItem::ExternalRaised { instance: instance.into(), name: "signal".into(), data: data.to_string() }
}

pub(crate) fn activity(instance: &str, id: u64, input: impl Into<String>) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: instance.into(),
        execution_id: 1,
        id,
        name: "work".into(),
        input: input.into(),
        session_id: None,
        tag: None,
    }
}

pub(crate) fn completion(instance: &str, id: u64) -> WorkItem {
    WorkItem::ActivityCompleted { instance: instance.into(), execution_id: 1, id, result: "done".into() }
}

pub(crate) fn started(instance: &str, execution: u64) -> Event {
    let kind = EventKind::OrchestrationStarted {
        name: "Test".into(),
        version: "1.0.0".into(),
        input: "{}".into(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    };
    Event::with_event_id(1, instance, execution, None, kind)
}

pub(crate) fn scheduled(instance: &str, id: u64, input: impl Into<String>) -> Event {
    let kind = EventKind::ActivityScheduled {
        name: "work".into(),
        input: input.into(),
        session_id: None,
        tag: None,
    };
    Event::with_event_id(id, instance, 1, None, kind)
}

pub(crate) fn child_scheduled(instance: &str, id: u64, child: &str) -> Event {
    let kind = EventKind::SubOrchestrationScheduled {
        name: "Test".into(),
        instance: child.into(),
        input: "{}".into(),
    };
    Event::with_event_id(id, instance, 1, None, kind)
}

/// What a turn commits.
#[derive(Clone, Default)]
pub(crate) struct Turn {
    pub(crate) execution: Option<u64>,
    pub(crate) events: Vec<Event>,
    pub(crate) work: Vec<WorkItem>,
    pub(crate) messages: Vec<WorkItem>,
    pub(crate) status: Option<&'static str>,
    pub(crate) parent: Option<String>,
}

impl Turn {
    /// The first turn of an instance.
    pub(crate) fn first(instance: &str) -> Self {
        Self { events: vec![started(instance, 1)], ..Self::default() }
    }

    pub(crate) async fn ack(self, provider: &dyn Provider, token: &str) -> Result<(), ProviderError> {
        let metadata = ExecutionMetadata {
            status: self.status.map(Into::into),
            output: self.status.map(|_| "output".into()),
            orchestration_name: Some("Test".into()),
            orchestration_version: Some("1.0.0".into()),
            parent_instance_id: self.parent,
            pinned_duroxide_version: None,
        };
        let execution = self.execution.unwrap_or(1);
        provider
            .ack_orchestration_item(
                token,
                execution,
                self.events,
                self.work,
                self.messages,
                metadata,
                Vec::new(),
            )
            .await
    }
}

pub(crate) async fn send(provider: &dyn Provider, item: WorkItem) {
    provider.enqueue_for_orchestrator(item, None).await.unwrap();
}

/// Tries again what failed for now: the first look at something ends after two seconds, and a machine may stall for longer.
async fn in_the_end<T>(mut tried: impl AsyncFnMut() -> Result<T, ProviderError>) -> T {
    const TIMES: u32 = 10;
    for _ in 1..TIMES {
        match tried().await {
            Err(error) if error.is_retryable() => println!("tried again: {error}"),
            done => return done.unwrap(),
        }
    }
    tried().await.unwrap()
}

/// The next turn to run, which must come.
pub(crate) async fn fetch(provider: &dyn Provider) -> (OrchestrationItem, String) {
    let fetched = in_the_end(async || provider.fetch_orchestration_item(LOCK, PATIENCE, None).await).await;
    let (item, token, _) = fetched.expect("there is a turn to run");
    (item, token)
}

/// What is there to do at this moment.
pub(crate) async fn fetch_now(provider: &dyn Provider) -> Option<(OrchestrationItem, String)> {
    let fetched = in_the_end(async || provider.fetch_orchestration_item(LOCK, Duration::ZERO, None).await);
    fetched.await.map(|(item, token, _)| (item, token))
}

/// The next work item, which must come.
pub(crate) async fn fetch_work(provider: &dyn Provider) -> (WorkItem, String) {
    let any = &TagFilter::Any;
    let fetched = in_the_end(async || provider.fetch_work_item(LOCK, PATIENCE, None, any).await).await;
    let (item, token, _) = fetched.expect("there is work");
    (item, token)
}

pub(crate) async fn work_now(provider: &dyn Provider) -> Option<(WorkItem, String)> {
    let any = &TagFilter::Any;
    let fetched = in_the_end(async || provider.fetch_work_item(LOCK, Duration::ZERO, None, any).await);
    fetched.await.map(|(item, token, _)| (item, token))
}

/// An instance after a first turn: running, or ended with a status.
pub(crate) async fn make(provider: &dyn Provider, instance: &str, status: Option<&'static str>) {
    send(provider, start(instance)).await;
    let (item, token) = fetch(provider).await;
    assert_eq!(item.instance, instance);
    Turn { status, ..Turn::first(instance) }.ack(provider, &token).await.unwrap();
}
