//! Task hubs that share a container, with instances of the same names, and never see each other.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut::FeedScope;
use duroxide::ActivityContext;
use duroxide::OrchestrationContext;
use duroxide::providers::{
    InstanceFilter, Provider, ProviderAdmin, ProviderError, PruneOptions, SessionFetchConfig, TagFilter,
    WorkItem,
};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide_cosmonaut::{
    CosmosProvider, CosmosProviderConfig, DeadCause, InstanceSearch, Leases, Retention, diagnose,
};
use serde_json::{Value, json};

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::{World, options, orchestrations, until};

/// The hub without a name, and two of which one is called as the other begins.
const HUBS: [Option<&str>; 3] = [None, Some("order"), Some("orders")];

fn homes() -> [Home; 3] {
    let home = Server::shared(Account::OneRegion).home();
    HUBS.map(|hub| home.of_hub(hub))
}

async fn providers(homes: &[Home; 3]) -> [CosmosProvider; 3] {
    [homes[0].provider().await, homes[1].provider().await, homes[2].provider().await]
}

/// An instance that has a child and a past execution.
async fn family(provider: &CosmosProvider, input: &str) {
    send(provider, start("a")).await;
    let (_, token) = fetch(provider).await;
    let turn =
        Turn { messages: vec![child("a-child", "a")], status: Some("ContinuedAsNew"), ..Turn::first("a") };
    turn.ack(provider, &token).await.unwrap();
    let (item, token) = fetch(provider).await;
    assert_eq!(item.instance, "a-child");
    let turn = Turn { status: Some("Completed"), parent: Some("a".into()), ..Turn::first("a-child") };
    turn.ack(provider, &token).await.unwrap();
    send(provider, signal("a", input)).await;
    let (item, token) = fetch(provider).await;
    assert_eq!((&*item.instance, &*item.messages), ("a", &[signal("a", input)][..]));
    let turn = Turn { execution: Some(2), events: vec![started("a", 2)], ..Turn::default() };
    Turn { status: Some("Completed"), ..turn }.ack(provider, &token).await.unwrap();
}

