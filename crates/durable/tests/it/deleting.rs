//! Deleting and pruning: what may go goes, all of it or nothing, and what runs stays.

use cosmonaut::CosmosStatus;
use cosmonaut::fault_injection::{
    FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule, FaultInjector,
};
use cosmonaut_driver::OperationType;
use duroxide::providers::{InstanceFilter, Provider, ProviderAdmin, PruneOptions, WorkItem};
use serde_json::json;

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::until;

/// Ends an execution by continuing as a new one, which has its first turn if `begun`.
async fn continue_as_new(provider: &dyn Provider, instance: &str, execution: u64, begun: bool) {
    send(provider, signal(instance, execution)).await;
    let (_, token) = fetch(provider).await;
    let next = WorkItem::ContinueAsNew {
        instance: instance.into(),
        orchestration: "Test".into(),
        input: "{}".into(),
        version: Some("1.0.0".into()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    };
    let turn = Turn {
        execution: Some(execution),
        messages: vec![next],
        status: Some("ContinuedAsNew"),
        ..Turn::default()
    };
    turn.ack(provider, &token).await.unwrap();
    if begun {
        let (_, token) = fetch(provider).await;
        let events = vec![started(instance, execution + 1)];
        let turn = Turn { execution: Some(execution + 1), events, ..Turn::default() };
        turn.ack(provider, &token).await.unwrap();
    }
}

/// What a process leaves that was about to delete `a`, and had not decided it.
async fn leave_undecided(home: &Home) {
    let documents = home.documents();
    let lock = json!({"token": "0abc", "until": 1_u64 << 52, "messages": []});
    let patch = cosmonaut::Patch::new().set("/lock", lock);
    documents.patch_item("a", "instance", patch).await.unwrap();
    let record = json!({
        "id": "d:0abc", "instanceId": "$cleanup", "type": "deletion", "v": 1,
        "slot": duroxide_cosmonaut::slot_of("$cleanup"), "instances": ["a"], "token": "0abc",
        "committed": false, "visibleAt": 0,
    });
    documents.create_item("$cleanup", &record).await.unwrap();
}

#[tokio::test]
async fn an_eternal_orchestration_is_running_and_no_bulk_deletion_takes_it() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    make(&provider, "eternal", None).await;
    for begun in [true, false] {
        let execution = provider.latest_execution_id("eternal").await.unwrap();
        continue_as_new(&provider, "eternal", execution, begun).await;
        let deleted = provider.delete_instance_bulk(InstanceFilter::default()).await.unwrap();
        assert_eq!(deleted.instances_deleted, 0, "begun: {begun}");
        if begun {
            assert_eq!(provider.list_instances_by_status("Running").await.unwrap(), ["eternal"]);
        }
    }
    assert_eq!(fetch(&provider).await.0.instance, "eternal", "its next execution is still to come");
}

#[tokio::test]
async fn pruning_honours_completed_before_alone_and_in_bulk() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    make(&provider, "a", None).await;
    for execution in 1..4 {
        continue_as_new(&provider, "a", execution, true).await;
    }
    let completed = provider.get_execution_info("a", 2).await.unwrap().completed_at.unwrap();
    let everything = u64::MAX >> 12;
    for (completed_before, filter, left) in [
        (Some(1), None, vec![1, 2, 3, 4]),
        (Some(completed), None, vec![2, 3, 4]),
        (Some(everything), Some("b"), vec![2, 3, 4]),
        (Some(1), Some("a"), vec![2, 3, 4]),
        (Some(everything), Some("a"), vec![4]),
    ] {
        let options = PruneOptions { keep_last: None, completed_before };
        match filter {
            None => provider.prune_executions("a", options).await.unwrap(),
            Some(id) => {
                let filter = InstanceFilter { instance_ids: Some(vec![id.into()]), ..Default::default() };
                provider.prune_executions_bulk(filter, options).await.unwrap()
            }
        };
        // Executions that ended in the same millisecond go together.
        let executions = provider.list_executions("a").await.unwrap();
        assert!(
            executions.iter().all(|id| left.contains(id)) && executions.contains(&4),
            "{executions:?} {left:?}"
        );
        if completed_before == Some(1) && filter.is_none() {
            assert_eq!(executions, left);
        }
    }
}

#[tokio::test]
async fn more_executions_than_a_transaction_holds_are_pruned_together() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make(&provider, "a", None).await;
    for execution in 1..=60 {
        continue_as_new(&provider, "a", execution, true).await;
    }
    let pruned = provider.prune_executions("a", PruneOptions::default()).await.unwrap();
    assert_eq!(pruned.executions_deleted, 60);
    assert_eq!(provider.list_executions("a").await.unwrap(), [61]);
    assert_eq!(
        (home.count("execution").await, home.count("history").await, home.count("prune").await),
        (0, 1, 0)
    );
}

