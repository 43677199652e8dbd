//! Instances that a forced failover has set back: what is answered to turns that they have lost waits until it fits.

use cosmonaut_emulator::Failover;
use duroxide::providers::{OrchestrationItem, Provider, WorkItem};
use duroxide::{Event, EventKind};
use duroxide_cosmonaut::CosmosProvider;

use crate::harness::{Account, Home, Server};
use crate::losses::{WEST, apart, fetch_after_loss, has_lost, replicated};
use crate::steps::*;
use crate::world::until;

/// A parent and a child in different partitions.
struct Family {
    server: Server,
    home: Home,
    provider: CosmosProvider,
    parent: String,
    partition: String,
    child: String,
}

impl Family {
    async fn new() -> Self {
        let server = Server::start(Account::MovingPartitions);
        let home = server.home();
        let [(parent, partition), (child, _)] = apart(&server, &home).await;
        let provider = home.provider().await;
        Self { server, home, provider, parent, partition, child }
    }

    /// One whose parent has lost the turn that starts the child, and has the signal that led to it again.
    async fn without_its_turn() -> Self {
        let family = Self::new().await;
        make(&family.provider, &family.parent, None).await;
        send(&family.provider, signal(&family.parent, 1)).await;
        replicated(&family.server, &family.home).await;
        family.lose(family.starts_child()).await;
        family
    }

    /// The turn of the parent that starts the child.
    fn starts_child(&self) -> Turn {
        Turn {
            events: vec![child_scheduled(&self.parent, 2, &self.child)],
            messages: vec![child(&self.child, &self.parent)],
            ..Turn::default()
        }
    }

    /// The same as its first turn.
    fn starts_child_at_once(&self) -> Turn {
        let turn = self.starts_child();
        Turn { events: [Turn::first(&self.parent).events, turn.events].concat(), ..turn }
    }

    fn completed(&self) -> WorkItem {
        WorkItem::SubOrchCompleted {
            parent_instance: self.parent.clone(),
            parent_execution_id: 1,
            parent_id: 2,
            result: "done".into(),
        }
    }

    /// Runs a turn of the parent that is not replicated, and the child, which ends after the parent has lost that turn.
    async fn lose(&self, turn: Turn) {
        self.server.control().pause(None, None).unwrap();
        let (item, token) = fetch(&self.provider).await;
        assert_eq!(item.instance, self.parent);
        turn.ack(&self.provider, &token).await.unwrap();
        let (item, token) = fetch(&self.provider).await;
        assert_eq!(item.instance, self.child);
        let link = self.home.link();
        let moved = self.server.control().move_partition(&link, &self.partition, WEST, Failover::Forced);
        has_lost(moved.unwrap().lost);
        self.server.control().resume(None, None).unwrap();
        let mut first = started(&self.child, 1);
        if let EventKind::OrchestrationStarted { parent_instance, parent_id, parent_execution_id, .. } =
            &mut first.kind
        {
            (*parent_instance, *parent_id, *parent_execution_id) =
                (Some(self.parent.clone()), Some(2), Some(1));
        }
        let ends = Turn {
            events: vec![first],
            messages: vec![self.completed()],
            status: Some("Completed"),
            parent: Some(self.parent.clone()),
            ..Turn::default()
        };
        ends.ack(&self.provider, &token).await.unwrap();
        self.arrived(1).await;
    }

    /// Waits until so many completions of the child are in the queue of the parent.
    async fn arrived(&self, count: usize) {
        until("the completion has arrived, or has gone", async || {
            let documents = self.home.all(&self.parent).await;
            let is_completion = |body: &str| body.contains("SubOrchCompleted");
            let bodies = documents.iter().filter(|document| document["type"] == "message");
            bodies.filter(|it| it["body"].as_str().is_some_and(is_completion)).count() == count
        })
        .await;
    }