fn sorted(names: Vec<String>) -> Vec<String> {
    names.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

/// What a hub has after that, through all calls that look.
async fn check_family(provider: &CosmosProvider) {
    assert_eq!(sorted(provider.list_instances().await.unwrap()), ["a", "a-child"]);
    assert_eq!(sorted(provider.list_instances_by_status("Completed").await.unwrap()), ["a", "a-child"]);
    let page = provider.list_instances_page(None, 1, None).await.unwrap();
    let rest = provider.list_instances_page(None, 10, page.continuation).await.unwrap();
    assert_eq!(sorted([page.instances, rest.instances].concat()), ["a", "a-child"]);
    assert_eq!(provider.list_children("a").await.unwrap(), ["a-child"]);
    assert_eq!(provider.get_parent_id("a-child").await.unwrap().as_deref(), Some("a"));
    let tree = provider.get_instance_tree("a").await.unwrap();
    assert_eq!((&*tree.root_id, &*sorted(tree.all_ids)), ("a", &["a".to_owned(), "a-child".to_owned()][..]));
    let summaries = provider.tree_summaries("a").await.unwrap();
    let shown: Vec<_> = summaries.iter().map(|it| (&*it.instance, it.parent.as_deref())).collect();
    assert_eq!(shown, [("a", None), ("a-child", Some("a"))]);
    let found = provider.search_page(&InstanceSearch::default(), 10, None).await.unwrap();
    assert_eq!(found.summaries.len(), 2);
    let info = provider.get_instance_info("a-child").await.unwrap();
    assert_eq!((&*info.instance_id, info.parent_instance_id.as_deref()), ("a-child", Some("a")));
    assert_eq!(provider.list_executions("a").await.unwrap(), [1, 2]);
    assert_eq!(provider.latest_execution_id("a").await.unwrap(), 2);
    assert_eq!(provider.get_execution_info("a", 1).await.unwrap().status, "ContinuedAsNew");
    assert_eq!(provider.read_history_with_execution_id("a", 1).await.unwrap().len(), 1);
    let metrics = provider.get_system_metrics().await.unwrap();
    assert_eq!((metrics.total_instances, metrics.total_executions, metrics.total_events), (2, 3, 3));
    let stats = provider.get_instance_stats("a").await.unwrap().unwrap();
    assert_eq!(stats.history_event_count, 1);
}

async fn check_nothing(provider: &CosmosProvider) {
    assert!(provider.list_instances().await.unwrap().is_empty());
    assert!(provider.list_children("a").await.unwrap().is_empty());
    assert!(provider.tree_summaries("a").await.unwrap().is_empty());
    assert!(provider.get_instance_info("a").await.is_err());
    assert!(provider.read("a").await.unwrap().is_empty());
    assert_eq!(provider.get_system_metrics().await.unwrap().total_instances, 0);
    assert_eq!(provider.dead_letters(10).await.unwrap(), []);
    let depths = provider.get_queue_depths().await.unwrap();
    assert_eq!((depths.orchestrator_queue, depths.worker_queue, depths.timer_queue), (0, 0, 0));
    let none = provider.delete_instance_bulk(InstanceFilter::default()).await.unwrap();
    assert_eq!(none.instances_deleted, 0);
    let none =
        provider.prune_executions_bulk(InstanceFilter::default(), PruneOptions::default()).await.unwrap();
    assert_eq!(none.instances_processed, 0);
    assert!(provider.terminate_dead("a").await.is_err());
    assert!(fetch_now(provider).await.is_none() && work_now(provider).await.is_none());
}

#[tokio::test]
async fn hubs_have_instances_of_the_same_names_and_see_none_of_each_other() {
    let homes = homes();
    // Whoever comes first does not matter: all the others are empty before they have something of their own.
    for order in [[0, 1, 2], [2, 1, 0]] {
        let providers = providers(&homes).await;
        for (place, own) in order.into_iter().enumerate() {
            for later in &order[place..] {
                check_nothing(&providers[*later]).await;
            }
            family(&providers[own], &format!("hub {own}")).await;
            for earlier in &order[..=place] {
                check_family(&providers[*earlier]).await;
            }
        }
        for (place, own) in order.into_iter().enumerate() {
            let provider = &providers[own];
            let filter = InstanceFilter { instance_ids: Some(vec!["a".into()]), ..InstanceFilter::default() };
            let pruned = provider.prune_executions_bulk(filter, PruneOptions::default()).await.unwrap();
            assert_eq!((pruned.instances_processed, pruned.executions_deleted), (1, 1));
            let deleted = match own {
                0 => provider.delete_instance_bulk(InstanceFilter::default()).await,
                1 => provider.delete_instances_atomic(&["a".into(), "a-child".into()], false).await,
                _ => provider.delete_instance("a", true).await,
            };
            assert_eq!(deleted.unwrap().instances_deleted, 2, "hub {own}");
            check_nothing(provider).await;
            for later in &order[place + 1..] {
                check_family(&providers[*later]).await;
            }
        }
    }
}

#[tokio::test]
async fn what_waits_in_a_hub_is_counted_and_handed_out_there_alone() {
    let homes = homes();
    let providers = providers(&homes).await;
    for (own, provider) in providers.iter().enumerate() {
        send(provider, start("a")).await;
        let later = Some(Duration::from_secs(3600));
        provider.enqueue_for_orchestrator(signal("a", "later"), later).await.unwrap();
        provider.enqueue_for_worker(activity("a", 2, own.to_string())).await.unwrap();
        for (other, provider) in providers.iter().enumerate() {
            let depths = provider.get_queue_depths().await.unwrap();
            let expected = usize::from(other <= own);
            let counted = (depths.orchestrator_queue, depths.worker_queue, depths.timer_queue);
            assert_eq!(counted, (expected, expected, expected), "hub {other}");
        }
    }
    for (own, provider) in providers.iter().enumerate() {
        let (item, turn) = fetch(provider).await;
        assert_eq!((&*item.instance, item.messages.len()), ("a", 1));
        let (work, token) = fetch_work(provider).await;
        assert_eq!(work, activity("a", 2, own.to_string()));
        assert!(fetch_now(provider).await.is_none() && work_now(provider).await.is_none());
        // A lock of one hub is none of another.
        for other in providers.iter().enumerate().filter(|(other, _)| *other != own).map(|(_, it)| it) {
            let refused = |done: Result<(), ProviderError>| assert!(!done.unwrap_err().is_retryable());
            refused(other.ack_work_item(&token, Some(completion("a", 2))).await);
            refused(other.renew_work_item_lock(&token, LOCK).await);
            refused(other.abandon_orchestration_item(&turn, None, false).await);
            refused(Turn::first("a").ack(other, &turn).await);
        }
        Turn::first("a").ack(provider, &turn).await.unwrap();
        provider.ack_work_item(&token, Some(completion("a", 2))).await.unwrap();
        assert_eq!(fetch(provider).await.0.messages, [completion("a", 2)]);
    }
}

#[tokio::test]
async fn sessions_of_hubs_have_nothing_to_do_with_each_other() {
    let providers = providers(&homes()).await;
    let config = SessionFetchConfig { owner_id: "worker".into(), lock_timeout: LOCK };
    for (own, provider) in providers.iter().enumerate() {
        let WorkItem::ActivityExecute { instance, execution_id, id, name, input, tag, .. } =
            activity("a", 2, "x")
        else {
            unreachable!("it is an activity")
        };
        let session_id = Some("s/1".to_owned());
        let item = WorkItem::ActivityExecute { instance, execution_id, id, name, input, session_id, tag };
        provider.enqueue_for_worker(item.clone()).await.unwrap();
        let owner = SessionFetchConfig { owner_id: format!("worker {own}"), ..config.clone() };
        let fetched = provider.fetch_work_item(LOCK, PATIENCE, Some(&owner), &TagFilter::Any).await.unwrap();
        assert_eq!(fetched.unwrap().0, item);
        let renewed = provider.renew_session_lock(&["worker 0", "worker 1", "worker 2"], LOCK, LOCK).await;
        assert_eq!(renewed.unwrap(), 1, "hub {own}");
    }
    for provider in &providers {
        assert_eq!(provider.cleanup_orphaned_sessions(Duration::ZERO).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn what_cannot_be_read_in_a_hub_is_no_dead_letter_of_another() {
    let homes = homes();
    let providers = providers(&homes).await;
    for (home, provider) in homes.iter().zip(&providers) {
        make(provider, "a", None).await;
        let (kind, key) =
            (home.hub.map_or("message".to_owned(), |hub| format!("message@{hub}")), home.key("a"));
        for (id, member) in [("m:c1", json!({"v": 9})), ("m:c2", json!({"visibleAt": "soon"}))] {
            let mut message = json!({"id": id, "instanceId": key, "type": kind, "v": 1, "slot": 0,
                "visibleAt": 0, "body": "{}", "chunks": 0});
            message.as_object_mut().unwrap().extend(member.as_object().unwrap().clone());
            home.documents().upsert_item(&*key, &message).await.unwrap();
        }
    }
    for (own, provider) in providers.iter().enumerate() {
        let mut found: Vec<_> = provider.dead_letters(10).await.unwrap();
        found.sort_by_key(|letter| letter.document.clone());
        let shown: Vec<_> = found.iter().map(|it| (&*it.instance, it.cause)).collect();
        assert_eq!(shown, [("a", DeadCause::Newer), ("a", DeadCause::Damaged)], "hub {own}");
        assert!(found.iter().all(|letter| letter.why.starts_with("message ")), "{found:?}");
        assert_eq!(provider.terminate_dead("a").await.unwrap().len(), 2);
        for (other, provider) in providers.iter().enumerate() {
            let expected = if other <= own { 0 } else { 2 };
            assert_eq!(provider.dead_letters(10).await.unwrap().len(), expected, "hub {other}");
        }
    }
}

#[tokio::test]
async fn what_has_ended_is_kept_as_long_as_its_own_hub_says_and_goes_to_the_archive_under_its_hub() {
    let homes = homes();
    let all = providers(&homes).await;
    for provider in &all {
        family(provider, "x").await;
    }
    let archive = format!("{}-archive", homes[0].container);
    for (own, home) in homes.iter().enumerate() {
        let retention = Retention {
            ended_instances: Some(Duration::ZERO),
            archive: Some(archive.clone()),
            ..Retention::default()
        };
        let sweeping =
            CosmosProvider::connect(CosmosProviderConfig { retention, ..home.config() }).await.unwrap();
        until("all is swept", async || {
            sweeping.sweep().await.unwrap();
            sweeping.list_instances().await.unwrap().is_empty()
        })
        .await;
        for later in &all[own + 1..] {
            check_family(later).await;
        }
        let archived = CosmosProviderConfig { container: archive.clone(), ..home.config() };
        check_family(&CosmosProvider::connect(archived).await.unwrap()).await;
    }
}

#[tokio::test]
async fn what_was_left_half_done_in_a_hub_is_finished_there() {
    let soon = Duration::from_millis(50);
    let homes = homes();
    for home in &homes {
        let provider = home.provider().await;
        make(&provider, "parent", None).await;
        make(&provider, "gone", Some("Completed")).await;
        // A deletion that its process does not go on with: its record is there, and the head is locked.
        let (begun, gone) = (provider.usage().requests, ["gone".to_owned()]);
        let stopped = async {
            while provider.usage().requests < begun + 2 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = stopped => {}
            deleted = provider.delete_instances_atomic(&gone, false) => panic!("{deleted:?}"),
        }
        // It must not go on with what it finds left.
        drop(provider);
        let records = home.key("$cleanup");
        let record = home.all(&*records).await.pop().unwrap();
        let left = cosmonaut::Patch::new().set("/visibleAt", 0);
        let id = record["id"].as_str().unwrap();
        home.documents().patch_item(&*records, id, left).await.unwrap();
        // A delivery that its process does not make.
        let kind = home.hub.map_or("intent".to_owned(), |hub| format!("intent@{hub}"));
        let body = serde_json::to_string(&start("child")).unwrap();
        let owed = json!({
            "id": "o:1.0", "instanceId": home.key("parent"), "type": kind, "v": 1, "slot": 0,
            "target": home.key("child"), "targetId": "m:o1.1.0", "what": "message", "targetVisibleAt": 0,
            "visibleAt": 0, "body": body, "chunks": 0,
        });
        home.documents().upsert_item(home.key("parent"), &owed).await.unwrap();
    }
    for (own, home) in homes.iter().enumerate() {
        let config = CosmosProviderConfig {
            reconciler_interval: soon,
            reconciler_age_threshold: soon,
            ..home.config()
        };
        let provider = CosmosProvider::connect(config).await.unwrap();
        assert_eq!(fetch(&provider).await.0.instance, "child");
        until("the deletion is taken back", async || home.all(&*home.key("$cleanup")).await.is_empty()).await;
        assert!(provider.get_instance_info("gone").await.is_ok());
        for later in &homes[own + 1..] {
            assert!(!later.all(&*later.key("$cleanup")).await.is_empty(), "it is for a process of that hub");
            assert!(later.all(&*later.key("child")).await.is_empty());
        }
    }
}

/// A process of a hub, whose activity says which hub it runs for.
async fn world(home: &Home, name: &str) -> World {
    let hub = home.hub.unwrap_or("none");
    let activities =
        ActivityRegistry::builder().register("Where", move |_: ActivityContext, text: String| {
            let hub = hub.to_owned();
            async move { Ok(format!("{text} in {hub}")) }
        });
    let registry = orchestrations()
        .register("Child", |context: OrchestrationContext, input: String| async move {
            context.schedule_timer(Duration::from_millis(20)).await;
            context.schedule_activity_on_session("Where", input, "session").await
        })
        .register("Parent", |context: OrchestrationContext, input: String| async move {
            context.set_kv_value("input", input.clone());
            let child = context.schedule_sub_orchestration_with_id("Child", "child", input).await?;
            let event = context.schedule_wait("event").await;
            match event.starts_with("again") {
                true => context.continue_as_new(format!("{child}, {event}")).await,
                false => Ok(format!("{child}, {event}")),
            }
        });
    let leases = Leases::Container { name: name.into(), lease: Duration::from_secs(10) };
    let store = CosmosProvider::connect(CosmosProviderConfig { leases, ..home.config() }).await.unwrap();
    World::on(home.clone(), Arc::new(store), options(), activities.build(), registry.build()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runtimes_of_hubs_run_orchestrations_of_the_same_names_side_by_side() {
    let homes = homes();
    let worlds = [
        // All processes have the same name: they share no slots with those of other hubs.
        world(&homes[0], "process").await,
        world(&homes[1], "process").await,
        world(&homes[2], "process").await,
    ];
    for world in &worlds {
        world.begin("parent", "Parent", "x").await;
    }
    for (own, world) in worlds.iter().enumerate() {
        world.until_waiting("parent", "event").await;
        world.client.raise_event("parent", "event", format!("event {own}")).await.unwrap();
        let hub = homes[own].hub.unwrap_or("none");
        assert_eq!(world.end("parent").await.unwrap(), format!("x in {hub}, event {own}"));
        assert_eq!(world.kept("parent").await["input"], "x");
        let children = world.store.list_children("parent").await.unwrap();
        assert_eq!(children, ["child"]);
    }
    // Each hub has its own leases: one member, and all slots.
    for home in &homes {
        let leases: Vec<Value> = home.all(&*home.key("$leases")).await;
        let shares = leases.iter().find(|document| document["type"] == "shares").unwrap();
        assert_eq!(shares["shares"], json!([{"name": "process", "slots": [[0, 256]]}]));
    }
    for world in worlds {
        world.stop().await;
    }
}

#[tokio::test]
async fn the_hub_without_a_name_stores_what_it_stored_before_there_were_hubs() {
    let homes = homes();
    let providers = providers(&homes).await;
    for provider in &providers {
        family(provider, "x").await;
    }
    let mut documents = homes[0].all(FeedScope::Container).await;
    // What a hub has beside its instances is there when it is needed.
    documents.retain(|document| !document["instanceId"].as_str().is_some_and(|key| key.contains("$leases")));
    for document in &documents {
        let (key, kind) = (document["instanceId"].as_str().unwrap(), document["type"].as_str().unwrap());
        match key.strip_prefix('$').and_then(|key| key.split_once('/')) {
            Some((hub, name)) => {
                assert!(["order", "orders"].contains(&hub) && ["a", "a-child"].contains(&name), "{document}");
                assert!(kind.ends_with(&format!("@{hub}")), "{document}");
                let parent = document["state"]["parent"].as_str();
                assert!(parent.is_none_or(|parent| parent == format!("${hub}/a")), "{document}");
            }
            None => {
                assert!(["a", "a-child"].contains(&key) && !kind.contains('@'), "{document}");
                assert!(
                    document["state"]["parent"].as_str().is_none_or(|parent| parent == "a"),
                    "{document}"
                );
            }
        }
    }
    assert_eq!(documents.len() % 3, 0, "all hubs have as many");
    let diagnosis = diagnose(&homes[0].config()).await.unwrap();
    for kind in ["instance", "instance@order", "instance@orders"] {
        assert_eq!(diagnosis.documents[kind], 2, "{kind}");
    }
}

#[tokio::test]
async fn a_turn_costs_the_hub_without_a_name_the_same_whatever_others_have() {
    let [none, _, orders] = homes();
    let provider = none.provider().await;
    let charge = async |instance: &str| {
        assert!(fetch_now(&provider).await.is_none());
        let before = provider.usage();
        make(&provider, instance, Some("Completed")).await;
        let after = provider.usage();
        (after.requests - before.requests, after.charge - before.charge)
    };
    let alone = charge("first").await;
    let other = orders.provider().await;
    for n in 0..50 {
        make(&other, &format!("i{n}"), None).await;
    }
    let beside = charge("other").await;
    assert_eq!(beside.0, alone.0);
    assert!(beside.1 <= alone.1 + 0.5, "{:.1} RU, and {:.1} RU before", beside.1, alone.1);
}

#[tokio::test]
async fn a_name_that_no_hub_can_have_is_refused() {
    for name in ["", "a/b", "a b", "$a", "é", &*"x".repeat(65)] {
        let config = CosmosProviderConfig { hub: Some(name.to_owned()), ..homes()[0].config() };
        let error = CosmosProvider::connect(config).await.unwrap_err().to_string();
        assert!(error.contains(&format!("{name:?}")) && error.contains("letters"), "{error}");
    }
}