#[tokio::test]
async fn a_deletion_that_was_left_is_finished_if_it_was_decided_and_else_taken_back() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    for committed in [true, false] {
        for name in ["a", "b"] {
            make(&provider, name, Some("Completed")).await;
        }
        // What a process leaves that dies in the middle: locked heads, and a record.
        let documents = home.documents();
        for name in ["a", "b"] {
            let lock = json!({"token": "0abc", "until": 1_u64 << 52, "messages": []});
            let patch = cosmonaut::Patch::new().set("/lock", lock);
            documents.patch_item(name, "instance", patch).await.unwrap();
        }
        let record = json!({
            "id": "d:0abc", "instanceId": "$cleanup", "type": "deletion", "v": 1,
            "slot": duroxide_cosmonaut::slot_of("$cleanup"), "instances": ["a", "b"], "token": "0abc",
            "committed": committed, "visibleAt": 0,
        });
        documents.create_item("$cleanup", &record).await.unwrap();
        let elsewhere = home.provider().await;
        while home.count("deletion").await > 0 {
            assert!(fetch_now(&elsewhere).await.is_none());
        }
        let left = provider.list_instances().await.unwrap();
        assert_eq!(left.len(), if committed { 0 } else { 2 }, "committed: {committed}");
        if !committed {
            send(&provider, signal("a", 1)).await;
            assert_eq!(fetch(&provider).await.0.instance, "a", "it can be worked on again");
        }
    }
}