    async fn next(&self) -> (OrchestrationItem, String) {
        fetch_after_loss(&self.provider).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_completion_waits_until_its_parent_has_scheduled_the_child_again() {
    let family = Family::without_its_turn().await;
    let Family { provider, parent, .. } = &family;

    let (item, token) = family.next().await;
    assert_eq!((&*item.instance, item.history.len()), (&**parent, 1));
    assert_eq!(item.messages, [signal(parent, 1)], "the completion belongs to nothing yet");
    family.starts_child().ack(provider, &token).await.unwrap();
    let (item, token) = family.next().await;
    assert_eq!((&*item.instance, item.history.len()), (&**parent, 2), "the child is not started twice");
    assert_eq!(item.messages, [family.completed()]);
    Turn { status: Some("Completed"), ..Turn::default() }.ack(provider, &token).await.unwrap();
    assert!(fetch_now(provider).await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_that_is_born_again_gets_the_completion_of_a_child_that_has_ended() {
    let family = Family::new().await;
    let Family { provider, parent, child, .. } = &family;
    send(provider, start(parent)).await;
    replicated(&family.server, &family.home).await;
    family.lose(family.starts_child_at_once()).await;

    let (item, token) = family.next().await;
    assert_eq!((&*item.instance, item.messages), (&**parent, vec![start(parent)]));
    assert_eq!(item.history.len(), 0);
    family.starts_child_at_once().ack(provider, &token).await.unwrap();
    let (item, token) = family.next().await;
    assert_eq!((&*item.instance, item.messages), (&**parent, vec![family.completed()]));
    Turn { status: Some("Completed"), ..Turn::default() }.ack(provider, &token).await.unwrap();
    assert!(
        fetch_now(provider).await.is_none(),
        "the runtime would refuse the start of a child that has ended"
    );
    let left = family.home.all(child).await;
    assert!(left.iter().all(|document| document["type"] != "message"), "{left:?}");
    assert_eq!(provider.read(child).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_completion_that_cannot_fit_any_more_goes() {
    let family = Family::without_its_turn().await;
    let Family { provider, parent, .. } = &family;

    let (item, token) = family.next().await;
    assert_eq!(item.messages, [signal(parent, 1)]);
    // This time it does something else.
    let events = vec![scheduled(parent, 2, "x")];
    Turn { events, ..Turn::default() }.ack(provider, &token).await.unwrap();
    assert!(fetch_now(provider).await.is_none(), "the runtime would fail the instance");
    family.arrived(0).await;
    send(provider, signal(parent, 2)).await;
    let (item, _) = family.next().await;
    assert_eq!((item.messages, item.history.len()), (vec![signal(parent, 2)], 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_completion_that_waits_costs_nothing_and_comes_to_another_process() {
    let family = Family::without_its_turn().await;
    let Family { provider, parent, .. } = &family;
    let (item, token) = family.next().await;
    assert_eq!(item.messages, [signal(parent, 1)]);
    // The turn changes nothing: the completion waits on.
    Turn::default().ack(provider, &token).await.unwrap();
    assert!(fetch_now(provider).await.is_none());
    provider.checked_deliveries().await;
    assert!(fetch_now(provider).await.is_none());
    let before = provider.usage().requests;
    for _ in 0..100 {
        assert!(fetch_now(provider).await.is_none());
    }
    let asked = provider.usage().requests - before;
    assert!(asked < 50, "{asked} requests while nothing happens");

    let other = family.home.provider().await;
    assert!(fetch_now(&other).await.is_none());
    send(provider, signal(parent, 2)).await;
    let (item, token) = family.next().await;
    assert_eq!(item.messages, [signal(parent, 2)]);
    family.starts_child().ack(provider, &token).await.unwrap();
    let (item, _) = fetch_after_loss(&other).await;
    assert_eq!(item.messages, [family.completed()], "it comes to whoever looks first");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_completion_that_waits_goes_when_its_parent_ends() {
    let family = Family::without_its_turn().await;
    let Family { provider, parent, .. } = &family;
    let (item, token) = family.next().await;
    assert_eq!(item.messages, [signal(parent, 1)]);
    Turn { status: Some("Completed"), events: vec![ended(parent)], ..Turn::default() }
        .ack(provider, &token)
        .await
        .unwrap();
    let (item, token) = family.next().await;
    assert_eq!(item.messages, [family.completed()], "the runtime takes what comes too late");
    Turn::default().ack(provider, &token).await.unwrap();
    family.arrived(0).await;
}

fn ended(instance: &str) -> Event {
    let kind = EventKind::OrchestrationCompleted { output: "output".into() };
    Event::with_event_id(2, instance, 1, None, kind)
}
