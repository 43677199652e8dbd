//! What is processed when: in order, and nothing hidden behind something else.

use duroxide::providers::{Provider, ProviderAdmin, SessionFetchConfig, TagFilter, WorkItem};

use crate::harness::{Account, Server};
use crate::steps::*;

#[tokio::test]
async fn messages_of_the_same_millisecond_keep_their_order() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make(&provider, "a", None).await;
    for n in 0..60 {
        send(&provider, signal("a", n)).await;
    }
    for provider in [home.provider().await, provider] {
        let Some((item, token)) = fetch_now(&provider).await else { panic!("the messages are there") };
        let expected: Vec<_> = (0..60).map(|n| signal("a", n)).collect();
        assert_eq!(item.messages, expected);
        provider.abandon_orchestration_item(&token, None, false).await.unwrap();
    }
}

#[tokio::test]
async fn twenty_locked_instances_do_not_hide_a_free_one() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    for n in 0..20 {
        send(&provider, start(&format!("locked-{n}"))).await;
        fetch(&provider).await;
        send(&provider, signal(&format!("locked-{n}"), n)).await;
    }
    assert!(fetch_now(&provider).await.is_none());
    send(&provider, start("free")).await;
    // Another process has to find it without having seen the locks.
    let (item, token) = fetch(&home.provider().await).await;
    assert_eq!(item.instance, "free");
    provider.abandon_orchestration_item(&token, None, false).await.unwrap();
    assert_eq!(fetch(&provider).await.0.instance, "free");
}

#[tokio::test]
async fn one_dispatcher_drains_every_slot_whatever_became_of_the_others() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    for n in 0..300 {
        send(&provider, start(&format!("i{n}"))).await;
    }
    // Two that are stopped while they look for work, and one that goes on.
    for _ in 0..2 {
        let _ = crate::waiting::timeout(std::time::Duration::ZERO, fetch_now(&provider)).await;
    }
    let mut seen = std::collections::BTreeSet::new();
    while let Some((item, token)) = fetch_now(&provider).await {
        seen.insert(item.instance.clone());
        Turn { status: Some("Completed"), ..Turn::first(&item.instance) }
            .ack(&provider, &token)
            .await
            .unwrap();
    }
    // A fetch that is stopped at the wrong moment leaves a lock that ends by itself.
    assert!(seen.len() >= 298, "{} of 300", seen.len());
    let slots: std::collections::BTreeSet<_> =
        seen.iter().map(|name| duroxide_cosmonaut::slot_of(name)).collect();
    assert!(slots.len() > 128);
}

#[tokio::test]
async fn a_session_belongs_to_one_worker_across_instances() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    let with_session = |instance: &str| match activity(instance, 2, "x") {
        WorkItem::ActivityExecute { instance, execution_id, id, name, input, tag, .. } => {
            WorkItem::ActivityExecute {
                instance,
                execution_id,
                id,
                name,
                input,
                tag,
                session_id: Some("\"s'/1".into()),
            }
        }
        other => other,
    };
    provider.enqueue_for_worker(with_session("a")).await.unwrap();
    provider.enqueue_for_worker(with_session("b")).await.unwrap();
    let owner = |name: &str| SessionFetchConfig { owner_id: name.into(), lock_timeout: LOCK };
    let (me, you) = (owner("me"), owner("you"));
    let now = std::time::Duration::ZERO;
    let any = &TagFilter::Any;
    assert!(provider.fetch_work_item(LOCK, now, Some(&me), any).await.unwrap().is_some());
    // On this process, and on one that knows nothing of the session yet.
    for provider in [&provider, &home.provider().await] {
        assert!(provider.fetch_work_item(LOCK, now, Some(&you), any).await.unwrap().is_none());
    }
    assert!(provider.fetch_work_item(LOCK, now, Some(&me), any).await.unwrap().is_some());
}

#[tokio::test]
async fn a_message_to_nobody_leaves_no_instance_behind() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    send(&provider, signal("nobody", 1)).await;
    assert!(fetch_now(&provider).await.is_none());
    assert_eq!(provider.list_instances().await.unwrap(), Vec::<String>::new());
    assert_eq!(provider.list_instances_by_status("Running").await.unwrap(), Vec::<String>::new());
    assert_eq!(provider.get_system_metrics().await.unwrap().total_instances, 0);
    assert!(provider.get_instance_info("nobody").await.is_err());
    assert_eq!(provider.read("nobody").await.unwrap(), Vec::new());
}