#[tokio::test]
async fn an_instance_that_another_deletion_has_locked_is_left_to_it_while_it_is_under_way() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make(&provider, "a", Some("Completed")).await;
    let documents = home.documents();
    let lock = json!({"token": "0abc", "until": 1_u64 << 52, "messages": []});
    documents.patch_item("a", "instance", cosmonaut::Patch::new().set("/lock", lock)).await.unwrap();
    // The other deletion is decided, and its process is at work.
    let record = json!({
        "id": "d:0abc", "instanceId": "$cleanup", "type": "deletion", "v": 1,
        "slot": duroxide_cosmonaut::slot_of("$cleanup"), "instances": ["a"], "token": "0abc",
        "committed": true, "visibleAt": 1_u64 << 51,
    });
    documents.create_item("$cleanup", &record).await.unwrap();
    let refused = provider.delete_instances_atomic(&["a".into()], false).await.unwrap_err();
    assert!(refused.is_retryable(), "{refused}");
    let head = documents.read_item::<serde_json::Value>("a", "instance").await.unwrap().into_value();
    assert_eq!(head["lock"]["token"], "0abc", "it is still the other one's");
    // A lock whose record a failover has lost is nobody's.
    documents.delete_item("$cleanup", "d:0abc").await.unwrap();
    let deleted = provider.delete_instances_atomic(&["a".into()], false).await.unwrap();
    assert_eq!(deleted.instances_deleted, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_is_free_again_although_taking_a_deletion_back_fails_at_first() {
    let (server, faults) = (Server::shared(Account::OneRegion), FaultInjector::new());
    let home = server.home();
    let provider = home.provider().await;
    make(&provider, "a", Some("Completed")).await;
    leave_undecided(&home).await;
    drop(provider);
    // The first to unlock the instance is refused.
    let patches = FaultInjectionCondition {
        operation: Some(OperationType::Patch),
        max_hits: Some(3),
        ..FaultInjectionCondition::default()
    };
    let refused = FaultInjectionResult::Status { status: CosmosStatus::FORBIDDEN, retry_after: None };
    faults.set(FaultInjectionRule::new("refused", refused).when(patches));
    let elsewhere = Home { client: server.faulty_client(&faults), ..home.clone() }.provider().await;
    until("the record is gone", async || {
        assert!(fetch_now(&elsewhere).await.is_none());
        home.count("deletion").await == 0
    })
    .await;
    send(&elsewhere, signal("a", 1)).await;
    assert_eq!(fetch(&elsewhere).await.0.instance, "a", "it can be worked on again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_that_is_decided_while_another_process_takes_it_back_is_not_taken_back() {
    let server = Server::shared(Account::OneRegion);
    for attempt in 0..20 {
        let (home, faults) = (server.home(), FaultInjector::new());
        make(&home.provider().await, "a", Some("Completed")).await;
        leave_undecided(&home).await;
        // The other process makes the record its own with one patch, and takes the deletion back with the next.
        let patches = FaultInjectionCondition {
            operation: Some(OperationType::Patch),
            ..FaultInjectionCondition::default()
        };
        let slow = FaultInjectionResult::Delay(std::time::Duration::from_secs(1));
        faults.set(FaultInjectionRule::new("slow", slow).when(patches));
        let elsewhere = Home { client: server.faulty_client(&faults), ..home.clone() }.provider().await;
        until("it is about to take the deletion back", async || {
            assert!(fetch_now(&elsewhere).await.is_none());
            faults.hits("slow").is_some_and(|hits| hits > 1)
        })
        .await;
        let decided = cosmonaut::Patch::new()
            .set("/committed", true)
            .set("/visibleAt", 0)
            .condition("FROM c WHERE NOT IS_DEFINED(c.withdrawn) OR c.withdrawn = false");
        if home.documents().patch_item("$cleanup", "d:0abc", decided).await.is_err() {
            println!("attempt {attempt} was too late");
            continue;
        }
        until("the instance is gone", async || {
            assert!(fetch_now(&elsewhere).await.is_none());
            home.count("deletion").await == 0
        })
        .await;
        assert!(home.all("a").await.is_empty());
        return;
    }
    panic!("every attempt was too late");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_names_than_a_document_holds_are_deleted_together() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make(&provider, "a", Some("Completed")).await;
    let mut names: Vec<String> = (0..1_200).map(|n| format!("{n:01900}")).collect();
    names.push("a".into());
    assert_eq!(provider.delete_instances_atomic(&names, false).await.unwrap().instances_deleted, 1);
    assert!(home.all("$cleanup").await.is_empty(), "nothing is left of the record");
}

#[tokio::test]
async fn what_a_bulk_deletion_leaves_out_does_not_keep_others_from_being_deleted() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    for n in 0..3 {
        let root = format!("root-{n}");
        make(&provider, &root, Some("Completed")).await;
        send(&provider, child(&format!("leaf-{n}"), &root)).await;
        let (_, token) = fetch(&provider).await;
        let turn = Turn { parent: Some(root), ..Turn::first(&format!("leaf-{n}")) };
        turn.ack(&provider, &token).await.unwrap();
    }
    for name in ["a", "b", "c"] {
        make(&provider, name, Some("Completed")).await;
    }
    let two = InstanceFilter { limit: Some(2), ..InstanceFilter::default() };
    assert_eq!(provider.delete_instance_bulk(two).await.unwrap().instances_deleted, 2);
    let rest = InstanceFilter { limit: Some(2), ..InstanceFilter::default() };
    assert_eq!(provider.delete_instance_bulk(rest).await.unwrap().instances_deleted, 1);
}

#[tokio::test]
async fn a_tree_with_something_running_is_left_as_it_is() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    make(&provider, "root", Some("Completed")).await;
    send(&provider, child("leaf", "root")).await;
    let (_, token) = fetch(&provider).await;
    let turn = Turn { parent: Some("root".into()), ..Turn::first("leaf") };
    turn.ack(&provider, &token).await.unwrap();
    assert_eq!(provider.delete_instance_bulk(InstanceFilter::default()).await.unwrap().instances_deleted, 0);
    let both = ["root".to_owned(), "leaf".to_owned()];
    assert!(!provider.delete_instances_atomic(&both, false).await.unwrap_err().is_retryable());
    assert!(provider.delete_instances_atomic(&both[..1], true).await.is_err(), "the leaf would be an orphan");
    assert_eq!(provider.list_instances().await.unwrap().len(), 2);
    // What was locked for the attempt is free again.
    send(&provider, signal("leaf", 1)).await;
    let (_, token) = fetch(&provider).await;
    provider.abandon_orchestration_item(&token, None, false).await.unwrap();
    assert_eq!(provider.delete_instances_atomic(&both, true).await.unwrap().instances_deleted, 2);
}

#[tokio::test]
async fn instances_are_listed_page_by_page() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    for n in 0..7 {
        make(&provider, &format!("i{n}"), (n % 2 == 0).then_some("Completed")).await;
    }
    let (mut names, mut continuation) = (Vec::new(), None);
    loop {
        let page = provider.list_instances_page(Some("Completed"), 3, continuation).await.unwrap();
        assert!(page.instances.len() <= 3);
        names.extend(page.instances);
        continuation = page.continuation;
        if continuation.is_none() {
            break;
        }
    }
    names.sort();
    assert_eq!(names, ["i0", "i2", "i4", "i6"]);
}
